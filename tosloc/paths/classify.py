"""Classify files: source, test, generated, minified, translation, vendored, build script and more.

``classify_paths`` and ``which_are_tests`` look at paths alone, ``classify_content`` at the text,
and ``classify_file`` at both.

Projects name their tests by convention, and each language has its own. A file counts as product if
a convention for tests also matches product code (``django/test/client.py``,
``src/main/java/org/springframework/test``, ``numpy/testing``): showing a test costs a line, but
hiding a product file costs the answer. The same holds for the other classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import BoolArray
from tosloc.core.patterns import lazy_pattern


class FileClass(IntEnum):
    """What a file is. The numbers are stored: add new ones, but never change them."""

    SOURCE = 0
    """Code that people of the project wrote, and every file that no rule matches."""
    TEST = 1
    """A test, or a file that tests use, such as a fixture."""
    GENERATED = 2
    """Code that a program wrote: a protobuf stub, a parser table, a file marked DO NOT EDIT."""
    MINIFIED = 3
    """Minified or bundled JavaScript or CSS."""
    TRANSLATION = 4
    """Texts in a language other than English."""
    VENDORED = 5
    """Code of another project."""
    BUILD = 6
    """A script that builds, installs or configures the project."""
    EXAMPLE = 7
    """An example, a demo or a tutorial."""
    DOCUMENTATION = 8
    """A file of the documentation or of the project's website."""
    BENCHMARK = 9
    """A benchmark."""
    STYLE = 10
    """Style of pages: CSS, Sass or Less."""


HIDDEN_CLASSES: Final = (
    FileClass.GENERATED,
    FileClass.MINIFIED,
    FileClass.TRANSLATION,
    FileClass.VENDORED,
)
"""Classes, besides tests, that answers leave out, because bugs there are fixed elsewhere."""

OWN_CLASSES: Final = (FileClass.SOURCE, FileClass.BUILD, FileClass.STYLE)
"""Classes of the files that people of a project wrote for programs to run or read."""

ClassArray: TypeAlias = npt.NDArray[np.uint8]
"""Numbers of ``FileClass``."""

# ---- tests

_JVM: Final = r".*[a-z0-9_](?:Tests?|TestCase|IT|ITCase)"
_JAVASCRIPT: Final = r".+(?:\.(?:tests?|specs?|e2e|cy)|[-_]test|_spec)"
_OTHER: Final = r"test_.*|.+_(?:unit)?tests?|.*[a-z0-9]Tests|.+_SUITE"
_CONVENTIONS: Final = (
    ("java", _JVM, "test"),
    ("kt kts scala sc groovy", rf"{_JVM}|.*[a-z0-9_](?:Spec|Specs|Suite)", "test"),
    ("py pyi pyw pyx", r"test_.*|.+_test|conftest|tests", ""),  # django/test
    ("php", _OTHER, ""),  # twig/src/Node/Expression/Test
    ("js mjs cjs jsx ts mts cts tsx", _JAVASCRIPT, "test spec specs fixtures"),
    ("vue svelte coffee", _JAVASCRIPT, "test fixtures"),
    ("rb rake", r"test_.*|.+_(?:test|spec)|(?:spec|test)_helper", "test spec specs fixtures"),
    ("go", r".+_test", "test fixtures"),
    # test.rs and test_*.rs are parts of programs that run tests.
    ("rs", r".+_tests?|tests", "benches"),
    ("swift hs", r".*[a-z0-9](?:Tests?|Spec)", "test fixtures"),
    ("t", r".*", "test fixtures"),  # Perl
    ("sh bash zsh ps1 cmake mk", r"(?!)", "test fixtures"),  # run_tests.sh is no test
)
"""Rows of suffixes, names of tests without suffix, and folders of tests in lower case.

The folders are those below the first folder of a path.
"""
_OF_SUFFIX: Final = {
    suffix: (lazy_pattern(names), folders.split())
    for suffixes, names, folders in _CONVENTIONS
    for suffix in suffixes.split()
}
_OF_OTHERS: Final = lazy_pattern(_OTHER), ["test", "fixtures"]
_MAVEN: Final = frozenset("java kt kts scala sc groovy".split())
"""Suffixes of the files that Maven and Gradle compile."""
_FOLDERS: Final = lazy_pattern(
    r"""(?x)
      (?i: tests | test[-_ ]?(?:suites?|cases?|data|files|fixtures?|examples?|resources)
      | (?:unit|integration|functional|regression)[-_ ]?tests?
      | __tests__ | __mocks__ | __fixtures__ | __snapshots__ | e2e )
    # org.eclipse.swt.tests.gtk, nd4j-tests, JUnit Tests
    | (?s:.*)[.\-_ ][Tt]ests (?:[.\-_ ](?s:.*))?
    # Newtonsoft.Json.Test
    | [\w.]+\.(?:Unit|Integration|Functional|Acceptance|EndToEnd)?Tests?
    # AppUITests
    | [A-Z]\w*[A-Za-z0-9]Tests
    # source sets of Kotlin and Android
    | (?:android|common|jvm|js|native|ios|desktop|acceptance)Test
    """
)
"""Names of folders of tests in every language, anywhere in a path."""
_AT_THE_TOP: Final = frozenset("test testing spec specs".split())
"""Names of folders of tests at the beginning of a path; further down, ``testing`` is a library."""
_SHIPPED: Final = lazy_pattern(r"(?:^|/)(?:lib|app)/")
"""Folders that contain the shipped code of Ruby gems and Rails, such as lib/rack/test."""

