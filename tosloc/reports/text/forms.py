"""Recognize issue forms: their headings and other lines, their templates, and default titles.

Reports that were written without the form's template contain similar lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tosloc.code.text import separate_scripts
from tosloc.reports.text.markup import without_addresses

_FORM_WORDS: Final = frozenset(
    """
    a about actual add additional affected after all also am and any anything are as attached been
    before behavior behaviour below brief briefly bug bugs can changes check checklist checks
    clear code command complete concise configuration context contribution current debug describe
    description desired detail detailed details did do does else environment error exact example
    expect expected explain explanation facing feature files find following for form full general
    happen happened happening happens hardware has have here how i if impact in include info
    information installation installed instead is issue issues it kind link list log logs me
    message method minimal minimum motivation my name need not notes occurred occurs of old on
    operating or os other our output outputs package packages platform please possible potential
    pre prerequisites problem proposed provide python question reason regression relevant repeat
    report reported reproduce reproduces reproducible reproducing reproduction requested
    requirements result results run sample screenshot screenshots script search searched section
    see setup severity short should similar snippet software solution source specs stack steps
    submitting suggested suggestion summary system tasks tell template test that the these this
    title to to-do todo trace traceback tried try type us use used using version versions want was
    went were what when where which will willing with work workaround would wrong you your
    """.split()
)
"""Words in the headings of forms."""
_HEADING: Final = re.compile(
    r"(?P<marks>[^A-Za-z]{0,16}+)(?P<words>[A-Za-z][A-Za-z ,/()'&\-]*+)"
    r"\s*+[*_]{0,3}+\s*+[:?.]?+\s*+[*_]{0,3}+:?+\s*+"
)
"""A heading. Its parts share no letters, so that matching needs no backtracking."""
_HEADING_MARKS: Final = re.compile(r"\W{0,6}(?:\#{1,6}\s*)?[*_]{0,3}")
ANY_HEADING: Final = re.compile(r"\s{0,3}\#{1,6}\s+\S|\s{0,3}\*\*[^*\n]{1,80}\*\*:?\s*$")
"""Beginning of a heading with any words."""
_LONGEST_HEADING: Final = 71
"""Largest number of characters of the words of a form's heading."""
_BOX: Final = re.compile(r"\s*[-*+]\s+\[[\sxX]?\]\s")
"""A box to tick."""
_ASKED: Final = re.compile(
    r"""(?ix) \W* (?:
      a\ clear\ and\ concise | steps\ to\ reproduce\s | if\ applicable,?\ add |
        add\ any\ other\ context
    | (?:\d\.\s)?(?:go\ to|click\ on|scroll\ down\ to)\ ['"`]?\.\.
    | (?:\d\.\s)?see\ error\W*$ | _?no\ response_?\W*$ | n/?a\W*$
    | please\ (?:describe|explain|include|provide|paste|fill|tell|enter|replace|check|make\ sure
      |read|ensure|search|note\ that)\b
    | (?:i|we)\ (?:have|'ve)\ (?:searched|checked|read|verified)\b | have\ (?:you|i)\ (?:written
      |read|searched)\b
    | make\ sure\ (?:to|you|that)\b | thank(?:s|\ you)\ for | want\ to\ contribute\ to |
      is\ your\ feature\ request
    | [\w\ ]{1,30}:?\ {0,3}\[e\.?g\b[^\]\n]{0,200}\]\W*$
    | before\ (?:submitting|opening|filing|creating|posting)\b | (?:first|also),?\ please\b
    )"""
)
"""Beginnings of lines of forms that ask, advise or show an example."""
_POINTER: Final = re.compile(
    r"""(?ix) \W* (?:please\ |pls\ )?(?:(?:as|see|check|look\ at|refer\ to)\ )?(?:in\ )?
      (?:the\ |this\ |my\ )?(?:(?:attached|above|below|following)\ )?
      (?:attachments?|gifs?|images?|pictures?|recordings?|screen\ ?shots?|title|videos?)
      (?:\ (?:is|are|was|were))?(?:\ (?:attached|above|below|here))?\W*"""
)
"""A line that only points to a picture, an attachment or the title."""
_TEMPLATE_MARKS: Final = re.compile(
    r"(?:\s{0,99}[-*+#>|\s]{0,12}(?:\[[\sxX]?\]\s{0,4})?(?:(?:label|description|value|placeholder|about|title|name):\s{0,4}[|>]?)?\s{0,4})"
)
_WORDS: Final = re.compile(r"\w+")
_FIELD: Final = re.compile(r"(?m)^[ \t]{0,20}-[ \t]{1,4}type:")
"""Beginning of a field of a YAML form."""
_FIELD_ID: Final = re.compile(r"(?m)^[ \t]{0,20}id:[ \t]{0,4}['\"]?([\w-]{1,100})")
_FIELD_LABEL: Final = re.compile(r"(?m)^[ \t]{0,20}label:[^\n]{1,300}$")
_ENVIRONMENT_IDS: Final = frozenset(
    "version versions environment env system os platform browser browsers hardware device distro"
    " distribution runtime install installation".split()
)
"""Words in the ids of fields that ask what is installed. Ids are English in most forms."""
_TEMPLATE_PATH: Final = re.compile(
    r"(?i)(?:\.github/|docs/|\.gitea/|\.forgejo/)?(?:ISSUE_TEMPLATE/[^/]{1,200}|ISSUE_TEMPLATE)\.(?:md|ya?ml|txt)|(?:\.github/|docs/)?ISSUE_TEMPLATE"
    r"|\.gitlab/issue_templates/[^/]{1,200}\.md"
)
_KINDS: Final = frozenset(
    """
    bug bugs bugreport chore critical defect discussion enhancement error feat feature fix help idea
    improvement issue problem proposal question regression report request rfc suggestion support
    task triage wip
    """.split()
)
"""Words of tags that say what kind of report it is, but not where the bug is."""
_TAG: Final = re.compile(r"[\[(\u3010]([^\[\]()\u3010\u3011\n]{1,40})[\])\u3011]\s{0,9}[:\-]?")
"""Words in brackets in a title."""
_PREFIX: Final = re.compile(
    r"(?i)\A[\W_]{0,9}?(?:bug|feature|issue|problem|regression)(?:\s?(?:report|request))?\s?[:\-]\s"
)
"""Beginning of a title that says, without brackets, what kind of report it is."""
_EMPTY_TITLE: Final = re.compile(
    r"""(?ix) \W*+ (?:
        (?:new\ )?(?:bug|issue|problem|defect)
        (?:[-_ ]?(?:report|title|summary|template|description))?
      | feature\ request
      | title | summary | description | untitled
      | (?:short|brief)\ (?:summary|description|title)(?:\ .*+)?+
      | (?:describe|description\ of|summary\ of|about)\ (?:the|your)\ (?:bug|issue|problem)
      | steps\ to\ reproduce | expected\ behaviou?r | what\ happened )?+ \W*+"""
)
"""A title that a form begins with; it says nothing about the bug."""


