"""Hostile bug reports: one new report in every form, and files of labelled reports in every format."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import openpyxl

from tests.faults.cases import Case
from tests.faults.mutations import NUMBERS, PIECES, TEXTS, TIMES, Raw, dumped, enveloped, odd_value, of_bytes, of_value
from tests.faults.processes import Place
from tests.faults.world import World

MARKDOWN = """---
id: 4711
title: "Cookie lost"
opened: 2014-01-15T07:30:17+01:00
---
# Cookie lost after a click #

The cookie is lost in `CookieService`, see src/org/app/p2/CookieService.java.

```
java.lang.NullPointerException: oh
\tat org.app.p2.CookieService.openCookie(CookieService.java:6)
\tat java.lang.Thread.run(Thread.java:1)
Caused by: java.lang.IllegalStateException
Traceback (most recent call last):
  File "a/b.py", line 3, in c
```
"""
GITHUB = {
    "number": 7,
    "title": "Cookie lost",
    "body": "The cookie is lost in CookieService.",
    "createdAt": "2014-01-15T07:30:17Z",
    "url": "https://github.com/a/b/issues/7",
    "comments": [{"body": "me too"}],
}
BUGZILLA = {
    "bugs": [
        {
            "id": 425999,
            "summary": "Cookie lost",
            "creation_time": "2014-01-15T07:30:17Z",
            "description": "",
            "comments": [{"text": "openCookie fails"}],
        }
    ]
}
JIRA = {
    "key": "APP-7",
    "fields": {
        "summary": "Cookie lost",
        "created": "2014-01-15T07:30:17.000+0000",
        "description": {
            "type": "doc",
            "content": [
                {"type": "paragraph", "content": [{"type": "text", "text": "openCookie"}, {"type": "hardBreak"}]},
                {"type": "codeBlock", "content": [{"type": "mention", "attrs": {"text": "@ada"}}]},
            ],
        },
    },
}
OWN = {"id": "7", "summary": "Cookie lost", "description": "openCookie", "opened": "2014-01-15T07:30:17Z"}
COLUMNS = (
    "id bug_id summary description report_time report_timestamp status commit commit_timestamp files result".split()
)


def _localizing(rng: random.Random, world: World) -> list[str]:
    folder = world.two_stages if rng.randrange(2) else world.one_stage
    return ["localize", "--checkpoint", str(folder), *rng.choice(([], ["--json"], ["--jsonl", "--tests"]))]


def _given(rng: random.Random, world: World, place: Place, data: bytes) -> Case:
    """A localizing command that gets the report as a file or on standard input."""
    path = place.input / rng.choice(("bug.md", "bug.json", "b\u00fcg\u2028.txt", "-x", ".hidden", "bug\n1"))
    path.write_bytes(data)
    if rng.randrange(6) == 0:
        return Case([*_localizing(rng, world), "--report", "-"], stdin=path)
    return Case([*_localizing(rng, world), "--report", str(path)])


def text(rng: random.Random, world: World, place: Place) -> Case:
    """Text or Markdown."""
    body = MARKDOWN.encode()
    for _ in range(rng.randrange(3)):
        where = rng.randrange(len(body))
        extra = rng.choice((rng.choice(TEXTS), f"opened: {rng.choice(TIMES)}", f"opened: {rng.choice(NUMBERS)}"))
        body = body[:where] + b"\n" * rng.randrange(2) + extra.encode("utf-8", "surrogatepass") + body[where:]
    if rng.randrange(4):
        body = body.replace(b"2014-01-15T07:30:17+01:00", rng.choice(TIMES).encode())
    data = of_bytes(rng, body) if rng.randrange(3) else body
    return _given(rng, world, place, enveloped(rng, data))


def issue(rng: random.Random, world: World, place: Place) -> Case:
    """JSON as GitHub, Bugzilla, Jira or we write it, once or several times."""
    value: Any = rng.choice((GITHUB, BUGZILLA, JIRA, OWN))
    value = of_value(rng, value) if rng.randrange(6) else odd_value(rng)
    data = dumped(value).encode("utf-8", "surrogatepass")
    if rng.randrange(8) == 0:
        data = b"\n".join([data] * rng.randrange(1, 4)) if rng.randrange(2) else b"[" + b",".join([data] * 3) + b"]"
    return _given(rng, world, place, enveloped(rng, of_bytes(rng, data, 2) if rng.randrange(4) == 0 else data))


def _special(rng: random.Random, place: Place) -> Path:
    """A path that is no plain file of a sane size."""
    path = place.input / "special"
    which = rng.randrange(10)
    if which == 0:
        os.mkfifo(path)
    elif which == 1:
        path.mkdir()
    elif which == 2:
        path.symlink_to(path)
    elif which == 3:
        path.symlink_to("/dev/zero")
    elif which == 4:
        path.symlink_to("/nowhere/at/all")
    elif which in (5, 6):
        with path.open("wb") as file:  # 2 GB of nothing, after something that tells a kind
            file.write(rng.choice((b"", b"{", b"<bugrepository>", b"PK\x03\x04", b"Cookie\n", b"[{")))
            file.truncate(2_100_000_000)
    elif which == 7:
        return Path(
            rng.choice(("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/proc/self/mem", "/dev/tty", ""))
        )
    elif which == 8:
        return Path("a" * 300) / ("b" * 5_000)
    else:
        path.mkdir()
        return path / "x" / ".." / ".." / "special"
    return path


def special(rng: random.Random, world: World, place: Place) -> Case:
    """One report in what is no plain file."""
    path = _special(rng, place)
    if (
        rng.randrange(4) == 0
        and len(str(path)) < 300
        and path != Path("/dev/tty")
        and path.exists()
        and not path.is_fifo()
        and not path.is_dir()
    ):
        return Case([*_localizing(rng, world), "--report", "-"], stdin=path)
    return Case([*_localizing(rng, world), "--report", str(path)])


# Files of labelled reports


def _reading(rng: random.Random, world: World, place: Place, path: Path) -> Case:
    """A command that reads labelled reports."""
    common = ["--repo", str(world.repo), "--reports", str(path)]
    which = rng.randrange(12)
    if which == 0:
        store = ["--store", str(world.store_for(place)), "--out", str(place.out)]
        return Case(["rank", *common, *store, "--checkpoint", str(world.one_stage), "--split", "all"])
    if which == 1:
        store = ["--store", str(world.store_for(place)), "--out", str(place.out)]
        return Case(["train", str(world.settings("plain")), *common, *store])
    if which == 2:
        return Case(["import-run", str(path), "--repo", str(world.repo), "--out", str(place.out)])
    zone = ["--zone", rng.choice(("UTC", "America/New_York", "Europe/Berlin"))]
    return Case(["data", *common, *zone, *(["--json"] if rng.randrange(2) else [])])


def _records(world: World) -> list[dict[str, Any]]:
    return [dict(one) for one in world.toy.records]


def lines(rng: random.Random, world: World, place: Place) -> Case:
    """One JSON object a line."""
    records = _records(world)[: rng.randint(1, 14)]
    written = [dumped(one) for one in records]
    for _ in range(rng.randint(1, 2)):
        place_of = rng.randrange(len(written))
        written[place_of] = dumped(of_value(rng, records[place_of]) if rng.randrange(8) else odd_value(rng))
    data = "\n".join(written).encode("utf-8", "surrogatepass")
    path = place.input / "reports"
    path.write_bytes(enveloped(rng, of_bytes(rng, data) if rng.randrange(3) == 0 else data))
    return _reading(rng, world, place, path)


def special_labelled(rng: random.Random, world: World, place: Place) -> Case:
    """Labelled reports in what is no plain file."""
    return _reading(rng, world, place, _special(rng, place))


def _rows(rng: random.Random, world: World) -> list[dict[str, Any]]:
    """Rows of the published tables, some cells odd."""
    rows = []
    for number, one in enumerate(_records(world)[: rng.randint(1, 14)], start=1):
        files = " ".join(one["fixed"])
        rows.append(
            dict(
                zip(
                    COLUMNS,
                    (
                        number,
                        int(one["id"]),
                        f"Bug {one['id']} {one['summary']}",
                        one["description"],
                        one["opened"],
                        1,
                        "resolved",
                        one["fix_commit"],
                        1,
                        files,
                        f"1:{files}",
                    ),
                    strict=True,
                )
            )
        )
    for _ in range(rng.randint(0, 2)):
        row = rng.choice(rows)
        column = rng.choice(COLUMNS)
        odd: tuple[Any, ...] = (
            None,
            "",
            rng.choice(TEXTS),
            rng.choice(TIMES),
            rng.choice(NUMBERS),
            True,
            1e308,
            -1,
            0.5,
        )
        row[column] = rng.choice(odd)
    return rows


_SHEET = (
    b'<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
)
_SHEET_END = b"</sheetData></worksheet>"


def spreadsheet(rng: random.Random, world: World, place: Place) -> Case:
    """An .xlsx: odd cells, damaged parts, bombs."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    rows = _rows(rng, world)
    sheet.append([*COLUMNS[:-1], None])
    for row in rows:
        cells = [_cell(value) for value in row.values()]
        try:
            sheet.append(cells)
        except Exception:  # what openpyxl itself refuses to write
            sheet.append([None if isinstance(cell, str) else cell for cell in cells])
    buffer = io.BytesIO()
    book.save(buffer)
    data = buffer.getvalue()
    which = rng.randrange(6)
    if which == 0:
        data = of_bytes(rng, data)
    elif which in (1, 2, 3):
        data = _with_part(rng, data)
    path = place.input / "reports.xlsx"
    path.write_bytes(data)
    return _reading(rng, world, place, path)


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        legal = "".join(char for char in value if char in "\t\n" or char >= " ")
        return legal.encode("utf-8", "ignore").decode()[:32_000]
    return value


