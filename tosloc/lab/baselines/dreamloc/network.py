"""DreamLoc's network: report words matched with snippets, the wide features beside, and what fuses both."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tosloc.lab.baselines.dreamloc.wide import WIDE
from tosloc.lab.baselines.dreamloc.words import DreamLocSettings, Snippets
from tosloc.lab.baselines.training import seeded
from tosloc.records import Float32Array, FloatArray, LongArray

if TYPE_CHECKING:
    import torch

AT_ONCE: Final = {"cpu": 16_384, "cuda": 1_048_576}
"""Pairs of a word and a snippet that are matched together; more leaves a processor's caches."""
USUAL: Final = 50
"""Distinct words of a snippet, about."""


@dataclass(eq=False)
class ReportWords:
    """A report as the network reads it."""

    keys: tuple[Any, ...]
    """(n,) what its distinct words are remembered by."""
    vectors: Float32Array
    weights: Float32Array
    """(n,) softmax of the IDF over all words, summed for each distinct one."""


def dreamloc_network(settings: DreamLocSettings, seed: int) -> Any:
    """The parts that learn: matching, pooling, wide features, fusion."""
    from torch import nn

    def layers(inputs: int, hidden: int) -> list[torch.nn.Module]:
        middle = hidden // 2
        return [nn.Linear(inputs, hidden), nn.Tanh(), nn.Linear(hidden, middle), nn.Tanh(), nn.Linear(middle, 1)]

    def build() -> torch.nn.Module:
        return nn.ModuleDict(
            {
                "match": nn.Sequential(*layers(settings.embedding, settings.match_hidden), nn.Tanh()),
                "pool": nn.Linear(settings.best_snippets, 1),
                "wide": nn.Linear(WIDE, settings.wide_hidden),
                "fusion": nn.Sequential(*layers(settings.wide_hidden + 1, settings.fusion_hidden)),
            }
        )

    return seeded(seed, build)


def word_snippet_products(
    score_sLn: torch.Tensor, logs_sL: torch.Tensor, code_sLd: torch.Tensor, word_nd: torch.Tensor
) -> torch.Tensor:
    """(s, n, d) product of each word's direction with that of what it attends to in each snippet."""
    import torch

    attention_sLn = torch.softmax(score_sLn + logs_sL[:, :, None], dim=1)
    seen_snd = torch.bmm(attention_sLn.transpose(1, 2), code_sLd)
    normal = torch.nn.functional.normalize
    return normal(seen_snd, dim=-1) * normal(word_nd, dim=-1)


