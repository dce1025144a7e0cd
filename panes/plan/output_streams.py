"""What output streams ask of the plan below them: results that count one by one, values at every instant."""

from __future__ import annotations

from panes.plan.lookups import is_lookup
from panes.plan.nodes import (
    Dstream,
    GroupBy,
    Istream,
    Join,
    MultiJoin,
    Node,
    Over,
    Project,
    Rstream,
    Select,
    StreamScan,
    TableScan,
    TopN,
    Union,
    Unnest,
    Values,
    Window,
    Wstream,
)
from panes.plan.patterns import MONOTONIC, STRICT, answer_pattern, has_internal, pattern_of

OUTPUT_STREAMS = (Istream, Dstream, Rstream, Wstream)


def generated_stream(plan: Node) -> Node:
    """The plan of a query, as a stream where that is what INTERNAL windows make of it."""
    is_stream = has_internal(plan) and answer_pattern(plan).pattern is MONOTONIC
    return Istream(plan) if is_stream else plan


def gives_generated(node: Istream | Wstream) -> bool:
    """Whether an output stream has the results that are generated, and not what enters the relation.

    The two differ where a result is generated at the instant when an equal one expires: the relation does not
    change then. A query over INTERNAL windows keeps the older result and gives the new one too; so does Wstream.
    """
    return isinstance(node, Wstream) or has_internal(node.child)


def counts_each_result(relation: Node) -> bool:
    """Whether every row that the operators of a relation give is a result that was generated.

    Selections, projections, unnest, unions and joins make rows of rows. Other operators may give a row that goes
    on where an equal one ends (DISTINCT, EXISTS, INTERSECT) or takes the place of an equal one (groups, top-n,
    negation), and a join of count windows cannot tell an equal pair that comes from one that is taken back. The
    generated results of such relations are the rows that enter them. A lookup decides row by row, as a selection
    does.
    """
    if is_lookup(relation):
        return counts_each_result(relation.left)
    match relation:
        case StreamScan() | TableScan() | Values() | Window():
            return True
        case Select() | Project() | Unnest() | Union():
            return all(map(counts_each_result, relation.children))
        case Join() | MultiJoin():
            return pattern_of(relation).pattern is not STRICT and all(
                map(counts_each_result, relation.children)
            )
    return False


def is_over_slides(node: Node) -> bool:
    """Whether a window that the relation is made of has SLIDE, in time or in rows."""
    match node:
        case Window(spec=spec):
            return spec.has_slide
    return any(map(is_over_slides, node.children))


def is_known_at_every_instant(plan: Node) -> bool:
    """Whether the deltas of a plan tell its answer at every instant of a span, and not only at its end.

    Only a group-by, OVER or a top-n may tell it at the end alone: where no window has SLIDE and nothing above can
    tell.
    """
    if isinstance(plan, OUTPUT_STREAMS) or has_internal(plan) or is_over_slides(plan):
        return True
    return not isinstance(plan, (GroupBy, Over, TopN)) and all(map(is_known_at_every_instant, plan.children))
