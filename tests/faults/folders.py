"""Damaged and hostile folders of our own: checkpoints and stores of facts."""

from __future__ import annotations

import io
import json
import random
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tests.faults.cases import Case
from tests.faults.mutations import NUMBERS, dumped, of_bytes, of_value
from tests.faults.processes import Place
from tests.faults.world import World
from tosloc.checkpoint import write_digests


def checkpoint(rng: random.Random, world: World, place: Place) -> Case:
    """A checkpoint with one file changed; with or without the digest that then fits."""
    name = rng.choice(("one", "two", "boosted", "boosted"))
    folder = place.input / "checkpoint"
    shutil.copytree(world.checkpoint(name), folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = rng.choice([*files, *(one for one in files if one.suffix in (".npz", ".txt", ".safetensors"))])
    data = path.read_bytes()
    which = rng.randrange(30)
    if which == 0:
        path.unlink()
    elif which == 1:
        path.write_bytes(b"")
    else:
        path.write_bytes(_changed(rng, path, data))
    refitted = rng.randrange(3) > 0
    if refitted:
        write_digests(folder)
    common = ["localize", "--report", str(world.bug), "--checkpoint", str(folder)]
    repo = rng.randrange(4) == 0
    if repo:
        common += ["--repo", str(world.repo), "--store", str(world.store_for(place))]
    # content that a digest fits may answer otherwise; damage may not
    return Case(common, expected=None if refitted else world.answer(name, repo))


def _changed(rng: random.Random, path: Path, data: bytes) -> bytes:
    if rng.randrange(3) == 0:
        return of_bytes(rng, data)
    if path.suffix == ".json":
        try:
            return dumped(of_value(rng, json.loads(data))).encode("utf-8", "surrogatepass")
        except ValueError:
            return of_bytes(rng, data)
    if path.suffix == ".npz":
        return _arrays(rng, data)
    if path.suffix == ".txt":
        return _ranker(rng, data)
    if path.suffix == ".safetensors":
        return _tensors(rng, data)
    return of_bytes(rng, data)


def _arrays(rng: random.Random, data: bytes) -> bytes:
    """An .npz with one array changed: values, type, shape, a header that lies, another name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice(list(parts))
    array = np.load(io.BytesIO(parts[name]), allow_pickle=False)
    edit = rng.randrange(11)
    if edit == 0:
        del parts[name]
    elif edit == 1:
        parts[name] = of_bytes(rng, parts[name])
    elif edit == 2:  # a header that promises more than there is
        head, end = parts[name][:10], parts[name].find(b"\n")
        shape = rng.choice((b"(99999999999,)", b"(-1,)", b"(2147483648, 4096)", b"()", b"(1, 2, 3)", b"(True,)"))
        text = b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (
            rng.choice((b"<i4", b"|O", b"<U9", b"<f8")),
            shape,
        )
        parts[name] = head + text.ljust(max(0, end - 10)) + parts[name][end:]
    else:
        changed = np.array(array)
        if edit in (3, 4, 5) and changed.size:
            flat = changed.reshape(-1)
            for _ in range(rng.choice((1, 1, 3, 50))):
                wild: Any = rng.choice((-1, 0, 1, 255, 2**31 - 1, -(2**31), 2**40, 2**62, rng.randrange(1000)))
                with np.errstate(all="ignore"):
                    flat[rng.randrange(flat.size)] = np.array(wild).astype(changed.dtype)
            if changed.dtype.kind == "f":
                flat[rng.randrange(flat.size)] = rng.choice((np.nan, np.inf, -np.inf, 1e300))
        elif edit == 6:
            changed = changed[: changed.shape[0] // 2] if changed.ndim else changed
        elif edit == 7:
            changed = np.concatenate([changed, changed]) if changed.ndim else np.array([changed, changed])
        elif edit == 8:
            with np.errstate(all="ignore"):
                changed = (
                    changed.astype(rng.choice(("f8", "i1", "u8", "f4", "c16", "?", "U3"))) if changed.size else changed
                )
        elif edit == 9:
            changed = changed.reshape((*changed.shape, 1))
        else:
            changed = changed[::-1].copy() if changed.ndim else changed
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, changed, allow_pickle=False)
        parts[name] = buffer.getvalue()
    if rng.randrange(12) == 0:
        parts[rng.choice(("evil.npy", "version.x.npy", "../out.npy"))] = b"\x93NUMPY\x01\x00"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)
    return buffer.getvalue()


def _ranker(rng: random.Random, data: bytes) -> bytes:
    """LightGBM's text with numbers, lines or words changed."""
    lines = data.split(b"\n")
    for _ in range(rng.randint(1, 3)):
        place = rng.randrange(len(lines))
        edit = rng.randrange(7)
        if edit == 0:
            del lines[place]
        elif edit == 1:
            lines.insert(place, lines[rng.randrange(len(lines))])
        elif edit == 2:
            lines[place] = of_bytes(rng, lines[place], 1)
        elif edit == 3:
            lines = lines[: place + 1]
        else:
            key, sign, values = lines[place].partition(b"=")
            cells = values.split(b" ")
            cells[rng.randrange(len(cells))] = rng.choice(
                [one.encode() for one in NUMBERS] + [b"", b"x", b"-5", b"1000000", b"99999", b"2.5"]
            )
            lines[place] = key + sign + b" ".join(cells) if sign else lines[place]
    return b"\n".join(lines)


def _tensors(rng: random.Random, data: bytes) -> bytes:
    """A safetensors file whose header or values are changed."""
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    edit = rng.randrange(5)
    if edit == 0:
        text = dumped(of_value(rng, header)).encode("utf-8", "surrogatepass")
        return len(text).to_bytes(8, "little") + text + bytes(body)
    if edit == 1:
        return rng.choice((2**63, 2**40, 0, size + 1, size - 1)).to_bytes(8, "little") + data[8:]
    for _ in range(rng.choice((1, 20))):
        place = rng.randrange(max(1, len(body) - 4))
        body[place : place + 4] = rng.choice(
            (b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\xff\xff\xff\xff", b"\0\0\0\0", rng.randbytes(4))
        )
    return data[: 8 + size] + bytes(body)


def store(rng: random.Random, world: World, place: Place) -> Case:
    """A store of facts with bits turned, pages lost, or rows changed behind its back."""
    path = world.store_for(place)
    which = rng.randrange(8)
    if which < 4:
        data = bytearray(path.read_bytes())
        for _ in range(rng.choice((1, 1, 2, 8, 64))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(bytes(data))
    elif which == 4:
        path.write_bytes(of_bytes(rng, path.read_bytes()))
    elif which == 5:
        data = bytearray(path.read_bytes())
        page = 4096 * rng.randrange(max(1, len(data) // 4096))
        data[page : page + 4096] = rng.choice((bytes(4096), rng.randbytes(4096), data[:4096]))
        path.write_bytes(bytes(data))
    else:
        _changed_rows(rng, path)
    common = ["--repo", str(world.repo), "--store", str(path)]
    if rng.randrange(4) == 0:
        return Case(["index", *common])
    command = ["localize", "--report", str(world.bug), "--checkpoint", str(world.one_stage), *common]
    return Case(command, expected=world.answer("one", True))


def _changed_rows(rng: random.Random, path: Path) -> None:
    import sqlite3

    database = sqlite3.connect(path)
    odd: tuple[Any, ...] = (
        None,
        -1,
        0,
        2**31,
        2**62,
        1e300,
        "x" * 1000,
        b"",
        b"\0" * 100,
        rng.randbytes(200),
        float("nan"),
    )
    try:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for _ in range(rng.randint(1, 3)):
            table = rng.choice([*tables, "facts"])
            columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
            column = rng.choice(columns)
            try:
                database.execute(f"UPDATE {table} SET {column} = ? WHERE random() % 3 = 0", (rng.choice(odd),))
            except sqlite3.Error:
                continue
        database.commit()
        database.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        pass
    finally:
        database.close()
