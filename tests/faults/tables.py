"""Hostile runs, judgements and lists of files, ours and TREC's, and hostile configurations."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.faults.cases import Case
from tests.faults.mutations import NUMBERS, TEXTS, TIMES, Raw, dumped, enveloped, odd_value, of_bytes, of_value
from tests.faults.processes import Place
from tests.faults.world import World

_FILES = ("run.jsonl.gz", "qrels.jsonl", "searched.jsonl.gz")


def _unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def _changed_lines(rng: random.Random, data: bytes) -> bytes:
    """JSON lines, one or two of them with odd values, in another order, lost or doubled."""
    records = [json.loads(line) for line in data.splitlines()]
    written = [dumped(one) for one in records]
    for _ in range(rng.randint(1, 2)):
        if not written:
            break
        place, edit = rng.randrange(len(written)), rng.randrange(9)
        if edit == 0:
            del written[place], records[place]
        elif edit == 1:
            written.append(written[place])
            records.append(records[place])
        elif edit == 2:
            written[place] = dumped(odd_value(rng))
        elif edit == 3:
            record = records[place]
            keys = [key for key, one in record.items() if isinstance(one, list)] if isinstance(record, dict) else []
            if keys:
                key = rng.choice(keys)
                more: Any = [Raw(rng.choice(NUMBERS)), rng.choice(TEXTS), [1], None, [[]], 1.5, 2**31, -1]
                written[place] = dumped(record | {key: [*record[key], rng.choice(more)]})
        else:
            written[place] = dumped(of_value(rng, records[place]))
    return "\n".join([*written, ""]).encode("utf-8", "surrogatepass")


def _gzip_bomb(rng: random.Random) -> bytes:
    inner = rng.choice((b"\n", b"a", b"[", b" ", b'{"report":"1","files":[0],"scores":[1]}\n', b"r Q0 a 1 1 t\n"))
    packed = gzip.compress(inner * (8 * 1024**2 // len(inner)), 1)
    # members one after the other are one stream; lines that mean something take their time
    return packed * (rng.choice((2, 60)) if len(inner) == 1 else 2)


def ours(rng: random.Random, world: World, place: Place) -> Case:
    """A split's folder of ours with one file changed."""
    folder = place.input / "test"
    shutil.copytree(world.one_stage / "test", folder)
    name = rng.choice((*_FILES, "run.jsonl.gz", "qrels.jsonl"))
    which = rng.randrange(12)
    if which < 7:
        data = _changed_lines(rng, _unpacked(folder / name))
        data = gzip.compress(data, 1) if name.endswith(".gz") and rng.randrange(4) else data
    elif which < 9:
        data = of_bytes(rng, (folder / name).read_bytes())
    elif which == 9:
        data = enveloped(rng, of_bytes(rng, _unpacked(folder / name)))
    elif which == 10:
        data = _gzip_bomb(rng)
    else:
        data = rng.choice(
            (b"", b"\n", b"{}", b"[]\n", b"null\n", b"\x1f\x8b", b"{" * 100_000, b'{"format": "tosloc-run/3"}\n')
        )
    if rng.randrange(25) == 0:
        (folder / name).unlink()
        if rng.randrange(2):
            (folder / name).mkdir()
    else:
        (folder / name).write_bytes(data)
    (place.input / "kept.txt").write_bytes(
        of_bytes(rng, b"src/org/app/p2/CookieService.java\n") if rng.randrange(2) else b"\n".join(_paths(world))
    )
    run = str(rng.choice((folder, place.input, folder / "run.jsonl.gz")))
    other = str(world.two_stages / "test")
    commands: Sequence[list[str]] = (
        ["evaluate", run, "--json"],
        ["evaluate", run, "--measures", "nDCG@10,bpref,P@5"],
        ["evaluate", run, "--markdown", "--per-report", str(place.out / "reports.jsonl")],
        ["compare", run, other],
        ["compare", other, run, "--json", "--common"],
        ["compare", run, other, "--same"],
        ["compare", run, other, "--mean"],
        ["export-run", run, "--out", str(place.out), *(["--others"] if rng.randrange(2) else [])],
        ["lab", "restrict", run, "--to", str(place.input / "kept.txt"), "--out", str(place.out)],
        ["lab", "truncation", run],
        ["evaluate", run, *(["--html", str(place.out / "page.html")] if rng.randrange(8) == 0 else [])],
    )
    command = rng.choice(commands)
    return Case(command, codes=frozenset({0, 1, 2}) if "--same" in command else frozenset({0, 2}))


