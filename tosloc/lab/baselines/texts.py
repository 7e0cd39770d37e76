"""Source text -> what the published techniques take from it: pieces in their order, declared names, imports; and words.

Each technique cuts words its own way; the names are those of docs/method.md, section B.1.4. Stop words are tested in
lower case before stemming, by one list for all techniques.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

import Stemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tosloc.code.complexity import lizard_complexity
from tosloc.code.facts import captured_spans, captured_texts, outline_source
from tosloc.code.languages import get_language
from tosloc.code.parse import MAX_PARSED_BYTES, Span, capture_nodes
from tosloc.core.records import BugReport

PieceKind: TypeAlias = Literal["head", "code", "string", "javadoc", "comment"]
"""``head`` is a comment before the package or the last import: most often a licence."""

_SPANS: Final = {kind: kind for kind in ("comment", "string", "import", "package")}
_NAMES: Final = ("type", "outer", "method", "variable")
_IMPORT = re.compile(
    rb"import\s{1,1000}+(static\s{1,1000}+)?([\w.\s]{1,1000}+(?:(?<=[.\s])\*\s{0,1000}+)?);"
)
_PACKAGE = re.compile(rb"\bpackage\s+([\w.\s]+)")


@dataclass(frozen=True, slots=True)
class ParsedSource:
    """One source file, without its package and import lines."""

    pieces: tuple[
        tuple[PieceKind, str], ...
    ]  # Texts in order, comments and strings with their marks
    types: tuple[str, ...]  # Names of the declared types in order, nested ones too
    outer: tuple[str, ...]
    methods: tuple[
        str, ...
    ]  # Names of the declared methods and constructors in order, each time one is declared
    variables: tuple[str, ...]
    """Names of the declared fields, local variables and parameters in order, each time one is declared."""
    package: str
    imports: tuple[
        str, ...
    ]  # Imported classes, or packages as ``a.b.*``; a static import counts for its class
    complexity: int = 0  # Sum of the cyclomatic numbers of its functions, where it was asked for

    def text(self, *kinds: PieceKind) -> str:
        """The pieces of these kinds (all, if none is named), each beginning a line of its own."""
        return "\n".join(text for kind, text in self.pieces if not kinds or kind in kinds)


def parse_source(text: str, language: str = "java", complexity: bool = False) -> ParsedSource:
    """What a file holds: Java by its syntax tree, other languages and broken texts by stage one's outline."""
    source, known = text.encode("utf-8", "replace"), get_language(language)
    captures = capture_nodes(source, known, (*_SPANS, *_NAMES)) if language == "java" else None
    if captures is None:
        outline = outline_source(source, language, parse=language != "java")
        spans, header = outline.spans, 0
        names = [outline.types, outline.types[:1], outline.methods, outline.fields]
        packages = [source[span.start : span.end] for span in spans if span.kind == "drop"]
        imports: Iterable[bytes] = (found[0] for found in _IMPORT.finditer(source))
    else:
        # a string in an annotation of the package, a comment in an import: the outer one counts
        spans = captured_spans(captures, _SPANS)
        header = max((span.end for span in spans if span.kind in ("import", "package")), default=0)
        names = [captured_texts(source, captures, name) for name in _NAMES]
        packages = [source[span.start : span.end] for span in spans if span.kind == "package"]
        imports = [source[span.start : span.end] for span in spans if span.kind == "import"]
    package = next(filter(None, map(_PACKAGE.search, packages)), None)
    imported = [
        (_joined(found[2]), found[1]) for found in filter(None, map(_IMPORT.search, imports))
    ]
    lizard = known.lizard if complexity else None
    types, outer, methods, variables = map(tuple, names)
    return ParsedSource(
        tuple(_pieces(source, spans, header)),
        types,
        outer,
        methods,
        variables,
        _joined(package[1]) if package else "",
        tuple(name.rpartition(".")[0] if static else name for name, static in imported),
        0
        if lizard is None
        else lizard_complexity(text, lizard if len(text) <= MAX_PARSED_BYTES else ""),
    )


