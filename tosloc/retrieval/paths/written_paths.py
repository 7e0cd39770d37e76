"""Find the files of a version that a path in a report or a stack frame means.

Reports come from other machines. A written path may begin with folders of that machine, lead into
an installed package or a language's library, or name a compiled file. The names of folders and
files are compared from the end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final, TypeAlias

Namesakes: TypeAlias = Callable[[str], Iterable[tuple[int, list[str]]]]
"""Function from a file name to the files with this name, whatever their suffix: for each its row,
and the names of its folders with its own."""

_INSTALLED: Final = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules)/(?:[^/]{1,200}\.egg/|@[^/]{1,200}/)?"
)
"""Folders that contain installed packages; the rest of the path is inside a package."""
_DOWNLOADED: Final = re.compile(r"/\.cargo/registry/src/[^/]{1,100}/|/pkg/mod/|/gems/")
"""Folders of packages that Cargo, Go and RubyGems download; the next folder names a release."""
_RELEASE: Final = re.compile(r"[-@]v?\d{1,9}(?:\.\d{1,9}){1,4}[\w.+-]{0,40}")
"""The release at the end of the name of a package's folder: door-0.4.8, door@v1.2."""
_JULIA_PACKAGE: Final = re.compile(
    r"/\.julia/(?:packages/(?P<installed>[^/]{1,100})/[^/]{1,40}"
    r"|(?:dev|v\d[\d.]{0,5})/(?P<other>[^/]{1,100}))/"
)
"""Folder of a Julia package, which contains the package's name: .julia/packages/Shop/x1Yz2/."""
_STANDARD_LIBRARY: Final = re.compile(
    r"/julia/stdlib/|(?:^|/)[Ll]ib/python[\d.]{0,5}/|conda\d?/[Ll]ib/|/[Pp]ython[\d.]{0,5}/[Ll]ib/"
    r"|/usr/local/go/src/|/rustc/|^(?:node:)?internal/|<frozen "
)
"""Folders of a language's standard library."""
_BUILD_FOLDERS: Final = frozenset("dist lib build out cjs esm es umd commonjs module".split())
"""Folders that JavaScript is compiled into."""
_JAVASCRIPT: Final = re.compile(r"\.[cm]?[jt]sx?$")


def find_longest_end(spelling: str, namesakes: Namesakes) -> list[int]:
    """Return the rows of the files whose paths share most names with a path, counted from the end.

    Each of these files shares at least its own name.
    """
    names = [name for name in spelling.replace("\\", "/").split("/") if name not in ("", ".")]
    if not names:
        return []
    agreement = {row: _common_end(names, own) for row, own in namesakes(names[-1])}
    return _best_rows(agreement)


def find_written_path(spelling: str, namesakes: Namesakes, qualified: bool) -> list[int]:
    """Return the rows of the project's own files that a written path can mean.

    These are the files that agree best with it, counted from the end. A file agrees if its path
    ends with the written path or the other way round. It agrees less if the two differ after two
    names or more. A release in the name of a written folder is ignored.

    A path into an installed package must agree as a whole, and a path into a downloaded package
    from the package's folder on. A path into a language's library means no file. If the path is
    ``qualified``, all its folders must agree. If no file agrees, the package in ``node_modules``
    may be the project itself, and a path of compiled JavaScript means its source.
    """
    installed = list(_INSTALLED.finditer(spelling))
    if installed:
        spelling = spelling[installed[-1].end() :]
    elif _STANDARD_LIBRARY.search(spelling):
        return []
    elif package := _JULIA_PACKAGE.search(spelling):
        if not _defines_julia_package(package["installed"] or package["other"], namesakes):
            return []
        spelling = spelling[package.end() :]
    names = [name for name in spelling.split("/") if name not in ("", ".", "..", "~")]
    if not names:
        return []
    is_downloaded = _DOWNLOADED.search(spelling) is not None
    agreement: dict[int, float] = {}
    for row, own_names in namesakes(names[-1]):
        if is_downloaded:
            agreement[row] = _agreement_in_package(names, own_names)
        else:
            agreement[row] = _agreement(names, own_names, qualified, bool(installed))
    rows = _best_rows(agreement)
    if not rows and installed and "node_modules" in installed[-1][0]:
        rows = _find_in_own_package(names, namesakes)
    return rows or _find_compiled_sources(names, namesakes)


def _best_rows(agreement: Mapping[int, float]) -> list[int]:
    """Return the rows with the largest agreement; empty if no agreement is above 0."""
    most = max(agreement.values(), default=0)
    if most <= 0:
        return []
    return [row for row, value in agreement.items() if value == most]