# ---- other classes by path

_VENDORED: Final = lazy_pattern(
    r"""(?x) (?:^|/) (?: third[_-]?party | 3rd[_-]?party | _?vendored | _vendor | node_modules
      | bower_components | site-packages ) /
    | ^ (?: vendors? | externals? | extern ) /
    | (?:^|/) (?: static | public | assets | resources | js | lib | libs | www | cmd ) / vendors?
      /"""
)
_LIBRARY: Final = lazy_pattern(
    r"""(?ix) (?:^|/) (?: static | _static | public | assets | js | javascripts? | libs? | scripts
      | www
      | wwwroot | media | resources ) / (?: [^/]{1,60} / ){0,3}
      (?: jquery | underscore | lodash | backbone | bootstrap | modernizr | require | prettify |
        html5shiv
      | mathjax | zepto | handlebars | mustache | d3 )
      (?: [-._] (?: v?\d [\w.]{0,20} | ui | cookie | slim | bundle ) ){0,3} \. (?: js | css ) $"""
)
"""Well-known JavaScript libraries in a folder of assets."""
_GENERATED_NAME: Final = lazy_pattern(
    r"""(?x) .+_pb2(?:_grpc)?\.pyi? | .+\.pb(?:\.gw|\.validate)?\.(?:go|cc|h|c) | .+\.(?:g|freezed
      |gr)\.dart
    | .+\.(?:[Dd]esigner|g|g\.i)\.(?:cs|vb) | .+[._]generated\.[a-z]{1,5} | zz_generated.+\.go
    | (?:parsetab|lextab)\.py | lex\.yy\.cc? | (?:y|.+)\.tab\.(?:c|h|cc|cpp|hpp)
    | (?:moc|qrc)_.+\.(?:cpp|cxx|cc) | .+\.(?:js|css|mjs|cjs)\.map"""
)
_MINIFIED_NAME: Final = lazy_pattern(
    r".+[.-]min\.(?:js|mjs|cjs|css)|.+\.(?:bundle|chunk|pack)\.(?:js|mjs|css)"
)
_TRANSLATED_FOLDER: Final = lazy_pattern(
    r"(?i)locales?|i18n|l10n|translations?|langs?|languages?|lc_messages|nls"
)
_TRANSLATED_SUFFIXES: Final = frozenset("po pot mo qm xlf xliff arb".split())
_LANGUAGE_CODES: Final = frozenset(
    """
    af ar az be bg bn br bs ca cs cy da de el eo es et eu fa fi fr fy ga gd gl gu he hi hr hu hy
    id is it ja ka kk km kn ko ku ky lb lt lv mk mn mr ms my nb ne nl nn no pa pl ps pt ro ru si
    sk sl sq sr sv sw ta te tg th tk tr tt uk ur uz vi zh
    """.split()
)
"""Two-letter codes of ISO 639-1 except English, in which projects write their original texts."""
_ANDROID_VALUES: Final = "values-"
_LANGUAGE_TAG: Final = lazy_pattern(
    r"(?:[\w.-]{1,80}[._-])??(?P<code>[a-z]{2})(?:[_-](?:[A-Z]{2}|[a-z]{2}|[A-Z][a-z]{3}|\d{3}))?(?:@[a-z]{1,12})?"
)
_BUILD_NAME: Final = lazy_pattern(
    r"""(?x) .+\.gradle(?:\.kts)? | .+\.cmake | CMakeLists\.txt |
      (?:GNU)?[Mm]akefile(?:\.\w{1,12})? | .+\.mk
    | setup\.(?:py|cfg) | (?:noxfile|fabfile|dodo|wscript|SConstruct|versioneer)(?:\.py)? |
      ez_setup\.py
    | (?:gulpfile|Gruntfile|Jakefile|gulpfile\.babel)\.(?:js|ts|mjs|cjs|coffee)
    | (?:webpack|rollup|vite|babel|karma|jest|postcss|tailwind|vue|next|nuxt|metro|eslint|prettier)
      \.config(?:\.[\w-]{1,20})?\.(?:js|ts|mjs|cjs)
    | build\.(?:rs|sbt|xml|zig|cake|lua|py|js|ts) | Rakefile | [Pp]ackage\.swift | meson\.build |
      BUILD(?:\.bazel)?
    | (?:auto)?(?:build|install|configure|bootstrap|compile|make|release|package|deploy|autogen
      |setup|publish)
      (?:[-_.][\w-]{1,40})?\.(?:sh|bash|zsh|ksh|ps1|bat|cmd)"""
)
_BUILD_FOLDER: Final = lazy_pattern(
    r"(?:^|/)(?:scripts?|ci|\.ci|\.github|\.circleci|build|tools?|hack|packaging|cmake|\.buildkite)/"
)
_STYLE_SUFFIXES: Final = frozenset("css scss sass less pcss styl".split())
_SHELL_SUFFIXES: Final = frozenset("sh bash zsh ksh ps1".split())
_DOCUMENTATION: Final = lazy_pattern(r"(?i)(?:^|/)(?:docs?|documentation|website)/")
_BENCHMARK: Final = lazy_pattern(r"(?i)(?:^|/)(?:benchmarks?|benches|perf-?tests?)/")
_EXAMPLE: Final = lazy_pattern(
    r"(?i)(?:^|/)(?:examples?|demos?|tutorials?|samples?|notebooks?|playground|recipes)/"
)

