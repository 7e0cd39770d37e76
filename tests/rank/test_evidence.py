"""What a report states outright: which statements accuse, which point, and what they change."""

import random

import numpy as np
import pytest

from tosloc import BugReport, Localizer
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.features import registry
from tosloc.rank.features.evidence import (
    ACCUSES,
    KINDS,
    LEAD,
    find_asserted,
    find_statements,
    raise_asserted,
)
from tosloc.rank.model.stage_one import StageOne, StageOneResult

FILES = ["src/cart.py", "src/door.py", "src/lock.py", "tests/test_door.py"]
TRACE = """Traceback (most recent call last):
  File "/home/me/src/cart.py", line 3, in fill
    door()
  File "/home/me/src/door.py", line 7, in turn
    lock()
  File "/usr/lib/python3.12/json/decoder.py", line 337, in decode
    raise
ValueError: no key
"""
LONG_TEXT = "The window of the seller closes slowly whenever five customers wait beside both doors."


@pytest.fixture
def find(make_context):
    """Return a function (report, files) -> the statements as pairs of kind and path."""

    def statements(report, files=FILES):
        context = make_context(files, *report.split("|"))
        paths = context.version.table.paths
        return [(statement.kind, paths[statement.row]) for statement in find_statements(context)]

    return statements


@pytest.mark.parametrize(
    "title", ["build is broken due to src/lock.py", "lock.py: wrong turn", "src/lock.py:7 fails"]
)
def test_path_in_the_title_accuses(find, title):
    assert ("path in the title", "src/lock.py") in find(title)


@pytest.mark.parametrize(
    "sentence",
    [
        "Bug in src/lock.py",
        "There is an error in the file `src/lock.py`.",
        "I think this is caused by src/lock.py.",
        "It is a problem with how keys are read in **src/lock.py**",
        "Bug in src/lock.py:12",
    ],
)
def test_path_that_a_sentence_blames_accuses(find, sentence):
    assert ("path that a sentence blames", "src/lock.py") in find(f"It fails|{sentence}")


@pytest.mark.parametrize(
    "sentence",
    [
        "I have put a print into src/lock.py to see it.",
        "There was a bug. Now I use src/lock.py instead.",
        "The bug is in the shop, see src/lock.py",
    ],
)
def test_path_that_a_sentence_names_points(find, sentence):
    assert find(f"It fails|{sentence}") == [("path in a sentence", "src/lock.py")]


def test_path_in_code_says_nothing(find):
    [statement] = find("It fails|How I use it:\n```\ncopy('src/lock.py', 'a')\n```")
    assert statement == ("path elsewhere", "src/lock.py")
    assert KINDS["path elsewhere"].value == 0


def test_path_that_several_files_can_have_states_nothing(find):
    assert find("lock.py fails|", ["a/lock.py", "b/lock.py"]) == []


def test_path_of_a_test_states_nothing(find):
    assert find("tests/test_door.py fails|") == []


def test_frames_are_listed_from_the_innermost_own_one(find):
    expected = [("innermost frame", "src/door.py"), ("further frame", "src/cart.py")]
    assert find(f"It fails|{LONG_TEXT}\n{TRACE}") == expected


def test_frame_of_a_report_with_little_else_accuses(find):
    [innermost, _] = find(f"Shop crashes|Please help.\n{TRACE}")
    assert innermost == ("innermost frame, little else", "src/door.py")


def test_frames_of_the_last_cause_lead(find):
    trace = (
        "Exception: x\n\tat org.shop.Cart.fill(Cart.java:3)\n"
        "Caused by: java.io.IOException: y\n\tat org.shop.Door.turn(Door.java:9)\n"
    )
    statements = find(
        f"It fails|{LONG_TEXT}\n{trace}", ["org/shop/Cart.java", "org/shop/Door.java"]
    )
    assert statements[0] == ("innermost frame", "org/shop/Door.java")


MESSAGES = {
    "a.py": {"literals": "ws status"},
    "b.py": {"literals": "no key turns"},
    "c.py": {"literals": "status of a ws"},
}


@pytest.mark.parametrize(
    ("report", "path"),
    [
        ("It fails|A request of /api is fine, ws/status is not", "a.py"),
        ("It fails|It says `no key turns` at once", "b.py"),
        ("It says “no key turns”|", "b.py"),
    ],
)
def test_text_that_one_file_quotes_points(find, report, path):
    assert find(report, MESSAGES) == [("quoted text", path)]


def test_text_that_two_files_quote_states_nothing(find):
    files = {"a.py": {"literals": "no key turns"}, "b.py": {"literals": "so no key turns"}}
    assert find("It fails|It says `no key turns` at once", files) == []


# Raising


def raised(scores, asserted):
    return raise_asserted(np.array(scores), np.array(asserted)).tolist()


def test_scores_without_a_statement_stay():
    assert raised([1.0, 3.0], [0.0, 0.0]) == [1.0, 3.0]


def test_pointing_statement_is_added():
    assert raised([1.0, 3.0], [0.5, 0.0]) == [1.5, 3.0]


def test_accused_file_leads_all_others():
    assert raised([1.0, 3.0, 2.0], [ACCUSES + 0.5, 0.0, 0.0]) == [3.0 + LEAD, 3.0, 2.0]


