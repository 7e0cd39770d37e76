"""Why a file stands where it stands: of all that can be said, at most three things, by their use to a reader.

Order, by use: where the report itself points (a stack frame, a name), then an earlier fix or commit, then the words
that met; what is left after these is for files of which little can be said. A thing is told only where a feature of its
kind lifted the file. Age, size, folder and what changes together lift files too, and are never reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice

from tosloc.code.function_rows import FunctionFacts
from tosloc.index.context import QueryContext
from tosloc.rank.features import FEATURES
from tosloc.rank.reasons import NEAR, PastChange, ReasonsOf, Sources
from tosloc.records import FloatArray, Reason

SHOWN = 3
"""Reasons a file, at most."""
LEADING = 5
"""A test, or what one tests, speaks for a file where it is among so many first ones."""


class Explainer:
    """Reasons for the files of one answered query; ``order`` gives the first files, ``LEADING`` or more, best first."""

    def __init__(
        self,
        context: QueryContext,
        columns: Mapping[str, FloatArray],
        weights: Mapping[str, float],
        order: Callable[[], Sequence[int]],
    ) -> None:
        self.columns, self.weights, self.order = columns, weights, order
        self.reasons = ReasonsOf(context)

    @cached_property
    def _leading(self) -> list[int]:
        return list(islice(self.order(), LEADING))

    def why(
        self,
        files: Sequence[int],
        sources: Sources | None = None,
        terms: Mapping[int, Reason] | None = None,
        functions: Mapping[int, FunctionFacts] | None = None,
    ) -> list[tuple[Reason, ...]]:
        """At most SHOWN reasons for each file, the most useful first.

        ``terms`` is what a reranker says of some files, ``functions`` are the functions of some.
        """
        sources = sources or Sources()
        self.reasons.look_at(files)
        past = [self._past(file) for file in files]
        shown = [change.commit for changes in past for change in changes]
        subjects = sources.subjects(list(dict.fromkeys(shown))) if shown else {}

        def told(change: PastChange) -> Reason:
            return self.reasons.told(change, subjects.get(change.commit), sources.commit_url(change.commit))

        return [
            tuple(
                islice(
                    self._of(file, list(map(told, changes)), (terms or {}).get(file), (functions or {}).get(file)),
                    SHOWN,
                )
            )
            for file, changes in zip(files, past, strict=True)
        ]

    def _past(self, file: int) -> list[PastChange]:
        """The earlier change that is told of a file, and a second one where that is near to the report, too."""
        found = self.reasons.past(file) if self._lifted(file, "past") else []
        return [*found[:1], *(one for one in found[1:2] if one.similarity >= NEAR)]

    def _of(
        self, file: int, past: Sequence[Reason], terms: Reason | None, functions: FunctionFacts | None
    ) -> Iterator[Reason]:
        """All that can be said for a file, the most useful first."""
        reasons = self.reasons
        pointed = (reasons.frame(file) if self._lifted(file, "frame") else None) or reasons.name(file)
        if pointed is None and self._lifted(file, "name"):
            pointed = reasons.defined(file)
        words, telling = reasons.words(file) if self._lifted(file, "words") else ([], False)
        met = reasons.met(words, functions) if words else None
        concrete = [
            pointed,
            *past[:1],
            met if telling else None,
            terms,
            self._name_words(file, words) if pointed is None else None,
            reasons.counterpart(file, self._leading) if self._lifted(file, "test") else None,
            *past[1:],
        ]
        told = [reason for reason in concrete if reason is not None]
        yield from told
        if not told:
            yield met or Reason("activity", "no word in common; ranked by how often and how lately it changed")

    def _name_words(self, file: int, words: Sequence[str]) -> Reason | None:
        """Words of the file's name, where they are not told as words of its text."""
        held = self.reasons.name_words(file) if self._lifted(file, "path") else []
        if not held or set(held) <= set(words):
            return None
        return Reason("path", f"its name has {self.reasons.listed(held)}")

    def _lifted(self, file: int, kind: str) -> bool:
        """Whether the features of a kind together add to the file's score."""
        return sum(self.weights[name] * float(self.columns[name][file]) for name in self._of_kind[kind]) > 0

    @cached_property
    def _of_kind(self) -> Mapping[str, list[str]]:
        kinds: dict[str, list[str]] = {kind: [] for kind in ("frame", "name", "past", "words", "path", "test")}
        for name in self.weights:
            if (kind := FEATURES[name].reason) is not None:
                kinds[kind].append(name)
        return kinds

    def as_answered(self, asked: str, found: str) -> str:
        """A term of the report as it was written, and the term of a file that answers it, where that is another."""
        return self.reasons.as_written(asked) + ("" if asked == found else f" ~ {found}")
