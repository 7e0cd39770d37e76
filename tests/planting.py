"""What must not matter to a report: commits, fixes and reports that nobody could know when it was opened."""

from __future__ import annotations

from typing import Any, Final

from tests import toy

PLANTED: Final = "src/org/app/p0/ParserService.java"
INNER: Final = "src/org/app/p0/ParserService/Inner.java"
SECRET: Final = "parser cookie crash"
INSIDE: Final = "inside the version, with a later clock"
KINDS: Final = ("future commit", "future fix", "future report of an old fix", "side branch with an early clock", INSIDE)


def plant(made: toy.Toy, kind: str, opened: int, description: str) -> list[dict[str, Any]]:
    """Something that must not matter to a report of that description; the records that go with it."""
    records = made.records
    git = made.git
    main = git.made[-1]
    text = toy.source("Parser", ["int planted;"])
    if kind == "future commit":
        git.commit({PLANTED: text, INNER: "class Inner { }"}, SECRET, when=opened + 190 * toy.DAY, parents=[main])
        return list(records)
    if kind == "future fix":
        fix = git.commit({PLANTED: text, INNER: "class Inner { }"}, SECRET, when=opened + 190 * toy.DAY, parents=[main])
        return [*records, toy.record_of("9", SECRET, description, opened - 9, fix, [PLANTED])]
    if kind == "future report of an old fix":
        # its fix was committed, by its clock, after the asked report was opened
        fix = git.commit({PLANTED: text}, SECRET, when=opened + 9, parents=[main])
        return [*records, toy.record_of("9", SECRET, SECRET, opened + 5, fix, [PLANTED])]
    if kind == INSIDE:
        # between opening and fix, and undone: the version holds both commits and the same files, only clocks tell
        asked = next(record for record in records if record["description"] == description)
        version = git.git("rev-parse", f"{asked['fix_commit']}~1")
        before = git.git("show", f"{version}:{PLANTED}") + "\n"
        fix = git.commit({PLANTED: text, INNER: "class Inner { }"}, SECRET, when=opened + 100, parents=[version])
        undone = git.commit({PLANTED: before, INNER: None}, SECRET, when=opened + 200, parents=[fix])
        assert git.git("rev-parse", f"{undone}^{{tree}}") == git.git("rev-parse", f"{version}^{{tree}}")
        [path] = asked["fixed"]
        again = git.commit({path: toy.source("Parser", ["int again;"])}, "Fix", when=opened + toy.DAY, parents=[undone])
        own = [record | {"fix_commit": again} if record is asked else record for record in records]
        return [*own, toy.record_of("9", SECRET, description, opened - 9, fix, [PLANTED])]
    assert kind == "side branch with an early clock"
    side = git.commit(
        {PLANTED: text, INNER: "class Inner { }"}, SECRET, when=opened - 5 * toy.DAY, parents=[git.made[2]]
    )
    git.commit({}, "Merge", when=opened + 199 * toy.DAY, parents=[main, side])
    return [*records, toy.record_of("9", SECRET, SECRET, opened - 6 * toy.DAY, side, [PLANTED])]
