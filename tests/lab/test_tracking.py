"""Progress is reported for each of some items."""

from tosloc.lab.tracking import track


def test_tracked_items_are_announced_before_each_and_once_at_the_end():
    calls = []

    def progress(what, done, total):
        calls.append((what, done, total))

    assert list(track(["a", "b"], "reading", progress)) == ["a", "b"]
    assert calls == [("reading", 0, 2), ("reading", 1, 2), ("reading", 2, 2)]


def test_no_items_are_announced_as_done():
    calls = []
    assert list(track([], "reading", lambda *call: calls.append(call))) == []
    assert calls == [("reading", 0, 0)]
