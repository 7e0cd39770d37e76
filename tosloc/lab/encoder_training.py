"""Train an encoder reranker away from the repository, from a bundle of candidates, in one process or in many.

Many processes learn what one would: each takes its share of every step's reports, and gradients are summed.
"""

from __future__ import annotations

import json
import resource
import time
from pathlib import Path
from typing import Any

import torch

from tosloc.config import Config
from tosloc.io import write_text
from tosloc.lab.ablation import SCORED, mean_measures
from tosloc.lab.bundle import read_bundle
from tosloc.records import Progress, silent
from tosloc.rerank.encoder.encoders import processes
from tosloc.rerank.encoder.reranker import EncoderReranker


def train_on_bundle(bundle_path: Path, config: Config, out: Path, progress: Progress = silent) -> dict[str, Any] | None:
    """Train on a bundle, choose the weight on its validation, and say what both stages do on validation and test.

    Writes the models to ``out/encoder``, the results to ``result.json`` and the encoder's scores to ``deep.json``. None
    in all processes but the main one.
    """
    state, bundle = processes(), read_bundle(bundle_path)
    started = time.monotonic()
    context = bundle.for_reranking(out / f"vectors-{state.process_index}.sqlite")
    reranker = EncoderReranker.configured(config)
    reranker.fit(bundle, context, out / "work", seed=config.run.seed, progress=progress)
    seconds, learned, parts = time.monotonic() - started, reranker.state_, bundle.parts
    if not state.is_main_process:
        return None
    scores = {part: list(reranker.encoder_scores(parts[part], context, progress)) for part in SCORED}
    reranker.save(out / "encoder")
    result = {
        "seconds": round(seconds, 1),
        "processes": state.num_processes,
        "device": str(state.device),
        "peak GiB": round(_peak_memory(), 2),
        "epochs": None if learned is None else learned.epoch,
        "curve": None if learned is None else learned.curve,
        "mix": reranker.weight,
        **{part: mean_measures(parts[part], scores[part], reranker.weight) for part in SCORED},
    }
    write_text(out / "result.json", json.dumps(result, indent=1) + "\n")
    by_report = {
        part: {one.report.id: row.tolist() for one, row in zip(parts[part], scores[part], strict=True)}
        for part in SCORED
    }
    write_text(out / "deep.json", json.dumps(by_report) + "\n")
    return result


def _peak_memory() -> float:
    """Peak memory in GiB: the GPU's where there is one, else the process's."""
    if torch.cuda.is_available():
        return float(torch.cuda.max_memory_allocated()) / 2**30
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
