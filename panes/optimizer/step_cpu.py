"""What a step of a physical plan costs, in CPU seconds per second of event time.

Operators work on columns: a span costs something however few its rows are, and each row a little. A join pays for
each row that it stores and forgets, and for each pair that it visits; of buffers that are read whole, for all that
they hold, in every span; and of buffers that are laid out for rows that leave on time, for each that does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.operators.physical_step import PhysicalStep
from panes.optimizer.assumed import FIXED, RETRACT, WEIGH
from panes.optimizer.estimates import Estimates
from panes.optimizer.flow import Flow
from panes.optimizer.pipelined_visits import pipelined_visits
from panes.plan.band import band_of
from panes.plan.expressions import conjunction
from panes.plan.nodes import Join, MultiJoin
from panes.state.buffers.choose import FEW_LEAVE_EARLY
from panes.state.buffers.scan import Scan


def step_cpu(
    step: PhysicalStep, inputs: Sequence[Flow], output: Flow, state: float, tasks: int, estimates: Estimates
) -> float:
    """CPU seconds of a step that keeps `state` rows and is run by as many tasks in every span."""
    cost, spans = estimates.statistics.cost, tasks / estimates.span
    rows = sum(flow.rows for flow in inputs) if inputs else output.rows
    micros = cost(step.operator, FIXED) * spans
    if isinstance(step.node, Join) and step.operator == "Join":
        micros += rows * sum(cost("Join", part) for part in ("probe", "insert", "expire"))
        micros += _visits(step.node, inputs, output, estimates) * cost("Join", "visit")
        if step.output.is_weighted:
            micros += output.rows * cost("Join", WEIGH)
    elif isinstance(step.node, MultiJoin) and step.operator == "MultiJoin":
        micros += rows * sum(cost("MultiJoin", part) for part in ("probe", "insert", "expire"))
        visits = pipelined_visits(step.node, [flow.rows for flow in inputs], estimates)
        micros += visits * cost("MultiJoin", "visit")
        if step.output.is_weighted:
            micros += output.rows * cost("MultiJoin", WEIGH)
    else:
        micros += rows * cost(step.operator, "row")
    if any(buffer.reason == FEW_LEAVE_EARLY.reason for buffer in step.buffers):
        micros += sum(flow.gone for flow in inputs) * cost("Calendar", RETRACT)
    if any(buffer.kind == Scan.kind for buffer in step.buffers):
        micros += state * spans * cost("Scan", "row")
    return micros / 1e6


def _visits(join: Join, inputs: Sequence[Flow], output: Flow, estimates: Estimates) -> float:
    """Pairs with equal keys, or in a band, of which those are results that pass the residual."""
    if join.residual is None:
        return output.rows
    left, right = (estimates.of(side).size for side in join.children)
    pairs = inputs[0].rows * right + inputs[1].rows * left
    band = None if join.left_keys else band_of(join.residual, *(set(s.schema.names) for s in join.children))
    searched = None if band is None else conjunction(band.conditions)
    return max(output.rows, pairs * estimates.match(replace(join, residual=searched)))
