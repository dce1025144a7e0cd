"""What may be wrong in the result of an approximate aggregate: what EXPLAIN says, and tests hold it to."""

from __future__ import annotations

from panes.plan.expressions import Aggregate
from panes.plan.nodes import GroupBy
from panes.plan.patterns import MONOTONIC, pattern_of
from panes.plan.sketch_sizes import COUNT_ERROR, VALUE_ERROR, counters_for
from panes.plan.window_of_panes import panes_of, window_of_panes


def stated_error(group_by: GroupBy, aggregate: Aggregate) -> str | None:
    """What EXPLAIN says of the error of an aggregate; None of one that is exact by its definition."""
    if aggregate.path:
        return None
    match aggregate.function:
        case "approx_count_distinct":
            return f"standard error {100 * COUNT_ERROR:.1f} %"
        case "approx_quantile":
            return f"within {100 * VALUE_ERROR:.1f} % of the value"
        case "approx_top_k":
            return _of_counters(group_by, aggregate)
        case "frequent" | "frequent_threshold":
            return f"{_heaviest(group_by, _k(aggregate))}; may miss, never over-reports"
    return None


def counters_of(group_by: GroupBy, aggregate: Aggregate) -> int | None:
    """How many values are counted for an aggregate in each pane, or in a stream; None where all of them are."""
    if aggregate.path or aggregate.function not in ("approx_top_k", "frequent", "frequent_threshold"):
        return None
    if aggregate.function != "approx_top_k":
        return _k(aggregate)
    child = group_by.child
    is_cut = window_of_panes(child) is not None or pattern_of(child).pattern is MONOTONIC
    return counters_for(_k(aggregate)) if is_cut else None


def _of_counters(group_by: GroupBy, aggregate: Aggregate) -> str:
    counters = counters_of(group_by, aggregate)
    if counters is None:
        return "exact: rows leave one by one"
    kept = (
        f"{counters} counters" if window_of_panes(group_by.child) is None else _heaviest(group_by, counters)
    )
    return f"{kept}; counts up to {100 / counters:.2g} % of the rows too low"


def _heaviest(group_by: GroupBy, most: int) -> str:
    spec = window_of_panes(group_by.child)
    assert spec is not None
    return f"the {most} heaviest of each of {panes_of(spec)} panes"


def _k(aggregate: Aggregate) -> int:
    k = aggregate.parameters[0]
    assert isinstance(k, int)
    return k
