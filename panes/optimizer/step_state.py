"""How many rows a step of a physical plan keeps."""

from __future__ import annotations

from collections.abc import Sequence

from panes.aggregates.partials import cut_values_of
from panes.operators.physical_step import PhysicalStep
from panes.optimizer.estimates import Estimates, slide_of
from panes.optimizer.flow import Flow
from panes.plan import nodes
from panes.plan.window_of_panes import panes_of, window_of_panes

_STATELESS = {
    "Constant",
    "DropBox",
    "Entry",
    "GeneratedResults",
    "Match",
    "MatchAndSum",
    "PreAggregate",
    "Project",
    "Select",
    "TemporalFilter",
    "Sign",
    "TimeWindow",
    "Union",
    "Unnest",
}


def step_state(step: PhysicalStep, inputs: Sequence[Flow], estimates: Estimates) -> float:
    """The rows in all buffers of a step, once its windows are full."""
    node = step.node
    if step.operator in _STATELESS:
        return 0.0
    below = [estimates.of(child).size for child in node.children]
    match step.operator:
        case "ReleaseOnTime" | "ToSlide":
            # What comes between two slides waits for the next, half a slide on average, and for the offset.
            ago = node.spec.offset_us / 1e6 if isinstance(node, nodes.Window) else 0.0
            return inputs[0].came * (ago + (slide_of(node) or 0.0) / 2)
        case "ExplicitExpiry" | "RowsWindow" | "SessionWindow":
            return estimates.of(node).size
        case "Join" | "MultiJoin" | "Over" | "Istream" | "Dstream" | "Rstream":
            return sum(below)
        case "DistinctStar":
            # The row that is shown, and where others came since, the youngest.
            return estimates.of(node).size + min(
                estimates.of(node).size, max(0.0, below[0] - estimates.of(node).size)
            )
        case "Distinct":
            return estimates.distinct(node.children[0], node.schema.names) + _by_time(step, inputs, below[0])
        case "GroupBy":
            return _groups(node, inputs, estimates)
        case "HeaviestOfPanes":
            assert isinstance(node, nodes.GroupBy)
            spec = window_of_panes(node.child)
            assert spec is not None
            listed = panes_of(spec) * sum(most for _, _, most in cut_values_of(node))
            return min(inputs[0].came * estimates.of(node.child).seconds, estimates.of(node).size * listed)
        case "HeaviestOfStream":
            assert isinstance(node, nodes.GroupBy)
            return estimates.of(node).size * sum(most for _, _, most in cut_values_of(node))
        case "TopN":
            return below[0] + _by_time(step, inputs, below[0])
        case "SemiJoin" | "AntiJoin":
            assert isinstance(node, (nodes.SemiJoin, nodes.AntiJoin))
            keys = estimates.distinct(node.right, node.right_keys)
            if node.residual is None:
                return below[0] + 2 * keys
            return 2 * below[0] + below[1]
        case "Lookup":
            return below[1]
        case "SetOperationByCount" | "SetOperationByLifetime":
            return sum(below) + estimates.of(node).size
    raise TypeError(f"nobody knows what {step.operator} keeps")


def _by_time(step: PhysicalStep, inputs: Sequence[Flow], size: float) -> float:  # noqa: ARG001
    """The rows that wait for the time at which they leave; none where negative tuples come instead."""
    return 0.0 if inputs[0].gone else size


def _groups(node: nodes.Node, inputs: Sequence[Flow], estimates: Estimates) -> float:
    """The sums of each group, and the partial rows that are subtracted when they leave."""
    child = node.children[0]
    below, held = estimates.of(child), estimates.of(node).size
    if estimates.of(child).early >= below.rate > 0:
        return held
    return held + inputs[0].rows * below.seconds
