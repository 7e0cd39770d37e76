"""Read commit messages: whether they fix a bug, and which bugs and changes they name or revert."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from tosloc.core.patterns import lazy_pattern

if TYPE_CHECKING:
    from tosloc.git.commit_info import CommitInfo

_FIX = r"(?:fix(?:es|ed|ing)?|(?:bug|hot)[-_ ]?fix(?:es)?)"
_BUG = r"(?:bug(?:s|zilla)?|bz|defect)(?:[ ]bug)?[^0-9A-Za-z\n]{0,4}"
_TRAILER = lazy_pattern(
    r"(?im)^(?:git-svn-id|change-id|signed-off-by|reviewed-(?:on|by)|tested-by|also-by"
    r"|co-authored-by):.*$"
)
_UNDOES = lazy_pattern(r"(?i)\W*(?:merged?\b(?! fix)|revert|back(?:ed|ing)?[- ]?out\b|undo|undid)")
_NOT_A_FIX = lazy_pattern(
    rf"""(?ix)
      \b(?:quick|multi|post|pre|auto|correction)[-_ ]?fix(?:es)?\b        # what an editor offers
    | \bfixed[- ](?:width|size|length|point|layout|position|rate|delay|column|header|height
        |font)s?\b
    | \b{_FIX}[ ]
      (?:(?:for|up|in|a|an|the|some|few|more|another|other|further|last|several|various|many|all
        |minor|small|tiny|trivial|simple|additional|remaining|new|missing|wrong|bad|broken|failing
        |failed|compiler|deprecation|generics?|unchecked|raw|types?|find-?bugs|spotbugs|checkstyle
        |eclipse|ide|sonar|junit|unit|jdk|java|code|source)[ ])*
      (?:typos?|spelling|grammar|wording|java-?docs?|docs?|documentation|comments?|indent\w*
        |white-?spaces?|format\w*|licen[cs]es?|copyrights?|headers?|imports?|links?|warnings?
        |nits?|checkstyle|findbugs|builds?|compil\w*|tests?|test-?cases?|translations?
        |change-?logs?|read-?me|version|polish)\b
    """
)
_SAYS_FIX = lazy_pattern(
    rf"""(?imx)
      \A[^\n]*\b{_FIX}\b                             # anywhere in the first line
      # At the beginning of a later line; blank lines before it are read once, from the first.
    | (?:\A|(?<![-*\s])(?:[-*]|[^\S\n])*+\n)[-*\s]*+
      (?:(?:summary|description)\s*+:[-*\s]*+)?{_FIX}\b
    """
)
_CLOSES = lazy_pattern(
    rf"""(?ix)
      \b(?:{_FIX}|close[sd]?|resolve[sd]?)\b:?[ ]+(?:for[ ]|\w+[ ])?
        (?:\#\d+|gh-\d+|(?:issue|bug|defect)s?[ ]\#?\d+|[\w./-]+\#\d+|\d{{5,6}}(?!\w)
          |https?://\S*(?:/issues/|show_bug\.cgi\?id=)\d+|(?-i:[A-Z][A-Z0-9]+-\d+))
    | \bbugs?\s?\(s\)[ ](?:resolved|resovled|fixed)\s*:\s*\[?\#?\d{{4,}}
    """
)
_NAMES_BUG = lazy_pattern(
    rf"""(?imx)
      \A\W*(?:pr\W?)?\d{{5,6}}(?!\d)                 # its number, then its title
    | \A(?:\[\d{{4}}\]|\#?\d{{4}}\W*\Z)
    | \A[^\n]*\b{_BUG}\d{{3,}}
    | (?:\A|(?<=\w)[^\w\n]*+\n)\W*+{_BUG}\d{{4,}}
    | \A\W*+(?:pr\W*+)?https?://\S*show_bug\.cgi\?id=\d+
    """
)
_BUG_ID = lazy_pattern(
    rf"""(?ix)
      \b(?:{_BUG}|{_FIX}(?:[ ]for)?:?[ ]\#?(?=\d{{4}})|issues?[ ]\#?|pr\W?(?=\d{{5}})
        |bugs?\s?\(s\)[ ](?:resolved|resovled|fixed)\s*:\s*\[?\#?)
        (?P<several>\d{{2,7}}\b(?:\s*(?:,|;|&|\+|\band\b)\s*(?:bug\s*)?\#?\d{{2,7}}\b)*)
    | show_bug\.cgi\?id=(?P<tracker>\d+)
    | /issues/(?P<url>\d+)
    | \A\W*(?P<first>\d{{5,6}})(?!\d)
    | \A\[?(?P<short>\d{{4}})(?:\]|\W*\Z)
    | \b[\w.-]{{1,100}}/[\w.-]{{1,100}}\#(?P<elsewhere>\d+)\b
    | (?<!pull[ ]request[ ])(?<!\bPR[ ])(?<![\w&/(])\#(?P<hash>\d+)\b(?!/)
    | (?-i:\b
        (?!(?:UTF|SHA|ISO|RFC|EPL|JSR|CVE|GTK|JDK|HTTP|AES|MD|CP|IEEE|JEP|LGPL|GPL|TLS|SSL|UCS|PEP
          |APR|BASE)-)
        (?P<jira>[A-Z][A-Z0-9]+-[1-9]\d*)\b)
    """
)

_REFERENCE = lazy_pattern(r"(?P<jira>\bJDK-[1-9]\d*)\b|\(#(?P<hash>\d+)\)")
"""Reference to an issue or a pull request, which need not be the bug that the commit fixes."""
_REVERTS: Final = lazy_pattern(r"(?i)\bthis reverts commit ([0-9a-f]{40,64})\b")
_REVERT_OF: Final = lazy_pattern(
    r'(?i)(?:revert|back(?:ed|ing)?[- ]?out):?\s+"(?P<subject>.*+)\s*+\Z'
)
_ID: Final = r"[0-9a-f]{7,64}(?![0-9a-z])"
_CAUSE: Final = lazy_pattern(
    rf"""(?imx)
      ^[ \t]{{0,4}}(?:fixes|(?:bug-)?introduced-by|regressed-by|regression-of|broken-by|caused-by)
      [ \t]{{0,3}}:[ \t]{{0,3}}(?:commit[ \t])?(?P<trailer>{_ID})
    | \b(?:introduced|regress(?:ed|ion)|broken?|broke|caused|bug)
      \s(?:in|by|with|since|from|of|after)\s(?:the\s)?(?:git\s)?(?:commit|revision|rev|changeset)?
      [\s:]{{0,2}}[("']?(?P<told>{_ID})
    | (?<![0-9a-z])(?P<subject>{_ID})(?:\s\([^()]{{1,200}}\))?,?\s(?:accidentally\s)?
      (?:broke|regressed|introduced\s(?:a|an|the|this)\s(?:\w{{1,20}}\s)?
        (?:bug|regression|issue|problem|crash|leak|race)\b)
    | \bthis\sreverts\scommit\s(?P<reverted>{_ID})
    """
)
"""Words by which an author names the commit that introduced a bug, or that is reverted."""
_CITED: Final = lazy_pattern(
    rf"(?i)(?<![0-9a-z])(?=[a-f]{{0,63}}[0-9]){_ID}"
    r"(?:[ \t]{0,2}\n?[ \t]{0,8}\((?:[^()]|\([^()]{0,80}\)){1,200}+\))?"
)
"""The id of a commit, with its subject in brackets if there is one."""
_OWN_PULL: Final = lazy_pattern(
    r"(?im)\A[^\n]*(?:\(\#(?P<squashed>[1-9]\d{0,6})\)[ \t]{0,9}$|\(!(?P<request>[1-9]\d{0,6})\))"
    r"|\AMerge pull request #(?P<merged>[1-9]\d{0,6})\b|\bsee merge request \S{0,200}!"
    r"(?P<seen>[1-9]\d{0,6})\b|^(?:part-of|pr-url|pull-request):[ \t<]{1,9}\S{1,200}"
    r"/(?P<kind>pull|merge_requests)/(?P<linked>[1-9]\d{0,6})\b"
)
"""Text that tools write into a message to name the pull or merge request of the commit."""
_PULL_GROUPS: Final = ("squashed", "request", "merged", "seen", "linked")
_REPORTED: Final = lazy_pattern(r"(?im)^[ \t]{0,4}reported(?:-and-[a-z-]{1,30})?-by[ \t]{0,3}:")

_DIGIT: Final = lazy_pattern(r"[1-9]")
_ANY_DIGIT: Final = lazy_pattern(r"\d")
_PLAIN_MERGE: Final = lazy_pattern(r"Merge pull request #([1-9]\d{0,6}) from [^\d#!]*\Z")
"""First line that GitHub writes for most merges; it names nothing but the pull request."""
_MARKS: Final = ("#", "-", "bug", "bz", "defect", "fix", "issue", "ticket", "pr", "pull")
"""Words and signs in lower case; a first line that names a bug contains at least one of them."""
_IN_SUBJECT: Final = lazy_pattern(
    r"(?i)(?<![\w&/])(?:\#|gh-|(?:pr|pull[ -]request|issue|ticket)s?[ :]{1,2}\#?)([1-9]\d{0,6})\b"
)
"""A number that the first line of a message names."""
_CLOSES_NUMBER: Final = lazy_pattern(
    r"(?i)\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b:?[ ]{1,3}"
    r"(?:issue[ ]|bug[ ])?(?:[\w.-]{1,60}/[\w.-]{1,60})?(?:\#|gh-)([1-9]\d{0,6})\b"
)
"""An issue's number after a word that closes the issue, in any line of a message."""
_CLOSED_LINK: Final = lazy_pattern(
    r"(?i)\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b:?[ ]{1,3}https?://[^\s/]{1,100}/"
    r"[^\s\#?]{1,200}/(?:issues|pull)/([1-9]\d{0,6})\b"
)
"""A link to an issue after a word that closes the issue, in any line of a message."""
_MERGE_REQUEST: Final = lazy_pattern(
    r"(?i)(?:see[ ]merge[ ]request[ ]\S{0,200}?|(?<!\w))!([1-9]\d{0,6})\b"
)
"""A merge request of GitLab; its numbers are independent of the issues' numbers."""
_MAX_BODY: Final = 20_000
"""Largest number of characters of a message that are read; longer messages list many commits."""


def is_fix_message(message: str) -> bool:
    """Return whether a commit message describes the fix of a bug in the program.

    The message does so in three cases: its first line, or the beginning of a later line, contains a
    word for fixing; it closes an issue; or its first line names a bug. Messages that only repair
    documentation, warnings or tests, merges, and reverts are no fixes.

    >>> is_fix_message("Fixed NPE in Foo"), is_fix_message("Bug 12345 - Tree flickers")
    (True, True)
    >>> is_fix_message("Fix typo"), is_fix_message('Revert "Fix NPE"')
    (False, False)
    """
    text = _without_trailers(message)
    if _UNDOES.match(text):
        return False
    # To look for a digit or a word is much faster than to search with patterns that need it.
    if _ANY_DIGIT.search(text) and (_CLOSES.search(text) or _NAMES_BUG.search(text)):
        return True
    # Beyond ASCII, the patterns may match letters that ``lower`` does not change.
    if text.isascii() and "fix" not in text.lower():
        return False
    return _SAYS_FIX.search(_NOT_A_FIX.sub("", text).lstrip()) is not None


def _without_trailers(message: str) -> str:
    """Return a message without the lines that tools add, and without blanks around it."""
    return (_TRAILER.sub("", message) if "-" in message else message).strip()


def bug_ids(message: str) -> tuple[str, ...]:
    """Return the numbers of the bugs and issues that a commit message mentions.

    The numbers are in order, without repetitions. Numbers of Jira include their project.

    >>> bug_ids("Fix bugs 123 and 456, see PROJ-7 (#99)")
    ('123', '456', 'PROJ-7')
    """
    ids: dict[str, None] = {}
    for match in _BUG_ID.finditer(_without_trailers(message)):
        text = next(group for group in match.groups() if group)
        if match["jira"]:
            ids[text] = None
        else:
            ids |= dict.fromkeys(re.findall(r"\d+", text))
    return tuple(ids)


def first_issue(subject: str) -> str | None:
    """Return the first bug or issue that a commit's first line names; None if it names none.

    The result includes the # or the project if the message has one.

    >>> first_issue("Fix bug 52974: NPE"), first_issue("Escape names (#4944)")
    ('52974', '#4944')
    >>> first_issue("Issue #12"), first_issue("JDK-80: x"), first_issue("Tidy")
    ('#12', 'JDK-80', None)
    """
    match = _BUG_ID.search(subject.strip()) or _REFERENCE.search(subject)
    if match is None:
        return None
    name = next(name for name, group in match.groupdict().items() if group)
    number = match[name]
    if name != "jira":
        number = re.findall(r"\d+", number)[0]
    return f"#{number}" if match.string[: match.start(name)].endswith("#") else number


def reverted_commits(infos: Mapping[str, CommitInfo]) -> set[str]:
    """Return the ids of commits that were reverted and not restored, according to messages.

    ``infos`` maps ids to commits, with parents before their children. A reverted revert restores
    its commits.
    """
    id_by_subject: dict[str, str] = {}
    reverted: set[str] = set()
    targets_by_revert: dict[str, set[str]] = {}
    for info in infos.values():
        subject = info.subject
        targets = {name.lower() for name in _REVERTS.findall(info.message)} & infos.keys()
        revert = _REVERT_OF.match(subject)
        if not targets and revert is not None:
            # the message has no id, so that the newest commit with this subject is meant
            target_subject = revert["subject"].rstrip('"').strip()
            targets = {id_by_subject.get(target_subject, "")}
        reverted |= targets
        for target in targets:
            reverted -= targets_by_revert.get(target, set())
        targets_by_revert[info.id] = targets
        id_by_subject[subject.rstrip('"')] = info.id
    return reverted


def declared_causes(message: str) -> tuple[str, ...]:
    """Return the commits that introduced a bug, according to the message of its fix.

    The result contains ids, or beginnings of ids, in order and without repetitions. Authors write
    trailers, "introduced in X", "X broke it" or "this reverts commit X".

    >>> declared_causes('Count items\\n\\nFixes: 3f2a9c1d ("Speed up carts")\\nFixes: #12')
    ('3f2a9c1d',)
    >>> declared_causes("Fix a regression from commit 3f2a9c1. See 1234567.")
    ('3f2a9c1',)
    """
    ids: dict[str, None] = {}
    for match in _CAUSE.finditer(message[:_MAX_BODY]):
        name = next(group for group in match.groups() if group).lower()
        if _DIGIT.search(name):
            ids[name] = None
    return tuple(ids)


def without_commits(message: str) -> str:
    """Return a message without the ids of commits and the subjects in brackets after these ids.

    >>> without_commits('Carts are empty since 3f2a9c1 ("Speed up carts (again)").')
    'Carts are empty since .'
    """
    return _CITED.sub("", message)


def own_pull_request(message: str) -> str:
    """Return the pull request ("#12") or merge request ("!45") of a commit; "" if unknown.

    >>> own_pull_request("Escape names (#99)"), own_pull_request("Escape names, see #99")
    ('#99', '')
    >>> own_pull_request("Tidy\\n\\nPart-of: <https://example.org/x/-/merge_requests/45>")
    '!45'
    """
    match = _OWN_PULL.search(message.strip()[:_MAX_BODY])
    if match is None:
        return ""
    is_merge_request = match["request"] or match["seen"] or match["kind"] == "merge_requests"
    number = next(match[name] for name in _PULL_GROUPS if match[name])
    return f"!{number}" if is_merge_request else f"#{number}"


def names_reporter(message: str) -> bool:
    """Return whether a trailer of the message names the person who reported the bug."""
    return _REPORTED.search(message) is not None


def change_names(message: str) -> tuple[str, ...]:
    """Return the names under which people refer to a commit, in order and without repetitions.

    The names are the numbers in the message's first line, and the numbers that any line closes:
    "#123" for issues, pull requests and bugs, "!45" for merge requests of GitLab, "PROJ-7" for
    issues of Jira.

    >>> change_names("Merge pull request #391 from x/y\\n\\nFixes #12, see #13")
    ('#391', '#12')
    >>> change_names("PROJ-7: Escape names (#99)\\n\\nSee merge request group/project!45")
    ('PROJ-7', '#99', '!45')
    >>> change_names("Fix bug 56663: NPE\\n\\ncloses https://github.com/x/y/issues/8")
    ('#56663', '#8')
    """
    text = message[:_MAX_BODY]
    if not _DIGIT.search(text):
        return ()
    subject = text.strip().partition("\n")[0]
    names: dict[str, None] = {}
    merged = _PLAIN_MERGE.match(subject)
    if merged:
        names[f"#{merged[1]}"] = None
    elif _may_name_bug(subject):
        for name in bug_ids(subject):
            number = name.removeprefix("GH-")
            names[f"#{number}" if number.isdigit() else name] = None
        for match in _IN_SUBJECT.finditer(subject):
            names[f"#{match[1]}"] = None
    lowered = text.lower()
    if "fix" in lowered or "close" in lowered or "solve" in lowered:
        for match in _CLOSES_NUMBER.finditer(text):
            names[f"#{match[1]}"] = None
        for match in _CLOSED_LINK.finditer(text) if "://" in text else ():
            names[f"#{match[1]}"] = None
    if "!" in text:
        for match in _MERGE_REQUEST.finditer(text):
            names[f"!{match[1]}"] = None
    return tuple(names)


def _may_name_bug(subject: str) -> bool:
    """Return whether a first line may name a bug, which is faster than finding the name."""
    if not _DIGIT.search(subject):
        return False
    lowered = subject.lower()
    return not lowered[0].isalpha() or any(mark in lowered for mark in _MARKS)