def _agreement(
    written: Sequence[str], own_names: Sequence[str], qualified: bool, installed: bool
) -> float:
    """Return the number of names at the end that a written path and a file's path share.

    It is 0 if the paths contradict each other, and half a name less if they differ after two names
    or more.
    """
    common = _common_end(written, own_names)
    is_whole = common == len(written)
    if qualified:
        return common if is_whole else 0
    if installed:
        return common if is_whole and (common > 1 or len(own_names) < 3) else 0
    if is_whole or common == len(own_names):
        return common
    return common - 0.5 if common > 1 else 0


def _agreement_in_package(written: Sequence[str], own_names: Sequence[str]) -> float:
    """Return the number of names at the end that a file shares with a path in a downloaded package.

    It is 0 unless they share all names from the package's folder on, or the file's path has no
    further names. The package's name may agree only in the part after a hyphen, which counts as
    half a name: ``shop-door-0.4.8`` may be ``packages/door``.
    """
    common = _common_end(written, own_names)
    within_package = 0
    for name in reversed(written):
        if _without_release(name) != name:
            break
        within_package += 1
    if common > within_package or common == len(own_names):
        return common
    if common < within_package or common == len(written):
        return 0
    package = _without_release(written[-common - 1])
    return common + 0.5 if package.endswith(f"-{own_names[-common - 1]}") else 0


def _common_end(written: Sequence[str], own_names: Sequence[str]) -> int:
    """Return the number of equal names, counted from the end.

    A written folder may have a release in its name that the file's own folder does not have.
    """
    pairs = zip(reversed(written), reversed(own_names), strict=False)
    return sum(1 for _ in takewhile(lambda pair: _is_same_name(*pair), pairs))


def _is_same_name(written: str, own_name: str) -> bool:
    if written == own_name:
        return True
    return written.startswith(own_name) and _without_release(written) == own_name


def _without_release(folder: str) -> str:
    """Return a folder's name without the release of a package at its end.

    >>> _without_release("door-0.4.8"), _without_release("door@v1.2.0-rc1"), _without_release("a-1")
    ('door', 'door', 'a-1')
    """
    for match in _RELEASE.finditer(folder):
        if match.end() == len(folder):
            return folder[: match.start()]
    return folder


def _defines_julia_package(name: str, namesakes: Namesakes) -> bool:
    """Return whether the version contains the main file of a Julia package, such as src/Shop.jl."""
    main_file = ["src", f"{name}.jl"]
    return any(own_names[-2:] == main_file for _, own_names in namesakes(main_file[1]))


def _find_in_own_package(names: Sequence[str], namesakes: Namesakes) -> list[int]:
    """Return the rows of the file that a path in ``node_modules`` means if the project is there.

    ``shop/lib/cart.js`` means ``lib/cart.js``, because the folder of the whole project can have any
    name. The result is empty for names that many packages have, see ``_is_rare_place``.
    """
    own_path = list(names[1:])
    if not _is_rare_place(own_path):
        return []
    return [row for row, own_names in namesakes(names[-1]) if own_names == own_path]


def _is_rare_place(own_names: Sequence[str]) -> bool:
    """Return whether a file is in a folder and not called index, so that few packages have it."""
    return len(own_names) > 1 and not own_names[-1].startswith("index.")


def _find_compiled_sources(names: Sequence[str], namesakes: Namesakes) -> list[int]:
    """Return the rows of the source files that a path of compiled JavaScript was compiled from.

    ``shop/dist/cjs/cart/wheel.js`` means ``packages/shop/src/cart/wheel.ts``.
    """
    if not _JAVASCRIPT.search(names[-1]):
        return []
    return [
        row
        for row, own_names in namesakes(names[-1])
        if _JAVASCRIPT.search(own_names[-1]) and _is_compiled_from(names, own_names)
    ]


def _is_compiled_from(written: Sequence[str], own_names: Sequence[str]) -> bool:
    """Return whether the folders of a file show that it is compiled to the written path.

    The folder ``src`` of the file becomes one or more build folders. The folder above must be the
    same, except for the folder of the whole project, which can have any name. The result is False
    for names that many packages have, see ``_is_rare_place``.
    """
    folders = written[:-1]
    if "src" not in own_names[:-1]:
        return False
    source = own_names.index("src")
    below_source = own_names[source + 1 : -1]
    split = len(folders) - len(below_source)
    if split < 1 or folders[split:] != below_source or folders[split - 1] not in _BUILD_FOLDERS:
        return False
    if source == 0:
        return _is_rare_place(own_names[1:])
    above = [name for name in folders[:split] if name not in _BUILD_FOLDERS]
    return above[-1:] == own_names[source - 1 : source]
