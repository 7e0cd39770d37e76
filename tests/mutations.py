"""Seeded damage to files, and what becomes of whoever reads them: each trial in a child process of its own."""

from __future__ import annotations

import os
import random
import re
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
HOSTILE_NUMBERS: Final = (
    *(b"0", b"-1", b"1", b"2", b"14", b"-16", b"255", b"65536", b"2147483647", b"-2147483648", b"4294967296"),
    *(b"9223372036854775807", b"99999999999999999999", b"1e308", b"-1e308", b"1e999", b"nan", b"inf", b"-inf"),
    *(b"0x10", b"1e-320", b"", b"x", b"1 1", b"7" * 5000, b"1=2", b"\x00"),
)


def flipped(data: bytes, seed: int, bits: int | None = None) -> bytes:
    """The data with some bits turned: so many, or one to eight."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(bits or rng.randint(1, 8)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def binary_damage(data: bytes, seed: int) -> bytes:
    """The data with bits turned, bytes set, a stretch blanked, moved or doubled, or an end cut off."""
    rng = random.Random(seed)
    start, size = rng.randrange(len(data)), rng.choice((1, 4, 64, 512, 4096))
    piece = data[start : start + size]
    match rng.randrange(8):
        case 0 | 1 | 2:
            return flipped(data, seed)
        case 3:
            return data[:start] + bytes([rng.choice((0, 1, 127, 128, 255))]) * len(piece) + data[start + size :]
        case 4:
            return data[:start] + data[start + size :]
        case 5:
            return data[:start] + piece + data[start:]
        case 6:
            other = rng.randrange(len(data))
            return data[:other] + piece + data[other + len(piece) :]
        case _:
            return data[:start]


def text_damage(data: bytes, seed: int) -> bytes:
    """Lines of text with some numbers changed, bits turned, lines or words deleted, doubled or moved, or cut off."""
    rng = random.Random(seed)
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        place = rng.randrange(len(lines))
        line = lines[place]
        numbers = list(NUMBER.finditer(line))
        words = line.split(b" ")
        match rng.randrange(12):
            case 0:
                lines[place] = flipped(line, rng.random().__hash__(), 1) if line else b"\xff"
            case 1:
                del lines[place]
            case 2:
                lines.insert(place, line)
            case 3:
                other = rng.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case 4:
                lines = lines[: place + 1]
                lines[-1] = line[: rng.randrange(len(line) + 1)]
            case 5:
                del words[rng.randrange(len(words))]
                lines[place] = b" ".join(words)
            case 6:
                chosen = rng.randrange(len(words))
                words.insert(chosen, words[chosen])
                lines[place] = b" ".join(words)
            case 7:
                lines.insert(place, rng.choice((b"Tree=0", b"end of trees", b"num_leaves=1", b"\xff\xfe", b"{" * 5000)))
            case _:
                if numbers:
                    found = rng.choice(numbers)
                    new = rng.choice(HOSTILE_NUMBERS)
                    lines[place] = line[: found.start()] + new + line[found.end() :]
        lines = lines or [b""]
    return b"\n".join(lines)


def in_child(function: Callable[[], object], seconds: int = 20, memory: int = 4 << 30, log: Path | None = None) -> str:
    """What becomes of a call in a forked child: the text that it returns, or how it ended.

    One of the returned text, ``sentence: ...`` (an error of TosLoc), ``traceback: ...`` (any other), ``memory``,
    ``hang``, or the name of the signal that ended it.
    """
    from tosloc.errors import ToslocError

    reading, writing = os.pipe()
    child = os.fork()
    if not child:  # pragma: no cover
        os.close(reading)
        said = b""
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 2)
            os.dup2(null, 1)
            try:
                said = str(function()).encode(errors="replace")
            except ToslocError as error:
                said = b"sentence: " + str(error).encode(errors="replace")
            except MemoryError:
                said = b"memory"
            except BaseException as error:
                place = traceback.extract_tb(sys.exc_info()[2])[-1]
                said = f"traceback: {type(error).__name__}: {error} ({place.filename}:{place.lineno})".encode(
                    errors="replace"
                )
            os.write(writing, said[:60_000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        name = signal.Signals(os.WTERMSIG(status)).name
        return "hang" if name == "SIGALRM" else name
    return answer


def kinds(outcomes: Iterable[str], right: str = "") -> Counter[str]:
    """How many ended in which way; an answer is ``right`` or ``other``."""
    return Counter(_kind(one, right) for one in outcomes)


def _kind(outcome: str, right: str) -> str:
    if outcome == right:
        return "right"
    first = outcome.partition(":")[0]
    known = {"sentence", "traceback", "memory", "hang"}
    return first if first in known or first.startswith("SIG") else "other"
