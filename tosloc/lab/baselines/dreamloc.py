"""DreamLoc: a deep model that matches report words with snippets of code, beside five wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization, IEEE Transactions on
Reliability 2021 (docs/method.md, section B.9).

    deep(B, f) = sum over report words i of softmax(idf)_i (w . top_k over snippets j of m(r_i, s_j) + b)
    m(r, s)    = tanh network of r/|r| * u/|u| (by component), u = sum over code words c of s of softmax(r . c) c
    wide(B, f) = linear(sim, cc, cf, ff, fr): text, complexity, similar reports, number of fixes, time since the last
    score      = tanh network of (wide, deep); learned with a margin between fixed files and drawn others

Word vectors are skip-gram vectors that are not learned further; a compound's is the mean of its parts'.

``clean`` knows training reports, training versions and fixes before the opening only: word vectors, IDF and scales are
of training, ff, fr and cf are computed for every file at the opening. Words that training never saw have the IDF of a
word without texts. ``upstream`` has the public code's wide features, with its leaks (docs/method.md, section B.9.7), as
``dreamloc-upstream-features``: ff and fr of a file are those of the last report that it was fixed for, B's own
included, so that they tell the label; cf is 0 for a file that no fix touches from B's on, and looks up to B's fix; all
that is fitted is fitted on later reports and versions too; keywords of both summary and description are raised twice;
the triples keep their order. Not imitated: the snippet number of another file, rounded times, one report per commit.

The distinct words of a report are scored once, whatever their number: the weights count how often each one stands. What
a word gives a file is kept for the next report.

Shapes: B blobs on the files, F files of a version, N paths, R labelled reports, n distinct words of a report, s
snippets, L distinct words of a snippet, d width of a word vector, P pairs of a report and a file, V words of code.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt, model_validator
from scipy import sparse

from tosloc.analysis.parsed_source import ParsedSource
from tosloc.arrays import pack_words, unpack_words
from tosloc.data.splits import fix_order
from tosloc.errors import ToslocError
from tosloc.lab.baselines import training as learning
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery, Cutoff, FixHistory
from tosloc.lab.baselines.settings import Settings
from tosloc.lab.baselines.texts import dropped, letter_parts, report_text, without_prefix
from tosloc.lab.baselines.training import Float16Array, Learned, Training
from tosloc.lab.baselines.vsm import Counts, count
from tosloc.records import BoolArray, BugReport, Case, FloatArray, IntArray, LongArray, Progress, silent

if TYPE_CHECKING:
    import torch

FILE: Final = "dreamloc.safetensors"
WORDS_FILE: Final = "words.safetensors"
MONTH: Final = 2_592_000.0
"""Seconds of a month: 30 days."""
LEAST_LOSS: Final = 1e-6
WIDE: Final = 5
AT_ONCE: Final = {"cpu": 16_384, "cuda": 1_048_576}
"""Pairs of a word and a snippet that are matched together; more leaves a processor's caches."""
USUAL: Final = 50
"""Distinct words of a snippet, about."""

_TOKEN = re.compile(r"[A-Za-z]+(?:_+[A-Za-z]+)*")


class DreamLocSettings(Settings):
    """Settings of DreamLoc; the TOML file tells their sources, ``LearningSettings`` those that others have too.

    The defaults are a profile for a processor, ours.
    """

    train_reports: NonNegativeInt = 600
    choose: learning.Choice = "newest"
    validation_reports: PositiveInt = 60
    embedding: PositiveInt = 100
    """Width of a word vector."""
    word2vec_epochs: PositiveInt = 5
    word2vec_window: PositiveInt = 5
    word2vec_negatives: PositiveInt = 5
    word2vec_words: NonNegativeInt = 2_000
    """First words of each file that vectors are learned from; 0 for all."""
    report_length: PositiveInt = 300
    snippet_length: PositiveInt = 100
    snippets: PositiveInt = 20
    empty_snippet: Literal["zero", "minus_one"] = "zero"
    """What a snippet that a file lacks is worth among the best ones: the code's 0, or the least possible."""
    match_hidden: Annotated[int, Field(ge=2)] = 100
    best_snippets: PositiveInt = 3
    wide_hidden: PositiveInt = 20
    fusion_hidden: Annotated[int, Field(ge=2)] = 100
    negatives: PositiveInt = 50
    """Drawn wrong files of each report."""
    epochs: PositiveInt = 10
    batch: PositiveInt = 64
    learning_rate: PositiveFloat = 1e-3
    margin: PositiveFloat = 1.0
    patience: NonNegativeInt = 3
    device: Literal["auto", "cpu"] = "auto"
    threads: NonNegativeInt = 0
    cache_mb: NonNegativeInt = 512
    """Memory for what report words gave files."""

    @model_validator(mode="after")
    def _enough_snippets(self) -> Self:
        if self.best_snippets > self.snippets:
            raise ValueError("best_snippets cannot be more than snippets")
        return self


# Words


def cut(token: str) -> tuple[str, tuple[str, ...]]:
    """A token in lower case ("" if it is dropped) and its parts, if it is a compound.

    >>> cut("HTMLParser"), cut("aB"), cut("forSeed"), cut("for")
    (('htmlparser', ('html', 'parser')), ('ab', ()), ('forseed', ('seed',)), ('', ()))
    """
    whole = token.lower()
    parts = letter_parts(token)
    compound = len(parts) > 1 and max(map(len, parts)) > 2
    kept = tuple(part for part in parts if not dropped(part)) if compound else ()
    return "" if dropped(whole) else whole, kept


