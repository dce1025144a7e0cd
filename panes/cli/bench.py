"""`panes bench`: the benchmark of the repository."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

import typer

from panes.errors import EnvironmentMissing


def bench(
    runs: Annotated[
        list[str] | None, typer.Argument(help="Workloads, W1 to W6; W5:400000 takes that many rows.")
    ] = None,
    engines: Annotated[
        str,
        typer.Option(help="Which to run, with commas: panes, spark, floor, duckdb, polars, flink, pathway."),
    ] = "panes,spark,floor,duckdb,polars",
    rows: Annotated[int, typer.Option(help="Rows of traffic.")] = 2_000_000,
    add: Annotated[
        bool, typer.Option("--add", help="Keep what other engines reached in the last run.")
    ] = False,
) -> None:
    """Measure the six workloads, beside other engines."""
    try:
        run = import_module("benchmarks.run")
    except ModuleNotFoundError as error:
        raise EnvironmentMissing(
            f"the benchmark is part of the repository and needs its 'dev' packages ({error}); "
            "run it there: make bench"
        ) from error
    chosen = [name.strip() for name in engines.split(",")]
    unknown = set(chosen) - set(run.ENGINES)
    if unknown:
        raise typer.BadParameter(f"there is no engine {', '.join(sorted(unknown))}")
    print(f"Results in {run.bench(runs or (), chosen, rows=rows, add=add)}")
