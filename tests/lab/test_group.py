"""``tosloc lab`` lists its commands."""

from tosloc.cli import main

COMMANDS = (
    "evaluate compare baselines bm25 reproduce reproduce-check truncation calibration feature-ablation pool pack"
    " train-encoder"
).split()


def test_the_group_lists_its_commands(capsys):
    assert main(["lab", "--help"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert [name for name in listed if name in COMMANDS] == COMMANDS
