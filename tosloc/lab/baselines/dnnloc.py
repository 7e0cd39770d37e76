"""DNNLOC: six features of a report and a file, one of them learned by a network, combined by another network.

Lam, Nguyen, Nguyen, Nguyen: Bug localization with combination of deep learning and information retrieval, ICPC 2017
(docs/method.md, section B.8).

    phi1  relevancy: a network over the projections of the report's and the file's term weights
    phi2  rVSM(B, f) = cos(B, f) / (1 + exp(-mm(length)))
    phi3  the same between B and all reports together that were fixed in f before B was opened
    phi4  cosine between the class names that B mentions and those that f declares
    phi5  1 / (months from the opening of the report last fixed in f to B's + 1), 0 without one
    phi6  ln(1 + number of earlier fixes of f)
    score = network(6 -> 300 -> 1) of the features, each scaled to [0, 1] by the training pairs

No code of the authors is public, and layer sizes, activations, epochs and vocabularies of theirs are not known: those
here are ours. The public re-implementation lacks phi1 and samples both candidates and histories (docs/method.md,
section B.8.7), so there is no ``upstream`` profile; ``relevancy = false`` gives its five features, computed for every
file.

Learned from: the newest (by default) ``train_reports`` of the training reports, each with its fixed files and the
``negatives`` other files of its version that are most similar by phi2 (or, to see what that choice does, with others
drawn at random: ``wrong_files``). The older ``relevancy_share`` of them teaches
phi1, the newer rest the combiner, which would otherwise trust a phi1 that has seen its answers. Both stop by MAP over
all files of ``validation_reports`` reports. Report terms and their weights come from all training reports, code terms
from the first and the last training version. The projections are not learned further with phi1.

Shapes: B blobs on the files, F files of a version, N paths, R labelled reports, V terms, P pairs, H width of a
projection.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal

import numpy as np
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt, Strict, field_validator
from scipy import sparse

from tosloc.analysis.parsed_source import ParsedSource
from tosloc.arrays import pack_words, unpack_words
from tosloc.errors import ConfigError, ToslocError
from tosloc.lab.baselines import training as learning
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery, Cutoff, FixHistoryAsOf
from tosloc.lab.baselines.settings import Profile, Settings
from tosloc.lab.baselines.texts import dropped, letter_parts, porter, report_text
from tosloc.lab.baselines.training import Float16Array, Learned, Training
from tosloc.lab.baselines.vsm import Counts, Space, count, min_max
from tosloc.records import BoolArray, BugReport, Case, FloatArray, IntArray, LongArray, Progress, silent

if TYPE_CHECKING:
    import torch

FILE: Final = "dnnloc.safetensors"
WEIGHT_LIMIT: Final = 50.0
"""Most that a right pair may weigh against a wrong one."""
ROWS: Final = 4096
"""Files that the relevancy network sees together."""

_WORD = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")


class DnnlocSettings(Settings):
    """Settings of DNNLOC; the TOML file tells their sources, ``LearningSettings`` those that others have too."""

    comments: bool = True
    """Whether the words of comments are read beside identifiers."""
    relevancy: bool = True
    """Whether there is phi1."""
    train_reports: NonNegativeInt = 600
    choose: learning.Choice = "newest"
    validation_reports: PositiveInt = 100
    negatives: PositiveInt = 300
    wrong_files: Literal["hardest", "random"] = "hardest"
    """Which other files of a report's version the combiner learns from."""
    report_terms: PositiveInt = 5_000
    code_terms: PositiveInt = 10_000
    projection: PositiveInt = 600
    """Width of a projection."""
    projection_epochs: PositiveInt = 10
    projection_batch: PositiveInt = 256
    relevancy_share: Annotated[float, Field(gt=0, lt=1)] = 0.6
    """Older part of the training reports, from which phi1 is learned."""
    relevancy_hidden: Annotated[tuple[int, int], Strict(False)] = (600, 300)
    relevancy_epochs: PositiveInt = 20
    relevancy_batch: PositiveInt = 512
    combiner_hidden: PositiveInt = 300
    combiner_epochs: PositiveInt = 50
    combiner_batch: PositiveInt = 1024
    learning_rate: PositiveFloat = 1e-3
    weight_decay: NonNegativeFloat = 1e-5
    """Of the combiner."""
    patience: NonNegativeInt = 3
    device: Literal["auto", "cpu"] = "auto"
    threads: NonNegativeInt = 0

    @field_validator("profile")
    @classmethod
    def _no_code(cls, value: Profile) -> Profile:
        if value == "upstream":
            raise ConfigError("DNNLOC has no public code of its authors to follow: use it with the profile 'clean'")
        return value