class DreamLocModel:
    """The network over the files of one project: pairs for training, all files for ranking."""

    def __init__(self, network: Any, snippets: Snippets, settings: DreamLocSettings, device: torch.device) -> None:
        import torch

        self.network, self.snippets, self.settings, self.device = network, snippets, settings, device
        self.table = torch.from_numpy(snippets.table).to(device)
        self._known: OrderedDict[Any, Float32Array] = OrderedDict()
        """Word -> (B,) what it gave each blob, nan where that is not known."""

    def forget(self) -> None:
        """The network has learned: what words gave files is no longer right."""
        self._known.clear()

    def fused(self, wide_P5: torch.Tensor, deep_P: torch.Tensor) -> torch.Tensor:
        """(P,) scores."""
        import torch

        network = self.network
        scores: torch.Tensor = network["fusion"](torch.cat([network["wide"](wide_P5), deep_P[:, None]], dim=1))
        return scores.squeeze(-1)

    def scores(self, words: ReportWords, rows: LongArray, wide: Float32Array) -> FloatArray:
        """(F,) scores of one report and all files of a version, given as rows of blobs and wide features (F, 5).

        They are rounded, so that equal files stay equal wherever they stand.
        """
        import torch

        with torch.no_grad():
            deep = torch.from_numpy(self.deep_of_files(words, rows)).to(self.device)
            scores = self.fused(torch.from_numpy(wide).to(self.device), deep).double().cpu().numpy()
        return np.round(scores, 5)

    def deep_of_pairs(self, pairs: Sequence[tuple[ReportWords, int]]) -> torch.Tensor:
        """(P,) deep values of pairs of a report and a blob, to learn from."""
        import torch

        products: list[torch.Tensor] = []
        positions: list[LongArray] = []
        most_words = max(1, *(len(words.keys) for words, _ in pairs))
        weights = np.zeros((len(pairs), most_words), dtype=np.float32)
        with torch.no_grad():  # word vectors do not learn
            for pair, (words, row) in enumerate(pairs):
                weights[pair, : len(words.weights)] = words.weights
                n, s = len(words.keys), int(self.snippets.sizes[row])
                if not n or not s:
                    continue
                ids_sL, logs_sL = self._padded(np.array([row]))
                code_sLd = self.table[ids_sL]
                word_nd = torch.from_numpy(words.vectors).to(self.device)
                products.append(
                    word_snippet_products(code_sLd @ word_nd.T, logs_sL, code_sLd, word_nd).reshape(s * n, -1)
                )
                snippet, word = np.divmod(np.arange(s * n), n)
                positions.append(np.stack([np.full(s * n, pair), word, snippet]))
        # a snippet that a file lacks counts 0 among the best ones, as in the public code
        match = torch.zeros((len(pairs), most_words, self.settings.snippets), device=self.device)
        if products:
            index = torch.from_numpy(np.concatenate(positions, axis=1)).to(self.device)
            match = match.index_put(tuple(index), self.network["match"](torch.cat(products)).squeeze(-1))
        best = match.topk(self.settings.best_snippets, dim=-1).values
        value_Pn = self.network["pool"](best).squeeze(-1)
        total: torch.Tensor = (value_Pn * torch.from_numpy(weights).to(self.device)).sum(-1)
        return total

    def deep_of_files(self, words: ReportWords, rows: LongArray) -> Float32Array:
        """(F,) deep values of one report and all files of a version; what words gave files before is used again."""
        blobs = np.unique(rows[rows >= 0])
        if not len(words.keys):
            return np.zeros(len(rows), dtype=np.float32)
        new = [number for number, key in enumerate(words.keys) if key not in self._known]
        seen = [number for number, key in enumerate(words.keys) if key in self._known]
        value = np.empty((len(words.keys), len(blobs)), dtype=np.float32)
        if new:
            value[new] = self.word_values(words.vectors[new], blobs)
        if seen:
            kept = np.stack([self._known[words.keys[number]][blobs] for number in seen])
            lacking = np.flatnonzero(np.isnan(kept).any(axis=0))
            if len(lacking):
                kept[:, lacking] = self.word_values(words.vectors[seen], blobs[lacking])
            value[seen] = kept
        total = len(self.snippets.sizes)
        for key, of_word in zip(words.keys, value, strict=True):
            known = self._known.pop(key, None)
            self._known[key] = known = np.full(total, np.nan, dtype=np.float32) if known is None else known
            known[blobs] = of_word
        while len(self._known) > self.settings.cache_mb * 2**20 // max(total * 4, 1):
            self._known.popitem(last=False)
        of_blobs = np.full(total + 1, self.network["pool"].bias[0].item(), dtype=np.float32)
        of_blobs[blobs] = words.weights @ value
        return of_blobs[rows]  # -1, a file that could not be read, is the last

    def word_values(self, vectors: Float32Array, blobs: LongArray) -> Float32Array:
        """(n, B) what each word gives each blob: blobs of one number of snippets together, none padded."""
        import torch

        value = np.empty((len(vectors), len(blobs)), dtype=np.float32)
        sizes = self.snippets.sizes[blobs]
        with torch.no_grad():
            word_nd = torch.from_numpy(np.ascontiguousarray(vectors)).to(self.device)
            # for a few files, fewer products without those of all words of code
            score_Vn = self.table @ word_nd.T if sizes.sum() * USUAL > len(self.table) else None
            for size in np.unique(sizes).tolist():
                group = np.flatnonzero(sizes == size)
                if not size:
                    value[:, group] = self.network["pool"].bias[0].item()
                    continue
                step = max(AT_ONCE.get(self.device.type, AT_ONCE["cpu"]) // (len(vectors) * size), 1)
                for start in range(0, len(group), step):
                    part = group[start : start + step]
                    value[:, part] = self._pooled(word_nd, score_Vn, blobs[part], size).cpu().numpy()
        return value

    def _pooled(
        self, word_nd: torch.Tensor, score_Vn: torch.Tensor | None, blobs: LongArray, size: int
    ) -> torch.Tensor:
        """(n, B) values of words and blobs that have ``size`` snippets each."""
        import torch

        ids_sL, logs_sL = self._padded(blobs)
        code_sLd = self.table[ids_sL]
        score_sLn = code_sLd @ word_nd.T if score_Vn is None else score_Vn[ids_sL]
        products = word_snippet_products(score_sLn, logs_sL, code_sLd, word_nd)
        match_Bsn = self.network["match"](products.reshape(-1, products.shape[-1])).reshape(len(blobs), size, -1)
        lacking = min(self.settings.snippets - size, self.settings.best_snippets)
        match_Bsn = torch.nn.functional.pad(match_Bsn, (0, 0, 0, lacking))
        best = match_Bsn.topk(self.settings.best_snippets, dim=1).values
        pooled: torch.Tensor = self.network["pool"](best.transpose(1, 2)).squeeze(-1).T
        return pooled

    def _padded(self, blobs: LongArray) -> tuple[torch.Tensor, torch.Tensor]:
        """(s, L) words of the blobs' snippets and the logs of their counts."""
        import torch

        ids, logs = self.snippets.padded(self.snippets.of_rows(blobs))
        return torch.from_numpy(ids).to(self.device), torch.from_numpy(logs).to(self.device)
