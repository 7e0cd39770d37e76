"""The parts of ``gpu_check``: made-up projects, trainings, and what is compared."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
import safetensors.torch
import torch
from transformers import RobertaConfig

from scripts.random_encoders import write_encoder
from tosloc.core.config import Config
from tosloc.core.reports import BugReport
from tosloc.rerank.base import Candidates, RerankingContext
from tosloc.rerank.encoder.encoders import process_state
from tosloc.rerank.encoder.precision import Precision, choose_precision
from tosloc.rerank.encoder.reranker import HEAD, STATE, EncoderReranker

RESUMED_EPOCHS: Final = 3
MAX_LOSS_DIFFERENCE: Final = 0.1
"""Largest difference of the mean loss in low precision from that in float32."""
MAX_DIFFERENCE_ON_GPU: Final = 1e-3
"""Largest difference of a weight after two equal trainings on a GPU, which adds in any order."""
SECONDS_UNTIL_KILL: Final = 600
REPORTS_A_STEP: Final = 2
REPORT_WORDS: Final = 300


@dataclass(frozen=True)
class Size:
    """How large the encoders and the made-up project are."""

    layers: int = 12
    width: int = 768
    tokens: int = 512
    chunks: int = 10
    candidates: int = 50
    files: int = 150
    words: int = 3000
    """Words of a file: with the paper's sizes more than ten pieces."""
    chunks_at_once: int = 32


TINY: Final = Size(
    layers=1, width=32, tokens=24, chunks=2, candidates=4, files=8, words=40, chunks_at_once=4
)


