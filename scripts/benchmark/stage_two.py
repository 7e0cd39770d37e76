"""Both stages, by each reranker that is named."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmark.timing import ROUNDS, Row, in_turns, say
from benchmark.version import Bench, warm
from tosloc.errors import ToslocError
from tosloc.localizer import Localizer
from tosloc.open_version import texts_of
from tosloc.records import BugReport, IntArray

if TYPE_CHECKING:
    from tosloc.reranking.encoder.models import EncoderModels


READ_AGAIN = 5
"""Reports whose first files are read again."""
ENCODED = 32
"""Files that are encoded."""


def stage_two(bench: Bench, encoder: Path | None, checkpoint: Path | None) -> list[Row]:
    """Both stages, by each reader that is named."""
    rows = []
    if encoder is None:
        say("no encoder is named with --encoder: no rows of it")
    else:
        rows += by_encoder(bench, encoder)
    if checkpoint is None:
        say("no checkpoint is named with --checkpoint: no row of term vectors")
    else:
        rows.append(by_terms(bench, checkpoint))
    return rows


def by_terms(bench: Bench, checkpoint: Path) -> Row:
    """Ranking one report by both stages, the first files' terms known, against stage one of the same checkpoint."""
    learned, whole = Localizer.load(checkpoint), bench.whole
    if learned.reranker_ is None or learned.reranker_.name != "terms" or not learned.reranker_.weight:
        raise ToslocError(f"{checkpoint}: no second stage of term vectors; name a checkpoint that has one")
    version = replace(whole, reranking=whole.for_reranking())
    say(f"ranking {len(bench.reports)} reports by both stages of {checkpoint}, {ROUNDS} times")
    for report in bench.reports:
        learned.localization(report, version)
    times = np.array(
        [
            in_turns(
                [
                    lambda r=report: learned.localization(r, whole),  # type: ignore[misc]
                    lambda r=report: learned.localization(r, version),  # type: ignore[misc]
                ]
            )
            for report in bench.reports
        ]
    ).mean(axis=0)
    return Row("two stages, terms / stage one", float(times[1]), float(times[0]))


def by_encoder(bench: Bench, encoder: Path) -> list[Row]:
    """Both stages, and encoding, against what only the encoder takes."""
    import torch  # which takes seconds, and no other part needs

    from tosloc.reranking.encoder.models import EncoderModels

    given = bench.config.stage_two
    training = given.training.model_copy(update={"learns": "head", "lora_rank": 0, "device": "cpu"})
    changed = {"code_encoder": str(encoder), "report_encoder": "", "training": training}
    models = EncoderModels.fresh(given.model_copy(update=changed))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [both_stages(bench, models), encoding(bench, models)]
    finally:
        torch.set_num_threads(threads)


def both_stages(bench: Bench, models: EncoderModels) -> Row:
    """Ranking one report by both stages, vectors known."""
    import torch

    from tosloc.reranking.encoder.chunk_vectors import encode
    from tosloc.reranking.encoder.reranker import EncoderReranker
    from tosloc.reranking.encoder.texts import report_text

    reports, settings, device = bench.reports[:READ_AGAIN], models.settings, torch.device("cpu")
    both = Localizer.default()
    both.reranker_ = EncoderReranker(models)
    version = replace(
        bench.whole, reranking=bench.whole.for_reranking(texts_of(bench.repo), bench.work / "vectors.sqlite")
    )
    say(f"encoding the first {settings.candidates} files of {len(reports)} reports")
    warm(both, version, reports)
    words = models.report.words
    tokens = [words.marked(words.tokens([report_text(report)])[0], settings.report_tokens) for report in reports]

    def reference(report: BugReport, one: IntArray) -> object:
        return bench.default.localization(report, bench.whole), encode(models.report, [one], device)

    say(f"ranking {len(reports)} reports by both stages, {ROUNDS} times")
    times = np.array(
        [
            in_turns(
                [
                    lambda r=report, q=one: reference(r, q),  # type: ignore[misc]
                    lambda r=report: both.localization(r, version),  # type: ignore[misc]
                ]
            )
            for report, one in zip(reports, tokens, strict=True)
        ]
    ).mean(axis=0)
    return Row("two stages / stage one + one text", float(times[1]), float(times[0]))


def encoding(bench: Bench, models: EncoderModels) -> Row:
    """Encoding blobs, against the encoder alone."""
    import torch

    from tosloc.reranking.encoder.chunk_vectors import CodeEncoding, Cut, alike
    from tosloc.reranking.encoder.vector_store import VectorStore

    settings, texts = models.settings, texts_of(bench.repo)
    blobs = [blob for blob, _ in bench.sample[:ENCODED]]
    cut = Cut(settings.chunks, settings.chunk_tokens)

    def coding(store: VectorStore) -> CodeEncoding:
        return CodeEncoding(models.code, cut, store, precision=settings.precision)

    def ours() -> None:
        with tempfile.TemporaryDirectory(dir=bench.work) as folder, VectorStore(Path(folder) / "v.sqlite") as store:
            coding(store).make(blobs, texts)

    with VectorStore(bench.work / "tokens.sqlite") as store:
        prepared = coding(store)
        tokens = prepared.tokens(blobs, texts)
        words = models.code.words
        chunks = [
            chunk for blob in blobs if len(tokens[blob]) for chunk in words.chunks(tokens[blob], cut.length, cut.chunks)
        ]
        model = prepared.working()
    batches = [model.padded([chunks[place] for place in batch], "cpu") for batch in alike(chunks)]

    def reference() -> None:
        with torch.inference_mode():
            for tokens_SL, real_SL in batches:
                model(tokens_SL, real_SL)

    say(f"encoding {len(chunks):,} pieces of {len(blobs)} files, in turns with the encoder alone")
    alone, whole = in_turns([reference, ours], rounds=3)
    return Row("encoding / encoder alone", len(chunks) / whole, len(chunks) / alone)
