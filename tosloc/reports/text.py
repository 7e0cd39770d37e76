"""What the text of a report is made of: prose, code, and data; not what a form put there.

Reports come as Markdown, and as text that was Markdown once: without fences, marks of headings and back-ticks. So lines
are told by their shape, too. A line that could be two things is prose.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tosloc.code import text

COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"```+|^~~~+", re.MULTILINE)
_TAG: Final = re.compile(r"[ \t]{0,9}([\w+#.\-]{0,30})[ \t]{0,9}\n")
"""After a fence that opens: the language of the block."""
_ADDRESS: Final = re.compile(
    r"""(?x)(?:https?://|www\.) (?:
      [^\s<>)"'`]+? /(?:blob|tree|raw|blame)/ [^\s<>)"'`/]*+ (?:/(?P<file>[^\s<>)"'`]*+))? | [^\s<>)"'`]+ )"""
)

_FORM_WORDS: Final = frozenset(
    """
    a about actual additional affected after all also am and any are as attached been before behavior behaviour below
    brief briefly bug bugs can changes check checklist checks clear code command complete concise configuration context
    contribution current debug describe description desired detail detailed details do does environment error exact
    example expect expected explain explanation facing feature files find following for form full general happen
    happened happening happens hardware has have here how i if impact in include info information installation
    installed is issue issues it kind link list log logs me message method minimal minimum motivation my name need not
    notes occurred occurs of old on operating or os other our output outputs package packages platform please possible
    potential pre prerequisites problem proposed provide python question reason regression relevant repeat report
    reported reproduce reproduces reproducible reproducing reproduction requested requirements result results run
    sample screenshot screenshots script search searched section see setup severity short should similar snippet
    software solution source specs stack steps submitting suggested suggestion summary system tasks template test that
    the these this title to to-do todo trace traceback type use used using version versions want was were what when
    where which will willing with work workaround would you your
    """.split()
)
"""Words that headings of forms are made of."""
_HEADING: Final = re.compile(
    r"(?P<marks>[^A-Za-z]{0,16}+)(?P<words>[A-Za-z][A-Za-z ,/()'&\-]*+)\s*+[*_]{0,3}+\s*+[:?.]?+\s*+[*_]{0,3}+:?+\s*+"
)
"""A heading; its parts share no letters, so that nothing has to be tried twice."""
_HEADING_MARKS: Final = re.compile(r"\W{0,6}(?:\#{1,6}\s*)?[*_]{0,3}")
_LONGEST_HEADING: Final = 71  # characters of its words
_BOX: Final = re.compile(r"\s*[-*+]\s+\[[\sxX]?\]\s")
_ASKED: Final = re.compile(
    r"""(?ix) \W* (?:
      a\ clear\ and\ concise | steps\ to\ reproduce\s | if\ applicable,?\ add | add\ any\ other\ context
    | (?:go\ to|click\ on|scroll\ down\ to)\ ['"]?\.\. | see\ error\W*$
    | please\ (?:describe|explain|include|provide|paste|fill|tell|enter|replace|check|make\ sure|read|ensure|search)\b
    | (?:i|we)\ (?:have|'ve)\ (?:searched|checked|read|verified)\b | have\ (?:you|i)\ (?:written|read|searched)\b
    | make\ sure\ (?:to|you|that)\b | thank(?:s|\ you)\ for | want\ to\ contribute\ to | is\ your\ feature\ request
    )"""
)
"""How lines begin that a form says."""
_SETUP: Final = re.compile(
    r"""(?ix) \s{0,9} [-*+\u2022]? \s{0,9} [*_`]{0,3} (?:[\w.+\-/]{1,30}\ ){0,5}?
      (?: versions?(?:\ \([^)\n]{0,60}\))? | browser | device | machine | gpus? | cpu | ram | memory | architecture
        | hardware | environment | kernel | distro | distribution | docker | ubuntu | windows | macos | linux
        | python | pip | conda | numpy | torch | pytorch | java | jdk | scala | spark | npm | node(?:\.?js)?
        | (?:os|operating\ system|platform|gpu\ model|cuda|cudnn|tensorflow|compiler|bazel|gcc|mobile\ device
            |installed\ from|are\ you\ willing|have\ i\ written)[^:\n]{0,100}
      ) [*_`]{0,3} \ {0,3} [:=?]"""
)
"""How lines begin of what is installed: - OS: Ubuntu 18.04, Python version: 3.7."""
_RELEASE: Final = re.compile(
    r"""(?x) \s{0,9} [-*]? \s{0,9} [A-Za-z][\w.\-]{0,40} (?: \ ?(?:==?|>=|@)\ ? | [ \t]{1,60} | :\ ?v? )
      v?\d+(?:\.\d+){1,4}[\w.+\-]{0,40} (?:[ \t]{1,60}[\w./\-]{1,40}){0,3} \s*"""
)
"""numpy==1.18.5, numpy 1.18.5 pypi_0 pypi: a package with its release."""
_LOG: Final = re.compile(
    r"""(?x) \s* (?:
      [\[(<]?\d{4}[-/.]\d{2}[-/.]\d{2}[T\ ]\d{1,2}:\d{2} | \d{2}/\d{2}/\d{2}\ \d{2}:\d{2}:\d{2}
    | [\[(]?\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?[\])]?\s | [A-Z][a-z]{2}\ {1,2}\d{1,2}\ \d{2}:\d{2}:\d{2}
    | [IWEF]\d{4}\ \d{2}:\d{2}:\d{2} | \[\s?\d{1,8}(?:\.\d{1,9})?\]\s | (?:time|ts|level)="?[\w:\-+.]+"?\s
    | [\[(]?(?:DEBUG|INFO|WARN|WARNING|TRACE|NOTICE|VERBOSE|info|debug|warn)[\])]?\s?[:|\-\[\]]
    | \[\s?\d{1,3}%\] | \d{1,3}%\| | (?:Epoch|Iteration)\s\d | Step\s\d+/\d+
    | (?:Collecting|Downloading|Requirement\ already|Installing\ collected|Processing|Building\ wheel|Using\ cached
        |Successfully)\s
    )"""
)
_KEY: Final = re.compile(
    r"""(?x) \s*+ (?:-\s)? (?: "[^"\n]{1,80}"\s*+: | '[^'\n]{1,80}'\s*+: | [\w.\-]{1,60}\s*+[:=](?![:=]) )"""
)
"""How a line begins that sets a key to a value."""
_CODE: Final = re.compile(
    r"""(?x) \s*+ (?:
      (?:>>>|\.\.\.|In\ \[\d{0,4}\]:|\$)\s
    | import\ [\w.{*] | from\ [\w.]+\ import\b | export\s | def\ \w+\( | class\ \w+[(:{\ ] | @\w+ | elif\s | else:
    | try: | except\b | finally: | return\b | raise\s | assert\s | yield\s
    | (?:for|while|if|with)\b[^\n]{0,200}[:{]\s*+$
    | (?:public|private|protected|static|const|let|var|val|func|fn|function|async|await|void|int|float|double|auto
        |template|namespace|using|package|struct|enum|interface|type)\s+[\w<&*\[(:]
    | \#\s*(?:include|define|ifdef|ifndef|endif|if|pragma)\b | // | /\*
    | (?:[\w.\[\]"',\ *]{1,100}\s|(?<=\ \s))[-+*/|&]?=\s?\S
    | [\w.:>\-]{1,100}\([^\n]{0,300}\)?[;,:]?\s*+$
    | [)\]}]++[;,]?+\s*+$ | \w++=(?!=)\S{2,}+(?<=[,)])\s*+$
    | [^\n]{0,300}[;{]\s*+$
    )"""
)
_SETTINGS: Final = frozenset(
    "json yaml yml toml ini xml jsonnet".split()
)  # languages of blocks of settings
_QUOTED: Final = re.compile(r"^\s{0,3}>\s?", re.MULTILINE)
_DASHES: Final = re.compile(r"[\W_]*")


LONGEST_LINE: Final = 10_000
"""Characters by which a line is classified. Reports whose line breaks were lost are longer lines."""


class ReportText(NamedTuple):
    """The text of a description by what it is; each part has the lines of its kind, in order."""

    prose: str  # what the reporter says
    code: str  # code, commands, and what they print
    data: str  # lines of logs, and blocks of keys with values


def parts(description: str) -> ReportText:
    """Split a description into prose, code and data.

    What a form asks for or puts there is left out, and so are lines that name what is installed. A
    line is classified by its first ``LONGEST_LINE`` characters.

    >>> parts("## Describe the bug\\nIt hangs.\\n```\\nrun(3)\\n```\\n- OS: Linux\\n2020-01-02 10:11 INFO up")
    ReportText(prose='It hangs.', code='run(3)', data='2020-01-02 10:11 INFO up')
    >>> parts("```\\na: 1\\nb: x\\nrun(c)\\nd=2\\n```").data.splitlines()
    ['a: 1', 'b: x', 'run(c)', 'd=2']
    """
    lines: dict[str, list[str]] = {"prose": [], "code": [], "data": []}
    for number, block in enumerate(_FENCE.split(COMMENT.sub("\n", description))):
        between_fences = number % 2 == 1
        if between_fences:
            _add_fenced(block, lines)
        else:
            _add_unfenced(block, lines)
    return ReportText(**{kind: "\n".join(of_kind) for kind, of_kind in lines.items()})


def _add_fenced(block: str, lines: dict[str, list[str]]) -> None:
    """Add the lines of a block between two fences."""
    tag = _TAG.match(block)
    text = block[tag.end() :] if tag else block
    written = [line for line in text.splitlines() if line.strip()]
    heads = [line[:LONGEST_LINE] for line in written]
    settings = sum(map(_is_setting, heads))
    logged = sum(_LOG.match(head) is not None for head in heads)
    is_settings_language = tag is not None and tag[1].lower() in _SETTINGS
    has_settings = len(heads) > 2 and settings * 3 > len(heads) * 2
    is_data = is_settings_language or has_settings or logged * 2 > len(heads)
    for line, head in zip(written, heads, strict=True):
        if not _is_installed(head) and not _DASHES.fullmatch(head):
            lines["data" if is_data or _LOG.match(head) else "code"].append(line)


def _add_unfenced(block: str, lines: dict[str, list[str]]) -> None:
    """Add the lines of a block outside fences, where code is recognized by its shape."""
    inside = False  # Within code, a line that could be code is code.
    for line in _QUOTED.sub("", block).splitlines():
        head = line[:LONGEST_LINE]
        bare = head.strip()
        if not bare or (_DASHES.fullmatch(bare) and not inside):
            continue
        if _BOX.match(bare) or _is_installed(bare) or _ASKED.match(bare) or _is_form_heading(bare):
            inside = False
        elif _LOG.match(head):
            lines["data"].append(line)
        else:
            indented = inside and head.startswith(("    ", "\t"))
            # A sentence may begin like code.
            inside = indented or (_CODE.match(head) is not None and not _is_sentence(head))
            lines["code" if inside else "prose"].append(line)


def _is_sentence(line: str) -> bool:
    """Whether a line reads as a sentence: many plain words, few marks."""
    words = line.split()
    plain = sum(word.strip(".,;:!?()'\"").isalpha() for word in words)
    return len(words) > 4 and plain * 4 > len(words) * 3


def _is_setting(line: str) -> bool:
    """Return whether a line sets a key to a value, and does not end as a statement or call does.

    >>> [_is_setting(line) for line in ("a: 1", "'a' : b", "- x=2", "a = f(1)", "f(a=1)", "a:")]
    [True, True, True, False, False, True]
    """
    key = _KEY.match(line)
    if key is None:
        return False
    value = line[key.end() :].rstrip()
    return not value.endswith((";", "(", ")"))


def _is_installed(line: str) -> bool:
    """Whether a line says what is installed."""
    setup = len(line) < 250 and _SETUP.match(line) is not None and not _is_sentence(line)
    return setup or _RELEASE.fullmatch(line) is not None


def _is_form_heading(line: str) -> bool:
    """Whether a line is a heading as forms have it, of words that say nothing of the bug.

    >>> [_is_form_heading(line) for line in ("## To Reproduce", "**Describe the bug**", "Environment:", "# Crash")]
    [True, True, True, False]
    """
    heading = _HEADING.fullmatch(line)
    if heading is None or not _HEADING_MARKS.fullmatch(heading["marks"]):
        return False
    if len(heading["words"].rstrip()) > _LONGEST_HEADING:
        return False
    words = re.split(r"[\s/-]+", heading["words"].lower().strip(" /-"))
    return len(words) < 10 and all(word.strip("(),'&") in _FORM_WORDS for word in words)


_PREFIX: Final = re.compile(
    r"(?i)\A\s*(?:[\[(](?:bug|bug report|issue|problem|regression|critical|error|question|help)[\])]"
    r"|(?:bug|issue|problem|regression)(?:\s?report)?\s?[:\-]\s)\s*:?\s*"
)


def bare_title(summary: str) -> str:
    """A summary without what only says that it is a bug.

    >>> bare_title("[BUG] Crash on save"), bare_title("BUG: Crash"), bare_title("Bug in Foo")
    ('Crash on save', 'Crash', 'Bug in Foo')
    """
    return _PREFIX.sub("", summary) or summary


def without_addresses(said: str) -> str:
    """A text without addresses of pages and pictures; of the address of a file its path stays.

    >>> without_addresses("see https://x.org/a/b and https://github.com/a/b/blob/12ab/src/c.py#L7")
    'see   and  src/c.py#L7'
    """
    return _ADDRESS.sub(r" \g<file>", said)


class Name(NamedTuple):
    """A name that a report writes as code is written."""

    key: str  # the term that it is in files: its compound, or the stem of a single word
    owner: str  # the term of what it is asked of (Owner.name), "" for none
    compound: bool  # whether it has two parts or more, so that the term is that of no other name
    written: str


_SPAN: Final = re.compile(r"`([^`\n]{1,300})`")
_NAME: Final = re.compile(
    r"(?<![\w$])[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?P<call>\(?)"
)
_PARTED: Final = re.compile(r"\.|::|->|#")
_OWN: Final = re.compile(
    r"(?m)^[ \t>.]*(?:async\s+)?(?:def|class|function|func|fn|struct)\s+([A-Za-z_$][\w$]*)"
)
_ENDINGS: Final = frozenset(
    "c cc cfg com cpp cs csv go h hpp html io java js json jsx md net org py rs scala sh toml ts txt yaml yml".split()
)
_PLAIN: Final = re.compile(r"[A-Za-z]?[a-z]+\d*|[A-Z]+s?\d*")


def names(said: str, code: bool = False) -> list[Name]:
    """Names in a text, each once, in order: parts of dotted names, calls, compounds, and what stands in back-ticks.

    With ``code`` the text is code; what it defines itself is left out.

    >>> [(name.key, name.owner) for name in names("Header.fromString fails in parse_args and `cut`, not in foo")]
    [('header', ''), ('fromstring', 'header'), ('parseargs', ''), ('cut', '')]
    """
    own = {name.lower() for name in _OWN.findall(said)} if code else set()
    ticked = {span.strip("()") for span in _SPAN.findall(said)}
    found: dict[tuple[str, str], Name] = {}
    for match in _NAME.finditer(said):
        pieces = [piece for piece in _PARTED.split(match[0].rstrip("(")) if piece]
        if len(pieces) > 1 and pieces[-1].lower() in _ENDINGS and not match["call"]:
            pieces = pieces[:-1]  # a file or a site
        owner = ""
        for place, piece in enumerate(pieces):
            key = text.identifier_terms(piece)[-1:]
            if not key:
                owner = ""
                continue
            called = bool(match["call"]) and place == len(pieces) - 1
            compound = bool(text.identifier_compounds(piece))
            shown = compound and not _PLAIN.fullmatch(piece)
            if (shown or called or len(pieces) > 1 or piece in ticked) and piece.lower() not in own:
                found.setdefault((key[0], owner), Name(key[0], owner, compound, piece))
            owner = key[0]
    return list(found.values())
