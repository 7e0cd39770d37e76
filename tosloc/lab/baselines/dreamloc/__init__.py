"""DreamLoc: a deep model that matches report words with snippets of code, beside five wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization, IEEE Transactions on
Reliability 2021 (docs/method.md, section B.9). There is no ``upstream`` profile: the public code's wide features tell
the label (section B.9.7). The distinct words of a report are scored once: the weights count how often each stands.

Shapes in this package: B blobs, F files of a version, N paths, R labelled reports, n distinct words of a report, s
snippets, L distinct words of a snippet, d width of a word vector, P pairs of a report and a file, V words of code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from tosloc.errors import ToslocError
from tosloc.lab.baselines.context import BaselineContext, BaselineQuery
from tosloc.lab.baselines.dreamloc.network import DreamLocModel, ReportWords, dreamloc_network
from tosloc.lab.baselines.dreamloc.wide import WideFeatures, WideStatistics, complexities, fix_recency, range_of
from tosloc.lab.baselines.dreamloc.words import (
    DocumentFrequencies,
    DreamLocSettings,
    DreamLocTokenizer,
    Snippets,
    WordVectors,
    code_text,
    compounds_and_parts,
    truncated,
)
from tosloc.lab.baselines.texts import summary_and_description, without_prefix
from tosloc.lab.baselines.training import (
    LearnedBaseline,
    Training,
    fixed_positions,
    in_batches,
    mean_average_precision,
    weights_of,
)
from tosloc.records import BugReport, Case, Float32Array, FloatArray, LongArray, Progress, silent
from tosloc.reports.labelled import fix_order

if TYPE_CHECKING:
    import torch

_FILE: Final = "fitted.pt"
_WORDS_FILE: Final = "words.pt"
LEAST_LOSS: Final = 1e-6


@dataclass(eq=False)
class ReportFiles:
    """A report with files of its version: for training the fixed ones, which come first, and sampled wrong ones."""

    words: ReportWords
    rows: LongArray
    """(m,) rows of blobs, -1 for a file that could not be read."""
    wide: Float32Array
    fixed: LongArray
    relevant: int


def triples_of(reports: Sequence[ReportFiles]) -> LongArray:
    """(T, 3) report, index of a fixed file, index of a wrong one: every wrong file once, fixed ones in turn."""
    found = [
        (number, wrong % len(one.fixed), len(one.fixed) + wrong)
        for number, one in enumerate(reports)
        if len(one.fixed)
        for wrong in range(len(one.rows) - len(one.fixed))
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def margin_loss(model: DreamLocModel, reports: Sequence[ReportFiles], batch: LongArray, margin: float) -> torch.Tensor:
    """Mean of max(1e-6, margin - score of the fixed file + score of the wrong one) over triples (T, 3)."""
    import torch

    pairs = np.concatenate([batch[:, [0, 1]], batch[:, [0, 2]]])
    distinct, back = np.unique(pairs, axis=0, return_inverse=True)
    chosen = [(reports[number], index) for number, index in distinct.tolist()]
    deep = model.deep_of_pairs([(one.words, int(one.rows[index])) for one, index in chosen])
    wide = torch.from_numpy(np.stack([one.wide[index] for one, index in chosen])).to(model.device)
    scores = model.fused(wide, deep)[torch.from_numpy(back.ravel()).to(model.device)]
    right, wrong = scores[: len(batch)], scores[len(batch) :]
    return (margin - right + wrong).clamp(min=LEAST_LOSS).mean()


class DreamLoc(LearnedBaseline):
    """DreamLoc (Qi et al. 2021)."""

    name: ClassVar[str] = "dreamloc"
    needs_complexity: ClassVar[bool] = True
    Settings: ClassVar = DreamLocSettings

    settings: DreamLocSettings
    _wide: WideFeatures
    _vectors: WordVectors

    def __init__(self, settings: DreamLocSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self._model: DreamLocModel | None = None

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) the network's value."""
        if self._model is None:
            raise ToslocError("DreamLoc has to be fitted before it can rank")
        rows = query.version.rows.astype(np.int64)
        return self._model.scores(self.words(query.report), rows, self._wide.of(query))

    def words(self, report: BugReport) -> ReportWords:
        """The report as the network reads it."""
        vectors, text = self._vectors, summary_and_description(report)
        tokenizer = DreamLocTokenizer()  # its own: the parts of a word that training never saw are those written here
        counted = Counter(truncated(tokenizer(text), compounds_and_parts(text), self.settings.report_length))
        distinct = sorted(counted)
        keys: list[Any] = []
        rows: list[Float32Array] = []
        for word in distinct:
            row, parts = vectors.row_of_word.get(word), tokenizer.parts.get(word, ())
            keys.append(word if row is not None else (word, parts))
            rows.append(vectors.vectors[row] if row is not None else vectors.unknown(word, parts))
        idf = self._wide.statistics.report.idf(distinct)
        weights = np.array([counted[word] for word in distinct]) * np.exp(idf - (idf.max() if len(idf) else 0.0))
        return ReportWords(
            tuple(keys),
            np.array(rows, dtype=np.float32).reshape(-1, vectors.vectors.shape[1]),
            (weights / max(float(weights.sum()), 1e-12)).astype(np.float32),
        )

    # Learning

    def fit(self, train: Sequence[Case], validation: Sequence[Case], folder: Path, progress: Progress = silent) -> None:
        """Learn word vectors, then the network; a folder that holds them already is read."""
        training = self.training(train, validation, folder, progress)
        if not training.cases or not training.validation:
            raise ToslocError("DreamLoc needs a training report and one for validation whose fixed files exist")
        if not self._load_words(training):
            self._fit_words(train, training)
        settings, sources = self.settings, self.context.files.sources
        network = dreamloc_network(settings, self.seed).to(training.device)
        snippets = Snippets(sources, self._vectors, settings.snippet_length, settings.snippets)
        self._model = DreamLocModel(network, snippets, settings, training.device)
        found = training.load(_FILE)
        if found is not None:
            network.load_state_dict(found["network"])
            return
        reports = list(self._files(training.cases, training, "training"))
        self._fit_network(
            self._model, reports, list(self._files(training.validation, training, "validation")), training
        )
        training.save(_FILE, {"network": weights_of(network)})

    def _fit_words(self, train: Sequence[Case], training: Training) -> None:
        import torch

        in_training = np.zeros(len(self.context.files), dtype=np.bool_)
        most_fixes = most_recency = 0.0
        for number, case in enumerate(training.cases, start=1):
            query = self.context.query(case.report, case.version)
            in_training[query.version.rows[query.version.rows >= 0]] = True
            recency = fix_recency(query.report.opened_seconds - query.history.last_fix)
            most_fixes = max(most_fixes, float(query.history.fixes.max(initial=0.0)))
            most_recency = max(most_recency, float(recency.max(initial=0.0)))
            training.progress("reading training versions", number, len(training.cases))
        blobs = self.context.files.rows_by_blob(in_training)
        reports = [case.report for case in sorted(train, key=fix_order)]
        tokenizer = DreamLocTokenizer()
        report_words = [tokenizer(summary_and_description(report)) for report in reports]
        corpus = list(report_words)
        limit = self.settings.word2vec_words or None

        def words_of_files() -> Iterator[list[str]]:
            for row in blobs:
                words = tokenizer(code_text(self.context.files.sources[row]))
                corpus.append(words[:limit])  # whole files would fill the memory
                yield words

        text = DocumentFrequencies.count(chain(report_words, words_of_files()))
        keywords = sorted({word for report in reports for word in compounds_and_parts(summary_and_description(report))})
        statistics = WideStatistics(
            text,
            DocumentFrequencies.count(tokenizer(without_prefix(report.summary)) for report in reports),
            DocumentFrequencies.count(report_words),
            range_of(text.idf(keywords)),
            range_of(complexities(self.context)[blobs]),
            most_fixes,
            most_recency,
        )
        training.progress("learning word vectors", 0, 1)
        self._vectors = WordVectors.learned(corpus, tokenizer.parts, self.settings, self.seed)
        training.progress("learning word vectors", 1, 1)
        self._wide = WideFeatures(self.context, statistics)
        vectors = torch.from_numpy(self._vectors.vectors)
        values = {"words": list(self._vectors.words), "vectors": vectors, "statistics": asdict(statistics)}
        training.save(_WORDS_FILE, values)

    def _load_words(self, training: Training) -> bool:
        found = training.load(_WORDS_FILE)
        if found is None:
            return False
        self._vectors = WordVectors(found["words"], found["vectors"].numpy())
        self._wide = WideFeatures(self.context, WideStatistics.of(**found["statistics"]))
        return True

    def _files(self, cases: Sequence[Case], training: Training, what: str) -> Iterator[ReportFiles]:
        """Of reports for ``validation`` all files, for ``training`` some."""
        for number, case in enumerate(cases):
            query = self.context.query(case.report, case.version)
            rows, fixed = query.version.rows.astype(np.int64), fixed_positions(query, case.fixed)
            wide = self._wide.of(query)
            if what == "training":
                excluded = np.union1d(fixed, np.flatnonzero(rows < 0))
                wrong = np.setdiff1d(np.arange(len(rows), dtype=np.int64), excluded)
                drawn = np.random.default_rng([self.seed, number]).permutation(wrong)
                chosen = np.concatenate([fixed, drawn[: max(self.settings.negatives, len(excluded))]])
                rows, wide, fixed = rows[chosen], wide[chosen], np.arange(len(fixed))
            training.progress(f"features for {what}", number + 1, len(cases))
            yield ReportFiles(self.words(case.report), rows, wide, fixed, len(case.fixed))

    def _fit_network(
        self,
        model: DreamLocModel,
        reports: Sequence[ReportFiles],
        lists: Sequence[ReportFiles],
        training: Training,
    ) -> None:
        settings = self.settings
        triples = triples_of(reports)
        if not len(triples):
            raise ToslocError("DreamLoc has nothing to learn: no training report has both fixed and other files")

        def loss(batch: LongArray) -> torch.Tensor:
            return margin_loss(model, reports, triples[batch], settings.margin)

        def rankings() -> Iterator[tuple[FloatArray, LongArray, int]]:
            for number, one in enumerate(lists, start=1):
                yield model.scores(one.words, one.rows, one.wide), one.fixed, one.relevant
                training.progress("ranking validation reports", number, len(lists))

        def validate() -> float:
            model.forget()
            return mean_average_precision(rankings())

        def triples_done(done: int) -> None:
            training.progress("triples", done, len(triples))

        epoch = in_batches(len(triples), settings.batch, loss, triples_done)
        training.learn(model.network, "dreamloc", epoch, validate, epochs=settings.epochs)
        model.forget()
