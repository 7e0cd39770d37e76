"""DreamLoc: a deep model that matches report words with snippets of code, beside wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization,
IEEE Transactions on Reliability 2021 (docs/method.md, section B.9). The wide features of the public
code leak the label (section B.9.7); the five features here are those of the paper. Each distinct
word of a report is scored once, with a weight for its number of occurrences.

Shapes: B blobs, F files of a version, n distinct words of a report, s snippets, L distinct words of
a snippet, d width of a word vector, P pairs of a report and a file, T triples of a report, a fixed
file and a wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar, Final

import numpy as np
import torch
from torch import Tensor, nn

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.core.errors import ToslocError
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import Case
from tosloc.lab.baselines import dreamloc_inputs as inputs
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import BaselineQuery
from tosloc.lab.baselines.dreamloc_inputs import (
    DocumentFrequencies,
    Snippet,
    Snippets,
    WideFeatures,
    WordVectors,
    dream_words,
)
from tosloc.lab.baselines.texts import strip_bug_prefix, summary_and_description
from tosloc.lab.baselines.training import DEVICE
from tosloc.lab.tracking import track

MIN_LOSS: Final = 1e-6
"""Smallest loss of a triple: public code, section B.9.6."""
MARGIN: Final = 1.0
"""Distance that a fixed file's score should have from a wrong one's: public code, section B.9.6."""
MAX_MATCHES_AT_ONCE: Final = 1_048_576 if DEVICE.type == "cuda" else 32_768
"""Number of pairs of a word and a snippet, including missing snippets, that are matched at once."""


@dataclass(frozen=True)
class DreamLocSettings(training.LearningSettings):
    """The settings of DreamLoc (docs/method.md, section B.9).

    They are the public code's values, except those reduced so that a CPU can afford them.
    """

    train_reports: int = 600
    """Reduced; code: all."""
    validation_reports: int = 60
    """Reduced; code: all."""
    embedding: int = 100
    """Width of a word vector."""
    word2vec_epochs: int = 5
    word2vec_words: int = 2_000
    """Number of words of a file, from the first, that word vectors are learned from; code: all.

    The same words are matched.
    """
    report_length: int = 300
    """Largest number of words of a report."""
    snippet_length: int = 100
    """Words of a snippet."""
    snippets: int = 20
    """Largest number of snippets of a file."""
    match_hidden: int = 100
    best_snippets: int = 3
    """Number of a word's best snippets that count."""
    wide_hidden: int = 20
    fusion_hidden: int = 100
    """Width of the fusion's hidden layer: the code's README; its program has 50 by default."""
    negatives: int = 50
    """Sampled wrong files of each report: reduced; code: 200, Tomcat 800."""
    epochs: int = 10
    """Reduced; code: 50."""
    batch: int = 64


@dataclass(eq=False)
class ReportFiles:
    """A report with files of its version.

    For training these are the fixed files followed by sampled wrong files; otherwise all files.
    """

    vectors: Tensor
    """(n, d) vectors of the report's distinct words."""
    weights: Tensor
    """(n,) weights of the distinct words, with the sum 1.

    They are the softmax of the IDF over all words, summed over the occurrences of each distinct
    word.
    """
    rows: LongArray
    """(P,) rows of the files' blobs, -1 for a file that could not be read."""
    wide: Tensor
    """(P, 5) wide features."""
    fixed: LongArray
    """Positions of the fixed files."""
    relevant: int
    """Number of relevant files."""


def training_triples(reports: Sequence[ReportFiles]) -> LongArray:
    """Return (T, 3) triples: number of a report, index of a fixed file and index of a wrong file.

    Each wrong file occurs in one triple, and the fixed files of its report take turns.
    """
    triples: list[tuple[int, int, int]] = []
    for number, files in enumerate(reports):
        fixed_count = len(files.fixed)
        if fixed_count:
            for turn in range(len(files.rows) - fixed_count):
                triples.append((number, turn % fixed_count, fixed_count + turn))
    return np.array(triples, dtype=np.int64).reshape(-1, 3)