@dataclass(frozen=True, eq=False)
class MadeUpProject:
    """Reports and files of random words; a report has words of the file that fixed it."""

    size: Size
    train_reports: int
    texts: dict[str, str] = field(default_factory=dict)
    reports: list[Candidates] = field(default_factory=list)

    @classmethod
    def make(cls, size: Size, train_reports: int) -> MadeUpProject:
        """Make the same project for the same arguments: one report more, for validation."""
        rng = np.random.default_rng(7)
        project = cls(size, train_reports)
        syllables = [first + second for first in "bdfklmnprst" for second in "aeiou"]
        vocabulary = ["".join(rng.choice(syllables, 3)) for _ in range(5000)]
        for number in range(size.files):
            own_words = rng.choice(vocabulary, size.words // 4)
            project.texts[f"blob{number}"] = " ".join(rng.choice(own_words, size.words))
        for number in range(train_reports + 1):
            project.reports.append(project.make_report(number, rng))
        return project

    def make_report(self, number: int, rng: np.random.Generator) -> Candidates:
        """Return a report with its candidates, one of which is fixed."""
        files = rng.permutation(self.size.files)[: self.size.candidates]
        fixed = np.zeros(len(files), dtype=np.bool_)
        fixed[rng.integers(len(files))] = True
        words = self.texts[f"blob{files[fixed.argmax()]}"].split()
        text = " ".join(rng.choice(words, REPORT_WORDS))
        opened = datetime.fromtimestamp(1_000_000 + 1000 * number, UTC)
        return Candidates(
            BugReport(str(number), text[:60], text, opened),
            "version",
            tuple(f"src/File{file}.java" for file in files),
            tuple(f"blob{file}" for file in files),
            files.astype(np.int32),
            -np.arange(len(files), dtype=np.float64),
            fixed,
            relevant=1,
            fixed_at=1_000_500 + 1000 * number,
        )

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """Yield the candidates of a part."""
        if part == "train":
            yield from self.reports[: self.train_reports]
        else:
            yield from self.reports[self.train_reports :]

    def context(self, vectors: Path) -> RerankingContext:
        """Return what a reranker reads; vectors are cached in a file."""
        return RerankingContext(
            texts=lambda blobs: [(blob, self.texts.get(blob)) for blob in blobs], vectors=vectors
        )


@dataclass
class StepClock:
    """Progress that measures the steps of training."""

    times: list[float] = field(default_factory=list)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Note the time of a step's end."""
        kind, _, number = what.partition(" ")
        if kind == "epoch" and number.isdigit():
            if process_state().device.type == "cuda":
                torch.cuda.synchronize()
            self.times.append(time.perf_counter())

    def seconds_a_step(self) -> float:
        """Return the median seconds of a step; the first one, a warm-up, does not count."""
        return float(np.median(np.diff(self.times)))


def write_encoders(folder: Path, size: Size) -> None:
    """Write the encoders of code and of reports."""
    config = RobertaConfig(
        num_hidden_layers=size.layers,
        hidden_size=size.width,
        num_attention_heads=max(1, size.width // 64),
        intermediate_size=4 * size.width,
        max_position_embeddings=size.tokens + 2,  # RoBERTa does not use the first two
    )
    texts = list(MadeUpProject.make(size, 1).texts.values())
    for seed, name in enumerate(("code", "report")):
        write_encoder(folder / name, texts, config, seed)


def make_reranker(folder: Path, size: Size, precision: str, epochs: int) -> EncoderReranker:
    """Return an untrained reranker of the paper, with the encoders in a folder."""
    training = {
        "learns": "both",
        "learning_rate": 1e-5,
        "pairs": REPORTS_A_STEP * size.candidates,
        "chunks_at_once": size.chunks_at_once,
        "epochs": epochs,
        "precision": precision,
    }
    stage_two = {
        "code_encoder": str(folder / "code"),
        "report_encoder": str(folder / "report"),
        "token_pooling": "first",
        "chunks": size.chunks,
        "chunk_tokens": size.tokens,
        "report_tokens": size.tokens,
        "scoring": "dot",
        "candidates": size.candidates,
        "training": training,
    }
    return EncoderReranker.from_config(Config.of({"stage_two": stage_two}, "gpu_check"))


def measure_precision(folder: Path, size: Size, precision: str, steps: int) -> dict[str, Any]:
    """Train one epoch in a precision; return seconds of a step, peak memory and the loss."""
    on_gpu = process_state().device.type == "cuda"
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    project = MadeUpProject.make(size, REPORTS_A_STEP * steps)
    reranker = make_reranker(folder, size, precision, epochs=1)
    clock = StepClock()
    context = project.context(folder / "vectors.sqlite")
    reranker.fit(project, context, folder / f"work-{precision}", seed=7, progress=clock)
    if on_gpu:
        peak_bytes = torch.cuda.max_memory_allocated()
    else:
        peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {
        "precision": precision,
        "seconds a step": round(clock.seconds_a_step(), 3),
        "steps a second": round(1 / clock.seconds_a_step(), 3),
        "peak GiB": round(peak_bytes / 2**30, 2),
        "loss": round(reranker.training_curve[-1]["loss"], 4),
    }


def train_once(folder: Path, out: Path, size: Size) -> None:
    """Train a few epochs, going on where an earlier call was killed, and save the reranker."""
    project = MadeUpProject.make(size, 2 * REPORTS_A_STEP)
    reranker = make_reranker(folder, size, "auto", RESUMED_EPOCHS)
    context = project.context(out / "vectors.sqlite")
    reranker.fit(project, context, out / "work", seed=7)
    reranker.save(out / "saved")


def start_training(folder: Path, out: Path, *, tiny: bool) -> subprocess.Popen[bytes]:
    """Start a process that runs ``train_once``."""
    out.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "scripts.gpu_check", "--train-once", str(out)]
    command += ["--encoders", str(folder)]
    if tiny:
        command.append("--tiny")
    return subprocess.Popen(command)


def kill_after_an_epoch(process: subprocess.Popen[bytes], out: Path) -> bool:
    """Kill a training as soon as it has saved an epoch; return whether it was still running."""
    end = time.monotonic() + SECONDS_UNTIL_KILL
    while process.poll() is None and time.monotonic() < end:
        if (out / "work" / STATE).exists():
            break
        time.sleep(0.01)
    process.kill()
    return process.wait() == -signal.SIGKILL


def largest_difference(left: Path, right: Path) -> float:
    """Return the largest difference of two rerankers' weights."""
    difference = 0.0
    for name in (HEAD, "code/model.safetensors", "report/model.safetensors"):
        right_weights = safetensors.torch.load_file(right / name)
        for key, value in safetensors.torch.load_file(left / name).items():
            change = (value - right_weights[key]).abs().max().item()
            difference = max(difference, change)
    return difference


def check_resume(folder: Path, work: Path, *, tiny: bool) -> dict[str, Any]:
    """Compare a training that was killed and went on with an uninterrupted one."""
    if start_training(folder, work / "whole", tiny=tiny).wait():
        raise SystemExit("gpu_check: the uninterrupted training failed")
    killed = kill_after_an_epoch(
        start_training(folder, work / "killed", tiny=tiny), work / "killed"
    )
    if start_training(folder, work / "killed", tiny=tiny).wait():
        raise SystemExit("gpu_check: the killed training did not resume")
    difference = largest_difference(work / "whole" / "saved", work / "killed" / "saved")
    allowed = MAX_DIFFERENCE_ON_GPU if process_state().device.type == "cuda" else 0.0
    return {
        "was killed": killed,
        "largest difference": difference,
        "passed": killed and difference <= allowed,
    }


def check_rerankings(saved: Path, work: Path, size: Size) -> dict[str, Any]:
    """Load a reranker twice, encode everything twice, and compare the scores."""
    project = MadeUpProject.make(size, 2 * REPORTS_A_STEP)
    asked = list(project.candidates("validation", size.candidates))
    scores = []
    for number in range(2):
        reranker = EncoderReranker.load(saved)
        context = project.context(work / f"vectors-{number}.sqlite")
        scores.append(np.concatenate(list(reranker.encoder_scores(asked, context))))
    difference = float(np.abs(scores[0] - scores[1]).max())
    return {"largest difference": difference, "passed": difference == 0}


def check_losses(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compare the losses in all precisions with that in float32, which is the last one."""
    losses = np.array([row["loss"] for row in rows])
    difference = float(np.abs(losses - losses[-1]).max())
    return {"largest difference": round(difference, 4), "passed": difference <= MAX_LOSS_DIFFERENCE}


def measured_precisions() -> list[Precision]:
    """Return the precisions to measure; bfloat16 only where the device does not emulate it."""
    device = process_state().device
    if device.type == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
        return ["float16", "float32"]
    return ["float16", "bfloat16", "float32"]


def describe_device() -> dict[str, Any]:
    """Return the device, its memory and the precision that "auto" means there."""
    device = process_state().device
    name, gibibytes = "CPU", None
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        name, gibibytes = properties.name, round(properties.total_memory / 2**30, 1)
    return {
        "device": name,
        "GiB": gibibytes,
        "torch": torch.__version__,
        "auto": choose_precision("auto", device),
    }


def check(size: Size, steps: int, *, tiny: bool) -> dict[str, Any]:
    """Run all checks; print each result when it is known."""
    results: dict[str, Any] = {"device": describe_device(), "precisions": []}
    print(json.dumps(results["device"]), flush=True)
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_encoders(folder, size)
        for precision in measured_precisions():
            row = measure_precision(folder, size, precision, steps)
            results["precisions"].append(row)
            print(json.dumps(row), flush=True)
        results["losses"] = check_losses(results["precisions"])
        print("losses:", json.dumps(results["losses"]), flush=True)
        results["resume"] = check_resume(folder, folder, tiny=tiny)
        print("resume:", json.dumps(results["resume"]), flush=True)
        saved = folder / "whole" / "saved"
        results["rerankings"] = check_rerankings(saved, folder, size)
        print("two rerankings:", json.dumps(results["rerankings"]), flush=True)
    return results