def test_accused_file_that_leads_anyway_is_raised():
    assert raised([9.0, 3.0], [ACCUSES + 0.5, 0.0]) == [9.5, 3.0]


def test_accused_files_keep_their_order():
    first, second, third = raised([1.0, 2.0, 7.0], [ACCUSES, ACCUSES, 0.0])
    assert third == 7.0
    assert second > first >= 7.0 + LEAD


def test_accusing_comes_before_pointing(make_context):
    context = make_context(FILES, "Error in lock.py", f"{LONG_TEXT}\n{TRACE}")
    cart, door, lock, test = find_asserted(context, registry.NAMES)
    assert lock == KINDS["path in the title"].value
    assert door == KINDS["innermost frame"].value
    assert cart == KINDS["further frame"].value
    assert test == 0


def test_strongest_statement_about_a_file_counts(make_context):
    context = make_context(FILES, "Error in door.py", f"{LONG_TEXT}\n{TRACE}")
    assert find_asserted(context, registry.NAMES)[1] == KINDS["path in the title"].value


def test_paper_knows_no_statements(make_context):
    context = make_context(FILES, "Error in lock.py")
    assert not find_asserted(context, registry.PAPER_NAMES).any()


def test_raised_file_has_the_frame_as_its_reason(make_context):
    """Even if the weights distrust frames."""
    context = make_context(FILES, "Shop crashes", f"Please help.\n{TRACE}")
    answer = StageOneResult.of(context, StageOne(("own_frame",), np.array([-1.0])))
    assert answer.order[0] == 1
    [reason, *_] = answer.choose_reasons(1, RepositoryLookups())
    assert reason.kind == "frame"


# Made-up crash reports

WORDS = (
    "basket price parser socket cookie widget ledger planet rocket violin garden copper magnet"
    " pillow turbine canyon marble falcon harbor lantern"
).split()
LANGUAGES = {
    "python": (
        "shop/{folder}/{name}.py",
        "def {function}(value):\n    return {other}(value)\n",
        '  File "/home/me/app/{path}", line 2, in {function}\n    return value\n',
    ),
    "java": (
        "src/main/java/org/shop/{folder}/{Name}.java",
        "class {Name} {{\n  void {function}() {{ {other}(); }}\n}}\n",
        "\tat org.shop.{folder}.{Name}.{function}({Name}.java:2)\n",
    ),
    "kotlin": (
        "src/main/kotlin/org/shop/{folder}/{Name}.kt",
        "class {Name} {{\n  fun {function}() {{ {other}() }}\n}}\n",
        "\tat org.shop.{folder}.{Name}.{function}({Name}.kt:2)\n",
    ),
    "javascript": (
        "src/{folder}/{name}.js",
        "export function {function}(value) {{\n  return {other}(value);\n}}\n",
        "    at {function} (/home/me/app/{path}:2:7)\n",
    ),
    "go": (
        "{folder}/{name}.go",
        "package {folder}\n\nfunc {function}(value int) {{\n\t{other}(value)\n}}\n",
        "shop/{folder}.{function}(0x1)\n\t/go/src/shop/{path}:4 +0x1d\n",
    ),
}
HEADS = {
    "python": "Traceback (most recent call last):\n",
    "java": "java.lang.NullPointerException\n\tat java.util.List.get(List.java:4)\n",
    "kotlin": "java.lang.NullPointerException\n\tat java.util.List.get(List.java:4)\n",
    "javascript": "TypeError: undefined is not a function\n",
    "go": "panic: runtime error: index out of range\n\ngoroutine 1 [running]:\n",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_trace_of_a_vague_crash_report_decides(language, repository):
    """The innermost own frame's file is first, and the function that raised is its first one.

    The file of the outermost frame has the name of the project, as the title does, and it changed
    in every commit.
    """
    path, source, frame = LANGUAGES[language]
    chosen = random.Random(3)
    files = {}
    frames = []
    for position, word in enumerate(("shop", *WORDS)):
        function = f"{chosen.choice(WORDS)}{position}"
        values = {
            "folder": ("core", "io", "net")[position % 3],
            "name": word,
            "Name": word.title(),
            "function": function,
            "other": chosen.choice(WORDS),
        }
        values["path"] = path.format(**values)
        files[values["path"]] = source.format(**values)
        frames.append((values["path"], function, frame.format(**values)))
    repository.commit(files, "Start")
    main_file = frames[0][0]
    for number in range(5):
        repository.commit({main_file: files[main_file] + "\n" * number}, "Fix crash of shop")
    with Localizer.open(repository.path) as localizer:
        for number in range(8):
            outer, *inner = [frames[0], *chosen.sample(frames[1:], 2)]
            trace = [outer, *inner] if language == "python" else [*inner[::-1], outer]
            description = HEADS[language] + "".join(text for _, _, text in trace)
            report = BugReport(str(number), "Shop crashes", description, None)
            [hit, *_] = localizer.localize(report, suspects=False, code="none").hits
            wanted_path, wanted_function, _ = inner[-1]
            assert hit.path == wanted_path
            assert hit.functions[0].name.endswith(wanted_function)
