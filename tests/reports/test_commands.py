"""Commands, options and keys of settings in reports."""

import pytest

from tosloc.reports.text.commands import Command, find_commands


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("`new-window -k` crashes", [(("new", "window"), True)]),
        ("use --ffmpeg-location", [(("ffmpeg", "location"), True)]),
        ("`server.port` is ignored", [(("server", "port"), True)]),
        ("server.port = 8080", [(("server", "port"), True)]),
        ("a well-known bug", [(("well", "known"), False)]),
        ("`shop new-cart -k` crashes", [(("new", "cart"), True)]),
        ("`shop` has no new-cart", [(("new", "cart"), False)]),
        ("`cart.py` and a/b-c.py, 2020-01-02", []),
        ("use - or -- alone", []),
    ],
)
def test_commands_options_and_keys_are_found_with_their_certainty(text, commands):
    assert find_commands(text) == [Command(parts, is_certain) for parts, is_certain in commands]
