"""What the text of a report is made of, and the names in it.

A report is split once into parts: prose, quoted text, code, data, the errors of logs and builds,
the rest of these, what is installed, and the form. Each part has its own weight in a query, see
``tosloc.retrieval.query``.

Reports come as Markdown, and as text that was Markdown once: without fences, marks of headings and
back-ticks. So lines are told by their shape, too. A line that could be two things is prose.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from tosloc.code import text
from tosloc.reports.traces import source_of_object, without_frames

COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE: Final = re.compile(r"```+|^~~~~+", re.MULTILINE)
_TAG: Final = re.compile(r"[ \t]{0,9}([\w+#.\-]{0,30})[ \t]{0,9}\n")
"""After a fence that opens: the language of the block."""
_ADDRESS: Final = re.compile(
    r"""(?x)(?:https?://|www\.) (?:
      [^\s<>)"'`]+? /(?:blob|tree|raw|blame)/ [^\s<>)"'`/]*+ (?:/(?P<file>[^\s<>)"'`]*+))? |
        [^\s<>)"'`]+ )"""
)
_PICTURE: Final = re.compile(
    r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,500}\))?|<(?:img|video|picture|source)\b[^<>\n]{0,500}>|</?(?:details|summary|br|p)\b[^<>\n]{0,100}>"
)
"""A picture in Markdown or HTML, with its caption, and tags that only fold or break text."""

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
"""Words that headings of forms are made of."""
_ENVIRONMENT_WORDS: Final = frozenset(
    "environment version versions platform os system hardware".split()
    + "browser device specs diagnostics diagnose".split()
)
"""Words of headings below which stands what is installed."""
_HEADING: Final = re.compile(
    r"(?P<marks>[^A-Za-z]{0,16}+)(?P<words>[A-Za-z][A-Za-z ,/()'&\-]*+)"
    r"\s*+[*_]{0,3}+\s*+[:?.]?+\s*+[*_]{0,3}+:?+\s*+"
)
"""A heading; its parts share no letters, so that nothing has to be tried twice."""
_HEADING_MARKS: Final = re.compile(r"\W{0,6}(?:\#{1,6}\s*)?[*_]{0,3}")
_ANY_HEADING: Final = re.compile(r"\s{0,3}\#{1,6}\s+\S|\s{0,3}\*\*[^*\n]{1,80}\*\*:?\s*$")
_HEADING_OF_VERSION: Final = re.compile(
    r"(?i)\W{1,9}(?:[\w.+\-]{1,30}\ ){0,2}(?:versions?|environment|platform|os)\W{0,5}$"
)
"""A heading such as "### Depot version"."""
_LONGEST_HEADING: Final = 71
"""Characters of the words of a form's heading."""
_BOX: Final = re.compile(r"\s*[-*+]\s+\[[\sxX]?\]\s")
_ASKED: Final = re.compile(
    r"""(?ix) \W* (?:
      a\ clear\ and\ concise | steps\ to\ reproduce\s | if\ applicable,?\ add |
        add\ any\ other\ context
    | (?:go\ to|click\ on|scroll\ down\ to)\ ['"]?\.\. | see\ error\W*$ | _?no\ response_?\W*$ |
      n/?a\W*$
    | please\ (?:describe|explain|include|provide|paste|fill|tell|enter|replace|check|make\ sure
      |read|ensure|search|note\ that)\b
    | (?:i|we)\ (?:have|'ve)\ (?:searched|checked|read|verified)\b | have\ (?:you|i)\ (?:written
      |read|searched)\b
    | make\ sure\ (?:to|you|that)\b | thank(?:s|\ you)\ for | want\ to\ contribute\ to |
      is\ your\ feature\ request
    | before\ (?:submitting|opening|filing|creating|posting)\b | (?:first|also),?\ please\b
    )"""
)
"""How lines begin that a form says."""
_SETUP: Final = re.compile(
    r"""(?ix) \s{0,9} [-*+\u2022]? \s{0,9} [*_`]{0,3} (?:[\w.+\-/]{1,30}\ ){0,5}?
      (?: versions?(?:\ \([^)\n]{0,60}\))? | browser | device | machine | gpus? | cpu | ram |
        memory | architecture
        | hardware | environment | kernel | distro | distribution | docker | ubuntu | windows |
          macos | linux
        | python | pip | conda | numpy | torch | pytorch | java | jdk | scala | spark | npm |
          node(?:\.?js)?
        | (?:os|operating\ system|platform|gpu\ model|cuda|cudnn|tensorflow|compiler|bazel|gcc
          |mobile\ device
            |installed\ from|are\ you\ willing|have\ i\ written)[^:\n]{0,100}
      ) [*_`]{0,3} \ {0,3} [:=?]"""
)
"""How lines begin of what is installed: - OS: Ubuntu 18.04, Python version: 3.7."""
_RELEASE: Final = re.compile(
    r"""(?x) \s{0,9} [-*]? \s{0,9} [A-Za-z][\w.\-]{0,40} (?: \ ?(?:==?|>=|@)\ ? | [ \t]{1,60} |
      :\ ?v? )
      v?\d+(?:\.\d+){1,4}[\w.+\-]{0,40} (?:[ \t]{1,60}[\w./\-]{1,40}){0,3} \s*"""
)
"""numpy==1.18.5, numpy 1.18.5 pypi_0 pypi: a package with its release."""
_BARE_RELEASE: Final = re.compile(
    r"\s*[`*_]{0,3}v?\d{1,9}(?:\.\d{1,9}){1,4}[\w.+\-]{0,40}[`*_]{0,3}\s*"
)
"""A line that is only a version."""
_DIAGNOSED: Final = re.compile(
    r"""(?ix) \s{0,9}[-*]?\s{0,9} (?: checking\ [^:\n]{1,60}: | [\w ()./+\-]{1,60}:\s{0,40}(?:ok
      |yes|no|true|false|enabled
      |disabled|none|n/?a|not\ (?:found|installed|available)|unknown
        |v?\d{1,9}(?:\.\d{1,9}){1,4}\S{0,40})\s*$ )"""
)
"""What a command of diagnosis prints: Checking disk space: OK, curl version: 7.88."""
_DUMP: Final = re.compile(
    r"""(?ix) \s*(?: collecting\ environment\ information | installed\ versions$ |
      versions?\ of\ relevant\ libraries
      | \#{0,3}\s?(?:your\ )?(?:environment|system|platform)\ info(?:rmation)?\b[^.\n]{0,40}:?\s*$
      | (?:npm\ |npx\ )?envinfo\b | pip\ (?:list|freeze)\b | conda\ (?:list|info)\b
      | package\s{1,60}version\b | \#\ packages\ in\ environment )"""
)
"""The first line of a dump of what is installed."""
_OUTPUT_OF: Final = re.compile(
    r"""(?ix) (?:the\ )?(?:\W{0,6}) (?:the\ )?(?:output|result)s?\ (?:of|from)\ [^\n]{0,60}?
      (?:diagnose|diag|doctor|version|--version|-v\b|\binfo\b|environment|\benv\b|list|freeze
        |about|show_versions|status)"""
)
"""A sentence before a block that a command of diagnosis has printed."""
_LOG: Final = re.compile(
    r"""(?x) \s* (?:
      [\[(<]?\d{4}[-/.]\d{2}[-/.]\d{2}[T\ ]\d{1,2}:\d{2} | \d{2}/\d{2}/\d{2}\ \d{2}:\d{2}:\d{2}
    | [\[(]?\d{1,2}:\d{2}:\d{2}(?:[.,]\d{1,6})?[\])]?\s |
      [A-Z][a-z]{2}\ {1,2}\d{1,2}\ \d{2}:\d{2}:\d{2}
    | [IWEF]\d{4}\ \d{2}:\d{2}:\d{2} | \[\s?\d{1,8}(?:\.\d{1,9})?\]\s | (?:time|ts
      |level)="?[\w:\-+.]+"?\s
    | [\[(]?(?:DEBUG|INFO|WARN|WARNING|TRACE|NOTICE|VERBOSE|info|debug|warn)[\])]?\s?[:|\-\[\]]
    | \[(?:ERROR|FATAL|error)\]\s
    | \[\s?\d{1,3}%\] | \d{1,3}%\| | (?:Epoch|Iteration)\s\d | Step\s\d+/\d+
    | (?:Collecting|Downloading|Requirement\ already|Installing\ collected|Processing
      |Building\ wheel|Using\ cached
        |Successfully)\s
    )"""
)
_QUIET: Final = re.compile(
    r"\b(?:INFO|INF|DEBUG|DBG|TRACE|TRC|VERBOSE|NOTICE|FINE|FINER|FINEST|CONFIG)\b|\blevel=\"?(?:info|debug|trace)"
    r"|\"level\":\s?\"(?:info|debug|trace)|[\[(](?:info|debug|trace|verbose)[\])]|\A\s*(?:I|D)\d{4}\s"
)
"""A level of a line of a log that says that all is well."""
_SEVERE: Final = re.compile(
    r"\b(?:ERROR|ERR|FATAL|FTL|SEVERE|CRITICAL|CRIT|PANIC|EMERG|ALERT)\b|\blevel=\"?(?:error|fatal|panic)"
    r"|\"level\":\s?\"(?:error|fatal)|[\[(](?:error|err|fatal|crit)[\])]|\A\s*(?:E|F)\d{4}\s"
)
"""A level of a line of a log that says that something failed."""
_FAILURE: Final = re.compile(
    r"[Ee]rror\b|Exception\b|\b[Pp]anic|\b[Ff]ail(?:ed|ure|s)?\b|\b[Ff]atal\b|Traceback|\bWARN(?:ING)?\b"
)
"""Words of failures, where a line has no level."""
_LEVEL_WITHIN: Final = 120
"""Characters of a line of a log in which its level stands."""
_COMPILER: Final = re.compile(
    r"""(?x) \s{0,9} (?:[\w./+~\-]{0,120}/)? (?: (?:[\w]{1,20}-){0,4}(?:g?cc|g\+\+|clang(?:\+\+)?
      |c\+\+|ld|ar|emcc)(?:-[\d.]{1,8})?
      | cl\.exe | rustc | javac | nvcc | ccache | libtool ) (?:\.exe)? \s"""
)
"""A command that compiles or links."""
_FLAG: Final = re.compile(r"(?<!\S)-[\w\-]\S*+")
_COMPILER_FLAG: Final = re.compile(
    r"(?<!\S)-(?:D\w|W[a-z]|I\S|isystem\b|std=|O[0-3s]\b|f[a-z]+-[a-z]|m(?:arch|tune|cpu)=)"
)
_MIN_FLAGS: Final = 3
"""Flags for a compiler in a line that is a command of a build, whatever its program is called."""
_SOURCES_IN_COMMAND: Final = re.compile(
    r"(?<!\S)[\w./+~\-]{1,300}\.(?:c|cc|cpp|cxx|m|mm|cu|rs|java|kt|swift|f90)(?!\S)"
)
"""What of a command that compiles says anything: the files that it compiles."""
_BUILD_STEP: Final = re.compile(
    r"""(?x) \s{0,9} (?: \[\s?\d{1,5}(?:%|/\d{1,6})\] | (?:g?make|ninja|scons
      |msbuild)(?:\[\d{1,3}\])?: | --\s
      | (?:Scanning|Consolidate|Built)\ | (?:CC|CXX|LD|AR|GEN|INSTALL|LINK)\s{1,9}\S | >\s?Task\s:
        | Compiling\ \S{1,60}\ v\d
      | In\ file\ included\ from | \s{1,20}from\ \S{1,200}:\d{1,7}[,:](?!in\b) )"""
)
"""A line of a build that only says how far it is."""
_DIAGNOSTIC: Final = re.compile(
    r"""(?x)
      :\d{1,7}(?::\d{1,7})?:\ (?:fatal\ )?(?:error|warning|note)\b
      # Visual Studio, C#, TypeScript
    | \(\d{1,7}(?:,\d{1,7}){0,3}\)\ ?:\ (?:fatal\ )?(?:error|warning)\b
    | :\d{1,7}:\d{1,7}\ -\ (?:error|warning)\ TS\d
      # Go, Maven, Kotlin
    | \.go:\d{1,7}:\d{1,7}:\s | \.(?:java|kt|scala|groovy):\[\d{1,7},\d{1,7}\]\s
    | \A\s{0,9}e:\ \S{1,300}\.kts?:
      # Rust, webpack, linkers, Gradle
    | \A\s{0,9}error\[E\d{4}\]:\s | \A\s{0,9}-->\ \S{1,300}:\d{1,7}:\d
    | \A\s{0,9}ERROR\ in\ \.{0,2}/\S
    | \bundefined\ (?:reference\ to|symbols?)\b.{0,9}[`'":] | \A\s{0,9}>\ Task\ \S{1,100}\ FAILED"""
)
"""What a compiler says of a line."""
_BUILD_FAILURE: Final = re.compile(
    r"""(?x) FAILED:\s | \*\*\*\ | :\d{1,7}(?::\d{1,7})?:\ (?:fatal\ )?(?:error|warning|note)\b |
      \berror(?:\[E\d{1,5}\]|\ [A-Z]{1,3}\d{1,5})?:\s
      | \bundefined\ (?:reference|symbol) | \bfatal\ error\b | >\s?Task\s\S{1,100}\ FAILED |
        BUILD\ FAILED"""
)
_FAILED_BUILD: Final = re.compile(
    r"(?m)^\s{0,9}FAILED:\s\S|\.\w{1,4}:\d{1,7}:(?:\d{1,7}:)? (?:fatal )?error\b"
    r"|\.\w{1,4}\(\d{1,7}(?:,\d{1,7})?\) ?: (?:fatal )?error\b"
    r"|^(?:make|ninja)(?:\[\d\])?: \*\*\*\s|^error\[E\d{4}\]:"
)
_TRACED: Final = re.compile(
    r"""(?x) \s{0,40} (?:
      # gdb, address sanitizer, PHP
      \#\d{1,3}\s{1,4}(?: 0x[0-9a-f]{1,16}\b | \S{1,300}\.php\(\d | \{main\}
        | \[internal\ function\] | [^\n]{1,300}\ (?:at|from)\ \S{1,300}(?::\d|\.so\b) )
    | ==\d{1,9}==\s
      # Go
    | \S{1,300}\.go:\d{1,7}(?:\s\+0x[0-9a-f]{1,16})?\s*$
    | [\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\((?:0x|\{0x|\.\.\.\))
    | [\w.~%\-]{1,100}/[\w./~%\-]{1,200}(?:\(\*?\w{1,80}\))?[\w.]{0,100}\(\)\s*$
    | created\ by\ [\w./] | goroutine\ \d{1,9}\ \[ | \[signal\ SIG
      # Ruby
    | \S{1,300}\.rb:\d{1,7}:in\s | from\ \S{1,300}:\d{1,7}:in\s
      # Elixir
    | \(\w{1,60}\ [\d.]{1,20}\)\ \S{1,300}\.exs?:\d
    | \S{1,300}\.exs?:\d{1,7}:\ (?:[A-Z][\w.]{1,100}/\d|anonymous\ fn/)
      # Rust
    | \d{1,3}:\s{1,9}(?:0x[0-9a-f]{1,16}\ -\ )?[\w<][^\s(]{0,300}::[^\s(]{1,300}\s*$
      # Rust, Node
    | at\ [^\n]{1,300}:\d{1,7}(?::\d{1,7})?\)?\s*$
      # Swift
    | \d{1,3}\s{1,9}\S{1,60}\s{1,30}0x[0-9a-f]{8,16}\s
    | \d{1,3}\ (?:\[\w{1,20}\]|0x[0-9a-f]{1,16})\ [^\n]{1,300}\ in\ \S{1,100}\ at\ \S{1,300}:\d
      # lldb, Kotlin/Native, Dart
    | (?:\*\ )?frame\ \#\d{1,3}:\ 0x | at\ \d{1,3}\s{1,9}\S{1,60}\s{1,9}0x[0-9a-f]
    | \#\d{1,3}\s{1,9}[^\n]{1,300}\ \((?:package|file|dart):[^\n]{1,300}:\d
      # Lua, Perl, Julia
    | in\ \S[^\n]{0,300}\ at\ \S{1,300}\.jl:\d
    | \S{1,300}\.lua:\d{1,7}:\ in\s | \[C\]:\ in\s
    | [\w:]{1,200}\([^\n]{0,300}\)\ called\ at\ \S{1,300}\ line\ \d
    | @\ (?:[\w.]{1,60}\ )?(?:\S{1,300}\.jl|REPL\[\d{1,5}\]|none):\d
      # Firefox and Safari, whose addresses may have been taken out
    | [\w$.<>/*]{0,100}@(?:\S{1,300}:\d{1,7}:\d{1,7})?\s*$
    )"""
)
"""A line of a stack trace."""
_NUMBERED: Final = re.compile(r"\s{0,9}\[\s?\d{1,4}\]\s{1,4}(?=\S)")
"""What begins a frame of Julia, and a line of a log."""
_JULIA_PLACE: Final = re.compile(r"\ (?:at|@)\ \S{1,300}:\d")
_KEY: Final = re.compile(
    r"""(?x) \s*+ (?:-\s)? (?: "[^"\n]{1,80}"\s*+: | '[^'\n]{1,80}'\s*+: |
      [\w.\-]{1,60}\s*+[:=](?![:=]) )"""
)
"""How a line begins that sets a key to a value."""
_CODE: Final = re.compile(
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
_SETTINGS: Final = frozenset("json yaml yml toml ini xml jsonnet".split())
"""Languages of blocks of settings."""
_QUOTE: Final = re.compile(r"\s{0,3}(?:>\s?){1,9}")
_TABLE_OF_VERSIONS: Final = re.compile(
    r"(?i)\|[^\n]{0,200}\b(?:version|software|browser|os|platform|environment|executable)\b"
)
_DASHES: Final = re.compile(r"[\W_]*")
_DIGITS: Final = str.maketrans("123456789", "000000000")


LONGEST_LINE: Final = 10_000
"""Characters by which a line is classified. Reports whose line breaks were lost are longer
lines."""
_LONGEST_TOLD: Final = 1_000
"""Characters of a line that its beginning may tell to be of a log, a build or a form. Longer ones
are whole texts."""


MAX_QUIET_LINES: Final = 100
"""Different lines of logs without an error that are read of a text."""
MAX_ERROR_LINES: Final = 500
"""Different lines of logs with an error that are read of a text."""


class ReportText(NamedTuple):
    """The text of a description by what it is; each part has the lines of its kind, in order."""

    prose: str = ""
    """What the reporter says."""
    quoted: str = ""
    """What the reporter quotes, from a page or from others."""
    code: str = ""
    """Code and commands, and what they print."""
    data: str = ""
    """Blocks of keys with values, such as settings."""
    errors: str = ""
    """Lines of logs and of builds that say what failed; repeated lines once."""
    near_errors: str = ""
    """Lines of logs right before and after these."""
    log: str = ""
    """All other lines of logs and builds; repeated lines once, builds without flags."""
    trace: str = ""
    """Frames of stack traces, but those that ``traces.without_frames`` takes out: Go, C, PHP, Ruby,
    Rust."""
    environment: str = ""
    """What is installed, and what a command of diagnosis prints."""
    form: str = ""
    """What the form says: headings, boxes, questions, lines of the project's template, and lines
    that many reports share."""


def split_report_text(description: str, form_lines: Collection[str] = ()) -> ReportText:
    """Split a description into parts.

    ``form_lines`` are lines that are known to come from the project's issue forms, each as
    ``template_key`` returns it. A line is classified by its first ``LONGEST_LINE`` characters.

    >>> text = "## Describe the bug\\nIt hangs.\\n```\\nrun(3)\\n```\\n- OS: Linux\\n"
    >>> parts = split_report_text(text)
    >>> parts.prose, parts.code, parts.environment, parts.form
    ('It hangs.', 'run(3)', '- OS: Linux', '## Describe the bug')
    >>> parts = split_report_text("12:00:01 INFO up\\n12:00:02 INFO up\\n12:00:07 ERROR no door")
    >>> parts.errors, parts.near_errors, parts.log
    ('12:00:07 ERROR no door', '12:00:01 INFO up', '')
    """
    splitter = _Splitter(form_lines)
    bare = _PICTURE.sub(" ", COMMENT.sub("\n", description))
    for number, block in enumerate(_FENCE.split(bare)):
        if number % 2 == 1:
            splitter.add_fenced(block)
        else:
            splitter.add_unfenced(block)
    splitter.end_log()
    return ReportText(**{kind: "\n".join(lines) for kind, lines in splitter.lines.items()})


class CondensedText(NamedTuple):
    """A text without most quiet lines of its logs, and where the others were."""

    text: str
    starts: tuple[int, ...] = (0,)
    """Offsets in ``text`` at which a run of kept lines begins, ascending."""
    original_starts: tuple[int, ...] = (0,)
    """Offsets of these in the original text."""

    def original_offset(self, offset: int) -> int:
        """Return the offset in the original text of an offset in this one."""
        run = bisect(self.starts, offset) - 1
        return self.original_starts[run] + offset - self.starts[run]


def condense_logs(text: str) -> CondensedText:
    """Leave out repeated lines of long logs, and quiet ones beyond the first ``MAX_QUIET_LINES``.

    Lines are the same if only digits differ. Lines beside errors stay. So what is read of a log
    takes time for what it says, not for its length.
    """
    if text.count("\n") < MAX_QUIET_LINES:
        return CondensedText(text)
    lines = text.splitlines(keepends=True)
    kept = _kept_lines(lines)
    starts: list[int] = []
    original_starts: list[int] = []
    size = 0
    offset = 0
    was_kept = False
    for line, is_kept in zip(lines, kept, strict=True):
        if is_kept and not was_kept:
            starts.append(size)
            original_starts.append(offset)
        if is_kept:
            size += len(line)
        offset += len(line)
        was_kept = is_kept
    condensed = "".join(line for line, is_kept in zip(lines, kept, strict=True) if is_kept)
    return CondensedText(condensed, tuple(starts) or (0,), tuple(original_starts) or (0,))


def _kept_lines(lines: list[str]) -> list[bool]:
    """Return which lines ``condense_logs`` keeps."""
    kept = [True] * len(lines)
    shapes: set[str] = set()
    quiet = 0
    errors = 0
    after_error = False
    for number, line in enumerate(lines):
        if not _is_logged(line):
            after_error = False
            continue
        shape = line.translate(_DIGITS)
        is_new = shape not in shapes
        shapes.add(shape)
        if _level(line) == "error":
            errors += is_new
            kept[number] = is_new and errors <= MAX_ERROR_LINES
            if kept[number] and number:
                kept[number - 1] = True
            after_error = kept[number]
            continue
        quiet += is_new
        kept[number] = after_error or (is_new and quiet <= MAX_QUIET_LINES)
        after_error = False
    return kept


def shows_failed_build(description: str) -> bool:
    """Return whether a description has what a build prints when it fails.

    >>> shows_failed_build("FAILED: a.dir/b.cpp.o"), shows_failed_build("b.cpp:3:1: error: no")
    (True, True)
    >>> shows_failed_build("The build failed")
    False
    """
    return _FAILED_BUILD.search(description) is not None


def template_key(line: str) -> str:
    """Return a line of an issue form without marks, addresses and case.

    Lines of forms and of reports are compared by it.

    >>> template_key("- [ ] I use the *latest* version"), template_key("      label: Depot version")
    ('i use the latest version', 'depot version')
    """
    marks = _TEMPLATE_MARKS.match(line)
    bare = line[marks.end() :] if marks else line
    # A line of a report comes without addresses, and with blanks between its scripts.
    bare = text.separate_scripts(without_addresses(bare))
    return " ".join(_WORDS.findall(bare.lower()))


_TEMPLATE_MARKS: Final = re.compile(
    r"(?:\s{0,99}[-*+#>|\s]{0,12}(?:\[[\sxX]?\]\s{0,4})?(?:(?:label|description|value|placeholder|about|title|name):\s{0,4}[|>]?)?\s{0,4})"
)
_WORDS: Final = re.compile(r"\w+")


def template_keys(template: str) -> frozenset[str]:
    """Return the keys of the lines of an issue form in Markdown or YAML.

    Options of a YAML form are left out, because a report repeats only the one that its reporter
    chose.

    >>> form = "- type: dropdown\\n  label: Which part\\n  options:\\n    - Cart\\n"
    >>> sorted(template_keys(form))
    ['type dropdown', 'which part']
    """
    keys = set()
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


def repeatable_lines(description: str) -> frozenset[str]:
    """Return the keys of the lines of a description that may come from a form.

    These are the lines of prose with two words or more, and headings. Code, logs and the like
    repeat for other reasons. Keys are as ``template_key`` returns them.

    >>> text = "# Crash\\nWhich depot?\\nnone\\njava.lang.Error\\nrun(3)\\n12:00:01 INFO it is up"
    >>> sorted(repeatable_lines(text))
    ['crash', 'which depot']
    """
    condensed = condense_logs(description).text
    bare = without_addresses(without_frames(condensed))
    keys = set()
    for line in split_report_text(text.separate_scripts(bare)).prose.splitlines():
        if len(line) > _LONGEST_TOLD:
            continue
        words = [word for word in line.split() if _LETTER.search(word)]
        if len(words) > 1 or (words and _ANY_HEADING.match(line)):
            keys.add(template_key(line))
    return frozenset(keys)


_LETTER: Final = re.compile(r"[^\W\d_]")
_TEMPLATE_PATH: Final = re.compile(
    r"(?i)(?:\.github/|docs/|\.gitea/|\.forgejo/)?(?:ISSUE_TEMPLATE/[^/]{1,200}|ISSUE_TEMPLATE)\.(?:md|ya?ml|txt)|(?:\.github/|docs/)?ISSUE_TEMPLATE"
    r"|\.gitlab/issue_templates/[^/]{1,200}\.md"
)


def is_issue_template(path: str) -> bool:
    """Return whether a path is that of an issue form of GitHub, GitLab, Gitea or Forgejo.

    >>> is_issue_template(".github/ISSUE_TEMPLATE/bug.yml"), is_issue_template("docs/index.md")
    (True, False)
    """
    return _TEMPLATE_PATH.fullmatch(path) is not None


class _Splitter:
    """Lines of a description by kind, and what is known of the lines before."""

    def __init__(self, form_lines: Collection[str]) -> None:
        self.lines: defaultdict[str, list[str]] = defaultdict(list)
        self._form_lines = form_lines
        self._below_environment = False
        """Whether the last heading, or the last sentence, announced what is installed."""
        self._logged: list[tuple[str, str]] = []
        """Level and text of the lines of the log that goes on."""
        self._shapes: set[str] = set()
        """Lines of logs that were seen, digits aside."""

    # ---- logs

    def _log(self, level: str, line: str) -> None:
        """Add a line to the current log, unless only its digits differ from an earlier line's."""
        shape = line.translate(_DIGITS)
        if shape in self._shapes:
            return
        self._shapes.add(shape)
        self._logged.append((level, line))

    def end_log(self) -> None:
        """Sort the lines of the log that ends: errors, the lines beside them, the others."""
        for place, (level, line) in enumerate(self._logged):
            beside = self._logged[max(place - 1, 0) : place + 2]
            if level == "error":
                kind = "errors"
            elif any(other == "error" for other, _ in beside):
                kind = "near_errors"
            else:
                kind = "log"
            self.lines[kind].append(line)
        self._logged = []

    # ---- blocks

    def add_fenced(self, block: str) -> None:
        """Add the lines of a block between two fences."""
        self.end_log()
        tag = _TAG.match(block)
        content = block[tag.end() :] if tag else block
        written = [line for line in content.splitlines() if line.strip()]
        heads = [line[:LONGEST_LINE] for line in written]
        announced = self._below_environment and tag is not None and not _shows_code(heads)
        if "\n" in content:
            self._below_environment = False
        if announced or _is_environment_block(heads):
            self.lines["environment"] += written
            return
        logged = sum(map(_is_logged, heads))
        if logged * 2 > len(heads):
            self._add_log_block(written, heads)
            return
        built = sum(map(_is_built, heads))
        if built * 3 >= max(len(heads), 3) or any(map(_is_failed_target, heads)):
            self._add_build_block(written, heads)
            return
        settings = sum(map(_is_setting, heads))
        is_settings_language = tag is not None and tag[1].lower() in _SETTINGS
        is_data = is_settings_language or (len(heads) > 2 and settings * 3 > len(heads) * 2)
        for line, head in zip(written, heads, strict=True):
            if _DASHES.fullmatch(head):
                continue
            if _is_logged(head):
                self._log(_level(head), line)
                continue
            self.end_log()
            if _is_traced(head):
                self.lines["trace"].append(line)
            elif _is_installed(head):
                self.lines["environment"].append(line)
            elif _is_built(head):
                self._add_built(line, head)
            else:
                self.lines["data" if is_data else "code"].append(line)
        self.end_log()

    def _add_log_block(self, written: Iterable[str], heads: Iterable[str]) -> None:
        """Add the lines of a log; one without time or level goes on with the line before."""
        level = "quiet"
        for line, head in zip(written, heads, strict=True):
            if _is_logged(head):
                level = _level(head)
            elif _FAILURE.search(head):
                level = "error"
            self._log(level, line)
        self.end_log()

    def _add_build_block(self, written: Iterable[str], heads: Iterable[str]) -> None:
        for line, head in zip(written, heads, strict=True):
            self._add_built(line, head)
        self.end_log()

    def _add_built(self, line: str, head: str) -> None:
        """Add a line of a build, a command without its flags."""
        if _is_failed_target(head):
            self._log("error", " ".join(map(source_of_object, line.split()[1:])))
        elif _BUILD_FAILURE.search(head) or _DIAGNOSTIC.search(head):
            self._log("error", line)
        elif _is_command_of_build(head):
            sources = _SOURCES_IN_COMMAND.findall(_FLAG.sub(" ", line))
            self.lines["log"] += sources
        else:
            # Lines beside errors of a compiler are code that it shows.
            self._log("quiet", line)

    def add_unfenced(self, block: str) -> None:
        """Add the lines of a block outside fences, where code is recognized by its shape."""
        inside_code = False  # Within code, a line that could be code is code.
        in_table = False
        inside_dump = False
        for written in block.splitlines():
            quote = _QUOTE.match(written) if written.lstrip().startswith(">") else None
            line = written[quote.end() :] if quote else written
            head = line[:LONGEST_LINE]
            bare = head.strip()
            if not bare:
                in_table = False
                continue
            if _DASHES.fullmatch(bare) and not inside_code:
                continue
            is_short = len(line) <= _LONGEST_TOLD
            if is_short and not quote:
                in_table = bare.startswith("|") and (
                    in_table or bool(_TABLE_OF_VERSIONS.match(bare))
                )
                kind = self._kind_of_form(bare, inside_dump or in_table)
                if kind:
                    self.end_log()
                    inside_dump = inside_dump or bool(_DUMP.match(bare))
                    self.lines[kind].append(line)
                    inside_code = False
                    continue
                inside_dump = False
                if _is_logged(head):
                    self._log(_level(head), line)
                    continue
                if _is_traced(head):
                    self.end_log()
                    self.lines["trace"].append(line)
                    continue
                if _is_built(head):
                    self._add_built(line, head)
                    continue
            self.end_log()
            indented = inside_code and head.startswith(("    ", "\t"))
            # A sentence may begin like code.
            inside_code = indented or (_CODE.match(head) is not None and not _is_sentence(head))
            if inside_code:
                self.lines["code"].append(line)
            else:
                self.lines["quoted" if quote else "prose"].append(line)
                self._below_environment = is_short and _OUTPUT_OF.search(bare) is not None

    def _kind_of_form(self, bare: str, inside_dump: bool) -> str:
        """Return "form" or "environment" for a line of a form or an answer to it, else empty."""
        if _is_form_heading(bare):
            self._below_environment = _announces_environment(bare)
            return "form"
        if _ANY_HEADING.match(bare):
            self._below_environment = _HEADING_OF_VERSION.match(bare) is not None
            if self._below_environment:
                return "form"
        if _BOX.match(bare) or _ASKED.match(bare):
            return "form"
        if bare.endswith(":") and _OUTPUT_OF.match(bare):
            self._below_environment = True
            return "form"
        if self._form_lines and template_key(bare) in self._form_lines:
            return "form"
        if _is_installed(bare) or _BARE_RELEASE.fullmatch(bare) or _DUMP.match(bare):
            return "environment"
        if inside_dump and not _is_sentence(bare):
            return "environment"
        if self._below_environment and not _is_sentence(bare) and not _CODE.match(bare):
            return "environment"
        return ""


def _is_environment_block(heads: list[str]) -> bool:
    """Return whether most lines of a block say what is installed."""
    if any(map(_DUMP.match, heads[:3])):
        return True
    told = sum(_is_installed(head) or _DIAGNOSED.match(head) is not None for head in heads)
    return len(heads) > 1 and told * 2 > len(heads)


def _shows_code(heads: list[str]) -> bool:
    """Return whether a block has a traceback, or is code by a third or more."""
    code = sum(_CODE.match(head) is not None for head in heads)
    return code * 3 >= max(len(heads), 3) or any("Traceback" in head for head in heads)


def _is_logged(line: str) -> bool:
    if len(line) > _LONGEST_TOLD or _LOG.match(line) is None:
        return False
    return not _is_julia_frame(line)


def _is_julia_frame(line: str) -> bool:
    """Return whether a line is the numbered one of a stack frame of Julia.

    >>> [_is_julia_frame(line) for line in (" [1] f(x::Int64)", "[2] f at ./a.jl:3", "[3] f()")]
    [True, True, True]
    >>> [_is_julia_frame(line) for line in ("[1] started", "[2] a::f(x) at 3", "[3] f(x) failed")]
    [False, False, False]
    """
    number = _NUMBERED.match(line)
    if number is None:
        return False
    call = line[number.end() :].rstrip()
    if call.startswith(("top-level scope", "macro expansion")) or _JULIA_PLACE.search(call):
        return True
    name, bracket, arguments = call.partition("(")
    if not bracket or " " in name:
        return False
    return "::" in arguments or arguments == ")"


def _level(line: str) -> str:
    """Return "error" for a line of a log that says that something failed, else "quiet".

    >>> [_level(line) for line in ("[INF] it failed", "1:00 ERROR no", "1:00 it failed", "1:00 up")]
    ['quiet', 'error', 'error', 'quiet']
    """
    beginning = line[:_LEVEL_WITHIN]
    if _SEVERE.search(beginning):
        return "error"
    if _QUIET.search(beginning):
        return "quiet"
    return "error" if _FAILURE.search(line) else "quiet"


def _is_traced(line: str) -> bool:
    """Return whether a line is one of a stack trace.

    >>> [_is_traced(line) for line in ("x.org/a.(*B).C(0xefe620)", "#1 0x12 in f a.c:3")]
    [True, True]
    >>> [_is_traced(line) for line in ("#1 is it", "f(x)")]
    [False, False]
    """
    if len(line) > _LONGEST_TOLD:
        return False
    return _TRACED.match(line) is not None or _is_julia_frame(line)


def _is_built(line: str) -> bool:
    """Return whether a line is one of a build: a command, a step, or what failed."""
    if len(line) > 5 * _LONGEST_TOLD:
        return False
    return (
        _BUILD_STEP.match(line) is not None
        or _is_failed_target(line)
        or _is_command_of_build(line)
        or _DIAGNOSTIC.search(line) is not None
    )


def _is_failed_target(line: str) -> bool:
    return line.lstrip().startswith("FAILED: ")


def _is_command_of_build(line: str) -> bool:
    if " -" not in line:
        return False
    return len(_COMPILER_FLAG.findall(line)) >= _MIN_FLAGS or _COMPILER.match(line) is not None


def _is_sentence(line: str) -> bool:
    """Return whether a line reads as a sentence: many plain words, few marks."""
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
    """Return whether a line says what is installed."""
    if _RELEASE.fullmatch(line):
        return True
    key = _SETUP.match(line) if len(line) < 250 else None
    if key is None or _is_sentence(line):
        return False
    # kernel = RBF(3) is code.
    return not (line[key.end() - 1] == "=" and line.rstrip().endswith((")", "(", ";", ",", "{")))


def _is_form_heading(line: str) -> bool:
    """Return whether a line is a heading as forms have it, of words that say nothing of the bug.

    >>> [_is_form_heading(line) for line in ("## To Reproduce", "**Describe the bug**")]
    [True, True]
    >>> [_is_form_heading(line) for line in ("Environment:", "# Crash")]
    [True, False]
    """
    words = _heading_words(line)
    return 0 < len(words) < 10 and all(word in _FORM_WORDS for word in words)


def _announces_environment(line: str) -> bool:
    """Return whether a heading of a form asks for what is installed."""
    return not _ENVIRONMENT_WORDS.isdisjoint(_heading_words(line))


def _heading_words(line: str) -> list[str]:
    """Return the words of a heading in lower case; none if the line is no heading."""
    heading = _HEADING.fullmatch(line)
    if heading is None or not _HEADING_MARKS.fullmatch(heading["marks"]):
        return []
    if len(heading["words"].rstrip()) > _LONGEST_HEADING:
        return []
    words = re.split(r"[\s/-]+", heading["words"].lower().strip(" /-"))
    return [word.strip("(),'&") for word in words]


_PREFIX: Final = re.compile(
    r"(?i)\A\s*(?:"
    r"[\[(](?:bug|bug report|issue|problem|regression|critical|error|question|help)[\])]"
    r"|(?:bug|issue|problem|regression)(?:\s?report)?\s?[:\-]\s)\s*:?\s*"
)


def bare_title(summary: str) -> str:
    """Return a summary without words that only say that it is a bug.

    >>> bare_title("[BUG] Crash on save"), bare_title("BUG: Crash"), bare_title("Bug in Foo")
    ('Crash on save', 'Crash', 'Bug in Foo')
    """
    return _PREFIX.sub("", summary) or summary


def without_addresses(source: str) -> str:
    """Return a text without addresses of pages and pictures; paths of linked files stay.

    >>> without_addresses("see https://x.org/a/b and https://github.com/a/b/blob/12ab/src/c.py#L7")
    'see   and  src/c.py#L7'
    """
    return _ADDRESS.sub(r" \g<file>", source)


class Command(NamedTuple):
    """A command, option or key with hyphens or dots: ``new-window``, ``server.port``."""

    parts: tuple[str, ...]
    """Its words in lower case."""
    is_certain: bool
    """Whether it is quoted as code or written as an option, so that it is no hyphenated word of a
    sentence."""

    @property
    def joined(self) -> str:
        """Its words as one term, that of ``new_window`` and ``newWindow`` in code."""
        return "".join(self.parts)


_HYPHENATED: Final = re.compile(
    r"(?<![\w/.\-])(?P<mark>`|--)?-{0,2}(?P<name>[A-Za-z][A-Za-z0-9_]{0,40}(?:-[A-Za-z][A-Za-z0-9_]{0,40}){1,5})(?![\w/\-]|\.[a-z])"
)
_DOTTED_KEY: Final = re.compile(
    r"(?<![\w/.\-])[a-z][a-z0-9_\-]{1,40}(?:\.[a-z][a-z0-9_\-]{1,40}){1,4}(?=\s?[=:`])"
)


def commands(source: str) -> list[Command]:
    """Return the commands, options and keys of a text in order.

    >>> text = "`new-window -k` or --ffmpeg-location; `server.port`, a.py: no"
    >>> [command.parts for command in commands(text)]
    [('new', 'window'), ('ffmpeg', 'location'), ('server', 'port')]
    >>> [command.is_certain for command in commands("`new-window -k` is well-known")]
    [True, False]
    """
    spans = list(_SPAN.finditer(source))
    span_starts = [span.start() for span in spans]
    found = []
    for match in _HYPHENATED.finditer(source):
        parts = match["name"].lower().replace("_", "-").split("-")
        span = bisect(span_starts, match.start("name")) - 1
        in_span = span >= 0 and match.start("name") < spans[span].end()
        is_certain = in_span or match["mark"] is not None
        found.append(Command(tuple(filter(None, parts)), is_certain))
    for match in _DOTTED_KEY.finditer(source):
        parts = re.split(r"[._\-]", match[0])
        if parts[-1] not in _ENDINGS:
            found.append(Command(tuple(filter(None, parts)), is_certain=True))
    return [command for command in found if len(command.parts) > 1]


class Name(NamedTuple):
    """A name that a report writes as code."""

    key: str
    """Its term in files: its compound, or the stem of a single word."""
    owner: str
    """Term of the name before its dot (Owner.name); empty if there is none."""
    compound: bool
    """Whether it has two parts or more, so that no other name has the term."""
    written: str
    """The name as written."""


_SPAN: Final = re.compile(r"`([^`\n]{1,300})`")
_NAME: Final = re.compile(
    r"(?<![\w$])[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?P<call>\(?)"
)
_PARTED: Final = re.compile(r"\.|::|->|#")
_DEFINED: Final = re.compile(
    r"(?m)^[ \t>.]*(?:async\s+)?(?:def|class|function|func|fn|struct)\s+([A-Za-z_$][\w$]*)"
)
_ENDINGS: Final = frozenset(
    "c cc cfg com cpp cs csv go h hpp html io java js json jsx md net org".split()
    + "py rs scala sh toml ts txt yaml yml".split()
)
_PLAIN: Final = re.compile(r"[A-Za-z]?[a-z]+\d*|[A-Z]+s?\d*")


def names(source: str, code: bool = False) -> list[Name]:
    """Return the names in a text, each once, in order.

    They are parts of dotted names, calls, compounds, and what is in back-ticks. With ``code`` the
    text is code; what it defines itself is left out.

    >>> text = "Header.fromString fails in parse_args and `cut`, not in foo"
    >>> [(name.key, name.owner) for name in names(text)]
    [('header', ''), ('fromstring', 'header'), ('parseargs', ''), ('cut', '')]
    """
    defined = {name.lower() for name in _DEFINED.findall(source)} if code else set()
    quoted = {span.strip("()") for span in _SPAN.findall(source)}
    found: dict[tuple[str, str], Name] = {}
    for match in _NAME.finditer(source):
        pieces = [piece for piece in _PARTED.split(match[0].rstrip("(")) if piece]
        if len(pieces) > 1 and pieces[-1].lower() in _ENDINGS and not match["call"]:
            pieces = pieces[:-1]  # a file or a site
        owner = ""
        for number, piece in enumerate(pieces):
            terms = text.identifier_terms(piece)
            if not terms:
                owner = ""
                continue
            key = terms[-1]
            is_called = bool(match["call"]) and number == len(pieces) - 1
            is_compound = bool(text.identifier_compounds(piece))
            looks_like_code = is_compound and not _PLAIN.fullmatch(piece)
            is_name = looks_like_code or is_called or len(pieces) > 1 or piece in quoted
            if is_name and piece.lower() not in defined:
                found.setdefault((key, owner), Name(key, owner, is_compound, piece))
            owner = key
    return list(found.values())