def _paths(world: World) -> list[bytes]:
    return [path.encode() for record in world.toy.records for path in record["fixed"]]


def trec(rng: random.Random, world: World, place: Place) -> Case:
    """A run and judgements in TREC's form."""
    files = {name: (world.trec / name).read_bytes() for name in ("run.trec", "qrels.trec")}
    name = rng.choice(list(files))
    which = rng.randrange(10)
    if which < 5:
        lines = [line.split() for line in files[name].splitlines()]
        for _ in range(rng.randint(1, 3)):
            cells = rng.choice(lines)
            odd = (
                *TEXTS,
                *NUMBERS,
                *NUMBERS,
                *TIMES,
                "%",
                "%zz",
                "%00",
                "%0A",
                "-",
                "%2D",
                "1e400",
                "0x10",
                "1_0",
                "٣",
                "+1",
            )
            cells[rng.randrange(len(cells))] = rng.choice(odd).encode("utf-8", "surrogatepass")
            if rng.randrange(6) == 0:
                lines.append(list(cells))
        files[name] = b"\n".join(b" ".join(cells) for cells in lines) + b"\n"
    elif which < 8:
        files[name] = enveloped(rng, of_bytes(rng, files[name]))
    elif which == 8:
        files[name] = _gzip_bomb(rng)
    else:
        files[name] = rng.choice(
            (b"", b"\n\n", b"a" * 20_000_000, b"r Q0 - 1 1 t\n", b"1 2 3 4 5 6 7\n", b"1 0 a 1\n", b"\0" * 100)
        )
    for one, data in files.items():
        (place.input / one).write_bytes(data)
    run, qrels = str(place.input / "run.trec"), str(place.input / "qrels.trec")
    commands: Sequence[list[str]] = (
        ["import-run", run, "--qrels", qrels, "--out", str(place.out)],
        ["import-run", run, "--out", str(place.out)],
        ["import-run", qrels, "--qrels", run, "--out", str(place.out)],
        ["evaluate", run, "--qrels", qrels, "--json"],
        ["evaluate", run, "--qrels", str(world.one_stage / "test/qrels.jsonl")],
        ["evaluate", str(world.one_stage / "test"), "--qrels", qrels, "--measures", "bpref"],
        ["compare", run, str(world.one_stage / "test"), "--qrels", qrels],
        ["export-run", run, "--qrels", qrels, "--out", str(place.out)],
        ["lab", "truncation", run, "--qrels", qrels, "--json"],
    )
    return Case(rng.choice(commands))


# Configurations

_KEYS = (
    "data.zone data.suffixes data.train data.validation history.max_files stage_one.method stage_one.features"
    " stage_one.fit"
    " stage_one.l2 stage_one.shrink_to_default stage_one.sampled_negatives stage_one.evolution.generations"
    " stage_one.evolution.bounds stage_one.evolution.population stage_one.ranker.enabled stage_one.ranker.depth"
    " stage_one.ranker.rounds stage_one.ranker.leaves stage_one.ranker.learning_rate stage_one.ranker.min_leaf"
    " stage_one.ranker.l2 stage_one.ranker.feature_fraction stage_one.ranker.truncation run.jobs run.seed"
    " stage_two.reranker stage_two.code_encoder stage_two.chunks stage_two.training.pairs"
    " stage_two.training.lora_rank extends"
).split()
_VALUES = (
    '"UTC" "../../etc/localtime" "" [] [".java"] ["java"] [1] {} true false 0 1 -1 0.5 1.0 nan inf -inf 1e400'
    " 1979-05-27"
    ' 1979-05-27T07:32:00Z 07:32:00 "listwise" "paper" "linear" ["bm25f"] ["bm25f","bm25f"] [[1,2],[3]]'
    " [0.0,1.0] [1.0,0.0]"
    ' "terms" "encoder" "/dev/zero" "/dev/null" "nowhere.toml" "my.toml" {a=1} [{}] 0x7fffffff 9223372036854775807'
    " 99999999999999999999999999 1000000 2147483648 -9223372036854775808 1e-300 1e300"
).split()


