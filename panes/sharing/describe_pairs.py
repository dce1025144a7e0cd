"""What a group of joins keeps, in one line for EXPLAIN."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from panes.history.retention import Retained
from panes.plan.durations import duration_text
from panes.plan.nodes import Node
from panes.sharing.held_in_store import held_in_store


def describe_pairs(plans: Sequence[Node]) -> str:
    """The streams, how long their pairs are kept, and by how many queries they are shared; `plans` are those of
    the queries."""
    held = [held_in_store(plan) for plan in plans]
    left, right = (stream for stream, _ in held[0])
    longest = reduce(Retained.__or__, (mine for query in held for _, mine in query))
    is_endless = longest.us is None or longest.spans
    length = "without end" if is_endless or longest.us is None else f"for {duration_text(longest.us).lower()}"
    return f"pairs of {left} ⋈ {right}, kept {length}, shared by {len(plans)}"