def _with_part(rng: random.Random, data: bytes) -> bytes:
    """The archive with one part exchanged, lost, doubled or blown up."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    name = rng.choice([*parts, "xl/worksheets/sheet1.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml"])
    edit = rng.randrange(13)
    extra: list[tuple[str, bytes]] = []
    if edit == 0:
        parts.pop(name, None)
    elif edit == 1:
        extra.append((name, parts.get(name, b"")))
    elif edit == 2:
        parts["xl/worksheets/sheet1.xml"] = _SHEET + b'<row r="1048576000"><c r="A1"><v>1</v></c></row>' + _SHEET_END
    elif edit == 3:
        rows = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (row, row) for row in range(1, 60_000))
        parts["xl/worksheets/sheet1.xml"] = _SHEET + rows + _SHEET_END
    elif edit == 4:
        parts["xl/worksheets/sheet1.xml"] = _SHEET + b"<row/>" * 3_000_000 + _SHEET_END
    elif edit == 5:
        parts[name] = _bomb(rng).encode("utf-8", "surrogatepass")
    elif edit == 6:
        parts["xl/worksheets/sheet1.xml"] = _SHEET + b'<row><c t="inlineStr"><is>' + b"<t>" * 100_000
    elif edit == 7:
        strings = b"<si><t>" + b"a" * 1_000 + b"</t></si>"
        parts["xl/sharedStrings.xml"] = (
            b'<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + strings * 300_000 + b"</sst>"
        )
    elif edit == 8:
        extra.append(("../../../tmp/escaped", b"out"))
    elif edit == 9:
        parts["xl/worksheets/sheet1.xml"] = b" " * 300_000_000
    else:
        parts[name] = of_bytes(rng, parts.get(name, b""))
    buffer = io.BytesIO()
    import warnings

    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        warnings.simplefilter("ignore")
        for part, content in [*parts.items(), *extra]:
            archive.writestr(part, content)
    found = buffer.getvalue()
    if rng.randrange(6) == 0:  # sizes in the directory that are not true
        place = found.rfind(b"PK\x01\x02")
        found = found[: place + 20] + rng.randbytes(8) + found[place + 28 :]
    return found


def _bomb(rng: random.Random) -> str:
    """XML that blows up, points outside, or nests deep."""
    which = rng.randrange(9)
    if which == 0:
        entities = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
        return f'<!DOCTYPE a [<!ENTITY a0 "aaaaaaaaaa">{entities}]><bugrepository>&a11;</bugrepository>'
    if which == 1:
        return f'<!DOCTYPE a [<!ENTITY a "{"b" * 100_000}">]><pma_xml_export>{"&a;" * 50_000}</pma_xml_export>'
    if which == 2:
        return '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><bugrepository>&x;</bugrepository>'
    if which == 3:
        return '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x.dtd"><bugrepository/>'
    if which == 4:
        return '<!DOCTYPE a [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]><bugrepository/>'
    if which == 5:
        return "<bugrepository>" + "<bug>" * rng.choice((1_000, 200_000))
    if which == 6:
        depth = rng.choice((1_000, 100_000))
        return "<root>" + "<database>" * depth + "</database>" * depth + "</root>"
    if which == 7:
        return "<bugrepository " + " ".join(f'a{n}="b"' for n in range(100_000)) + "/>"
    return "<bugrepository>" + "<a/>" * 2_000_000 + "</bugrepository>"


def _written_xml(rng: random.Random, text: str) -> bytes:
    """XML in some encoding that it declares, or does not."""
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "utf-16", "iso-8859-1", "us-ascii", "utf-7", "idna", "undefined"))
    declared = rng.choice((encoding, encoding, "punycode", "rot13", "hex", "utf-32", "x" * 500, "\0", "cp037", "mbcs"))
    head = rng.choice(("", '<?xml version="1.0"?>\n', f'<?xml version="1.0" encoding="{declared}"?>\n'))
    try:
        return (head + text).encode(encoding, "replace")
    except (UnicodeError, LookupError):
        return (head + text).encode("utf-8", "surrogatepass")


def export(rng: random.Random, world: World, place: Place) -> Case:
    """A phpMyAdmin export."""
    tables = ""
    for row in _rows(rng, world):
        cells = "".join(
            f"<column name={quoteattr(name)}>{escape(_legal(rng, value))}</column>" for name, value in row.items()
        )
        tables += f'<table name="t">{cells}</table>\n'
    root = rng.choice(("pma_xml_export", "root", "a:b"))
    text = f'<{root} xmlns:a="b"><database name="t">{tables}</database></{root}>'
    path = place.input / "reports.xml"
    data = _bomb(rng).encode() if rng.randrange(5) == 0 else _written_xml(rng, text)
    path.write_bytes(enveloped(rng, of_bytes(rng, data) if rng.randrange(3) == 0 else data))
    return _reading(rng, world, place, path)


def _legal(rng: random.Random, value: Any) -> str:
    """Text of a cell; mostly without what XML has no way to write."""
    written = str(value)
    if rng.randrange(8):
        written = "".join(
            char for char in written if char in "\t\n" or (char >= " " and not "\ud800" <= char <= "\udfff")
        )
    return written


def buglocator(rng: random.Random, world: World, place: Place) -> Case:
    """The XML of BugLocator and Bench4BL."""
    bugs = ""
    for one in _records(world)[: rng.randint(1, 14)]:
        number, opened, fixed = one["id"], one["opened"], "2014-02-01 10:00:00"
        files = [f.removeprefix("src/").replace("/", ".") for f in one["fixed"]]
        summary, description = one["summary"], one["description"]
        which = rng.randrange(30)
        number = rng.choice((*TEXTS, *NUMBERS)) if which == 0 else number
        opened = rng.choice((*TIMES, *TEXTS)) if which in (1, 2) else opened
        fixed = rng.choice((*TIMES, *TEXTS)) if which in (3, 4) else fixed
        files = [rng.choice(TEXTS) for _ in range(rng.choice((0, 1, 50)))] if which == 5 else files
        summary = rng.choice(TEXTS) if which == 6 else summary
        description = rng.choice(TEXTS) if which == 7 else description
        listed = "".join(f"<file>{escape(_legal(rng, name))}</file>" for name in files)
        bugs += (
            f"<bug id={quoteattr(_legal(rng, number))} opendate={quoteattr(_legal(rng, opened))}"
            f" fixdate={quoteattr(_legal(rng, fixed))}><buginformation>"
            f"<summary>{escape(_legal(rng, summary))}</summary>"
            f"<description>{escape(_legal(rng, description))}</description></buginformation>"
            f"<fixedFiles>{listed}</fixedFiles></bug>\n"
        )
    text = f'<bugrepository name="toy">{bugs}</bugrepository>'
    data = _bomb(rng).encode() if rng.randrange(5) == 0 else _written_xml(rng, text)
    path = place.input / "reports.xml"
    path.write_bytes(enveloped(rng, of_bytes(rng, data) if rng.randrange(3) == 0 else data))
    return _reading(rng, world, place, path)


__all__ = [
    "PIECES",
    "Raw",
    "buglocator",
    "export",
    "issue",
    "json",
    "lines",
    "special",
    "special_labelled",
    "spreadsheet",
    "text",
]
