"""Hostile command lines: options that are missing, odd, doubled, out of range."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.faults.cases import Case
from tests.faults.mutations import NUMBERS, TEXTS, TIMES
from tests.faults.processes import Place
from tests.faults.world import World


def _commands(world: World, place: Place) -> Sequence[list[str]]:
    repo, reports = ["--repo", str(world.repo)], ["--reports", str(world.reports)]
    one, two, out = str(world.one_stage), str(world.two_stages), ["--out", str(place.out)]
    store = ["--store", str(place.folder / "facts.sqlite")]
    return (
        ["localize", "--report", str(world.bug), "--checkpoint", one, "--top", "3", "--commit", "HEAD", *repo, *store],
        [
            *("localize", str(world.bug), str(world.bug), "--checkpoint", one, "--jsonl", "--include", "*.java"),
            *("--tests", "--functions", "2", "--top", "3", "--commit", "HEAD", *repo, *store),
        ],
        ["index", *repo, "--commit", "HEAD", *store],
        ["data", *repo, *reports, "--zone", "UTC", "--suffix", ".java", "--ever-fixed", str(place.out / "fixed.txt")],
        ["rank", *repo, *reports, *out, "--checkpoint", one, "--split", "test", *store],
        ["evaluate", one, "--split", "test", "--measures", "P@5", "--per-report", str(place.out / "reports.jsonl")],
        ["compare", one, two, "--split", "test", "--top", "3"],
        ["export-run", one, "--split", "test", *out],
        ["import-run", str(world.trec / "run.trec"), "--qrels", str(world.trec / "qrels.trec"), *out],
        ["lab", "restrict", one, "--to", str(world.reports), *out],
        ["lab", "truncation", one, "--split", "test"],
        ["lab", "reproduce-check", "--our-baseline", one, "--our-advanced", two, "--baseline", one, "--advanced", two],
        ["lab", "reproduce", "table-4", *out, "--dry-run", "--only", "swt", "--versions", "3"],
        ["lab", "baselines", "buglocator", *repo, *reports, *out, "--profile", "clean", "--split", "test", *store],
        ["lab", "pool", "--projects", str(world.projects), "--work", str(place.out), "--leave-projects-out", "2"],
        ["lab", "feature-ablation", one],
        ["lab", "pack", one, *repo, *reports, "--out", str(place.out / "pack.npz")],
        ["lab", "study", one, "--pair-only", "--keep", str(place.out)],
    )


def options(rng: random.Random, world: World, place: Place) -> Case:
    """A command line with one or two words changed."""
    command = list(rng.choice(_commands(world, place)))
    odd = (
        *TEXTS,
        *NUMBERS,
        *TIMES,
        "/dev/null",
        "/dev/zero",
        "/dev/full/x",
        "/proc/self/mem",
        "/nowhere/below",
        ".",
        "..",
        str(world.repo),
        str(world.bug),
        str(place.input),
        "HEAD~100000",
        "HEAD^{tree}",
        ":/",
        "@{-1}",
        "refs/heads/*",
        "P@0",
        "P@-1",
        "nDCG@99999999999999999999",
        "AP(cut=1)",
        ",",
        "a" * 5_000,
        "caf\udce9",
    )
    for _ in range(rng.randint(1, 2)):
        place_of, edit = rng.randrange(len(command)), rng.randrange(8)
        word = rng.choice(odd).replace("\0", "")
        if word.startswith("/") and len(word) < 30 and command[max(0, place_of - 1)] in ("--out", "--keep"):
            continue  # would only write there
        if edit == 0:
            del command[place_of]
        elif edit == 1:
            command.insert(place_of, command[place_of])
        elif edit == 2:
            command.insert(place_of, word)
        elif edit == 3:
            command.insert(
                place_of,
                rng.choice(("--json", "--markdown", "--same", "--mean", "--all-pairs", "--progress", "-", "--")),
            )
        else:
            command[place_of] = word
        if not command:
            return Case([], codes=frozenset({0, 2}))
    some_failed = {"--same", "--projects"} & set(command)
    return Case(command, codes=frozenset({0, 1, 2}) if some_failed else frozenset({0, 2}))
