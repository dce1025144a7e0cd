"""The signatures that the tuples of a synopsis have had."""

from __future__ import annotations

from panes.answers.open_segments import OpenSegments
from panes.plan.nodes import SIGNATURE
from panes.sharing.chosen_signatures import signatures_in
from panes.state.storage.epoch_log import QueryProgress
from panes.state.storage.manifest import PANES
from panes.synopses.total import TOTAL


def seen_signatures(segments: OpenSegments, ran: QueryProgress) -> int | None:
    """In how many ways the tuples that a group keeps pass the selections of its queries; None where tuples are not
    told apart, or where there are none. `ran` is what the last epoch did to the group."""
    shards = range(ran.answer.shards(ran.spread))
    chunks = [chunk for shard in shards for chunk in segments.chunks(ran.answer, shard, ran.epoch)[PANES]]
    signed = [chunk for chunk in chunks if SIGNATURE in chunk.table.column_names]
    return len(signatures_in(signed) - {TOTAL}) if signed else None