# ---- classes by content

HEAD_CHARACTERS: Final = 4_000
"""Number of characters at a file's beginning that are searched for marks of generated files."""
_BLOCK_COMMENTS: Final = (
    ("/*", "*/"),
    ("<!--", "-->"),
    ('"""', '"""'),
    ("'''", "'''"),
    ("{-", "-}"),
    ("(*", "*)"),
)
_COMMENT_START: Final = (
    *(opening for opening, _ in _BLOCK_COMMENTS),
    *("#", "//", "*", "--", ";", "%", "'", '"', "!", "<?"),
)
_GENERATED_LINE: Final = lazy_pattern(
    r"""(?ix) [^\w@<]{0,20} (?:
      @generated\b | <auto-?generated
    | (?:this|the\ following|these)\ (?:file|code|class|module|header|source|script)s?
      \ (?:is|was|are|has\ been|have\ been)
      \ (?:auto-?\ ?|automatically\ |machine[-\ ])?generated\b (?!\ by\ the\ gradle\ 'init')
    | (?:auto-?\ ?|automatically\ |machine[-\ ])generated
      (?: \ (?:by|from|with|using|code|source)\b | .{0,60}\bdo\ not\b | \W{0,20}$ )
    | (?:code|file|source)\ (?:auto-?)?generated\ (?:by|from|with|using)\b
    | generated\ (?:by\ (?!django\b)|from\ |with\ |using\ |automatically|code\b|file\b)
    | (?:warning:?\ |note:?\ )?(?:please\ )?do\ not\ (?:edit|modify)\b
      .{0,40}(?:file|directly|by\ hand|manually|generated|[!.]?\W{0,5}$)
    | a\ bison\ parser\b | a\ lexical\ scanner\ generated | .{0,40}\bproduced\ by\ gperf\b
    )"""
)
"""Beginning of a line in a head comment that marks a generated file."""
_GENERATED_WORDS: Final = ("generated", "do not", "a bison parser", "gperf")
"""Texts in lower case of which each match of ``_GENERATED_LINE`` contains one."""
_BUNDLE: Final = lazy_pattern(
    r"webpackBootstrap|__webpack_require__|parcelRequire\b|System\.register\(\["
)
_SOURCE_MAP: Final = lazy_pattern(r"(?m)^[/*]{2}[#@]\s?sourceMappingURL=")
_QT_TRANSLATION: Final = lazy_pattern(
    r"\s{0,99}(?:<\?xml[^>]{0,200}>\s{0,99})?<(?:!DOCTYPE\s{1,9}TS\b|TS[\s>])"
)
_MINIFIABLE: Final = frozenset("js mjs cjs css jsx".split())
_LONG_LINE: Final = 400
"""Length in characters from which a line is too long to be written by people."""
_MIN_MINIFIED: Final = 1_000
"""Smallest length in characters of a minified file; one line of a short file proves nothing."""
_MAX_BLANKS: Final = 0.12
"""Largest share of blanks in minified code. Lines of prose or of data are above it."""


