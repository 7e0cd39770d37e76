"""Exit with 0 if an option of click may stand without its value, with 1 otherwise."""

import click
from click.testing import CliRunner


@click.command()
@click.option("--name", is_flag=False, flag_value="Flag", default="Default")
def hello(name: str) -> None:
    click.echo(name)


result = CliRunner().invoke(hello, ["--name"])
raise SystemExit(result.output != "Flag\n")