class Terms:
    """dnn_words: words without stop words, stemmed; a compound whole and in its parts."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def __call__(self, text: str) -> list[str]:
        """Terms of a text, in order.

        >>> Terms()("the HTMLParser2 parses; MAX_x = null")
        ['htmlparser2', 'html', 'parser', 'pars', 'max_x', 'max']
        """
        known = self._known
        terms: list[str] = []
        for word in _WORD.findall(text):
            found = known.get(word)
            if found is None:
                found = known[word] = _cut(word)
            terms += found
        return terms


def _cut(word: str) -> tuple[str, ...]:
    whole = word.lower()
    if dropped(whole):
        return ()
    parts = letter_parts(word)
    terms = [porter(whole)]
    if len(parts) > 1 or (parts and parts[0] != whole):
        terms += [porter(part) for part in parts if not dropped(part)]
    return tuple(terms)


def mentioned(text: str) -> set[str]:
    """Words of a text that could be a class's name, as they are written.

    >>> sorted(mentioned("JUnit view: icons of TestRunner_2.java"))
    ['JUnit', 'TestRunner_2', 'icons', 'java', 'view']
    """
    return {word for word in _WORD.findall(text) if len(word) > 2}


def length_score(lengths: FloatArray) -> FloatArray:
    """The paper's length score 1 / (1 + exp(-(x - min) / (max - min))), from .5 to .731."""
    score: FloatArray = 1.0 / (1.0 + np.exp(-min_max(lengths)))
    return score


def months(moments: FloatArray) -> FloatArray:
    """Absolute months, 12 x year + month, of seconds since 1970 in UTC.

    >>> months(np.array([1262304000.0, 1262303999.0])).tolist()
    [24121.0, 24120.0]
    """
    since: FloatArray = np.floor(moments).astype("datetime64[s]").astype("datetime64[M]").astype(np.float64)
    return since + 12 * 1970 + 1


def recency(query: FloatArray | float, last: FloatArray) -> FloatArray:
    """phi5 of the months of a report and of the reports last fixed; 0 where ``last`` is -inf."""
    # a report can be dated after its fix, hence after a later report
    gap = np.maximum(query - last, 0.0)
    value: FloatArray = np.where(np.isfinite(last), 1.0 / (gap + 1.0), 0.0)
    return value


def hardest(similarity: FloatArray, fixed: LongArray, number: int) -> LongArray:
    """Places of the ``number`` most similar files that are not fixed; of equal ones, the first.

    >>> hardest(np.array([.2, .9, .5, .5, .7]), np.array([1]), 2).tolist()
    [4, 2]
    """
    order = np.argsort(-similarity, kind="stable")
    wrong = order[~np.isin(order, fixed)]
    return wrong[:number].astype(np.int64)


