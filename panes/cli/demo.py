"""`panes demo`: standing queries over generated traffic, watched live."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import panes
from panes.cli.demo_queries import QUERIES, STREAMS, DemoQuery
from panes.cli.demo_tariffs import DemoTariffs
from panes.cli.demo_views import LiveView, PlainView, View, status_line
from panes.cli.interrupts import ctrl_c
from panes.cli.snapshot import Snapshot, take_snapshot
from panes.cli.tables import console
from panes.clock import Clock, WallClock

if TYPE_CHECKING:
    from panes.database import Database
    from panes.query import Query

REFRESH_SECONDS = 0.5

PATIENCE_SECONDS = 60
"""How long the first answers may take before the time counts without them."""

NEXT = """\
What to try next (in a clone the command is .venv/bin/panes):
  panes demo --rate 50000 --seconds 120    more traffic, for longer
  panes run examples/visits.sql            statements in a file
  panes shell                              type statements yourself
  README.md                                the same from Python\
"""


def demo(
    seconds: Annotated[float, typer.Option(help="How long to watch, from the first answers on.", min=1)] = 40,
    rate: Annotated[int, typer.Option(help="Packets per second.", min=1)] = 5000,
) -> None:
    """Watch standing queries over generated network traffic."""
    out = console()
    with closing(panes.connect(None)) as db:
        try:
            with out.status("Starting Spark …"):
                queries = prepare(db, rate)
                db.start()
        except KeyboardInterrupt:
            out.print("Stopped while Spark was starting.")
            return
        out.print("Spark is up. Waiting for the first answers …")
        view: View = LiveView(out, seconds) if out.is_terminal else PlainView(out)
        with ctrl_c() as stop, view:
            last = follow(db, queries, view, seconds, WallClock(), stop.wait)
        with out.status("Stopping …"):
            db.stop()
    summarize(out, last)


def prepare(db: Database, rate: int) -> dict[DemoQuery, Query]:
    """Makes the streams and the tables, and registers the queries."""
    for statement in STREAMS:
        db.sql(statement.format(rate=rate))
    DemoTariffs(db).create()
    return {query: db.register(query.sql, name=query.name) for query in QUERIES}


def follow(
    db: Database,
    queries: Mapping[DemoQuery, Query],
    view: View,
    seconds: float,
    clock: Clock,
    wait: Callable[[float], bool],
) -> Snapshot:
    """Shows what there is, again and again, until the time is up or `wait` says to stop; the last of it.

    The time counts from the first answers: Spark's first epoch takes longer than all that follow. Tariffs change
    meanwhile.
    """
    tariffs = DemoTariffs(db)
    started = clock.elapsed()
    began: float | None = None
    while True:
        now = clock.elapsed()
        elapsed = 0.0 if began is None else now - began
        tariffs.keep_changing(elapsed)
        snapshot = take_snapshot(db, queries, elapsed, tariffs.last_change)
        if began is None and (snapshot.has_answers or now - started >= PATIENCE_SECONDS):
            began = now
        view.show(snapshot)
        if snapshot.elapsed >= seconds or wait(REFRESH_SECONDS):
            return snapshot


def summarize(out: Console, last: Snapshot) -> None:
    """What was seen, and what to try next."""
    out.print(
        f"{len(last.answers)} standing queries took in {last.rows:,} packets in {last.epoch + 1} epochs.\n"
        f"Last: {status_line(last)}",
        highlight=False,
    )
    out.print(NEXT, highlight=False)
