"""DreamLoc: a deep model that matches report words with snippets of code, beside five wide features.

Qi, Sun, Zhang et al.: DreamLoc, a deep relevance matching-based framework for bug localization, IEEE Transactions on
Reliability 2021 (docs/method.md, section B.9). The public code's wide features tell the label (section B.9.7); these
are as published. The distinct words of a report are scored once: the weights count how often each stands.

Shapes: B blobs, F files of a version, n distinct words of a report, s snippets, L distinct words of a snippet, d width
of a word vector, P pairs of a report and a file, T triples of a report, a fixed file and a wrong one.
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

from tosloc.core.errors import ToslocError
from tosloc.core.records import Case, FloatArray, LongArray, Progress, ignore_progress, track
from tosloc.lab.baselines import dreamloc_inputs as inputs
from tosloc.lab.baselines import training
from tosloc.lab.baselines.context import BaselineQuery
from tosloc.lab.baselines.dreamloc_inputs import (
    DocumentFrequencies,
    Snippets,
    WideFeatures,
    WordVectors,
    dream_words,
)
from tosloc.lab.baselines.texts import summary_and_description, without_prefix
from tosloc.lab.baselines.training import DEVICE
from tosloc.reports.labelled import fix_order

LEAST_LOSS: Final = 1e-6
MARGIN: Final = 1.0
AT_ONCE: Final = 1_048_576 if DEVICE.type == "cuda" else 32_768
"""Pairs of a word and a snippet, room for lacking ones among them, that are matched together."""


@dataclass(frozen=True)
class DreamLocSettings(training.LearningSettings):
    """What DreamLoc is set to: its public code's values (section B.9), but where they were reduced for a processor."""

    train_reports: int = 600  # reduced; code: all
    validation_reports: int = 60  # reduced; code: all
    embedding: int = 100  # width of a word vector
    word2vec_epochs: int = 5
    word2vec_words: int = (
        2_000  # first words of a file that vectors learn from, those that are matched; code: all
    )
    report_length: int = 300
    snippet_length: int = 100
    snippets: int = 20
    match_hidden: int = 100
    best_snippets: int = 3
    wide_hidden: int = 20
    fusion_hidden: int = 100  # by the code's README; 50 by its program's default
    negatives: int = 50  # sampled wrong files of each report: reduced; code: 200, Tomcat 800
    epochs: int = 10  # reduced; code: 50
    batch: int = 64


@dataclass(eq=False)
class ReportFiles:
    """A report with files of its version: for training the fixed ones, which come first, and sampled wrong ones."""

    vectors: Tensor  # (n, d) of the report's distinct words
    weights: Tensor  # (n,) softmax of the IDF over all words, summed for each distinct one
    rows: LongArray  # (P,) rows of blobs, -1 for a file that could not be read
    wide: Tensor  # (P, 5) wide features
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