def is_form_heading(line: str) -> bool:
    """Return whether a line is a heading of a form, whose words say nothing about the bug.

    >>> [is_form_heading(line) for line in ("## To Reproduce", "**Describe the bug**")]
    [True, True]
    >>> [is_form_heading(line) for line in ("Environment:", "# Crash")]
    [True, False]
    """
    words = heading_words(line)
    return 0 < len(words) < 10 and all(word in _FORM_WORDS for word in words)


def is_form_line(line: str) -> bool:
    """Return whether a line is a form's box to tick, question or advice, or a mere pointer.

    A pointer is a line that only refers to a picture, an attachment or the title.

    >>> [is_form_line(line) for line in ("- [x] I searched", "Please describe it", "It hangs")]
    [True, True, False]
    """
    if _BOX.match(line) is not None or _ASKED.match(line) is not None:
        return True
    return is_pointer(line)


def is_pointer(line: str) -> bool:
    """Return whether a line only refers to a picture, an attachment or the title.

    >>> is_pointer("Please see the screenshot below."), is_pointer("The screenshot is black")
    (True, False)
    """
    return _POINTER.fullmatch(line) is not None


def heading_words(line: str) -> list[str]:
    """Return the words of a heading in lower case; empty if the line is not a heading."""
    heading = _HEADING.fullmatch(line)
    if heading is None or not _HEADING_MARKS.fullmatch(heading["marks"]):
        return []
    if len(heading["words"].rstrip()) > _LONGEST_HEADING:
        return []
    words = re.split(r"[\s/-]+", heading["words"].lower().strip(" /-"))
    return [word.strip("(),'&") for word in words]