class Cutter:
    """dream_words: every word whole and, if it is a compound, in its parts; no stemming."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        """Compound -> its parts, as it was written first."""

    def __call__(self, text: str) -> list[str]:
        """Words of a text, in order.

        >>> Cutter()("the HTMLParser2 of MAX_SIZE; aB")
        ['htmlparser', 'html', 'parser', 'max_size', 'max', 'size', 'ab']
        """
        known = self._known
        words: list[str] = []
        for token in _TOKEN.findall(text):
            found = known.get(token)
            if found is None:
                whole, parts = cut(token)
                if whole and parts:
                    self.parts.setdefault(whole, parts)
                found = known[token] = ((whole,) if whole else ()) + parts
            words += found
        return words


def compounds(text: str) -> list[str]:
    """Compounds of a text and their parts, each once, by first appearance.

    >>> compounds("parse with HTMLParser or URLParser")
    ['htmlparser', 'html', 'parser', 'urlparser', 'url']
    """
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        whole, parts = cut(token)
        if parts:
            found.update(dict.fromkeys(((whole,) if whole else ()) + parts))
    return list(found)


def shortened(words: Sequence[str], keywords: Sequence[str], length: int) -> list[str]:
    """A long report's first words, then its compounds and their parts; of too many compounds the longest words.

    >>> shortened(["a", "b", "c", "xY"], ["xY"], 3), shortened(["a"], ["xY"], 3)
    (['a', 'b', 'xY'], ['a'])
    """
    if len(words) <= length:
        return list(words)
    kept = list(keywords)
    if len(kept) > length:
        kept = sorted(kept, key=lambda word: (-len(word), word))[:length]
    return [*words[: length - len(kept)], *kept]


def code(source: ParsedSource) -> str:
    """A file's text behind its imports, without a licence in front of them."""
    return source.text("code", "string", "javadoc", "comment")


@dataclass(frozen=True)
class Frequencies:
    """In how many of some texts each word stands."""

    number: int
    of: dict[str, int]

    @classmethod
    def count(cls, texts: Iterable[Iterable[str]]) -> Frequencies:
        """Of texts given as words."""
        found: Counter[str] = Counter()
        number = 0
        for words in texts:
            found.update(set(words))
            number += 1
        return cls(number, dict(sorted(found.items())))

    def idf(self, words: Iterable[str]) -> FloatArray:
        """Smoothed: ln((1 + n) / (1 + df)) + 1."""
        df = np.array([self.of.get(word, 0) for word in words], dtype=np.float64)
        smoothed: FloatArray = np.log((1.0 + self.number) / (1.0 + df)) + 1.0
        return smoothed

    def arrays(self, name: str) -> dict[str, Any]:
        """To be saved."""
        return {
            f"{name}/words": pack_words(self.of, "\n"),
            f"{name}/df": np.array(list(self.of.values()), dtype=np.int64),
            f"{name}/number": np.array([self.number], dtype=np.int64),
        }

    @classmethod
    def read(cls, arrays: learning.Arrays, name: str) -> Frequencies:
        """What ``arrays`` gave."""
        words = unpack_words(arrays[f"{name}/words"], "\n")
        return cls(int(arrays[f"{name}/number"][0]), dict(zip(words, arrays[f"{name}/df"].tolist(), strict=True)))


class Vectors:
    """Word vectors; a compound's is the mean of its parts', an unknown word's follows from its letters."""

    def __init__(self, words: Sequence[str], vectors: Float16Array) -> None:
        self.words, self.vectors = tuple(words), vectors
        self.numbers = {word: number for number, word in enumerate(words)}

    @classmethod
    def learned(cls, texts: Sequence[list[str]], parts: dict[str, tuple[str, ...]], settings: Any, seed: int) -> Self:
        """Skip-gram vectors of texts given as words, the same for the same seed. Raises ToslocError without gensim."""
        try:
            from gensim.models import Word2Vec
        except ImportError as error:
            raise ToslocError('word vectors need gensim; install it with: pip install "tosloc[word2vec]"') from error

        if not any(texts):
            return cls([], np.zeros((0, settings.embedding), dtype=np.float32))
        model = Word2Vec(
            texts,
            vector_size=settings.embedding,
            window=settings.word2vec_window,
            negative=settings.word2vec_negatives,
            epochs=settings.word2vec_epochs,
            min_count=1,
            sg=1,
            workers=1,  # several would race for the same vectors
            seed=seed,
        )
        words = sorted(model.wv.key_to_index)
        plain = np.array([model.wv[word] for word in words], dtype=np.float32)
        made = cls(words, plain.copy())
        for word, pieces in parts.items():
            known = [made.numbers[piece] for piece in pieces if piece in made.numbers]
            if word in made.numbers and known:
                made.vectors[made.numbers[word]] = plain[known].mean(axis=0)
        return made

    def unknown(self, word: str, parts: Sequence[str]) -> Float16Array:
        """(d,) vector of a word that was not in the texts."""
        known = [self.numbers[part] for part in parts if part in self.numbers]
        if known:
            mean: Float16Array = self.vectors[known].mean(axis=0)
            return mean
        rng = np.random.default_rng(zlib.crc32(word.encode()))
        drawn: Float16Array = rng.uniform(-0.25, 0.25, (self.vectors.shape[1],)).astype(np.float32)
        return drawn


