"""The script that counts the kinds of files that fixes change."""

from scripts import file_kinds


def test_tests_and_generated_files_are_no_kind():
    counts = file_kinds.count([("p", ["a.py", "tests/test_a.py", "a_pb2.py"])])
    assert dict(counts.files) == {"python": 1}


def test_fix_of_one_kind_is_told_from_fix_of_several():
    counts = file_kinds.count([("p", ["a.py", "b.py"]), ("p", ["a.py", "x.weird"])])
    assert counts.fixes == 2
    assert dict(counts.fixes_of_kind) == {"python": 2, ".weird": 1}
    assert dict(counts.fixes_by_kind_alone) == {"python": 1}


def test_table_says_how_a_kind_is_treated():
    counts = file_kinds.count([("p", ["a.py", "b.weird"])])
    rows = file_kinds.kinds_table(counts, 1).rows
    assert [row[:2] for row in rows] == [["python", "parsed"], [".weird", "path alone"]]
