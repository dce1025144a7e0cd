"""What a step of a physical plan costs, in CPU seconds per second of event time.

Operators work on columns: a span costs something however few its rows are, and each row a little. A join pays for
each row that it stores and forgets, and for each pair that it visits; of buffers that are read whole, for all that
they hold, in every span.
"""

from __future__ import annotations

from collections.abc import Sequence

from panes.operators.physical_step import PhysicalStep
from panes.optimizer.assumed import FIXED
from panes.optimizer.flow import Flow
from panes.optimizer.statistics import Statistics
from panes.state.buffers.scan import Scan

_JOINS = {"Join"}


def step_cpu(
    step: PhysicalStep,
    inputs: Sequence[Flow],
    output: Flow,
    state: float,
    spans: float,
    statistics: Statistics,
) -> float:
    """`spans` is how many the step works through per second, on all shards together."""
    cost = statistics.cost
    rows = sum(flow.rows for flow in inputs) if inputs else output.rows
    micros = cost(step.operator, FIXED) * spans
    if step.operator in _JOINS:
        micros += rows * sum(cost(step.operator, part) for part in ("probe", "insert", "expire"))
        micros += output.rows * cost(step.operator, "visit")
    else:
        micros += rows * cost(step.operator, "row")
    if any(buffer.kind == Scan.kind for buffer in step.buffers):
        micros += state * spans * cost("Scan", "row")
    return micros / 1e6