class Reports:
    """Term counts of all labelled reports; what a later one says is used by none before it."""

    def __init__(self, context: BaselineContext, terms: Callable[[BugReport], list[str]]) -> None:
        fix_history = context.fix_history
        self.counts: Counts = count(terms(case.report) for case in fix_history.cases)
        self.months: FloatArray = months(fix_history.opened)

    def filtering(self, known: FixHistoryAsOf, terms: Sequence[str]) -> FloatArray:
        """(N,) phi3: rVSM between a report and, for each path, the known reports that were fixed in it.

        IDF and lengths are over the known reports and over the paths that have any.
        """
        touched = known.fix_history.touched
        value = np.zeros(touched.shape[1])
        number = len(known.reports)
        if not number:
            return value
        rows = self.counts.matrix[known.reports]
        frequency = np.bincount(rows.indices, minlength=rows.shape[1])
        idf = np.where(frequency > 0, np.log(number / np.maximum(frequency, 1)), 0.0)
        columns, counts = self.counts.query(terms)
        query = np.zeros(rows.shape[1])
        query[columns] = (np.log(counts) + 1.0) * idf[columns]
        length = float(np.sqrt((query**2).sum()))
        if not length:
            return value
        of_paths = sparse.csr_array(touched[known.reports].T)
        paths = np.flatnonzero(np.diff(of_paths.indptr))
        together = sparse.csr_array(of_paths[paths] @ rows)
        lengths = np.asarray(together.sum(axis=1), dtype=np.float64).ravel()
        together.data = (np.log(together.data) + 1.0) * idf[together.indices]
        product = together @ query
        together.data **= 2
        norms = np.sqrt(np.asarray(together.sum(axis=1)).ravel())
        cosine = product / (np.where(norms > 0, norms, 1.0) * length)
        value[paths] = cosine * length_score(lengths)
        return value

    def last(self, known: FixHistoryAsOf) -> FloatArray:
        """(N,) month in which the report last fixed in each path was opened; -inf without one."""
        fix_history = known.fix_history
        value = np.full(fix_history.touched.shape[1], -np.inf)
        order = known.reports[np.argsort(fix_history.fixed_at[known.reports], kind="stable")]
        rows = fix_history.touched[order]
        # rows come in the order of their fixes, and of several assignments the last one stays
        value[rows.indices] = np.repeat(self.months[order], np.diff(rows.indptr))
        return value


class ClassNames:
    """Names of the types that blobs declare, of three letters or more."""

    def __init__(self, sources: Sequence[ParsedSource]) -> None:
        self.declared: Counts = count(sorted({name for name in one.types if len(name) > 2}) for one in sources)
        tokens = Terms()
        names = sorted(self.declared.numbers, key=self.declared.numbers.__getitem__)
        self.tokens: Counts = count(sorted(set(tokens(name))) for name in names)
        """Terms of each name, each once."""
        held = self.declared.matrix @ self.tokens.matrix
        held.data = np.ones_like(held.data)
        self.held: sparse.csr_array = sparse.csr_array(held)
        """(B, T) 1 where a name that the blob declares has a term."""
        self.sizes: FloatArray = np.asarray(self.held.sum(axis=1), dtype=np.float64).ravel()

    def cosine(self, text: str, multiplicity: LongArray) -> FloatArray:
        """(B,) phi4: cosine of the terms of the version's class names that a text mentions with each blob's."""
        numbers = self.declared.numbers
        columns = np.array(sorted(numbers[word] for word in mentioned(text) if word in numbers), dtype=np.int64)
        present = self.declared.held_by_term[columns] @ multiplicity.astype(np.float64) > 0
        said = np.zeros(self.held.shape[1])
        said[self.tokens.matrix[columns[present]].indices] = 1.0
        size = said.sum()
        if not size:
            return np.zeros(len(self.sizes))
        value: FloatArray = (self.held @ said) / np.sqrt(np.maximum(self.sizes, 1.0) * size)
        return value


