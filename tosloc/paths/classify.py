"""Recognize test files by the conventions of their language.

Projects name their tests by convention, and each language has its own. Where a convention also names product code
(``django/test/client.py``, ``src/main/java/org/springframework/test``, ``numpy/testing``), a file counts as product:
a test that is shown costs a line, a product file that is hidden costs the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from tosloc.core.records import BoolArray

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
    (
        "rs",
        r".+_tests?|tests",
        "benches",
    ),  # test.rs, test_*.rs: what a program does that runs tests
    ("swift hs", r".*[a-z0-9](?:Tests?|Spec)", "test fixtures"),
    ("t", r".*", "test fixtures"),  # Perl's
    ("sh bash zsh ps1 cmake mk", r"(?!)", "test fixtures"),  # run_tests.sh
)
"""Suffixes; names, without them, of tests wherever they stand; folders of tests further down, in lower case."""
_OF_SUFFIX: Final = {
    suffix: (re.compile(names), folders.split())
    for suffixes, names, folders in _CONVENTIONS
    for suffix in suffixes.split()
}
_OF_OTHERS: Final = re.compile(_OTHER), ["test", "fixtures"]
_MAVEN: Final = "java kt kts scala sc groovy".split()  # suffixes of what Maven and Gradle build
_FOLDERS: Final = re.compile(
    r"""(?x)
      (?i: tests | test[-_ ]?(?:suites?|cases?|data|files|fixtures?|examples?|resources)
      | (?:unit|integration|functional|regression)[-_ ]?tests? | __tests__ | __mocks__ | __fixtures__ | __snapshots__
      | e2e )
    | (?s:.*)[.\-_ ][Tt]ests (?:[.\-_ ](?s:.*))?                    # org.eclipse.swt.tests.gtk, nd4j-tests, JUnit Tests
    | [\w.]+\.(?:Unit|Integration|Functional|Acceptance|EndToEnd)?Tests?      # Newtonsoft.Json.Test
    | [A-Z]\w*[A-Za-z0-9]Tests                                                # AppUITests
    | (?:android|common|jvm|js|native|ios|desktop|acceptance)Test             # source sets of Kotlin and Android
    """
)
"""Folders of tests in every language, wherever they stand."""
_AT_THE_TOP: Final = frozenset("test testing spec specs".split())
"""Folders of tests where they stand first in the path: further down, ``testing`` is what a library offers for tests."""
_SHIPPED: Final = re.compile(r"(?:^|/)(?:lib|app)/")
"""Below these folders Ruby's gems and Rails keep what they ship: lib/rack/test."""


def which_are_tests(paths: Sequence[str]) -> BoolArray:
    """(F,) whether each file is a test, or belongs to tests (helpers, fixtures), by the conventions of its language.

    >>> which_are_tests(["src/test/java/a/B.java", "a/test_b.py", "pkg/b_test.go", "src/b.spec.ts"]).tolist()
    [True, True, True, True]
    >>> which_are_tests(["latest.py", "contest/a.py", "src/_pytest/fixtures.py", "numpy/testing/a.py"]).tolist()
    [False, False, False, False]
    """
    in_tests, found = cache(_in_tests), list[bool]()
    for path in paths:
        folder, _, name = path.rpartition("/")
        stem, _, suffix = name.rpartition(".")
        stem, suffix = (stem, suffix.lower()) if stem else (name, "")
        names, _ = _OF_SUFFIX.get(suffix, _OF_OTHERS)
        # below src/main they keep what is shipped, libraries for tests among it
        shipped = suffix in _MAVEN and "/src/main/" in f"/{folder}/"
        found.append(
            not shipped and (in_tests(folder, suffix) or names.fullmatch(stem) is not None)
        )
    return np.array(found, dtype=np.bool_)


def _in_tests(folder: str, suffix: str) -> bool:
    """Whether one of a file's folders holds tests."""
    names = folder.split("/")
    if names[0].lower() in _AT_THE_TOP or any(map(_FOLDERS.fullmatch, names)):
        return True
    if suffix in ("rb", "rake") and (shipped := _SHIPPED.search(f"{folder}/")):
        names = folder[: shipped.start()].split("/")
    return any(name.lower() in _OF_SUFFIX.get(suffix, _OF_OTHERS)[1] for name in names[1:])
