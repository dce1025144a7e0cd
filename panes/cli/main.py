"""The `panes` command: one file per subcommand."""

from __future__ import annotations

from typing import Annotated

import typer

import panes
from panes.cli.bench import bench
from panes.cli.check import check
from panes.cli.demo import demo
from panes.cli.exits_on_failure import exits_on_failure
from panes.cli.explain import explain
from panes.cli.run import run
from panes.cli.shell import shell
from panes.cli.spark_settings import spark_settings
from panes.cli.status import status

app = typer.Typer(
    help="Sliding-window queries over streams, answered exactly and continuously, on Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if show:
        print(panes.__version__)
        raise typer.Exit


for command in (demo, run, shell, explain, status, check, bench, spark_settings):
    app.command()(exits_on_failure(command))
