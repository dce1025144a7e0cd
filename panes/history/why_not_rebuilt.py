"""Whether the answer of a query can be computed again, exactly, from what its streams keep."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from panes.history.completeness import complete_from, missing_in
from panes.history.manifests import Manifest
from panes.plan.nodes import Node, Window, Wstream
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.patterns import MONOTONIC, answer_pattern, has_internal
from panes.plan.walk import streams_of, tables_of, walk
from panes.plan.windows import RowsWindow, SessionWindow, WindowSpec


def why_not_rebuilt(
    plan: Node, kept: Mapping[str, Manifest], brought: Mapping[str, int], clock: int
) -> str | None:
    """The reason why a plan that begins now would not have the answer of one that has run since long; None when it
    would. `kept` is the history of each stream that the plan reads, `brought` how many rows each has brought,
    `clock` that of the query.

    A relation at an instant is made of the tuples in its windows at that instant, so it can be computed again when
    they are kept. What goes by the order in which tuples came depends on the clocks that the query had then: the
    history has them for one stream, and not for several together, nor when a change of a table took effect.
    """
    missing = {name: gap for name in kept if (gap := missing_in(kept[name], brought[name])) is not None}
    gone = ", ".join(repr(name) for name in missing)
    if missing and _needs_all(plan):
        return f"its answer holds what came of tuples of {gone} that are not kept any more"
    if complete_from(plan, missing, clock, brought) is not None:
        return f"its windows reach back to tuples of {gone} that are not kept any more"
    if _goes_by_order(plan) and (len(streams_of(plan)) > 1 or tables_of(plan)):
        return (
            "count windows, session windows and output streams go by the order in which tuples came, which is "
            "kept for one stream, and not for several or beside tables"
        )
    return None


def _needs_all(plan: Node) -> bool:
    """Whether the answer holds something of tuples that have left all windows, or the slides of a count window go
    by the number of all tuples that came before."""
    return (
        has_internal(plan)
        or answer_pattern(plan).pattern is MONOTONIC
        or _has_open_stream(plan, is_windowed=False)
        or any(isinstance(spec, RowsWindow) and spec.slide is not None for spec in _windows(plan))
    )


def _has_open_stream(node: Node, *, is_windowed: bool) -> bool:
    """Whether an output stream is read otherwise than through a window in time."""
    if isinstance(node, OUTPUT_STREAMS):
        return not is_windowed or any(_has_open_stream(child, is_windowed=False) for child in node.children)
    if isinstance(node, Window):
        is_windowed = node.spec.is_timed
    return any(_has_open_stream(child, is_windowed=is_windowed) for child in node.children)


def _goes_by_order(plan: Node) -> bool:
    if has_internal(plan) or any(isinstance(node, OUTPUT_STREAMS) for node in walk(plan)):
        return True
    return any(isinstance(spec, (RowsWindow, SessionWindow)) for spec in _windows(plan))


def _windows(plan: Node) -> Iterator[WindowSpec]:
    return (node.spec for node in walk(plan) if isinstance(node, (Window, Wstream)))
