"""Invoking a query: its current answer, read from the segments of one committed epoch, without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from panes.answers.answer import Answer
from panes.answers.store import ANSWER, answer_of
from panes.clock import to_datetime
from panes.delta.delta import BEGINNING
from panes.plan.nodes import Node, Window
from panes.plan.walk import walk
from panes.plan.windows import RangeWindow
from panes.state.epochs import EpochRecord
from panes.state.manifest import ShardState, shard_folder


def invoke(plan: Node, folder: Path, query: int, record: EpochRecord | None) -> Answer:
    """The answer of a query as of an epoch; no rows and no instant when the epoch did not have the query."""
    schema = plan.schema.arrow
    progress = record.queries.get(query) if record else None
    if record is None or progress is None or record.clock == BEGINNING:
        return Answer(None, schema.empty_table())
    parts = []
    for shard in range(progress.shards):
        state = ShardState(shard_folder(folder, shard))
        chunks = state.chunks(state.load(record.epoch), ANSWER)
        parts.append(answer_of(chunks, record.clock, schema))
    return Answer(to_datetime(last_slide(plan, record.clock)), pa.concat_tables(parts).combine_chunks())


def last_slide(plan: Node, clock: int) -> int:
    """The last instant not after the clock at which the answer may have changed."""
    slides = [
        node.spec.slide_us if isinstance(node.spec, RangeWindow) else None
        for node in walk(plan)
        if isinstance(node, Window)
    ]
    if not slides or None in slides:
        return clock
    return max(clock - clock % slide for slide in slides if slide)