class Snippets:
    """The first words of each blob, in snippets, as numbers into a table of vectors."""

    def __init__(self, sources: Sequence[ParsedSource], vectors: Vectors, length: int, most: int) -> None:
        numbers: dict[str, tuple[int, ...]] = {}
        later: dict[tuple[str, tuple[str, ...]], int] = {}
        more: list[Float16Array] = []

        def number(word: str, parts: tuple[str, ...]) -> int:
            found = vectors.numbers.get(word)
            if found is None:
                found = later.get((word, parts))
            if found is None:
                found = later[word, parts] = len(vectors.words) + len(more)
                more.append(vectors.unknown(word, parts))
            return found

        def cut_to_numbers(token: str) -> tuple[int, ...]:
            whole, parts = cut(token)
            found = (*([number(whole, parts)] if whole else []), *(number(part, ()) for part in parts))
            numbers[token] = found
            return found

        distinct: list[npt.NDArray[Any]] = []
        logs: list[Float16Array] = []
        sizes = []
        for source in sources:
            words: list[int] = []
            for token in _TOKEN.findall(code(source)):
                found = numbers.get(token)
                words += cut_to_numbers(token) if found is None else found
                if len(words) >= length * most:
                    break
            own = np.array(words[: length * most], dtype=np.int32)
            for start in range(0, len(own), length):
                ids, counts = np.unique(own[start : start + length], return_counts=True)
                distinct.append(ids)
                logs.append(np.log(counts).astype(np.float32))
            sizes.append(-(-len(own) // length))
        self.sizes: LongArray = np.array(sizes, dtype=np.int64)
        """(B,) snippets of each blob."""
        self.starts: LongArray = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self._words = np.concatenate(distinct) if distinct else np.zeros(0, dtype=np.int32)
        self._logs = np.concatenate(logs) if logs else np.zeros(0, dtype=np.float32)
        self._lengths = np.array([len(ids) for ids in distinct], dtype=np.int64)
        self._offsets = np.concatenate([[0], np.cumsum(self._lengths)]).astype(np.int64)
        width = vectors.vectors.shape[1]
        self.table: Float16Array = np.concatenate(
            [vectors.vectors, np.array(more, dtype=np.float32).reshape(-1, width)]
        )
        """(V, d) vectors of all words of code."""

    def of_rows(self, rows: npt.NDArray[Any]) -> LongArray:
        """Numbers of the snippets of blobs, in their order."""
        sizes = self.sizes[rows]
        ends = np.cumsum(sizes)
        return np.repeat(self.starts[rows] - (ends - sizes), sizes) + np.arange(ends[-1] if len(ends) else 0)

    def padded(self, snippets: LongArray) -> tuple[LongArray, Float16Array]:
        """(s, L) words of snippets and the logs of their counts, -inf where a snippet has no more."""
        lengths = self._lengths[snippets]
        places = np.arange(int(lengths.max()))
        real = places < lengths[:, None]
        at = np.where(real, self._offsets[snippets][:, None] + places, 0)
        return self._words[at].astype(np.int64), np.where(real, self._logs[at], -np.inf).astype(np.float32)


# Wide features


@dataclass(frozen=True, eq=False)
class Scales:
    """What the wide features are measured by."""

    text: Frequencies
    """Of words in reports and code."""
    summary: Frequencies
    """Of words in summaries."""
    report: Frequencies
    """Of words in reports."""
    keyword: tuple[float, float]
    """Least and largest IDF of compounds and their parts in reports."""
    complexity: tuple[float, float]
    fixes: float
    """Most fixes of a file."""
    recency: float


def recency(seconds: FloatArray) -> FloatArray:
    """1 / (whole months + 1) since the last fix; 0 where there is none.

    >>> recency(np.array([29, 30, 60, 365, np.inf]) * 86400.0).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.07692307692307693, 0.0]
    """
    value: FloatArray = 1.0 / (np.floor(np.maximum(seconds, 0.0) / MONTH) + 1.0)
    return value


def raised(values: FloatArray, most: float) -> FloatArray:
    """sigmoid(x / most), but 0 where x is 0: a file that was ever fixed stands .5 above one that was not."""
    share = values / most if most > 0 else values
    found: FloatArray = np.where(values > 0, 1.0 / (1.0 + np.exp(-np.minimum(share, 1.0))), 0.0)
    return found


def in_columns(counts: Counts, words: Sequence[str], weights: FloatArray) -> FloatArray:
    """(V,) weights of distinct words in the columns of counts; a word without a column is left out."""
    found = np.zeros(counts.matrix.shape[1])
    for word, weight in zip(words, weights.tolist(), strict=True):
        column = counts.numbers.get(word)
        if column is not None:
            found[column] = weight
    return found


class Leaks:
    """Histories as the public code has them: the label shows in them (docs/method.md, section B.9.7)."""

    def __init__(self, fix_history: FixHistory) -> None:
        self.fix_history = fix_history
        order = np.argsort(fix_history.opened, kind="stable")
        self.position = np.empty(len(order), dtype=np.int64)
        """(R,) of each report by its opening."""
        self.position[order] = np.arange(len(order))
        times: dict[int, FloatArray] = {}
        touched, by_path = fix_history.touched, fix_history.touched_by_path
        at: list[int] = []
        paths: list[int] = []
        fixes: list[float] = []
        recencies: list[float] = []
        for place in order.tolist():
            moment = fix_history.opened[place]
            for path in touched.indices[touched.indptr[place] : touched.indptr[place + 1]].tolist():
                if path not in times:
                    rows = by_path.indices[by_path.indptr[path] : by_path.indptr[path + 1]]
                    times[path] = np.sort(fix_history.fixed_at[rows])
                number = int(np.searchsorted(times[path], moment))
                last = times[path][number - 1] if number else -np.inf
                at.append(int(self.position[place]))
                paths.append(path)
                fixes.append(float(number))
                recencies.append(float(recency(np.array([moment - last]))[0]))
        self._at = np.array(at, dtype=np.int64)
        self._paths = np.array(paths, dtype=np.int64)
        self._values = np.array([fixes, recencies]).reshape(2, -1)

    @property
    def most(self) -> tuple[float, float]:
        """Largest number of fixes and largest recency of all reports."""
        return tuple(self._values.max(axis=1, initial=0.0).tolist())

    def fixes_and_recency(self, place: int) -> FloatArray:
        """(2, N) when report ``place`` is read: of each path as of the last report up to it that was fixed there."""
        value = np.zeros((2, self.fix_history.touched.shape[1]))
        end = int(np.searchsorted(self._at, self.position[place], side="right"))
        value[:, self._paths[:end]] = self._values[:, :end]
        return value

    def similar(self, place: int) -> tuple[LongArray, BoolArray]:
        """Reports fixed before report ``place`` was, and (N,) whether a path is fixed at that time or later."""
        fix_history = self.fix_history
        later = fix_history.fixed_at >= fix_history.fixed_at[place]
        again = fix_history.touched_by_path @ later.astype(np.float64) > 0
        return np.flatnonzero(~later), again


# The deep part


@dataclass(eq=False)
class Words:
    """A report as the deep part reads it."""

    keys: tuple[Any, ...]
    """(n,) what its distinct words are remembered by."""
    vectors: Float16Array
    """(n, d)"""
    weights: Float16Array
    """(n,) softmax of the IDF over all words, summed for each distinct one."""


@dataclass(eq=False)
class Pool:
    """A training report with its fixed files and the drawn others."""

    words: Words
    rows: LongArray
    """(m,) rows on the files; the fixed files first."""
    wide: Float16Array
    """(m, 5)"""
    fixed: int
    """How many of the m are fixed."""


@dataclass(eq=False)
class ScoredRun:
    """A validation report with all files of its version."""

    words: Words
    rows: IntArray
    """(F,)"""
    wide: Float16Array
    """(F, 5)"""
    fixed: LongArray
    """Places of the fixed files."""
    relevant: int


def drawn(files: int, fixed: LongArray, number: int, rng: np.random.Generator) -> LongArray:
    """Places of wrong files, at most ``number`` but no fewer than fixed ones; fewer if the version has no more.

    >>> sorted(drawn(4, np.array([1]), 9, np.random.default_rng(0)).tolist())
    [0, 2, 3]
    """
    wrong = np.setdiff1d(np.arange(files, dtype=np.int64), fixed)
    return rng.permutation(wrong)[: max(number, len(fixed))]


def network(settings: DreamLocSettings, seed: int) -> Any:
    """The parts that learn: matching, pooling, wide features, fusion."""
    from torch import nn

    d, hidden, fusion = settings.embedding, settings.match_hidden, settings.fusion_hidden

    def build() -> torch.nn.Module:
        return nn.ModuleDict(
            {
                "match": nn.Sequential(
                    nn.Linear(d, hidden),
                    nn.Tanh(),
                    nn.Linear(hidden, hidden // 2),
                    nn.Tanh(),
                    nn.Linear(hidden // 2, 1),
                    nn.Tanh(),
                ),
                "pool": nn.Linear(settings.best_snippets, 1),
                "wide": nn.Linear(WIDE, settings.wide_hidden),
                "fusion": nn.Sequential(
                    nn.Linear(settings.wide_hidden + 1, fusion),
                    nn.Tanh(),
                    nn.Linear(fusion, fusion // 2),
                    nn.Tanh(),
                    nn.Linear(fusion // 2, 1),
                ),
            }
        )

    return learning.seeded(seed, build)


def similarity(score_sLn: torch.Tensor, logs_sL: torch.Tensor, code_sLd: torch.Tensor, word_nd: torch.Tensor) -> Any:
    """(s, n, d) product of each word's direction with that of what it attends to in each snippet.

    ``logs`` of counts make the attention over distinct words that over all words.
    """
    import torch

    share_sLn = torch.softmax(score_sLn + logs_sL[:, :, None], dim=1)
    seen_snd = torch.bmm(share_sLn.transpose(1, 2), code_sLd)
    normal = torch.nn.functional.normalize
    return normal(seen_snd, dim=-1) * normal(word_nd, dim=-1)


class Deep:
    """The deep part over one files: batches for training, all files for ranking."""

    def __init__(self, model: Any, snippets: Snippets, settings: DreamLocSettings, device: torch.device) -> None:
        import torch

        self.model, self.snippets, self.settings, self.device = model, snippets, settings, device
        self.fill = 0.0 if settings.empty_snippet == "zero" else -1.0
        self.table = torch.from_numpy(snippets.table).to(device)
        self._known: OrderedDict[Any, Float16Array] = OrderedDict()

    def forget(self) -> None:
        """The model has learned: what words gave files is no longer right."""
        self._known.clear()

    def of_pairs(self, pairs: Sequence[tuple[Words, int]]) -> torch.Tensor:
        """(P,) values of pairs of a report and a blob, to learn from."""
        import torch

        at: list[torch.Tensor] = []
        index: list[LongArray] = []
        most = max(len(words.keys) for words, _ in pairs)
        weights = np.zeros((len(pairs), max(most, 1)), dtype=np.float32)
        with torch.no_grad():  # word vectors do not learn
            for place, (words, row) in enumerate(pairs):
                weights[place, : len(words.weights)] = words.weights
                n, s = len(words.keys), int(self.snippets.sizes[row])
                if not n or not s:
                    continue
                ids, logs = self.snippets.padded(self.snippets.of_rows(np.array([row])))
                code_sLd = self.table[torch.from_numpy(ids).to(self.device)]
                word_nd = torch.from_numpy(words.vectors).to(self.device)
                logs_sL = torch.from_numpy(logs).to(self.device)
                at.append(similarity(code_sLd @ word_nd.T, logs_sL, code_sLd, word_nd).reshape(s * n, -1))
                j, i = np.divmod(np.arange(s * n), n)
                index.append(np.stack([np.full(s * n, place), i, j]))
        size = (len(pairs), max(most, 1), self.settings.snippets)
        match = torch.full(size, self.fill, device=self.device)
        if at:
            places = torch.from_numpy(np.concatenate(index, axis=1)).to(self.device)
            match = match.index_put(tuple(places), self.model["match"](torch.cat(at)).squeeze(-1))
        best = match.topk(self.settings.best_snippets, dim=-1).values
        value_Pn = self.model["pool"](best).squeeze(-1)
        total: torch.Tensor = (value_Pn * torch.from_numpy(weights).to(self.device)).sum(-1)
        return total

    def of_files(self, words: Words, rows: IntArray) -> Float16Array:
        """(F,) values of one report and all files of a version, given as rows of the files."""
        own = np.unique(rows[rows >= 0])
        if not len(words.keys):
            return np.zeros(len(rows), dtype=np.float32)
        new = [place for place, key in enumerate(words.keys) if key not in self._known]
        seen = [place for place, key in enumerate(words.keys) if key in self._known]
        value = np.empty((len(words.keys), len(own)), dtype=np.float32)
        if new:
            value[new] = self._matched(words.vectors[new], own)
        if seen:
            kept = np.stack([self._known[words.keys[place]][own] for place in seen])
            lacking = np.flatnonzero(np.isnan(kept).any(axis=0))
            if len(lacking):
                kept[:, lacking] = self._matched(words.vectors[seen], own[lacking])
            value[seen] = kept
        self._keep(words.keys, own, value)
        found = np.full(len(self.snippets.sizes) + 1, self._of_nothing(), dtype=np.float32)
        found[own] = words.weights @ value
        of_rows: Float16Array = found[rows]  # -1, a file that could not be read, is the last
        return of_rows

    def _keep(self, keys: Sequence[Any], rows: IntArray, value: Float16Array) -> None:
        total = len(self.snippets.sizes)
        room = self.settings.cache_mb * 2**20 // max(total * 4, 1)
        for key, own in zip(keys, value, strict=True):
            line = self._known.pop(key, None)
            if line is None:
                line = np.full(total, np.nan, dtype=np.float32)
            line[rows] = own
            self._known[key] = line
        while len(self._known) > room:
            self._known.popitem(last=False)

    def _of_nothing(self) -> float:
        """Value of a file without a snippet."""
        pool = self.model["pool"]
        return float((pool.weight.sum() * self.fill + pool.bias[0]).detach())

    def _matched(self, vectors: Float16Array, rows: IntArray) -> Float16Array:
        """(n, rows) what each word gives each blob: blobs of one number of snippets together, none padded."""
        import torch

        value = np.empty((len(vectors), len(rows)), dtype=np.float32)
        sizes = self.snippets.sizes[rows]
        n = len(vectors)
        with torch.no_grad():
            word_nd = torch.from_numpy(np.ascontiguousarray(vectors)).to(self.device)
            # for a few files, fewer products without those of all words of code
            score_Vn = self.table @ word_nd.T if sizes.sum() * USUAL > len(self.table) else None
            for size in np.unique(sizes).tolist():
                group = np.flatnonzero(sizes == size)
                if not size:
                    value[:, group] = self._of_nothing()
                    continue
                step = max(AT_ONCE.get(self.device.type, AT_ONCE["cpu"]) // (n * size), 1)
                for start in range(0, len(group), step):
                    part = group[start : start + step]
                    ids, logs = self.snippets.padded(self.snippets.of_rows(rows[part]))
                    ids_sL = torch.from_numpy(ids).to(self.device)
                    logs_sL = torch.from_numpy(logs).to(self.device)
                    code_sLd = self.table[ids_sL]
                    score_sLn = code_sLd @ word_nd.T if score_Vn is None else score_Vn[ids_sL]
                    made = similarity(score_sLn, logs_sL, code_sLd, word_nd)
                    match = self.model["match"](made.reshape(-1, made.shape[-1])).reshape(len(part), size, n)
                    lacking = min(self.settings.snippets - size, self.settings.best_snippets)
                    match = torch.nn.functional.pad(match, (0, 0, 0, lacking), value=self.fill)
                    best = match.topk(self.settings.best_snippets, dim=1).values
                    pooled = self.model["pool"](best.transpose(1, 2)).squeeze(-1)
                    value[:, part] = pooled.T.cpu().numpy()
        return value


class DreamLoc(Learned):
    """DreamLoc (Qi et al. 2021)."""

    name: ClassVar[str] = "dreamloc"
    needs_complexity: ClassVar[bool] = True
    Settings: ClassVar = DreamLocSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_order"

    settings: DreamLocSettings

    def __init__(self, settings: DreamLocSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self._cutter = Cutter()
        self._scales: Scales | None = None
        self._vectors: Vectors | None = None
        self._deep: Deep | None = None

    @property
    def upstream(self) -> bool:
        """Whether the leaks are in."""
        return self.settings.profile == "upstream"

    # What depends on the files and on the labelled reports alone

    @cached_property
    def counts(self) -> Counts:
        """(B, V) counts of the words of code."""
        return self.context.files.counts("dreamloc", lambda source: self._cutter(code(source)))

    @cached_property
    def summaries(self) -> Counts:
        """(R, V) counts of the words of the labelled reports' summaries."""
        return count(self._cutter(without_prefix(case.report.summary)) for case in self.context.fix_history.cases)

    @cached_property
    def complexities(self) -> FloatArray:
        """(B,) summed cyclomatic numbers."""
        known, files = self.context.complexities, self.context.files
        value = np.zeros(len(files))
        for blob, row in files.row_of_blob.items():
            value[row] = known.get(blob, 0)
        return value

    @cached_property
    def leaks(self) -> Leaks:
        """For the upstream profile."""
        return Leaks(self.context.fix_history)

    @cached_property
    def _weighted(self) -> sparse.csr_array:
        """(B, V) term weights of code, each row of length 1."""
        made = self.counts.matrix.copy()
        made.data *= self._column_idf[made.indices]
        norms = np.sqrt(
            np.bincount(np.repeat(np.arange(made.shape[0]), np.diff(made.indptr)), made.data**2, made.shape[0])
        )
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made

    @cached_property
    def _column_idf(self) -> FloatArray:
        return self._measured.text.idf(self.counts.numbers)

    @cached_property
    def _summary_idf(self) -> FloatArray:
        return self._measured.summary.idf(self.summaries.numbers)

    @property
    def _measured(self) -> Scales:
        if self._scales is None:
            raise ToslocError("DreamLoc has to be fitted before it can rank")
        return self._scales

    # Wide features

    def wide(self, query: BaselineQuery) -> FloatArray:
        """(F, 5) text, complexity, similar reports, number of fixes, time since the last."""
        version, scales = query.version, self._measured
        low, high = scales.complexity
        span = high - low
        complexity = (
            np.clip((self.complexities - low) / span, 0.0, 1.0) if span > 0 else np.zeros(len(self.context.files))
        )
        if self.upstream:
            place = self._place(query.report)
            fixes, since = self.leaks.fixes_and_recency(place)
            known, again = self.leaks.similar(place)
            similar = np.where(again, self._similar(query.report, known), 0.0)
        else:
            fixes = query.history.fixes
            since = recency(query.report.opened_seconds - query.history.last_fix)
            similar = self._similar(query.report, query.history.reports)
        return np.column_stack(
            [
                version.to_files(self._text(query.report)),
                version.to_files(complexity),
                version.from_paths(similar),
                version.from_paths(raised(fixes, scales.fixes)),
                version.from_paths(raised(since, scales.recency)),
            ]
        )

    def _place(self, report: BugReport) -> int:
        place = self.context.fix_history.place.get(report.id)
        if place is None:
            raise ToslocError(f"report {report.id}: the upstream features of DreamLoc need its fixed files; use clean")
        return place

    def _text(self, report: BugReport) -> FloatArray:
        """(B,) cosine of term weights, in the report those of compounds and their parts raised."""
        scales = self._measured
        counted = Counter(self._cutter(report_text(report)))
        words = sorted(counted)
        if not words:
            return np.zeros(len(self.context.files))
        idf = scales.text.idf(words)
        weights = np.array([counted[word] for word in words]) * idf
        low, high = scales.keyword
        factor = 1.0 + np.clip((idf - low) / (high - low), 0.0, 1.0) if high > low else np.ones(len(words))
        if self.upstream:
            parts = [set(compounds(without_prefix(report.summary))), set(compounds(report.description))]
            times = np.array([sum(word in part for part in parts) for word in words])
        else:
            keywords = set(compounds(report_text(report)))
            times = np.array([int(word in keywords) for word in words])
        weights *= factor**times
        query = in_columns(self.counts, words, weights)
        value: FloatArray = (self._weighted @ query) / float(np.sqrt((weights**2).sum()))
        return value

    def _similar(self, report: BugReport, known: LongArray) -> FloatArray:
        """(N,) cosine of the summary and of all summaries together for which each path was fixed."""
        touched = self.context.fix_history.touched
        value = np.zeros(touched.shape[1])
        counted = Counter(self._cutter(without_prefix(report.summary)))
        words = sorted(counted)
        if not len(known) or not words:
            return value
        weights = np.array([counted[word] for word in words]) * self._measured.summary.idf(words)
        query = in_columns(self.summaries, words, weights)
        together = sparse.csr_array(sparse.csr_array(touched[known].T) @ self.summaries.matrix[known])
        together.data *= self._summary_idf[together.indices]
        product = together @ query
        together.data **= 2
        norms = np.sqrt(np.asarray(together.sum(axis=1)).ravel()) * float(np.sqrt((weights**2).sum()))
        cosine: FloatArray = np.divide(product, norms, out=value, where=norms > 0)
        return cosine

    # The deep part and the whole

    def words(self, report: BugReport) -> Words:
        """The report as the deep part reads it."""
        assert self._vectors is not None
        text = report_text(report)
        cutter = Cutter()  # its own: the parts of a word that training never saw are those written here
        read = shortened(cutter(text), compounds(text), self.settings.report_length)
        counted = Counter(read)
        distinct = sorted(counted)
        numbers = self._vectors.numbers
        keys: list[Any] = []
        vectors: list[Float16Array] = []
        for word in distinct:
            number = numbers.get(word)
            parts = cutter.parts.get(word, ())
            keys.append((word, parts) if number is None else word)
            vectors.append(self._vectors.unknown(word, parts) if number is None else self._vectors.vectors[number])
        idf = self._measured.report.idf(distinct)
        weights = np.array([counted[word] for word in distinct]) * np.exp(idf - (idf.max() if len(idf) else 0.0))
        width = self._vectors.vectors.shape[1]
        return Words(
            tuple(keys),
            np.array(vectors, dtype=np.float32).reshape(-1, width),
            (weights / max(float(weights.sum()), 1e-12)).astype(np.float32),
        )

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the network's value, rounded so that equal files stay equal wherever they stand."""
        if self._deep is None:
            raise ToslocError("DreamLoc has to be fitted before it can rank")
        wide = self.wide(query).astype(np.float32)
        return self._ranked(self.words(query.report), query.version.rows, wide)

    def _ranked(self, words: Words, rows: IntArray, wide: Float16Array) -> FloatArray:
        import torch

        deep = self._deep
        assert deep is not None
        with torch.no_grad():
            value = torch.from_numpy(deep.of_files(words, rows)).to(deep.device)
            scores = fused(deep.model, torch.from_numpy(wide).to(deep.device), value).double().cpu().numpy()
        rounded: FloatArray = np.round(scores, 5)
        return rounded

    # Learning

    def fit(self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent) -> None:
        """Learn word vectors, then the networks; a folder that holds them already is read."""
        training = self.training(train, validation, folder, progress)
        cases, judged = training.cases, training.judged
        model = network(self.settings, self.seed).to(training.device)
        read = self._read_words(training)
        done = training.load(FILE)
        if done is not None and read:
            learning.put(model, done[0])
            self._made(model, training.device)
            return
        if not cases or not judged:
            raise ToslocError("DreamLoc needs a training report and one for validation whose fixed files exist")
        if not read:
            self._learn_words(train, cases, progress)
            self._save_words(training)
        self._made(model, training.device)
        pools = [self._pool(case, place, len(cases), progress) for place, case in enumerate(cases)]
        lists = [self._judged(case, place, len(judged), progress) for place, case in enumerate(judged)]
        self._train(pools, lists, training)
        training.save(FILE, learning.weights(model), {"schema": 1})

    def _made(self, model: Any, device: torch.device) -> None:
        assert self._vectors is not None
        settings = self.settings
        sources = self.context.files.sources
        snippets = Snippets(sources, self._vectors, settings.snippet_length, settings.snippets)
        self._deep = Deep(model, snippets, settings, device)

    def _learn_words(self, train: Sequence[Case], cases: Sequence[Case], progress: Progress) -> None:
        """Word vectors, IDF and scales of the training part; for upstream, of everything."""
        settings, files, fix_history = self.settings, self.context.files, self.context.fix_history
        used = np.full(len(files), self.upstream)
        most_fixes, most_recency = 0.0, 0.0
        for place, case in enumerate(cases, start=1):
            query = self.context.asked(case.report, case.version)
            used[query.version.rows[query.version.rows >= 0]] = True
            most_fixes = max(most_fixes, float(query.history.fixes.max(initial=0.0)))
            since = recency(query.report.opened_seconds - query.history.last_fix)
            most_recency = max(most_recency, float(since.max(initial=0.0)))
            progress("reading training versions", place, len(cases))
        if self.upstream:
            most_fixes, most_recency = self.leaks.most
        reports = [case.report for case in (fix_history.cases if self.upstream else sorted(train, key=fix_order))]
        texts = [report_text(report) for report in reports]
        blobs = files.rows_by_blob(used)
        cutter = Cutter()
        words = [cutter(text) for text in texts]
        limit = settings.word2vec_words or None
        corpus = list(words)

        def of_files() -> Iterator[list[str]]:
            for row in blobs:
                own = cutter(code(files.sources[row]))
                corpus.append(own[:limit])  # whole files would fill the memory
                yield own

        text = Frequencies.count(chain(words, of_files()))
        keywords = sorted({word for each in texts for word in compounds(each)})
        idf = text.idf(keywords)
        numbers = self.complexities[blobs]
        self._scales = Scales(
            text,
            Frequencies.count(cutter(without_prefix(report.summary)) for report in reports),
            Frequencies.count(words),
            (float(idf.min()), float(idf.max())) if len(idf) else (0.0, 0.0),
            (float(numbers.min(initial=np.inf)), float(numbers.max(initial=0.0))) if len(numbers) else (0.0, 0.0),
            most_fixes,
            most_recency,
        )
        progress("learning word vectors", 0, 1)
        self._vectors = Vectors.learned(corpus, cutter.parts, settings, self.seed)
        progress("learning word vectors", 1, 1)

    def _save_words(self, training: Training) -> None:
        scales, vectors = self._measured, self._vectors
        assert vectors is not None
        arrays: dict[str, Any] = {"vectors": vectors.vectors, "words": pack_words(vectors.words, "\n")}
        for name in ("text", "summary", "report"):
            arrays |= getattr(scales, name).arrays(name)
        record = {
            "keyword": scales.keyword,
            "complexity": scales.complexity,
            "fixes": scales.fixes,
            "recency": scales.recency,
        }
        training.save(WORDS_FILE, arrays, record)

    def _read_words(self, training: Training) -> bool:
        found = training.load(WORDS_FILE)
        if found is None:
            return False
        arrays, record = found
        text, summary, report = (Frequencies.read(arrays, name) for name in ("text", "summary", "report"))
        (one, two), (low, high) = record["keyword"], record["complexity"]
        self._scales = Scales(text, summary, report, (one, two), (low, high), record["fixes"], record["recency"])
        self._vectors = Vectors(unpack_words(arrays["words"], "\n"), arrays["vectors"])
        return True

    def _pool(self, case: Case, place: int, total: int, progress: Progress) -> Pool:
        query = self.context.asked(case.report, case.version)
        fixed = learning.places_of(query, case.fixed)
        unreadable = np.flatnonzero(query.version.rows < 0)
        rng = np.random.default_rng([self.seed, place])
        wrong = drawn(len(query.version), np.union1d(fixed, unreadable), self.settings.negatives, rng)
        places = np.concatenate([fixed, wrong])
        wide = self.wide(query)[places].astype(np.float32)
        progress("features for training", place + 1, total)
        return Pool(self.words(case.report), query.version.rows[places].astype(np.int64), wide, len(fixed))

    def _judged(self, case: Case, place: int, total: int, progress: Progress) -> ScoredRun:
        query = self.context.asked(case.report, case.version)
        fixed = learning.places_of(query, case.fixed)
        wide = self.wide(query).astype(np.float32)
        progress("features for validation", place + 1, total)
        return ScoredRun(self.words(case.report), query.version.rows, wide, fixed, len(case.fixed))

    def _train(self, pools: Sequence[Pool], lists: Sequence[ScoredRun], training: Training) -> None:
        settings, deep, progress = self.settings, self._deep, training.progress
        assert deep is not None
        triples = triples_of(pools)
        number = len(triples)
        if not number:
            raise ToslocError("DreamLoc has nothing to learn: no training report has both fixed and other files")
        fixed_order = np.random.default_rng([self.seed, number]).permutation(number) if self.upstream else None

        def loss(batch: LongArray) -> torch.Tensor:
            return loss_of(deep, pools, triples[batch], settings.margin)

        def ranked() -> Iterator[FloatArray]:
            for place, one in enumerate(lists, start=1):
                yield self._ranked(one.words, one.rows, one.wide)
                progress("ranking validation reports", place, len(lists))

        def judge() -> float:
            deep.forget()
            return learning.mean_average_precision(lists, ranked())

        training.learn(
            deep.model,
            "training.safetensors",
            learning.in_batches(
                number, settings.batch, loss, fixed_order, lambda done: progress("triples", done, number)
            ),
            judge,
            epochs=settings.epochs,
            what="dreamloc",
        )
        deep.forget()


def fused(model: Any, wide_P5: torch.Tensor, deep_P: torch.Tensor) -> torch.Tensor:
    """(P,) scores."""
    import torch

    scores: torch.Tensor = model["fusion"](torch.cat([model["wide"](wide_P5), deep_P[:, None]], dim=1)).squeeze(-1)
    return scores


def triples_of(pools: Sequence[Pool]) -> LongArray:
    """(T, 3) report, place of a fixed file, place of another: every drawn file once, fixed ones in turn."""
    found = [
        (number, place % pool.fixed, pool.fixed + place)
        for number, pool in enumerate(pools)
        if pool.fixed
        for place in range(len(pool.rows) - pool.fixed)
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def loss_of(deep: Deep, pools: Sequence[Pool], batch: LongArray, margin: float) -> torch.Tensor:
    """Mean of max(1e-6, margin - score of the fixed file + score of the other); a pair that recurs is scored once."""
    import torch

    pairs = np.concatenate([batch[:, [0, 1]], batch[:, [0, 2]]])
    distinct, back = np.unique(pairs, axis=0, return_inverse=True)
    chosen = [(pools[number], place) for number, place in distinct.tolist()]
    values = deep.of_pairs([(pool.words, int(pool.rows[place])) for pool, place in chosen])
    wide = torch.from_numpy(np.stack([pool.wide[place] for pool, place in chosen])).to(deep.device)
    scores = fused(deep.model, wide, values)[torch.from_numpy(back.ravel()).to(deep.device)]
    right, wrong = scores[: len(batch)], scores[len(batch) :]
    return (margin - right + wrong).clamp(min=LEAST_LOSS).mean()
