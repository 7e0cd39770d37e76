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

_EXCEPTION: Final = re.compile(
    r"""(?x) \s{0,9} (?:
      (?:Caused\ by:\ |Exception\ in\ thread\ "[^"\n]{0,80}"\ )?
      (?:[A-Za-z_]\w{0,60}(?:\.|::|\\)){0,12} [A-Z]\w{0,80}?(?:Error|Exception) (?:\(\w{0,20}\))?
      (?::\s|\s*+$)
    | panic:\s | (?:the\ application|thread\ ['`<][^'`>\n]{0,80}['`>](?:\ \(\d{1,9}\))?)\ panicked\s
    )"""
)
"""Beginning of a line that names what a program threw."""


def names_exception(line: str) -> bool:
    """Return whether a line is the message of an exception or panic, as above a stack trace.

    >>> [names_exception(line) for line in ("a.b.DoorError: shut", "panic: nil", "an Error")]
    [True, True, False]
    """
    return _EXCEPTION.match(line) is not None


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
