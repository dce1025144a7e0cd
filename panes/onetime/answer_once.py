"""Answering a query once: what SQL gives over what its windows hold at one epoch, by DuckDB over the history."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from panes.answers.answer import Answer
from panes.answers.instants import last_slide
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.errors import EvaluationError
from panes.history.history_store import History
from panes.history.parts import opened
from panes.history.query_clocks import QueryClocks
from panes.onetime.can_ask_once import has_streams
from panes.onetime.contents import contents_sql
from panes.onetime.history_scans import HistoryScans
from panes.onetime.missing_history import history_complete_from
from panes.onetime.replay_history import replay
from panes.onetime.run_sql import run_sql
from panes.plan.nodes import Node
from panes.plan.now import now_alone_at
from panes.plan.own_calls import own_calls
from panes.plan.stream import Stream
from panes.plan.walk import streams_of
from panes.tables.table_store import Tables


def answer_once(
    plan: Node,
    streams: Mapping[str, Stream],
    history: History,
    epoch: int,
    now: int,
    clocks: QueryClocks,
    tables: Tables | None = None,
) -> Answer:
    """The answer of a plan at an instant, from what the history has of the epochs up to one.

    `streams` has the base streams by name, `clocks` are those of the query. The plan gives a relation:
    `why_not_once` says which do not.
    """
    known = clocks if len(streams_of(plan)) > 1 else None
    if now == BEGINNING:
        return Answer(None, plan.schema.arrow.empty_table())
    if has_streams(plan):
        table = replay(now_alone_at(plan, last_slide(plan, now)), streams, history, epoch, now, known, tables)
    else:
        scans = HistoryScans(streams, history, epoch, now, known, tables, streams_of(plan))
        table = _run(contents_sql(plan, now, scans), plan, scans)
    since = history_complete_from(plan, streams, history, epoch, now)
    return Answer(to_datetime(last_slide(plan, now)), table, None if since is None else to_datetime(since))


def _run(sql: str, plan: Node, scans: HistoryScans) -> pa.Table:
    try:
        return run_sql(sql, plan.schema, scans.tables.by_name, own_calls(plan))
    except EvaluationError:
        for file in scans.files:
            opened(file.path).close()  # says which one is missing or damaged, if one is
        raise
