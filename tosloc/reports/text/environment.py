"""Recognize what a report says about the system: lines and dumps about what is installed."""

from __future__ import annotations

from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.forms import heading_words
from tosloc.reports.text.line_shapes import is_sentence

_ENVIRONMENT_WORDS: Final = frozenset(
    "environment version versions platform os system hardware".split()
    + "browser device specs diagnostics diagnose".split()
)
"""Words of headings above lines about what is installed."""
HEADING_OF_VERSION: Final = lazy_pattern(
    r"""(?ix) \W{1,9} (?:
      (?:[\w.+\-]{1,30}\ ){0,2} (?:versions?|environment|platform|os)
    | \w{0,4}(?:\w{1,10}\ )?\w{0,4}
      (?:版本(?:号|信息)?|环境(?:信息)?|環境|系统信息|操作系统|浏览器|バージョン|ブラウザ)
    ) \W{0,5}$"""
)
"""A heading such as "### Depot version"."""
_QUESTION: Final = lazy_pattern(
    r"""(?ix) \W{0,9} (?:
      (?:what|which)\ (?:(?:is|are|was|were)\ )?(?:(?:the|your)\ )?(?:[\w.+\-]{1,30}\ ){0,2}
        (?:versions?|releases?|operating\ system|os|platforms?|browsers?|distro|distribution)
    | how\ (?:did|do|have)\ you\ install(?:ed)?
    )\b [^?.!\n]{0,80} \? \W{0,9}"""
)
"""A question of a form about what is installed: What version of Depot are you using?"""
_SETUP: Final = lazy_pattern(
    r"""(?ix) (?=[^:=?]*+[:=?])  # Most sentences are left here.
      \s{0,9} [-*+\u2022]? \s{0,9} [*_`]{0,3} (?:[\w.+\-/]{1,30}\ ){0,5}?
      (?: versions?(?:\ \([^)\n]{0,60}\))? | browser | device | machine | gpus? | cpu | ram |
        memory | architecture
        | hardware | environment | kernel | distro | distribution | docker | ubuntu | windows |
          macos | linux
        | python | pip | conda | numpy | torch | pytorch | java | jdk | scala | spark | npm |
          node(?:\.?js)?
        | (?:os|operating\ system|platform|gpu\ model|cuda|cudnn|tensorflow|compiler|bazel|gcc
          |mobile\ device
            |installed\ from|are\ you\ willing|have\ i\ written)[^:\n]{0,100}
      ) [*_`]{0,3} \ {0,3} (?: :(?!:) | [=?] )"""
)
"""Beginnings of lines about what is installed: - OS: Ubuntu 18.04, Python version: 3.7."""
_RELEASE: Final = lazy_pattern(
    r"""(?x) \s{0,9} [-*]? \s{0,9}
      (?! (?:assert|await|case|raise|return|throw|yield)\b )
      [A-Za-z][\w.\-]{0,40} (?: \ ?(?:==|>=|@)\ ? | = | [ \t]{1,60} | :\ ?v? )
      v?\d+(?:\.\d+){1,4} (?! [dflu]\b | \.?(?:dp|em|ms|px|rem|sp|pt)\b )
      [\w.+\-]{0,40} (?:[ \t]{1,60}[\w./\-]{1,40}){0,3} \s*"""
)
"""A package with its release: numpy==1.18.5, numpy 1.18.5 pypi_0 pypi; not ``return 0.5``."""
BARE_RELEASE: Final = lazy_pattern(
    r"\s*[`*_]{0,3}v?\d{1,9}(?:\.\d{1,9}){1,4}[\w.+\-]{0,40}[`*_]{0,3}\s*"
)
"""A line that is only a version."""
_DIAGNOSED: Final = lazy_pattern(
    r"""(?ix) \s{0,9}[-*]?\s{0,9} (?: checking\ [^:\n]{1,60}: | [\w ()./+\-]{1,60}:\s{0,40}(?:ok
      |yes|no|true|false|enabled
      |disabled|none|n/?a|not\ (?:found|installed|available)|unknown
        |v?\d{1,9}(?:\.\d{1,9}){1,4}\S{0,40})\s*$ )"""
)
"""Output of a diagnostic command: Checking disk space: OK, curl version: 7.88."""
DUMP: Final = lazy_pattern(
    r"""(?ix) \s*(?: collecting\ environment\ information | installed\ versions$ |
      versions?\ of\ relevant\ libraries
      | \#{0,3}\s?(?:your\ )?(?:environment|system|platform)\ info(?:rmation)?\b[^.\n]{0,40}:?\s*$
      | (?:npm\ |npx\ )?envinfo\b | pip\ (?:list|freeze)\b | conda\ (?:list|info)\b
      | \$?\s?(?:python\d?\s(?:-m\s)?|wget\s|curl\s)?[^\s'"()]{0,200}\bcollect_?env(?:\.py)?\b
      | \$?\s?[\w./\-]{1,60}\s(?:doctor|diagnose|envinfo|show_versions)\b[^\n]{0,80}$
      | [^\n]{0,80}\bshow_versions\(
      | package\s{1,60}version\b | \#\ packages\ in\ environment
      | (?:\#>\s{0,3})? (?: (?:devtools::|sessioninfo::)?session_?info\(\) | R\ version\ \d ) )"""
)
"""The first line of a dump of what is installed."""
_OUTPUT: Final = r"""(?:output|result)s?\ (?:of|from)\ [^\n]{0,60}?
      (?:diagnose|diag|doctor|collect_?env|version|--version|-v\b|\binfo\b|environment|\benv\b|list|freeze
        |about|show_versions|status)"""
OUTPUT_OF: Final = lazy_pattern(f"(?ix) {_OUTPUT}")
"""A sentence before a block with the output of a diagnostic command."""
HEADING_OF_OUTPUT: Final = lazy_pattern(rf"(?ix) (?:the\ )?(?:\W{{0,6}}) (?:the\ )?{_OUTPUT}")
"""Beginning of a heading above such output."""
TABLE_OF_VERSIONS: Final = lazy_pattern(
    r"(?i)\|[^\n]{0,200}\b(?:version|software|browser|os|platform|environment|executable)\b"
)
"""First line of a table of versions."""


def asks_for_environment(line: str) -> bool:
    """Return whether a line is a question of a form about what is installed.

    >>> questions = "### What version of Depot are you using?", "How did you install Depot?"
    >>> [asks_for_environment(question) for question in questions]
    [True, True]
    >>> asks_for_environment("What happens on your platform?")
    False
    """
    return _QUESTION.fullmatch(line) is not None


def announces_environment(line: str) -> bool:
    """Return whether a heading of a form asks for what is installed."""
    return not _ENVIRONMENT_WORDS.isdisjoint(heading_words(line))


def is_environment_block(heads: list[str]) -> bool:
    """Return whether most lines of a block say what is installed."""
    if any(map(DUMP.match, heads[:3])):
        return True
    matching = sum(is_installed(head) or _DIAGNOSED.match(head) is not None for head in heads)
    return len(heads) > 1 and matching * 2 > len(heads)


def is_installed(line: str) -> bool:
    """Return whether a line says what is installed."""
    if _RELEASE.fullmatch(line):
        return True
    key = _SETUP.match(line) if len(line) < 250 else None
    if key is None or is_sentence(line):
        return False
    # kernel = RBF(3) is code.
    return not (line[key.end() - 1] == "=" and line.rstrip().endswith((")", "(", ";", ",", "{")))
