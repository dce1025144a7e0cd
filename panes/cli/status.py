"""`panes status`: how a database is doing, also one that another process is running."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.console import Console

import panes
from panes.cli.tables import console, print_line, print_table, size
from panes.cli.value_text import text
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.plan.kept_text import kept_text
from panes.state.storage.epoch_log import QueryProgress
from panes.status import Status

_LIVE_SECONDS = 24 * 3600


def status(
    database: Annotated[Path, typer.Argument(help="The directory of the database.")],
) -> None:
    """Show rows, rate, lag, clock, time by phase, and state by query."""
    with closing(panes.connect(database, read_only=True)) as db:
        print_status(console(), db.status())


def print_status(out: Console, found: Status) -> None:
    """What there is to know after the last epoch: first in a sentence, then by phase, stream and query."""
    in_use = "in use" if found.is_running else "not in use"
    if found.epoch < 0:
        print_line(out, f"No epoch yet; {in_use}.")
        return
    print_line(
        out,
        f"Epoch {found.epoch}, {in_use}: {found.rows:,} rows, {found.rows_per_second:,.0f} rows/s, "
        f"clock {text(found.clock)}{_behind(found)}, {size(found.state_bytes)} of state "
        f"in {found.state_segments} segments, {found.late_rows} late and {found.bad_rows} bad rows.",
    )
    if found.phases:
        longest_first = sorted(found.phases.items(), key=lambda phase: -phase[1])
        spent = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in longest_first)
        print_line(out, f"The last epoch took {found.epoch_seconds:.2f} s: {spent}.")
    streams = [
        {
            "stream": name,
            "rows": progress.rows,
            "late": progress.late,
            "bad": progress.bad,
            "bad files": progress.bad_files,
            "last tuple": _moment(progress.max_ts),
            "clock": _moment(progress.clock),
        }
        for name, progress in found.streams.items()
    ]
    queries = [
        {
            "query": name,
            "clock": _moment(progress.clock),
            "shards": progress.shards,
            "segments": progress.segments,
            "state": size(progress.bytes),
            "changes": progress.changes,
            "delay": _delay(progress, found),
        }
        for name, progress in found.queries.items()
    ]
    failed = [{"suspended query": name, "error": error} for name, error in found.failed.items()]
    incomplete = [
        {"incomplete query": name, "has seen all from": since} for name, since in found.incomplete.items()
    ]
    exact = [{"exact query": name, "does not shed": why} for name, why in found.not_shed.items()]
    at_every_slide = [
        {"query of every slide": name, "is not refreshed by deadline": why}
        for name, why in found.not_refreshed.items()
    ]
    for rows in (
        streams,
        queries,
        _refreshed(found),
        _shed(found),
        exact,
        at_every_slide,
        failed,
        incomplete,
    ):
        if rows:
            print_line(out, "")
            print_table(out, pa.Table.from_pylist(rows))


def _refreshed(found: Status) -> list[dict[str, object]]:
    """How queries are refreshed that are refreshed by deadline."""
    return [
        {
            "refreshed query": name,
            "asked": one.asked,
            "given": None if one.given is None else round(one.given, 1),
            "d": one.d,
            "late": one.late,
        }
        for name, one in found.refreshed.items()
    ]


def _shed(found: Status) -> list[dict[str, object]]:
    """What queries keep of each stream, and how many rows were dropped."""
    boxes = {name: {**found.shed.get(name, {}), **found.kept.get(name, {})} for name in found.queries}
    return [
        {
            "shedding query": name,
            "keeps": kept_text(stream, found.kept.get(name, {}).get(stream, 1.0)),
            "rows shed": found.shed.get(name, {}).get(stream, 0),
        }
        for name, streams in boxes.items()
        for stream in streams
    ]


def _moment(instant_us: int) -> datetime | None:
    return None if instant_us == BEGINNING else to_datetime(instant_us)


def _delay(progress: QueryProgress, found: Status) -> str:
    """How late the changes of the last epoch that ran the query were seen; rows of long ago have no delay worth
    telling."""
    seconds = progress.max_delay_us / 1e6
    if not progress.delayed or not found.is_running or seconds > _LIVE_SECONDS:
        return ""
    return f"{progress.delay_us / 1e6:,.1f} s, at most {seconds:,.1f} s"


def _behind(found: Status) -> str:
    """How far answers are behind a live stream; rows of long ago have no lag worth telling."""
    if found.lag_seconds is None or not found.is_running or found.lag_seconds > _LIVE_SECONDS:
        return ""
    return f" ({found.lag_seconds:,.1f} s behind)"