def is_hidden_class(classes: ClassArray) -> BoolArray:
    """Return (F,) whether answers leave out files of these (F,) classes; tests are not included."""
    return np.isin(classes, [int(file_class) for file_class in HIDDEN_CLASSES])


def classify_file(path: str, text: str | None = None) -> FileClass:
    """Return the class of a file by its path and, if it is given, its text.

    >>> classify_file("js/app.js", "/*! app */\\n" + "function(e,t){return e+t},n=" * 99).name
    'MINIFIED'
    >>> classify_file("js/app.js", "// Code generated by x. DO NOT EDIT.\\nrun()").name
    'GENERATED'
    >>> classify_file("js/app.js", "run()").name, classify_file("build.gradle").name
    ('SOURCE', 'BUILD')
    """
    by_content = FileClass.SOURCE if text is None else classify_content(text, _suffix(path))
    return by_content or classify_path(path)


def classify_content(text: str, suffix: str) -> FileClass:
    """Return the class that is visible in a text with this suffix (lower case, no dot).

    The result is GENERATED, MINIFIED or TRANSLATION, or SOURCE if the text shows none of these. It
    depends on the arguments alone. Of a long text only the beginning, the end and the lengths of
    lines are read.

    >>> classify_content('<?xml version="1.0"?><!DOCTYPE TS><TS version="2.1">', "ts").name
    'TRANSLATION'
    >>> classify_content('GENERATED = "Code generated by x, DO NOT EDIT"', "py").name
    'SOURCE'
    """
    if suffix == "ts" and is_qt_translation(text):
        return FileClass.TRANSLATION
    if suffix in _MINIFIABLE and _is_minified(text):
        return FileClass.MINIFIED
    if _is_marked_as_generated(text[:HEAD_CHARACTERS]):
        return FileClass.GENERATED
    return FileClass.SOURCE


def is_qt_translation(text: str) -> bool:
    """Return whether a text with the suffix of TypeScript is a Qt translation, which is XML."""
    return _QT_TRANSLATION.match(text.removeprefix("\ufeff")) is not None


def _is_minified(text: str) -> bool:
    """Return whether a text is minified, or a bundle of modules.

    Most of a minified text is in lines too long for people, with few blanks.
    """
    if _BUNDLE.search(text, 0, HEAD_CHARACTERS) or _SOURCE_MAP.search(
        text, max(0, len(text) - 500)
    ):
        return True
    if len(text) < _MIN_MINIFIED:
        return False
    long_lines = [line for line in text.split("\n") if len(line) > _LONG_LINE]
    long_text = sum(map(len, long_lines))
    if 2 * long_text < len(text):
        return False
    blanks = sum(line.count(" ") for line in long_lines)
    return blanks < _MAX_BLANKS * long_text


def _is_marked_as_generated(head: str) -> bool:
    """Return whether a comment at the beginning of a file says that a program wrote it."""
    # Few files contain one of these words, and reading lines takes longer than looking for them.
    # Beyond ASCII, the pattern may match letters that ``lower`` does not change.
    lowered = head.lower()
    if head.isascii() and not any(word in lowered for word in _GENERATED_WORDS):
        return False
    closing = ""  # end mark of the comment or docstring around the line
    for line in head.splitlines():
        bare = line.strip()
        if not bare:
            continue
        if not closing and not bare.startswith(_COMMENT_START):
            return False
        if _GENERATED_LINE.match(bare):
            return True
        if closing:
            closing = "" if closing in bare else closing
            continue
        for opening, end in _BLOCK_COMMENTS:
            if bare.startswith(opening) and end not in bare[len(opening) :]:
                closing = end
    return False


def classify_paths(paths: Sequence[str]) -> ClassArray:
    """Return (F,) the class of each file, by its path alone.

    >>> found = classify_paths(["a/b_test.go", "api.pb.go", "vendor/a.go", "docs/conf.py", "a.go"])
    >>> [FileClass(number).name for number in found]
    ['TEST', 'GENERATED', 'VENDORED', 'DOCUMENTATION', 'SOURCE']
    """
    tests = which_are_tests(paths)
    return np.array(
        [
            FileClass.TEST if is_test else _class_of_product(path)
            for path, is_test in zip(paths, tests.tolist(), strict=True)
        ],
        dtype=np.uint8,
    )


def classify_path(path: str) -> FileClass:
    """Return the class of a file, by its path alone."""
    return FileClass(int(classify_paths([path])[0]))


