"""Answering a query that reads tables alone: what SQL gives over their rows now, or over those that they had."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panes.answers.answer import Answer
from panes.clock import to_datetime
from panes.delta.delta import ALWAYS, BEGINNING
from panes.onetime.contents import Scanned, contents_sql
from panes.onetime.run_sql import run_sql
from panes.onetime.scanned_tables import ScannedTables
from panes.plan.nodes import Node, StreamScan, TableScan
from panes.plan.own_calls import own_calls
from panes.plan.walk import tables_of
from panes.plan.windows import Reach
from panes.state.storage.epoch_log import EpochRecord
from panes.tables.table_contents import Contents
from panes.tables.table_store import Tables


def answer_from_tables(plan: Node, tables: Tables, instant: int | None = None) -> Answer:
    """The answer over all that was changed up to now, whether an epoch has applied it or not; with an instant,
    over what the tables held then, by the clock of the furthest stream."""
    names = sorted(tables_of(plan))
    if instant is None:
        as_of = tables.furthest
        rows = {name: contents.rows() for name, contents in tables.snapshot(names).items()}
    else:
        as_of = instant
        rows = {name: tables.contents_at(name, instant) for name in names}
    return Answer(None if as_of == BEGINNING else to_datetime(as_of), _answer(plan, rows, as_of))


def answer_from_tables_in(plan: Node, tables: Tables, record: EpochRecord) -> Answer:
    """The answer over what the tables hold after an epoch, as queries see them: by the clock of the furthest
    stream."""
    rows = {
        name: tables.rows_at(name, frozenset(), record.epoch, record.clock)
        for name in sorted(tables_of(plan))
    }
    as_of = None if record.clock == BEGINNING else to_datetime(record.clock)
    committed = to_datetime(record.finished_us)
    return Answer(as_of, _answer(plan, rows, record.clock), epoch=record.epoch, committed=committed)


def answer_from_contents(plan: Node, contents: Mapping[str, Contents]) -> pa.Table:
    """The answer over contents of the tables, by name: those of a transaction under way."""
    return _answer(plan, {name: found.rows() for name, found in contents.items()}, BEGINNING)


def _answer(plan: Node, rows: Mapping[str, pa.Table], as_of: int) -> pa.Table:
    scans = _Scans(rows)
    # Before any stream has begun, the rows of now are those that were always there.
    sql = contents_sql(plan, max(as_of, ALWAYS), scans)
    return run_sql(sql, plan.schema, scans.tables.by_name, own_calls(plan))


class _Scans:
    def __init__(self, rows: Mapping[str, pa.Table]) -> None:
        self._rows = rows
        self.tables = ScannedTables()

    def stream(self, scan: StreamScan, reach: Reach) -> Scanned:  # noqa: ARG002
        raise TypeError(f"{scan.stream} is a stream, and the query reads tables alone")

    def relation(self, scan: TableScan) -> str:
        return self.tables.select(scan, self._rows[scan.table])