def _layers(width: int, hidden: int) -> list[nn.Module]:
    """Return three linear layers, down to one output, with tanh between them."""
    return [
        nn.Linear(width, hidden),
        nn.Tanh(),
        nn.Linear(hidden, hidden // 2),
        nn.Tanh(),
        nn.Linear(hidden // 2, 1),
    ]


class DreamLocNetwork(nn.Module):
    """The trained parts (matching, pooling, wide features, fusion) over the files of a project."""

    def __init__(self, settings: DreamLocSettings, snippets: Snippets) -> None:
        super().__init__()
        match_layers = _layers(settings.embedding, settings.match_hidden)
        self.match = nn.Sequential(*match_layers, nn.Tanh())
        self.pool = nn.Linear(settings.best_snippets, 1)
        self.wide = nn.Linear(inputs.WIDE_FEATURES, settings.wide_hidden)
        self.fusion = nn.Sequential(*_layers(settings.wide_hidden + 1, settings.fusion_hidden))
        self.settings = settings
        self.snippets = snippets

    def forward(self, files: ReportFiles, selected: slice | LongArray = slice(None)) -> Tensor:
        """Return (P,) scores of a report's files, or of the ``selected`` files."""
        blobs, inverse = np.unique(files.rows[selected], return_inverse=True)
        deep_P = (files.weights @ self.word_scores(files.vectors, blobs))[inverse]
        wide = self.wide(files.wide[selected])
        scores: Tensor = self.fusion(torch.cat([wide, deep_P[:, None]], dim=1))
        return scores.squeeze(-1)

    @torch.no_grad()
    def rounded_scores(self, files: ReportFiles) -> FloatArray:
        """Return (P,) scores of a report's files.

        They are rounded, so that equal files get equal scores wherever they are in the batch.
        """
        rounded: FloatArray = np.round(self(files).double().cpu().numpy(), 5)
        return rounded

    def word_scores(self, word_nd: Tensor, blobs: LongArray) -> Tensor:
        """Return (n, B) the score of each blob for each word.

        ``blobs`` (B,) are rows of blobs; -1 stands for a blob without snippets.
        """
        max_snippets = self.settings.snippets
        step = max(MAX_MATCHES_AT_ONCE // max(len(word_nd) * max_snippets, 1), 1)
        scores: list[Tensor] = []
        for start in range(0, len(blobs), step):
            batch = blobs[start : start + step]
            match_sn = self._match_blobs(word_nd, batch)
            match_Bsn = match_sn.reshape(len(batch), max_snippets, len(word_nd))
            best_Bsn = match_Bsn.topk(self.settings.best_snippets, dim=1).values
            scores.append(self.pool(best_Bsn.transpose(1, 2)).squeeze(-1).T)
        return torch.cat(scores, dim=1)

    def _match_blobs(self, word_nd: Tensor, blobs: LongArray) -> Tensor:
        """Return (s, n) how well words match the snippets of blobs.

        Each blob has the same number of rows. The rows of missing snippets are 0, as in the public
        code.
        """
        max_snippets = self.settings.snippets
        snippets: list[Snippet] = []
        rows: list[int] = []
        for number, blob in enumerate(blobs.tolist()):
            blob_snippets = self.snippets.by_blob[blob] if blob >= 0 else []
            first_row = number * max_snippets
            rows += range(first_row, first_row + len(blob_snippets))
            snippets += blob_snippets
        match_sn = torch.zeros((len(blobs) * max_snippets, len(word_nd)), device=DEVICE)
        if snippets and len(word_nd):
            match_sn = match_sn.index_put((torch.tensor(rows),), self._match(word_nd, snippets))
        return match_sn

    def _match(self, word_nd: Tensor, snippets: Sequence[Snippet]) -> Tensor:
        """Return (s, n) how well words match snippets."""
        normalize = nn.functional.normalize
        with torch.no_grad():  # word vectors are not trained
            words_sL, logs_sL = self.snippets.pad(snippets)
            code_sLd = self.snippets.table[words_sL]
            attention_sLn = torch.softmax(code_sLd @ word_nd.T + logs_sL[:, :, None], dim=1)
            attended_snd = torch.bmm(attention_sLn.transpose(1, 2), code_sLd)
            products_snd = normalize(attended_snd, dim=-1) * normalize(word_nd, dim=-1)
        match_sn: Tensor = self.match(products_snd).squeeze(-1)
        return match_sn


class DreamLoc(training.LearnedBaseline):
    """DreamLoc (Qi et al. 2021)."""

    name: ClassVar[str] = "dreamloc"
    needs_complexity: ClassVar[bool] = True
    settings: ClassVar[DreamLocSettings] = DreamLocSettings()
    _network: DreamLocNetwork
    _wide: WideFeatures
    _vectors: WordVectors

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) the network's scores."""
        return self._network.rounded_scores(self._all_files(query))

    def fit(
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Learn the word vectors, then train the network.

        Raises ToslocError if no training report has both fixed and other files.
        """
        settings = self.settings
        train_cases, stop_cases = self.select_cases(train, validation)
        self._fit_words(train, train_cases, progress)
        snippets = Snippets(
            self.context.files.sources, self._vectors, settings.snippet_length, settings.snippets
        )
        network: DreamLocNetwork = training.build_seeded(
            self.seed, lambda: DreamLocNetwork(settings, snippets)
        )
        tracked_cases = track(train_cases, "computing training features", progress)
        reports = [self._sample_files(case, number) for number, case in enumerate(tracked_cases)]
        tracked_cases = track(stop_cases, "computing validation features", progress)
        validation_files = [self._labelled_files(case) for case in tracked_cases]
        triples = training_triples(reports)
        if not len(triples):
            raise ToslocError(
                "DreamLoc cannot learn, because no training report has both fixed and other files"
            )

        def batch_loss(batch: LongArray) -> Tensor:
            pairs = [
                network(reports[number], np.array(indices))
                for number, *indices in triples[batch].tolist()
            ]
            right, wrong = torch.stack(pairs).T
            mean: Tensor = (MARGIN - right + wrong).clamp(min=MIN_LOSS).mean()
            return mean

        def validate() -> float:
            tracked_files = track(validation_files, "ranking validation reports", progress)
            return training.mean_average_precision(
                (network.rounded_scores(files), files.fixed, files.relevant)
                for files in tracked_files
            )

        losses = training.train_epochs(network, len(triples), settings.batch, batch_loss, self.seed)
        training.train_until_best(network, losses, settings.epochs, validate, "dreamloc", progress)
        self._network = network

    def _fit_words(self, train: Sequence[Case], cases: Sequence[Case], progress: Progress) -> None:
        """Learn the word vectors and the statistics of the wide features.

        They come from the training reports and from the versions of the selected ``cases``.
        """
        settings = self.settings
        sources = self.context.files.sources
        in_training = np.zeros(len(sources), dtype=np.bool_)
        most_fixes = 0.0
        most_recency = 0.0
        for case in track(cases, "reading training versions", progress):
            query = self.context.query(case.report, case.before_commit)
            in_training[query.version.rows[query.version.rows >= 0]] = True
            most_fixes = max(most_fixes, float(query.fix_counts.max(initial=0.0)))
            most_recency = max(most_recency, float(inputs.fix_recency(query).max(initial=0.0)))
        blob_rows = self.context.files.rows_in_blob_order(in_training)
        reports = [case.report for case in sorted(train, key=Case.fix_order)]
        texts = [summary_and_description(report) for report in reports]
        parts_by_word: dict[str, tuple[str, ...]] = {}
        report_words = [dream_words(text, parts_by_word) for text in texts]
        corpus = list(report_words)

        def file_words() -> Iterator[list[str]]:
            for row in blob_rows:
                words = dream_words(inputs.code_text(sources[row]), parts_by_word)
                # Whole files would not fit into memory.
                corpus.append(words[: settings.word2vec_words])
                yield words

        text_frequencies = DocumentFrequencies.count(chain(report_words, file_words()))
        summaries = [strip_bug_prefix(report.summary) for report in reports]
        keywords: set[str] = set()
        for text in texts:
            keywords.update(inputs.compounds_and_parts(text))
        statistics = inputs.WideStatistics(
            text=text_frequencies,
            summary=DocumentFrequencies.count(dream_words(summary) for summary in summaries),
            report=DocumentFrequencies.count(report_words),
            keyword=inputs.value_range(text_frequencies.idf(keywords)),
            complexity=inputs.value_range(inputs.complexities(self.context)[blob_rows]),
            fixes=most_fixes,
            recency=most_recency,
        )
        progress("learning word vectors", 0, 1)
        self._vectors = WordVectors.learn(
            corpus,
            parts_by_word,
            width=settings.embedding,
            epochs=settings.word2vec_epochs,
            seed=self.seed,
        )
        progress("learning word vectors", 1, 1)
        self._wide = WideFeatures(self.context, statistics)

    def _sample_files(self, case: Case, number: int) -> ReportFiles:
        """Return a training report with its fixed files and sampled wrong ones."""
        files = self._labelled_files(case)
        excluded = np.union1d(files.fixed, np.flatnonzero(files.rows < 0))
        wrong = np.setdiff1d(np.arange(len(files.rows), dtype=np.int64), excluded)
        shuffled = np.random.default_rng([self.seed, number]).permutation(wrong)
        sampled = shuffled[: max(self.settings.negatives, len(excluded))]
        selected = np.concatenate([files.fixed, sampled])
        return replace(
            files,
            rows=files.rows[selected],
            wide=files.wide[selected],
            fixed=np.arange(len(files.fixed)),
        )

    def _labelled_files(self, case: Case) -> ReportFiles:
        """Return a labelled report with all files of its version."""
        return self._all_files(self.context.query(case.report, case.before_commit), case.fixed)

    def _all_files(self, query: BaselineQuery, fixed: Sequence[str] = ()) -> ReportFiles:
        """Return a report with all files of its version; ``fixed`` are the paths of fixed files."""
        text = summary_and_description(query.report)
        # The parts of a word that training never saw are taken from this report.
        parts_by_word: dict[str, tuple[str, ...]] = {}
        words = dream_words(text, parts_by_word)
        keywords = inputs.compounds_and_parts(text)
        counter = Counter(inputs.truncate_words(words, keywords, self.settings.report_length))
        distinct = sorted(counter)
        vectors = np.array(
            [self._vectors.vector(word, parts_by_word.get(word, ())) for word in distinct],
            dtype=np.float32,
        )
        idf = self._wide.statistics.report.idf(distinct)
        # The largest IDF is subtracted so that the exponentials stay small.
        exponentials = np.exp(idf - (idf.max() if len(idf) else 0.0))
        weights = np.array([counter[word] for word in distinct]) * exponentials
        weights = (weights / max(float(weights.sum()), 1e-12)).astype(np.float32)
        return ReportFiles(
            vectors=torch.from_numpy(vectors.reshape(-1, self.settings.embedding)).to(DEVICE),
            weights=torch.from_numpy(weights).to(DEVICE),
            rows=query.version.rows.astype(np.int64),
            wide=torch.from_numpy(self._wide.compute(query)).to(DEVICE),
            fixed=training.fixed_positions(query, fixed),
            relevant=len(fixed),
        )
