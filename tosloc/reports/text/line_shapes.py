"""Recognize the shape of a line: a sentence, code or a setting.

A line that could be a sentence or something else counts as a sentence.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_SHAPED_LINE: Final = 1_000
"""Largest number of characters of a line that may come from a log, a build or a form.

Longer lines are whole texts.
"""
CODE_START: Final = re.compile(
    r"""(?x) \s*+ (?:
      (?:>>>|\.\.\.|In\ \[\d{0,4}\]:|\$)\s
    | import\ [\w.{*] | from\ [\w.]+\ import\b | export\s | def\ \w+\( | class\ \w+[(:{\ ] | @\w+
      | elif\s | else:
    | try: | except\b | finally: | return\b | raise\s | assert\s | yield\s
    | (?:for|while|if|with)\b[^\n]{0,200}[:{]\s*+$
    | (?:public|private|protected|static|const|let|var|val|func|fn|function|async|await|void|int
      |float|double|auto
        |template|namespace|using|package|struct|enum|interface|type)\s+[\w<&*\[(:]
    | \#\s*(?:include|define|ifdef|ifndef|endif|if|pragma)\b | // | /\*
    | (?:[\w.\[\]"',\ *]{1,100}\s|(?<=\ \s))[-+*/|&]?=\s?\S
    | [\w.:>\-]{1,100}\([^\n]{0,300}\)?[;,:]?\s*+$
    | [)\]}]++[;,]?+\s*+$ | \w++=(?!=)\S{2,}+(?<=[,)])\s*+$
    | [^\n]{0,300}[;{]\s*+$
    )"""
)
"""Beginnings of lines of code."""
_KEY: Final = re.compile(
    r"""(?x) \s*+ (?:-\s)? (?: "[^"\n]{1,80}"\s*+: | '[^'\n]{1,80}'\s*+: |
      [\w.\-]{1,60}\s*+[:=](?![:=]) )"""
)
"""Beginning of a line that sets a key to a value."""


def is_sentence(line: str) -> bool:
    """Return whether a line looks like a sentence: many plain words, few marks."""
    words = line.split()
    plain = sum(word.strip(".,;:!?()'\"").isalpha() for word in words)
    return len(words) > 4 and plain * 4 > len(words) * 3


def is_setting(line: str) -> bool:
    """Return whether a line sets a key to a value, and does not end like a statement or call.

    >>> [is_setting(line) for line in ("a: 1", "'a' : b", "- x=2", "a = f(1)", "f(a=1)", "a:")]
    [True, True, True, False, False, True]
    """
    key = _KEY.match(line)
    if key is None:
        return False
    value = line[key.end() :].rstrip()
    return not value.endswith((";", "(", ")"))


def shows_code(heads: list[str]) -> bool:
    """Return whether a block contains a traceback, or at least a third of it is code."""
    code = sum(CODE_START.match(head) is not None for head in heads)
    return code * 3 >= max(len(heads), 3) or any("Traceback" in head for head in heads)
