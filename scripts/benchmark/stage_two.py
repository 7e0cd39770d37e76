"""Both stages, by each reranker that is named."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.timing import ROUNDS, Row, in_turns, mean_in_turns, say
from benchmark.version import Bench, warm
from tosloc.errors import ToslocError
from tosloc.localization import texts_of
from tosloc.localizer import Localizer
from tosloc.records import BugReport

if TYPE_CHECKING:
    from tosloc.rerank.encoder.reranker import EncoderReranker


READ_AGAIN = 5
"""Reports whose first files are read again."""
ENCODED = 32
"""Files that are encoded."""


def stage_two(bench: Bench, encoder: Path | None, checkpoint: Path | None) -> list[Row]:
    """Both stages, by each reader that is named."""
    if encoder is None and checkpoint is None:
        say("no rows of stage two: none is named by --encoder or --checkpoint")
    return [*(by_encoder(bench, encoder) if encoder else []), *([by_terms(bench, checkpoint)] if checkpoint else [])]


def by_terms(bench: Bench, checkpoint: Path) -> Row:
    """Ranking one report by both stages, the first files' terms known, against stage one of the same checkpoint."""
    learned, whole = Localizer.load(checkpoint), bench.whole
    if learned.reranker_ is None or learned.reranker_.name != "terms" or not learned.reranker_.weight:
        raise ToslocError(f"{checkpoint}: no second stage of term vectors; name a checkpoint that has one")
    version = replace(whole, reranking=whole.for_reranking())
    say(f"ranking {len(bench.reports)} reports by both stages of {checkpoint}, {ROUNDS} times")
    for report in bench.reports:
        learned.localization(report, version)
    one, both = mean_in_turns(
        [partial(learned.localization, report, asked) for asked in (whole, version)] for report in bench.reports
    )
    return Row("two stages, terms / stage one", both, one)


def by_encoder(bench: Bench, encoder: Path) -> list[Row]:
    """Both stages, and encoding, against what only the encoder takes."""
    import torch  # which takes seconds, and no other part needs

    from tosloc.rerank.encoder.reranker import EncoderReranker

    given = bench.config.stage_two
    training = given.training.model_copy(update={"learns": "head"})
    changed = {"code_encoder": str(encoder), "report_encoder": "", "training": training}
    os.environ["ACCELERATE_USE_CPU"] = "true"
    settings = given.model_copy(update=changed)
    reranker = EncoderReranker.configured(bench.config.model_copy(update={"stage_two": settings}))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [both_stages(bench, reranker), encoding(bench, reranker)]
    finally:
        torch.set_num_threads(threads)


def both_stages(bench: Bench, reranker: EncoderReranker) -> Row:
    """Ranking one report by both stages, vectors known."""
    from tosloc.rerank.encoder.encoders import Piece, report_text

    reports, settings, encoder = bench.reports[:READ_AGAIN], reranker.settings, reranker.model.report
    both = Localizer.default()
    both.reranker_ = reranker
    version = replace(bench.whole, reranking=bench.whole.for_reranking())
    say(f"encoding the first {settings.candidates} files of {len(reports)} reports")
    warm(both, version, reports)
    pieces = encoder.pieces([report_text(report) for report in reports], settings.report_tokens)

    def reference(report: BugReport, one: list[Piece]) -> None:
        bench.default.localization(report, bench.whole)
        encoder.vectors(one)

    say(f"ranking {len(reports)} reports by both stages, {ROUNDS} times")
    alone, two = mean_in_turns(
        [partial(reference, report, one), partial(both.localization, report, version)]
        for report, one in zip(reports, pieces, strict=True)
    )
    return Row("two stages / stage one + one text", two, alone)


def encoding(bench: Bench, reranker: EncoderReranker) -> Row:
    """Encoding blobs, against the encoder alone."""
    import torch

    from tosloc.rerank.encoder.encoders import ChunkReader, alike

    settings, texts, encoder = reranker.settings, texts_of(bench.repo), reranker.model.code
    blobs = list(bench.sample)[:ENCODED]
    reader = ChunkReader(encoder, settings.chunks, settings.chunk_tokens, texts)

    def ours() -> None:
        with tempfile.TemporaryDirectory(dir=bench.work) as folder:
            reader.vectors(blobs, Path(folder) / "v.sqlite")

    chunks = [piece for pieces in reader.chunks(blobs).values() for piece in pieces]
    batches = [[chunks[place] for place in batch] for batch in alike(chunks)]

    def reference() -> None:
        with torch.inference_mode():
            for batch in batches:
                encoder(batch)

    say(f"encoding {len(chunks):,} pieces of {len(blobs)} files, in turns with the encoder alone")
    alone, whole = in_turns([reference, ours], rounds=3)
    return Row("encoding / encoder alone", len(chunks) / whole, len(chunks) / alone)
