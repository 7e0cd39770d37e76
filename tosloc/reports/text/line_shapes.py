"""The shape of a line: whether it is a sentence, code or a setting.

A line that could be a sentence and something else is a sentence.
"""

from __future__ import annotations

import re
from typing import Final

LONGEST_SHAPED_LINE: Final = 1_000
"""Characters of the longest line whose beginning may show that it comes from a log, a build or a
form. Longer ones are whole texts."""
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
"""How lines of code begin."""
_KEY: Final = re.compile(
    r"""(?x) \s*+ (?:-\s)? (?: "[^"\n]{1,80}"\s*+: | '[^'\n]{1,80}'\s*+: |
      [\w.\-]{1,60}\s*+[:=](?![:=]) )"""
)
"""How a line begins that sets a key to a value."""


def is_sentence(line: str) -> bool:
    """Return whether a line reads as a sentence: many plain words, few marks."""
    words = line.split()
    plain = sum(word.strip(".,;:!?()'\"").isalpha() for word in words)
    return len(words) > 4 and plain * 4 > len(words) * 3


def is_setting(line: str) -> bool:
    """Return whether a line sets a key to a value, and does not end as a statement or call does.

    >>> [is_setting(line) for line in ("a: 1", "'a' : b", "- x=2", "a = f(1)", "f(a=1)", "a:")]
    [True, True, True, False, False, True]
    """
    key = _KEY.match(line)
    if key is None:
        return False
    value = line[key.end() :].rstrip()
    return not value.endswith((";", "(", ")"))


def shows_code(heads: list[str]) -> bool:
    """Return whether a block has a traceback, or is code by a third or more."""
    code = sum(CODE_START.match(head) is not None for head in heads)
    return code * 3 >= max(len(heads), 3) or any("Traceback" in head for head in heads)
