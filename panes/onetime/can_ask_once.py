"""Which queries can be answered once."""

from __future__ import annotations

from panes.plan.aggregates import AGGREGATES
from panes.plan.nodes import GroupBy, Node
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.patterns import has_internal
from panes.plan.walk import walk


def why_not_once(plan: Node) -> str | None:
    """Why a query has no answer when it is asked but once; None when it has one."""
    if isinstance(plan, OUTPUT_STREAMS):
        return (
            f"{type(plan).__name__} gives what changes from one moment to the next, and a query that is "
            "asked once sees one moment"
        )
    if has_internal(plan):
        return "INTERNAL bounds what a standing query remembers, and a query that is asked once remembers nothing"
    for node in walk(plan):
        for aggregate in node.aggregates if isinstance(node, GroupBy) else ():
            if not aggregate.path and AGGREGATES[aggregate.function].needs_panes:
                return (
                    f"{aggregate.function} is kept by a standing query as panes close; a query that is asked once "
                    "sees all values, and top_k_counts(x, k) counts them"
                )
    return None


def has_streams(plan: Node) -> bool:
    """Whether a window of the plan stands on an output stream: not one moment decides what it holds."""
    return any(isinstance(node, OUTPUT_STREAMS) for node in walk(plan))