def _class_of_product(path: str) -> FileClass:
    """Return the class of a file that is not a test, by its path."""
    folder, _, name = path.rpartition("/")
    suffix = _suffix(path)
    if _MINIFIED_NAME.fullmatch(name):
        return FileClass.MINIFIED
    if _GENERATED_NAME.fullmatch(name):
        return FileClass.GENERATED
    if _is_vendored(path, folder, suffix):
        return FileClass.VENDORED
    if suffix in _TRANSLATED_SUFFIXES or _is_translation(folder, name):
        return FileClass.TRANSLATION
    if _BENCHMARK.search(f"{folder}/"):
        return FileClass.BENCHMARK
    if _EXAMPLE.search(f"{folder}/"):
        return FileClass.EXAMPLE
    if _DOCUMENTATION.search(f"{folder}/"):
        return FileClass.DOCUMENTATION
    in_build_folder = suffix in _SHELL_SUFFIXES and _BUILD_FOLDER.search(f"{folder}/") is not None
    if in_build_folder or _BUILD_NAME.fullmatch(name):
        return FileClass.BUILD
    return FileClass.STYLE if suffix in _STYLE_SUFFIXES else FileClass.SOURCE


def _is_vendored(path: str, folder: str, suffix: str) -> bool:
    # In a package of Java, "vendor" is as likely a word of the domain.
    if suffix not in _MAVEN and _VENDORED.search(f"{folder}/"):
        return True
    return _LIBRARY.search(path) is not None


def _is_translation(folder: str, name: str) -> bool:
    """Return whether a file's name or folder is a language's, below a folder of translations.

    >>> _is_translation("locale/de/LC_MESSAGES", "x.js"), _is_translation("lang", "app_pt_BR.ts")
    (True, True)
    >>> _is_translation("src/i18n", "index.ts"), _is_translation("locale/en", "x.js")
    (False, False)

    Android's translations are in folders such as ``res/values-af``.

    >>> _is_translation("res/values-pt-rBR", "strings.xml"), _is_translation("res/values", "x.xml")
    (True, False)
    """
    folders = folder.split("/")
    qualifier = folders[-1].removeprefix(_ANDROID_VALUES)
    if qualifier != folders[-1] and _is_language_tag(qualifier.replace("-r", "-")):
        return True
    stem = name.partition(".")[0] if name.count(".") == 1 else name.rpartition(".")[0]
    for depth, part in enumerate(folders):
        if not _TRANSLATED_FOLDER.fullmatch(part):
            continue
        if any(map(_is_language_tag, (*folders[depth + 1 :], stem))):
            return True
    return False


def _is_language_tag(name: str) -> bool:
    match = _LANGUAGE_TAG.fullmatch(name)
    return match is not None and match["code"] in _LANGUAGE_CODES


def _suffix(path: str) -> str:
    """Return the text after a file name's last dot, in lower case; empty if there is no dot."""
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    return suffix.lower() if stem else ""


def which_are_tests(paths: Sequence[str]) -> BoolArray:
    """Return (F,) whether each file is a test or is used by tests, by its language's conventions.

    >>> paths = ["src/test/java/a/B.java", "a/test_b.py", "pkg/b_test.go", "src/b.spec.ts"]
    >>> which_are_tests(paths).tolist()
    [True, True, True, True]
    >>> paths = ["latest.py", "contest/a.py", "src/_pytest/fixtures.py", "numpy/testing/a.py"]
    >>> which_are_tests(paths).tolist()
    [False, False, False, False]
    """
    in_tests = cache(_in_tests)
    results = []
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem, _, suffix = name.rpartition(".")
        if stem:
            suffix = suffix.lower()
        else:
            stem = name
            suffix = ""
        names, _ = _OF_SUFFIX.get(suffix, _OF_OTHERS)
        # What is below src/main is shipped, libraries for tests included.
        shipped = suffix in _MAVEN and "/src/main/" in f"/{folder}/"
        is_test = in_tests(folder, suffix) or names.fullmatch(stem) is not None
        results.append(is_test and not shipped)
    return np.array(results, dtype=np.bool_)


def _in_tests(folder: str, suffix: str) -> bool:
    """Return whether one of a file's folders is a folder of tests."""
    names = folder.split("/")
    if names[0].lower() in _AT_THE_TOP or any(map(_FOLDERS.fullmatch, names)):
        return True
    if suffix in ("rb", "rake") and (shipped := _SHIPPED.search(f"{folder}/")):
        names = folder[: shipped.start()].split("/")
    below_top = _OF_SUFFIX.get(suffix, _OF_OTHERS)[1]
    return any(name.lower() in below_top for name in names[1:])
