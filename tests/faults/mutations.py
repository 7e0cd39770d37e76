"""Damage and oddities, by a seeded random: of bytes, of texts, of JSON values."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

TEXTS: Sequence[str] = (
    "",
    " ",
    "\0",
    "\x1b[31mred\x1b[0m",
    "\ufeff",
    "\u2028\u2029\x85",
    "\u202e gnitirw",
    "\U0001f41b" * 50,
    "\ud800",
    "e\u0301" * 200,
    "../../../etc/passwd",
    "/dev/zero",
    "-",
    "--help",
    "%s%n%00",
    "$(touch CANARY)",
    "`touch CANARY`",
    "{0.__class__}",
    "nan",
    "null",
    "a" * 100_000,
    "ab " * 30_000,
    "\n" * 50_000,
    " \t" * 50_000,
    "(" * 20_000,
    "[" * 20_000,
    "at a.b.C.d(C.java:1)\n" * 5_000,
    "at " + "a." * 20_000 + "b(",
    "#" * 20_000,
    "1:" * 20_000,
    "a1B2" * 10_000,
    "0" * 30_000,
    "https://" + "a/" * 10_000,
    "\\" * 20_000,
    '"' * 20_000,
    "Bug 1 " * 5_000,
    ".java " * 5_000,
    "a/" * 10_000 + "B.java",
)
_NUMBERS = (
    "0 -0 -1 1 2147483647 2147483648 -2147483649 9223372036854775807 9223372036854775808 18446744073709551616"
    " 0.1 1e308 1e309 -1e309"
    " NaN Infinity -Infinity 1e-400 4.9e-324"
)
NUMBERS: Sequence[str] = (
    *_NUMBERS.split(),
    "9" * 400,
    "9" * 5_000,
    "1" + "0" * 4_299,
    "-" + "8" * 4_301,
    "1." + "3" * 5_000,
)
_TIMES = (
    "2014-01-15 2014-01-15T07:30:17Z 0001-01-01 9999-12-31T23:59:59+00:00 9999-12-31T23:59:59-23:59"
    " 0001-01-01T00:00:00+23:59 2014-02-30 2014-01-15T25:00 soon now -1 0 1389970000 1389970000000 99999999999999999"
    " 1e20 2014-W03 20140115T073017 ٢٠١٤-٠١-١٥ -62135596800 253402300799 253402300800 999999999999999 24:00"
)
TIMES: Sequence[str] = (
    *_TIMES.split(),
    "2014-03-09 02:30:00",
    " 2014-01-15 ",
    "2014-01-15T07:30:17.123456789123Z",
    "2014-01-15 07:30:17+99:99",
)
PIECES: Sequence[bytes] = (
    b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b"\r\n", b"\x1a", b"\x7f", b"\x80",
    b"\xc0\x80",
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"{", b"}", b"[", b"]", b'"', b"\\", b"\\u0000", b"\\ud800", b"<", b">",
    b"&", b"]]>",
    b"<!--", b"<![CDATA[", b"<!DOCTYPE a [<!ENTITY b \"c\">]>", b"&b;", b"%", b"-1", b"1e999", b"NaN", b"null",
    b"\x1f\x8b", b"PK\x03\x04",
    b"\xe2\x80\xa8", b" " * 1000, b"[" * 3000, b"{\"a\":" * 3000, b"9" * 5000, b"=" * 1000, b"#", b"'", b"'''", b"\t",
)  # fmt: skip


def of_bytes(rng: random.Random, data: bytes, most: int = 4) -> bytes:
    """``data`` after one to ``most`` edits: bits turned, parts lost, doubled, moved, replaced, put in."""
    found = bytearray(data)
    for _ in range(rng.randint(1, most)):
        place = rng.randrange(len(found) + 1)
        end = min(len(found), place + rng.choice((1, 1, 2, 4, 16, 100, 1000)))
        edit = rng.randrange(9)
        if edit == 0 and found:
            found[place % len(found)] ^= 1 << rng.randrange(8)
        elif edit == 1 and found:
            found[place % len(found)] = rng.randrange(256)
        elif edit == 2:
            del found[place:end]
        elif edit == 3:
            found[place:place] = found[place:end] * rng.choice((1, 2, 50))
        elif edit == 4:
            found[place:place] = rng.choice(PIECES)
        elif edit == 5:
            found[place:end] = rng.choice(PIECES)
        elif edit == 6:
            found[place:end] = rng.randbytes(end - place)
        elif edit == 7:
            found = found[:place]
        else:
            other = rng.randrange(len(found) + 1)
            found[other:other] = found[place:end]
    return bytes(found)


def enveloped(rng: random.Random, data: bytes) -> bytes:
    """Now and then the same in another coat: compressed, in another encoding, with a mark before it."""
    coat = rng.randrange(24)
    if coat == 0:
        return gzip.compress(data, 1)
    if coat == 1:
        return data.decode("utf-8", "replace").encode("utf-16")
    if coat == 2:
        return b"\xef\xbb\xbf" + data
    if coat == 3:
        return data.replace(b"\n", b"\r\n")
    if coat == 4:
        return data.decode("utf-8", "replace").encode("utf-32")
    return b"\xff\xfe" + data if coat == 5 else data


class Raw(str):
    """Text that stands in the JSON as it is."""


def dumped(value: Any) -> str:
    """JSON, with ``Raw`` parts; a list of pairs in a ``Raw`` key may come twice."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(key))}:{dumped(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value)


def odd_value(rng: random.Random) -> Any:
    """A value that nobody writes there."""
    makers: Sequence[Callable[[], Any]] = (
        lambda: None,
        lambda: rng.choice((True, False)),
        lambda: Raw(rng.choice(NUMBERS)),
        lambda: rng.choice(TEXTS),
        lambda: rng.choice(TIMES),
        lambda: [],
        lambda: {},
        lambda: [rng.choice(TEXTS)],
        lambda: {rng.choice(("type", "content", "text", "id", "a")): rng.choice(TEXTS)},
        lambda: Raw("[" * 5_000 + "]" * 5_000),
        lambda: Raw('{"content":[' * 3_000 + "]}" * 3_000),
        lambda: Raw('"' + "\\ud800" * rng.choice((1, 500)) + '"'),
        lambda: Raw('"\\u0000"'),
        lambda: [Raw(rng.choice(NUMBERS)) for _ in range(rng.choice((1, 3, 1_000)))],
    )
    return rng.choice(makers)()


def of_value(rng: random.Random, value: Any, most: int = 2) -> Any:
    """A JSON value with one to ``most`` of its parts replaced, lost or doubled."""
    copy = json.loads(json.dumps(value))
    for _ in range(rng.randint(1, most)):
        places = list(_places(copy))
        if not places:
            return odd_value(rng)
        holder, key = rng.choice(places)
        edit = rng.randrange(8)
        if edit == 0:
            del holder[key]
        elif edit == 1 and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif edit == 2 and isinstance(holder, dict):
            holder[rng.choice(TEXTS[:24])] = holder.pop(key)
        else:
            holder[key] = odd_value(rng)
    return copy


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        keys: Sequence[Any] = list(one) if isinstance(one, dict) else range(len(one)) if isinstance(one, list) else ()
        for key in keys:
            found.append((one, key))
            waiting.append(one[key])
    return found