@dataclass(frozen=True, eq=False)
class Weights:
    """A vocabulary with IDF, for vectors (ln f + 1) idf of one length: the root of the number of terms.

    With length 1, components would be so small that first weights and steps of a usual size drown them.
    """

    terms: tuple[str, ...]
    idf: FloatArray
    """(V,)"""

    @classmethod
    def of(cls, counts: Counts, rows: BoolArray, number: int, share: float = 1.0) -> Weights:
        """The most frequent terms that 2 of the rows hold or more, and at most this share of them."""
        chosen = counts.held[np.flatnonzero(rows)]
        frequency = np.bincount(chosen.indices, minlength=chosen.shape[1])
        total = chosen.shape[0]
        usable = np.flatnonzero((frequency >= 2) & (frequency <= share * total))
        names = sorted(counts.numbers, key=counts.numbers.__getitem__)
        # equally frequent terms by name, so that the order of blobs cannot matter
        best = sorted(usable.tolist(), key=lambda column: (-frequency[column], names[column]))[:number]
        idf = np.log(max(total, 1) / frequency[best]) if best else np.zeros(0)
        return cls(tuple(names[column] for column in best), np.asarray(idf, dtype=np.float64))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Column of each term."""
        return {term: column for column, term in enumerate(self.terms)}

    @property
    def width(self) -> int:
        """V; 1 without terms, since no layer can be without inputs."""
        return max(len(self.terms), 1)

    def matrix(self, counts: Counts) -> sparse.csr_array:
        """(B, V) vectors of all texts."""
        columns = np.array([self.numbers.get(term, -1) for term in counts.numbers], dtype=np.int64)
        old = counts.matrix
        new = columns[old.indices]
        kept = new >= 0
        rows = np.repeat(np.arange(old.shape[0]), np.diff(old.indptr))[kept]
        values = (np.log(old.data[kept]) + 1.0) * self.idf[new[kept]]
        made = sparse.csr_array((values, (rows, new[kept])), shape=(old.shape[0], self.width))
        norms = np.sqrt(np.bincount(rows, values**2, minlength=old.shape[0]) / self.width)
        made.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(made.indptr))
        return made.astype(np.float32)

    def vector(self, terms: Sequence[str]) -> Float16Array:
        """(V,) vector of one text."""
        made = np.zeros(self.width)
        for term, number in Counter(terms).items():
            column = self.numbers.get(term)
            if column is not None:
                made[column] = (np.log(number) + 1.0) * self.idf[column]
        norm = np.sqrt((made**2).mean())
        return (made / norm if norm else made).astype(np.float32)


@dataclass(eq=False)
class Pairs:
    """One report with files of its version: for training the fixed and the hardest others, for validation all."""

    report: BugReport
    rows: IntArray
    """(P,) rows on the files, -1 for a file that could not be read."""
    features: Float16Array
    """(P, 5) phi2 to phi6."""
    fixed: LongArray
    """Which of the P are fixed."""
    relevant: int
    """Fixed files of the version."""


@dataclass(eq=False)
class Fitted:
    """What was learned."""

    low: FloatArray
    """(6,) least value of each feature in training pairs; (5,) without phi1."""
    high: FloatArray
    combiner: Any
    relevancy: Relevancy | None


class Relevancy:
    """phi1: both projections and the network above them."""

    def __init__(self, report: Weights, code: Weights, network: Any, device: torch.device) -> None:
        self.report, self.code, self.network, self.device = report, code, network, device
        self._halves: torch.Tensor | None = None
        self.projected: torch.Tensor | None = None

    def project(self, counts: Counts) -> torch.Tensor:
        """(B, H) projections of all blobs, made once."""
        import torch

        if self.projected is None:
            layer = self.network["code"]
            vectors = self.code.matrix(counts)
            weight = layer.weight.detach().cpu().numpy().T
            made = np.empty((vectors.shape[0], weight.shape[1]), dtype=np.float32)
            for start in range(0, len(made), ROWS):
                made[start : start + ROWS] = vectors[start : start + ROWS] @ weight
            with torch.no_grad():
                self.projected = torch.sigmoid(torch.from_numpy(made).to(self.device) + layer.bias)
        return self.projected

    def project_reports(self, texts: Sequence[Sequence[str]]) -> torch.Tensor:
        """(R, H) projections of reports given as terms."""
        import torch

        vectors = np.array([self.report.vector(terms) for terms in texts], dtype=np.float32)
        with torch.no_grad():
            made: torch.Tensor = torch.sigmoid(
                self.network["report"](torch.from_numpy(vectors.reshape(-1, self.report.width)).to(self.device))
            )
        return made

    def pairs(self, reports_PH: torch.Tensor, code_PH: torch.Tensor) -> torch.Tensor:
        """(P,) logits of pairs."""
        import torch

        network = self.network
        hidden = torch.relu(network["report_half"](reports_PH) + network["code_half"](code_PH))
        logits: torch.Tensor = network["above"](hidden).squeeze(-1)
        return logits

    def forget(self) -> None:
        """The network has learned: its halves are to be made again."""
        self._halves = None

    def of_rows(self, report_H: torch.Tensor, rows: IntArray, counts: Counts) -> FloatArray:
        """(F,) phi1 of one report and files, given as rows of the files."""
        import torch

        with torch.no_grad():
            if self._halves is None:
                self._halves = self.network["code_half"](self.project(counts))
            halves = self._halves
            own = self.network["report_half"](report_H)
            distinct, places = np.unique(rows, return_inverse=True)
            values = np.empty(len(distinct))
            for start in range(0, len(distinct), ROWS):
                part = torch.from_numpy(distinct[start : start + ROWS].astype(np.int64)).to(self.device)
                hidden = torch.relu(halves[part.clamp(min=0)] + own)
                logits = self.network["above"](hidden).squeeze(-1)
                values[start : start + ROWS] = torch.sigmoid(logits).cpu().numpy()
        values[distinct < 0] = 0.0
        found: FloatArray = values[places]
        return found


class Dnnloc(Learned):
    """DNNLOC (Lam et al. 2017)."""

    name: ClassVar[str] = "dnnloc"
    Settings: ClassVar = DnnlocSettings
    upstream_cutoff: ClassVar[Cutoff] = "fix_before_open"

    settings: DnnlocSettings

    def __init__(self, settings: DnnlocSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self._words = Terms()
        self._fitted: Fitted | None = None

    # What depends on the files and on the labelled reports alone

    @cached_property
    def counts(self) -> Counts:
        """(B, V) counts of identifiers and, if wished, words of comments."""
        comments = self.settings.comments

        def terms(source: ParsedSource) -> list[str]:
            return self._words(source.text("code", "javadoc", "comment") if comments else source.text("code"))

        return self.context.files.counts(f"dnnloc{'+' if comments else ''}", terms)

    @cached_property
    def reports(self) -> Reports:
        """Of the labelled reports."""
        return Reports(self.context, self.terms)

    @cached_property
    def names(self) -> ClassNames:
        """Of the files's classes."""
        return ClassNames(self.context.files.sources)

    def terms(self, report: BugReport) -> list[str]:
        """Terms of summary and description."""
        return self._words(report_text(report))

    def features(self, query: BaselineQuery) -> FloatArray:
        """(F, 5) phi2 to phi6, not yet scaled."""
        version, known, report = query.version, query.history, query.report
        counts = self.counts
        space = version.spaces.get(id(counts))
        if space is None:
            space = version.spaces[id(counts)] = (
                Space(counts, version.multiplicity),
                length_score(version.to_files(counts.lengths)),
            )
        terms = self.terms(report)
        own_month = float(months(np.array([report.opened_seconds]))[0])
        return np.column_stack(
            [
                version.to_files(space[0].cosine(terms)) * space[1],
                version.from_paths(self.reports.filtering(known, terms)),
                version.to_files(self.names.cosine(report_text(report), version.multiplicity)),
                recency(own_month, version.from_paths(self.reports.last(known))),
                np.log1p(version.from_paths(known.fixes)),
            ]
        )

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the combiner's value before its sigmoid, which would make many of them equal."""
        fitted = self._fitted
        if fitted is None:
            raise ToslocError("DNNLOC has to be fitted before it can rank")
        features = self.features(query).astype(np.float32)
        if fitted.relevancy is not None:
            report = fitted.relevancy.project_reports([self.terms(query.report)])[0]
            first = fitted.relevancy.of_rows(report, query.version.rows, self.counts)
            features = np.column_stack([first, features])
        return _combined(fitted.combiner, _scaled(features, fitted.low, fitted.high))

    # Learning

    def fit(self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent) -> None:
        """Learn projections, phi1 and combiner; a folder that holds them already is read."""
        settings = self.settings
        training = self.training(train, validation, folder, progress)
        if self._load(training):
            return
        cases, judged = training.cases, training.judged
        if len(cases) < 2 or not judged:
            raise ToslocError("DNNLOC needs two training reports and one for validation whose fixed files exist")
        older = min(max(int(settings.relevancy_share * len(cases)), 1), len(cases) - 1)
        pairs = [self._pairs(case, progress, place, len(cases)) for place, case in enumerate(cases, start=1)]
        full = [self._all(case, progress, place, len(judged)) for place, case in enumerate(judged, start=1)]
        relevancy, first, shown = None, None, None
        learned = pairs
        if settings.relevancy:
            relevancy = self._relevancy(train, training)
            self._fit_relevancy(relevancy, pairs[:older], full, training)
            learned = pairs[older:]
            first, shown = self._first(relevancy, learned), self._first(relevancy, full)
        tables = [_table(one.features, first, place) for place, one in enumerate(learned)]
        together = np.concatenate(tables)
        low, high = together.min(axis=0).astype(np.float64), together.max(axis=0).astype(np.float64)
        combiner = learning.seeded(self.seed, lambda: _combiner(together.shape[1], settings.combiner_hidden))
        combiner = combiner.to(training.device)
        query = [_scaled(_table(one.features, shown, place), low, high) for place, one in enumerate(full)]

        def judge() -> float:
            return learning.mean_average_precision(full, [_combined(combiner, table) for table in query])

        training.learn(
            combiner,
            "combiner.safetensors",
            _pass(combiner, _scaled(together, low, high), _labels(learned), settings.combiner_batch),
            judge,
            epochs=settings.combiner_epochs,
            what="combiner",
            weight_decay=settings.weight_decay,
        )
        self._fitted = Fitted(low, high, combiner, relevancy)
        self._save(training)

    def _pairs(self, case: Case, progress: Progress, place: int, total: int) -> Pairs:
        query = self.context.asked(case.report, case.version)
        features = self.features(query)
        fixed = learning.places_of(query, case.fixed)
        if self.settings.wrong_files == "hardest":
            similarity = features[:, 0]
        else:
            similarity = np.random.default_rng([self.seed, place]).random(len(features))
        chosen = np.concatenate([fixed, hardest(similarity, fixed, self.settings.negatives)])
        progress("features for training", place, total)
        return Pairs(
            case.report,
            query.version.rows[chosen],
            features[chosen].astype(np.float32),
            np.arange(len(fixed), dtype=np.int64),
            len(case.fixed),
        )

    def _all(self, case: Case, progress: Progress, place: int, total: int) -> Pairs:
        query = self.context.asked(case.report, case.version)
        features = self.features(query).astype(np.float32)
        progress("features for validation", place, total)
        fixed = learning.places_of(query, case.fixed)
        return Pairs(case.report, query.version.rows, features, fixed, len(case.fixed))

    def _relevancy(self, train: Sequence[Case], training: Training) -> Relevancy:
        """Vocabularies and projections, learned; the network above them is not."""
        settings = self.settings
        fix_history, files = self.context.fix_history, self.context.files
        of_reports = np.zeros(len(fix_history.cases), dtype=np.bool_)
        of_reports[[fix_history.place[case.report.id] for case in train]] = True
        of_code = np.zeros(len(files), dtype=np.bool_)
        for case in (training.cases[0], training.cases[-1]):
            rows = self.context.version(case.version).rows
            of_code[rows[rows >= 0]] = True
        report = Weights.of(self.reports.counts, of_reports, settings.report_terms)
        code = Weights.of(self.counts, of_code, settings.code_terms, 0.5)
        network = _network(self.seed, settings, report.width, code.width).to(training.device)
        sources = {
            "report": report.matrix(self.reports.counts)[np.flatnonzero(of_reports)],
            "code": code.matrix(self.counts)[np.array(files.rows_by_blob(of_code), dtype=np.int64)],
        }
        for side, vectors in sources.items():
            coder = _autoencoder(self.seed, network[side])
            training.learn(
                coder,
                f"projection-{side}.safetensors",
                _restoring(coder, sparse.csr_array(vectors), settings.projection_batch),
                None,
                epochs=settings.projection_epochs,
                what=f"projection of {side}s" if side == "report" else "projection of code",
            )
        return Relevancy(report, code, network, training.device)

    def _fit_relevancy(
        self, relevancy: Relevancy, pairs: Sequence[Pairs], full: Sequence[Pairs], training: Training
    ) -> None:
        import torch

        settings, network = self.settings, relevancy.network
        projected = relevancy.project(self.counts)
        query = relevancy.project_reports([self.terms(one.report) for one in pairs])
        judged = relevancy.project_reports([self.terms(one.report) for one in full])
        rows = np.concatenate([one.rows for one in pairs])
        kept = np.flatnonzero(rows >= 0)
        reports = np.repeat(np.arange(len(pairs)), [len(one.rows) for one in pairs])[kept]
        labels, rows = _labels(pairs)[kept], rows[kept]
        above = torch.nn.ModuleDict({name: network[name] for name in ("report_half", "code_half", "above")})
        loss_of = _loss(labels, relevancy.device)

        def loss(batch: LongArray) -> torch.Tensor:
            files = torch.from_numpy(rows[batch].astype(np.int64)).to(relevancy.device)
            own = torch.from_numpy(reports[batch]).to(relevancy.device)
            return loss_of(relevancy.pairs(query[own], projected[files]), batch)

        def judge() -> float:
            relevancy.forget()
            found = [relevancy.of_rows(judged[place], one.rows, self.counts) for place, one in enumerate(full)]
            return learning.mean_average_precision(full, found)

        training.learn(
            above,
            "relevancy.safetensors",
            learning.in_batches(len(rows), settings.relevancy_batch, loss),
            judge,
            epochs=settings.relevancy_epochs,
            what="relevancy",
        )
        relevancy.forget()

    def _first(self, relevancy: Relevancy, pairs: Sequence[Pairs]) -> list[FloatArray]:
        own = relevancy.project_reports([self.terms(one.report) for one in pairs])
        return [relevancy.of_rows(own[place], one.rows, self.counts) for place, one in enumerate(pairs)]

    # The fitted state on disk

    def _save(self, training: Training) -> None:
        fitted = self._fitted
        assert fitted is not None
        arrays: dict[str, Any] = {"low": fitted.low, "high": fitted.high}
        arrays |= learning.weights(fitted.combiner, "combiner/")
        record: dict[str, Any] = {"schema": 1, "relevancy": fitted.relevancy is not None}
        if fitted.relevancy is not None:
            relevancy = fitted.relevancy
            arrays |= learning.weights(relevancy.network, "relevancy/")
            for side, weights in (("report", relevancy.report), ("code", relevancy.code)):
                arrays |= {f"{side}/terms": pack_words(weights.terms, "\n"), f"{side}/idf": weights.idf}
        training.save(FILE, arrays, record)

    def _load(self, training: Training) -> bool:
        found = training.load(FILE)
        if found is None:
            return False
        arrays, record = found
        settings = self.settings
        relevancy = None
        if record["relevancy"]:
            report, code = (
                Weights(tuple(unpack_words(arrays[f"{side}/terms"], "\n")), arrays[f"{side}/idf"])
                for side in ("report", "code")
            )
            network = _network(self.seed, settings, report.width, code.width)
            learning.put(network, arrays, "relevancy/")
            relevancy = Relevancy(report, code, network.to(training.device), training.device)
        combiner = _combiner(len(arrays["low"]), settings.combiner_hidden)
        learning.put(combiner, arrays, "combiner/")
        self._fitted = Fitted(arrays["low"], arrays["high"], combiner.to(training.device), relevancy)
        return True