def configuration(rng: random.Random, world: World, place: Place) -> Case:
    """TOML with odd keys and values, damaged or nested without end; files that extend each other."""
    path = place.input / "my.toml"
    which = rng.randrange(12)
    # small, so that a configuration that is taken is trained in a moment
    text = world.settings(rng.choice(("plain", "plain", "one", "two"))).read_text("utf-8")
    if which < 7:
        written = text
        for _ in range(rng.randint(1, 2)):
            key = rng.choice(_KEYS)
            value = rng.choice(
                (*_VALUES, *NUMBERS, json.dumps(rng.choice(TEXTS[:24]).encode("utf-8", "replace").decode()))
            )
            written = _with_setting(written, key, value)
        data = written.encode()
    elif which < 9:
        data = enveloped(rng, of_bytes(rng, text.encode()))
    elif which == 9:
        deep = rng.choice((100, 5_000, 100_000))
        odd = (
            "a = " + "[" * deep + "]" * deep,
            "a = " + "{a=" * deep + "1" + "}" * deep,
            ".".join("a" * deep) + " = 1",
            "[" + ".".join("a" * deep) + "]",
            "\n".join(f"[a{n}]" for n in range(deep)),
            'a = """' + "x" * deep,
            "a = " + "1" * 5_000,
            "a = 0x" + "f" * 5_000,
            "a = 1e" + "9" * 5_000,
            "[[data]]\n[[data]]",
            "data.zone.x = 1",
            'extends = "my.toml"',
            "extends = 1",
            'extends = "\\u0000"',
            'extends = "' + "a/" * 3_000 + '"',
        )
        data = rng.choice(odd).encode()
    elif which == 10:
        for number in range(3_000 if rng.randrange(2) else 20):
            (place.input / f"{number}.toml").write_text(f'extends = "{number + 1}.toml"\n')
        data = b'extends = "0.toml"\n'
    else:
        data = b""
        special = rng.randrange(4)
        if special == 0:
            path.mkdir()
        elif special == 1:
            path.symlink_to("/dev/zero")
        elif special == 2:
            import os

            os.mkfifo(path)
        else:
            path.symlink_to(path)
    if data:
        path.write_bytes(data)
    store = ["--store", str(world.store_for(place))]
    common = ["--repo", str(world.repo), "--reports", str(world.reports), *store]
    commands: Sequence[list[str]] = (
        ["index", "--repo", str(world.repo), "--config", str(path), *store],
        ["index", "--repo", str(world.repo), "--config", str(path), *store],
        ["index", "--repo", str(world.repo), "--config", str(path), *store],
        ["rank", *common, "--config", str(path), "--out", str(place.out), "--checkpoint", str(world.one_stage)],
        ["train", str(path), *common, "--out", str(place.out)],
        ["lab", "baselines", "buglocator", *common, "--config", str(path), "--out", str(place.out), "--split", "test"],
        ["lab", "baselines", "my", "--settings", str(place.input), *common, "--out", str(place.out)],
        ["lab", "reproduce", "table-4", "--projects", str(path), "--out", str(place.out), "--dry-run"],
    )
    command = rng.choice(commands)
    if command[:3] == ["lab", "baselines", "my"]:
        technique = rng.choice(("buglocator", "brtracer", "bluir", "amalgam", "blia"))
        command[2] = technique
        (place.input / f"{technique}.toml").write_bytes(data)
    return Case(command)


def _with_setting(text: str, key: str, value: str) -> str:
    """TOML with a key set, the same key of the same section replaced."""
    section, _, name = key.rpartition(".")
    lines = text.splitlines()
    start = lines.index(f"[{section}]") + 1 if f"[{section}]" in lines else 0 if not section else None
    if start is None:
        return f"{text}\n[{section}]\n{name} = {value}\n"
    end = next((place for place in range(start, len(lines)) if lines[place].startswith("[")), len(lines))
    kept = [line for line in lines[start:end] if line.partition(" = ")[0] != name]
    return "\n".join([*lines[:start], f"{name} = {value}", *kept, *lines[end:]]) + "\n"
