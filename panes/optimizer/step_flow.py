"""What leaves a step of a physical plan, from what comes to it.

Estimates of the logical plan say which share of the rows goes on and how many are held. What travels depends on
the strategy: with negative tuples every row comes twice, with lifetimes once, and what is given by span or by
slide comes once for each of them however often it has changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from panes.aggregates.partials import cut_values_of
from panes.operators.physical_step import PhysicalStep
from panes.optimizer.estimates import Estimates, slide_of
from panes.optimizer.fact_names import output_name
from panes.optimizer.flow import Flow
from panes.plan import nodes

_PASSED_ON = {"Project", "Sign", "TimeWindow", "ReleaseOnTime", "TemporalFilter", "ToSlide"}
BRING_TOGETHER = {
    "Distinct",
    "DistinctStar",
    "GroupBy",
    "HeaviestOfPanes",
    "HeaviestOfStream",
    "MatchAndSum",
    "Over",
    "PreAggregate",
    "SetOperationByCount",
    "SetOperationByLifetime",
    "TopN",
}
"""Operators of which is measured how many rows they give for each that comes: it depends on how values are spread,
which few figures tell."""


def step_flow(step: PhysicalStep, inputs: Sequence[Flow], estimates: Estimates) -> Flow:
    """The flow on the edge that leaves a step which is no Entry."""
    node = step.node
    if step.operator in _PASSED_ON:
        return inputs[0]
    if step.operator in BRING_TOGETHER and estimates.statistics.facts:
        each = estimates.statistics.measured("selectivity", output_name(step.operator, node))
        if each is not None:
            given = each * sum(flow.rows for flow in inputs)
            return Flow(given / 2, given / 2) if step.output.is_weighted else Flow(given)
    match step.operator:
        case "Constant":
            return Flow()
        case "DropBox":
            assert isinstance(node, nodes.Drop)
            return inputs[0].share(estimates.kept(node))
        case "Select":
            assert isinstance(node, nodes.Select)
            return inputs[0].share(estimates.passing(node))
        case "Unnest":
            assert isinstance(node, nodes.Unnest)
            return inputs[0].share(estimates.items(node))
        case "Match":
            assert isinstance(node, nodes.Matched)
            return inputs[0].share(estimates.matches(node))
        case "Union":
            return inputs[0] + inputs[1]
        case "ExplicitExpiry" | "RowsWindow" | "SessionWindow":
            return Flow(inputs[0].came, inputs[0].came)
        case "PreAggregate" | "MatchAndSum":
            return _partials(step, inputs[0], estimates)
        case "HeaviestOfPanes":
            return _heaviest(step, inputs[0], estimates)
        case "HeaviestOfStream":
            return inputs[0]
        case "GroupBy":
            return _groups(step, estimates)
        case "TopN" | "Over":
            return _net(step, inputs[0], estimates)
        case "Distinct":
            return _appearing(node.children[0], node.schema.names, inputs[0], estimates)
        case "DistinctStar":
            return Flow(estimates.shown(node.children[0], node.schema.names, inputs[0].came))
        case "Join" | "MultiJoin":
            return _pairs(node, inputs, estimates)
        case "SemiJoin" | "AntiJoin":
            assert isinstance(node, (nodes.SemiJoin, nodes.AntiJoin))
            return _met_or_alone(node, inputs, estimates)
        case "Lookup":
            left = estimates.of(node.children[0])
            return inputs[0].share(estimates.of(node).size / left.size if left.size else 0.0)
        case "SetOperationByCount" | "SetOperationByLifetime":
            return _set_operation(step, estimates)
        case "Istream" | "GeneratedResults":
            return Flow(inputs[0].came)
        case "Dstream":
            return Flow(inputs[0].came)
        case "Rstream":
            child = node.children[0]
            return Flow(estimates.of(child).size / (slide_of(child) or estimates.span))
    raise TypeError(f"nobody knows what leaves {step.operator}")


def _pairs(node: nodes.Node, inputs: Sequence[Flow], estimates: Estimates) -> Flow:
    size = estimates.of(node).size
    held = (estimates.of(child).size for child in node.children)
    each = (flow.share(size / below if below else 0.0) for flow, below in zip(inputs, held, strict=True))
    return sum(each, Flow())


def _met_or_alone(
    node: nodes.SemiJoin | nodes.AntiJoin, inputs: Sequence[Flow], estimates: Estimates
) -> Flow:
    left, right = inputs
    met, each = estimates.met(node), estimates.given_for_each(node)
    if isinstance(node, nodes.AntiJoin):
        # As often as a first partner comes, a last one leaves: the rows of the left that have its key are taken
        # back, and are given again. Under negative tuples those of the left come as such, too.
        changing = estimates.leaving_early(node, right.came)
        given = left.came * (1 - met) + changing if each is None else left.came * each
        return Flow(given, left.gone * (1 - met) + min(changing, given))
    if each is not None:
        return left.share(each)
    keys = node.right_keys
    values = max(1.0, estimates.distinct(node.right, keys))
    if right.gone:
        renewed = _appearing(node.right, keys, right, estimates)
    else:
        renewed = Flow(estimates.shown(node.right, keys, right.came))
    return left.share(met) + renewed.share(estimates.of(node.left).size * met / values)


def _appearing(node: nodes.Node, columns: Sequence[str], flow: Flow, estimates: Estimates) -> Flow:
    """Values that are held from now on, of which each is taken back when its last row leaves."""
    new = flow.came * estimates.unseen(node, columns)
    return Flow(new, new)


def _partials(step: PhysicalStep, flow: Flow, estimates: Estimates) -> Flow:
    """One row per lifetime and group: of a span, as its rows are summed before others come."""
    node = step.node
    assert isinstance(node, nodes.GroupBy)
    if step.operator == "PreAggregate" and not dict(step.arguments)["combine"]:
        return Flow(flow.rows)
    seconds = min(slide_of(node.child) or estimates.span, estimates.span)
    if step.operator == "MatchAndSum":
        matched = dict(step.arguments)["matched"]
        assert isinstance(matched, nodes.Matched)
        flow = flow.share(estimates.matches(matched))
    combined = estimates.values_among(node.child, estimates.summed_by(node), flow.rows * seconds)
    return Flow(min(flow.rows, combined / seconds))


def _heaviest(step: PhysicalStep, flow: Flow, estimates: Estimates) -> Flow:
    """Of each pane and group the values on its list, and a row for all others."""
    node = step.node
    assert isinstance(node, nodes.GroupBy)
    kept = sum(most + 1 for _, _, most in cut_values_of(node)) * max(1.0, estimates.of(node).size)
    return Flow(min(flow.came, kept / (slide_of(node.child) or estimates.span)), flow.gone)


def _groups(step: PhysicalStep, estimates: Estimates) -> Flow:
    node = step.node
    assert isinstance(node, nodes.GroupBy)
    every_instant = bool(dict(step.arguments)["every_instant"])
    return _replaced(estimates.changes(node, every_instant=every_instant))


def _net(step: PhysicalStep, flow: Flow, estimates: Estimates) -> Flow:
    """What is new at an instant, or at the end of a span, takes the place of what was there."""
    rate = estimates.of(step.node).rate
    below = estimates.of(step.node.children[0]).rate
    # More rows come than the relation below takes in where they are replaced again and again.
    times = flow.came / below if below else 1.0
    return _replaced(rate * min(times, 1.0))


def _replaced(rate: float) -> Flow:
    return Flow(rate, rate)


def _set_operation(step: PhysicalStep, estimates: Estimates) -> Flow:
    expected = estimates.of(step.node)
    if step.operator == "SetOperationByCount":
        return Flow(expected.rate, expected.rate)
    return Flow(expected.rate, min(expected.early, expected.rate) if step.output.is_weighted else 0.0)