def _combiner(features: int, hidden: int) -> torch.nn.Module:
    from torch import nn

    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, 1))


def _network(seed: int, settings: DnnlocSettings, report_terms: int, code_terms: int) -> Any:
    """Projections of both sides; the first layer over them in its two halves, and the layers above."""
    from torch import nn

    first, second = settings.relevancy_hidden

    def build() -> torch.nn.Module:
        return nn.ModuleDict(
            {
                "report": nn.Linear(report_terms, settings.projection),
                "code": nn.Linear(code_terms, settings.projection),
                "report_half": nn.Linear(settings.projection, first),
                "code_half": nn.Linear(settings.projection, first, bias=False),
                "above": nn.Sequential(nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1)),
            }
        )

    return learning.seeded(seed, build)


def _autoencoder(seed: int, layer: torch.nn.Linear) -> torch.nn.Module:
    """A projection with its way back; the layer is shared, so that it learns."""
    from torch import nn

    back = learning.seeded(seed, lambda: nn.Linear(layer.out_features, layer.in_features))
    return nn.Sequential(layer, nn.Sigmoid(), back.to(layer.weight.device))


def _restoring(coder: torch.nn.Module, vectors: sparse.csr_array, size: int) -> learning.Epoch:
    """One pass of an autoencoder over vectors (T, V): mean squared error; 1 is that of guessing nothing."""
    import torch

    device = next(coder.parameters()).device

    def loss(batch: LongArray) -> torch.Tensor:
        wanted = torch.from_numpy(vectors[batch].toarray()).to(device)
        mean: torch.Tensor = (coder(wanted) - wanted).square().mean()
        return mean

    return learning.in_batches(vectors.shape[0], size, loss)