def _pieces(source: bytes, spans: Sequence[Span], header: int) -> Iterator[tuple[PieceKind, str]]:
    """Comments, strings and the code between them; comments that end before ``header`` are heads."""
    end = 0
    for span in (*spans, Span(len(source), len(source), "end")):
        code, own = source[end : span.start], source[span.start : span.end]
        end = span.end
        if code.strip():
            yield "code", code.decode("utf-8", "replace")
        if own.strip() and span.kind in ("comment", "string"):
            comment: PieceKind = (
                "head" if end <= header else "javadoc" if own.startswith(b"/**") else "comment"
            )
            yield "string" if span.kind == "string" else comment, own.decode("utf-8", "replace")


def _joined(name: bytes) -> str:
    return "".join(name.decode("utf-8", "replace").split())


KEYWORDS: Final[frozenset[str]] = frozenset(
    """abstract assert boolean break byte case catch char class const continue default do double else enum extends final
    finally float for goto if implements import instanceof int interface long native new package private protected
    public return short static strictfp super switch synchronized this throw throws transient try void volatile while
    true false null""".split()
)
STOP_WORDS: Final[frozenset[str]] = frozenset(ENGLISH_STOP_WORDS) | frozenset(
    "don doesn didn isn wasn aren won wouldn couldn shouldn hasn haven hadn ll ve re".split()
)
"""English: scikit-learn's list, and what is left of contractions."""

NL_WORD: Final = re.compile(r"[A-Za-z0-9']+")
_LETTER_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ALNUM = re.compile(r"[A-Za-z0-9]+")
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_PREFIX = re.compile(r"^\s*Bug\s+\d+\s*[-:]?\s*")

_stemmer = Stemmer.Stemmer("porter", 0)


@cache
def porter(word: str) -> str:
    """Porter's stem (1980) of a word in lower case."""
    return str(_stemmer.stemWord(word))


def without_prefix(summary: str) -> str:
    """A summary without the ``Bug 12345`` that the data puts before it.

    >>> without_prefix("Bug 384108 JUnit view: icons"), without_prefix("Bug fix 3 fails")
    ('JUnit view: icons', 'Bug fix 3 fails')
    """
    return _PREFIX.sub("", summary)


def summary_and_description(report: BugReport) -> str:
    """Summary, without the prefix of the data, and description."""
    return f"{without_prefix(report.summary)} {report.description}"


def code_words(text: str) -> list[str]:
    """Runs of letters, split before capitals; of two letters or more.

    >>> code_words("getURLFor x HTMLParser_2 aB")
    ['get', 'URL', 'For', 'HTML', 'Parser']
    """
    return [part for part in _LETTER_PARTS.findall(text) if len(part) > 1]


def letter_parts(word: str) -> list[str]:
    """Runs of letters of a word, split before capitals, in lower case."""
    return [part.lower() for part in _LETTER_PARTS.findall(word)]


def dropped(word: str) -> bool:
    """Whether a word in lower case says nothing: one letter, a stop word or a keyword."""
    return len(word) < 2 or word in STOP_WORDS or word in KEYWORDS


def bluir_split(text: str) -> list[str]:
    """Parts of words, in lower case, longer than two characters.

    >>> bluir_split("getURLFor the HTMLParser2")
    ['get', 'url', 'for', 'the', 'html', 'parser']
    """
    return [part.lower() for part in _PARTS.findall(text) if len(part) > 2]


def bluir_raw(text: str) -> list[str]:
    """Words before they are split, in lower case, longer than two characters."""
    return [run.lower() for run in _ALNUM.findall(text) if len(run) > 2]


def blia_words(text: str) -> list[str]:
    """Each word whole and, if it has several, its parts; entities decoded, tags and possessive endings removed.

    >>> blia_words("Tom&amp;s <b>HTMLParser</b>'s x2")
    ['Tom', 's', 'HTMLParser', 'HTML', 'Parser', 'x2', 'x', '2']
    """
    found: list[str] = []
    for run in NL_WORD.findall(_TAG.sub(" ", html.unescape(text))):
        word = run.removesuffix("'s").strip("'")
        parts = _PARTS.findall(word)
        found += [word, *parts] if len(parts) > 1 else [word] if word else []
    return found


def stems(words: list[str], stops: frozenset[str] = STOP_WORDS) -> list[str]:
    """Porter stems of the words in lower case without the stop words."""
    return [porter(low) for word in words if (low := word.lower()) not in stops]