def template_key(line: str) -> str:
    """Return a line of an issue form without marks, addresses and case: its key.

    Lines of forms and of reports are compared by their keys.

    >>> template_key("- [ ] I use the *latest* version"), template_key("      label: Depot version")
    ('i use the latest version', 'depot version')
    """
    marks = _TEMPLATE_MARKS.match(line)
    bare = line[marks.end() :] if marks else line
    # A line of a report comes without addresses, and with blanks between its scripts.
    bare = separate_scripts(without_addresses(bare))
    return " ".join(_WORDS.findall(bare.lower()))


def template_keys(template: str) -> frozenset[str]:
    """Return the keys of the lines of an issue form in Markdown or YAML.

    Options of a YAML form are left out, because a report repeats only the chosen option. Labels of
    fields that ask what is installed also have a second key, see ``environment_key``.

    >>> form = "- type: dropdown\\n  id: os\\n  label: Where\\n  options:\\n    - Linux\\n"
    >>> sorted(template_keys(form))
    ['environment: where', 'id os', 'type dropdown', 'where']
    """
    keys = set(_environment_keys(template))
    options_indent: int | None = None
    for line in template.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if options_indent is not None and (
            indent < options_indent or not line.lstrip().startswith("-")
        ):
            options_indent = None
        is_option = options_indent is not None and "label:" not in line
        if line.strip() == "options:":
            options_indent = indent
            continue
        if is_option:
            continue
        for piece in (line, *line.strip(" -[]").split(", ")):
            keys.add(template_key(piece))
    return frozenset(keys - {""})


def environment_key(key: str) -> str:
    """Return the second key of a form's label that asks what is installed."""
    return f"environment: {key}"


def _environment_keys(template: str) -> Iterator[str]:
    """Yield the second keys of the fields in a YAML form that ask what is installed."""
    for field in _FIELD.split(template)[1:]:
        field_id = _FIELD_ID.search(field)
        label = _FIELD_LABEL.search(field)
        if field_id is None or label is None:
            continue
        if not _ENVIRONMENT_IDS.isdisjoint(re.split("[-_]", field_id[1].lower())):
            yield environment_key(template_key(label[0]))


def is_issue_template(path: str) -> bool:
    """Return whether a path is that of an issue form for GitHub, GitLab, Gitea or Forgejo.

    >>> is_issue_template(".github/ISSUE_TEMPLATE/bug.yml"), is_issue_template("docs/index.md")
    (True, False)
    """
    return _TEMPLATE_PATH.fullmatch(path) is not None


def bare_title(summary: str) -> str:
    """Return a summary without words that only say what kind of report it is.

    >>> bare_title("[BUG] Crash on save"), bare_title("BUG: Crash"), bare_title("Bug in Foo")
    ('Crash on save', 'Crash', 'Bug in Foo')
    >>> bare_title("[Bug Report]: [cart] Crash"), bare_title("Crash (bug)"), bare_title("Bug")
    ('[cart] Crash', 'Crash', '')
    """
    title = _PREFIX.sub("", _TAG.sub(_without_kind, summary)).strip()
    return "" if _EMPTY_TITLE.fullmatch(title) else title


def _without_kind(tag: re.Match[str]) -> str:
    """Return an empty text for a tag in brackets that only says what kind of report it is."""
    words = _WORDS.findall(tag[1].lower())
    return "" if words and _KINDS.issuperset(words) else tag[0]