class DreamLocNetwork(nn.Module):
    """The parts that learn (matching, pooling, wide features, fusion) over the files of one project."""

    def __init__(self, settings: DreamLocSettings, snippets: Snippets) -> None:
        super().__init__()

        def layers(inputs: int, hidden: int) -> list[nn.Module]:
            middle = hidden // 2
            return [
                nn.Linear(inputs, hidden),
                nn.Tanh(),
                nn.Linear(hidden, middle),
                nn.Tanh(),
                nn.Linear(middle, 1),
            ]

        self.match = nn.Sequential(*layers(settings.embedding, settings.match_hidden), nn.Tanh())
        self.pool = nn.Linear(settings.best_snippets, 1)
        self.wide = nn.Linear(inputs.WIDE, settings.wide_hidden)
        self.fusion = nn.Sequential(*layers(settings.wide_hidden + 1, settings.fusion_hidden))
        self.settings, self.snippets = settings, snippets

    def forward(self, one: ReportFiles, chosen: slice | LongArray = slice(None)) -> Tensor:
        """(P,) scores of a report's files, or of the ``chosen`` ones of them."""
        blobs, back = np.unique(one.rows[chosen], return_inverse=True)
        deep_P = (one.weights @ self.word_values(one.vectors, blobs))[back]
        scores: Tensor = self.fusion(
            torch.cat([self.wide(one.wide[chosen]), deep_P[:, None]], dim=1)
        )
        return scores.squeeze(-1)

    @torch.no_grad()
    def ranked(self, one: ReportFiles) -> FloatArray:
        """(P,) scores, rounded so that equal files stay equal wherever they stand."""
        rounded: FloatArray = np.round(self(one).double().cpu().numpy(), 5)
        return rounded

    def word_values(self, word_nd: Tensor, blobs: LongArray) -> Tensor:
        """(n, B) what each word gives each blob; -1 is a blob without snippets."""
        most = self.settings.snippets
        step = max(AT_ONCE // max(len(word_nd) * most, 1), 1)
        values: list[Tensor] = []
        for start in range(0, len(blobs), step):
            own = [
                self.snippets.of_blob[blob] if blob >= 0 else []
                for blob in blobs[start : start + step].tolist()
            ]
            # a snippet that a file lacks counts 0 among the best ones, as in the public code
            match_sn = torch.zeros((len(own) * most, len(word_nd)), device=DEVICE)
            places = [
                number * most + place for number, one in enumerate(own) for place in range(len(one))
            ]
            if places and len(word_nd):
                match_sn = match_sn.index_put(
                    (torch.tensor(places),), self._match(word_nd, [*chain(*own)])
                )
            best = (
                match_sn.reshape(len(own), most, -1).topk(self.settings.best_snippets, dim=1).values
            )
            values.append(self.pool(best.transpose(1, 2)).squeeze(-1).T)
        return torch.cat(values, dim=1)

    def _match(self, word_nd: Tensor, snippets: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
        """(s, n) how words and snippets match."""
        normal = nn.functional.normalize
        with torch.no_grad():  # word vectors do not learn
            words_sL, logs_sL = self.snippets.padded(snippets)
            code_sLd = self.snippets.table[words_sL]
            attention_sLn = torch.softmax(code_sLd @ word_nd.T + logs_sL[:, :, None], dim=1)
            seen_snd = torch.bmm(attention_sLn.transpose(1, 2), code_sLd)
            products_snd = normal(seen_snd, dim=-1) * normal(word_nd, dim=-1)
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
        """(F,) the network's value."""
        return self._network.ranked(self._files(query))

    def fit(
        self,
        train: Sequence[Case],
        validation: Sequence[Case],
        progress: Progress = ignore_progress,
    ) -> None:
        """Learn word vectors, then the network."""
        settings, (cases, stop_by) = self.settings, self.chosen(train, validation)
        self._fit_words(train, cases, progress)
        snippets = Snippets(
            self.context.files.sources, self._vectors, settings.snippet_length, settings.snippets
        )
        network: DreamLocNetwork = training.seeded(
            self.seed, lambda: DreamLocNetwork(settings, snippets)
        )
        numbered = enumerate(track(cases, "features for training", progress))
        reports = [self._sampled(case, number) for number, case in numbered]
        lists = list(map(self._labelled, track(stop_by, "features for validation", progress)))
        triples = triples_of(reports)
        if not len(triples):
            raise ToslocError(
                "DreamLoc has nothing to learn: no training report has both fixed and other files"
            )

        def loss(batch: LongArray) -> Tensor:
            pairs = [
                network(reports[number], np.array(files))
                for number, *files in triples[batch].tolist()
            ]
            right, wrong = torch.stack(pairs).T
            mean: Tensor = (MARGIN - right + wrong).clamp(min=LEAST_LOSS).mean()
            return mean

        def validate() -> float:
            ranked = track(lists, "ranking validation reports", progress)
            return training.mean_average_precision(
                (network.ranked(one), one.fixed, one.relevant) for one in ranked
            )

        losses = training.passes(network, len(triples), settings.batch, loss, self.seed)
        training.train_until_best(network, losses, settings.epochs, validate, "dreamloc", progress)
        self._network = network

    def _fit_words(self, train: Sequence[Case], cases: Sequence[Case], progress: Progress) -> None:
        """Word vectors, and what wide features are measured by: the training reports and versions."""
        sources, settings = self.context.files.sources, self.settings
        in_training = np.zeros(len(sources), dtype=np.bool_)
        most_fixes = most_recency = 0.0
        for case in track(cases, "reading training versions", progress):
            query = self.context.query(case.report, case.version)
            in_training[query.version.rows[query.version.rows >= 0]] = True
            most_fixes = max(most_fixes, float(query.fixes.max(initial=0.0)))
            most_recency = max(most_recency, float(inputs.fix_recency(query).max(initial=0.0)))
        blobs = self.context.files.rows_by_blob(in_training)
        reports = [case.report for case in sorted(train, key=fix_order)]
        texts = list(map(summary_and_description, reports))
        parts: dict[str, tuple[str, ...]] = {}
        report_words = [dream_words(text, parts) for text in texts]
        corpus = list(report_words)

        def words_of_files() -> Iterator[list[str]]:
            for row in blobs:
                words = dream_words(inputs.code_text(sources[row]), parts)
                corpus.append(words[: settings.word2vec_words])  # whole files would fill the memory
                yield words

        text = DocumentFrequencies.count(chain(report_words, words_of_files()))
        statistics = inputs.WideStatistics(
            text,
            DocumentFrequencies.count(
                dream_words(without_prefix(report.summary)) for report in reports
            ),
            DocumentFrequencies.count(report_words),
            inputs.range_of(
                text.idf({word for own in texts for word in inputs.compounds_and_parts(own)})
            ),
            inputs.range_of(inputs.complexities(self.context)[blobs]),
            most_fixes,
            most_recency,
        )
        progress("learning word vectors", 0, 1)
        self._vectors = WordVectors.learned(
            corpus, parts, width=settings.embedding, epochs=settings.word2vec_epochs, seed=self.seed
        )
        progress("learning word vectors", 1, 1)
        self._wide = WideFeatures(self.context, statistics)

    def _sampled(self, case: Case, number: int) -> ReportFiles:
        """A training report with its fixed files and some wrong ones."""
        one = self._labelled(case)
        excluded = np.union1d(one.fixed, np.flatnonzero(one.rows < 0))
        wrong = np.setdiff1d(np.arange(len(one.rows), dtype=np.int64), excluded)
        drawn = np.random.default_rng([self.seed, number]).permutation(wrong)
        chosen = np.concatenate([one.fixed, drawn[: max(self.settings.negatives, len(excluded))]])
        return replace(
            one, rows=one.rows[chosen], wide=one.wide[chosen], fixed=np.arange(len(one.fixed))
        )

    def _labelled(self, case: Case) -> ReportFiles:
        return self._files(self.context.query(case.report, case.version), case.fixed)

    def _files(self, query: BaselineQuery, fixed: Sequence[str] = ()) -> ReportFiles:
        """A report with all files of its version."""
        vectors, text = self._vectors, summary_and_description(query.report)
        parts: dict[
            str, tuple[str, ...]
        ] = {}  # of a word that training never saw: as it is written here
        words = inputs.truncated(
            dream_words(text, parts), inputs.compounds_and_parts(text), self.settings.report_length
        )
        counted = Counter(words)
        distinct = sorted(counted)
        of_words = np.array(
            [vectors.of(word, parts.get(word, ())) for word in distinct], dtype=np.float32
        )
        idf = self._wide.statistics.report.idf(distinct)
        weights = np.array([counted[word] for word in distinct]) * np.exp(
            idf - (idf.max() if len(idf) else 0.0)
        )
        weights = (weights / max(float(weights.sum()), 1e-12)).astype(np.float32)
        return ReportFiles(
            torch.from_numpy(of_words.reshape(-1, self.settings.embedding)).to(DEVICE),
            torch.from_numpy(weights).to(DEVICE),
            query.version.rows.astype(np.int64),
            torch.from_numpy(self._wide.of(query)).to(DEVICE),
            training.fixed_positions(query, fixed),
            len(fixed),
        )