def _pass(combiner: torch.nn.Module, table: Float16Array, labels: Float16Array, size: int) -> learning.Epoch:
    """One pass of the combiner over its training pairs (P, 6)."""
    import torch

    device = next(combiner.parameters()).device
    loss_of = _loss(labels, device)
    values = torch.from_numpy(table).to(device)

    def loss(batch: LongArray) -> torch.Tensor:
        return loss_of(combiner(values[torch.from_numpy(batch).to(device)]).squeeze(-1), batch)

    return learning.in_batches(len(table), size, loss)


def _loss(labels: Float16Array, device: torch.device) -> Callable[[torch.Tensor, LongArray], torch.Tensor]:
    """Binary cross entropy in which right pairs weigh as much as all wrong ones, within a limit."""
    import torch

    right = float(labels.sum())
    weight = torch.tensor(min((len(labels) - right) / max(right, 1.0), WEIGHT_LIMIT), device=device)
    wanted = torch.from_numpy(labels).to(device)

    def loss(logits: torch.Tensor, batch: LongArray) -> torch.Tensor:
        places = torch.from_numpy(batch).to(device)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, wanted[places], pos_weight=weight)

    return loss


def _labels(pairs: Sequence[Pairs]) -> Float16Array:
    """(P,) 1 for a fixed file, over all pairs of all reports."""
    made = []
    for one in pairs:
        labels = np.zeros(len(one.rows), dtype=np.float32)
        labels[one.fixed] = 1.0
        made.append(labels)
    return np.concatenate(made)


def _table(features: Float16Array, first: Sequence[FloatArray] | None, place: int) -> Float16Array:
    """(P, 6) features of one report with phi1, (P, 5) without it."""
    return features if first is None else np.column_stack([first[place], features]).astype(np.float32)


def _scaled(table: Any, low: FloatArray, high: FloatArray) -> Float16Array:
    """(P, 6) features between 0 and 1; one that never differed in training is 0."""
    span = high - low
    scaled = np.where(span > 0, (table - low) / np.where(span > 0, span, 1.0), 0.0)
    clipped: Float16Array = np.clip(scaled, 0.0, 1.0).astype(np.float32)
    return clipped


def _combined(combiner: torch.nn.Module, table: Float16Array) -> FloatArray:
    """(F,) scores, rounded so that equal files stay equal wherever they stand in the table."""
    import torch

    device = next(combiner.parameters()).device
    with torch.no_grad():
        values = combiner(torch.from_numpy(table).to(device)).squeeze(-1).cpu().numpy()
    rounded: FloatArray = np.round(values.astype(np.float64), 5)
    return rounded
