"""Which queries can be answered once."""

from __future__ import annotations

from panes.plan.nodes import Dstream, Istream, Node, Rstream, Window, Wstream
from panes.plan.patterns import has_internal
from panes.plan.walk import walk

_OUTPUT_STREAMS = (Istream, Dstream, Rstream, Wstream)


def why_not_once(plan: Node) -> str | None:
    """Why a query has no answer when it is asked but once; None when it has one."""
    if isinstance(plan, _OUTPUT_STREAMS):
        return (
            f"{type(plan).__name__} gives what changes from one moment to the next, and a query that is "
            "asked once sees one moment"
        )
    if has_internal(plan):
        return "INTERNAL bounds what a standing query remembers, and a query that is asked once remembers nothing"
    for node in walk(plan):
        if isinstance(node, Rstream) and not _slides(node):
            return (
                "Rstream over what does not slide gives its rows at every epoch, and past epochs are not kept"
            )
    return None


def has_streams(plan: Node) -> bool:
    """Whether a window of the plan stands on an output stream: not one moment decides what it holds."""
    return any(isinstance(node, _OUTPUT_STREAMS) for node in walk(plan))


def _slides(node: Node) -> bool:
    return all(below.spec.slide_us is not None for below in walk(node) if isinstance(below, Window))
