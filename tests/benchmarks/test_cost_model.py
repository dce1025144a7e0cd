"""What is expected of the six workloads, from facts that were measured of them, is what is counted."""

from __future__ import annotations

import pytest

from benchmarks.cost_model import compared, rank_correlation
from benchmarks.workloads import WORKLOADS


@pytest.mark.parametrize("name", WORKLOADS)
def test_each_step_gives_the_rows_that_are_expected_of_it(name: str) -> None:
    workload = WORKLOADS[name]
    shorter = 40 if workload.range_ms > 60_001 else 10
    steps = compared(workload, shorter=shorter, queries=20, seconds=30, ahead=False)
    assert len(steps) > 5
    assert sum(step.counted for step in steps) > 1_000
    for step in steps:
        assert step.rows == pytest.approx(step.counted, rel=0.05, abs=0.5), step.key


def test_the_same_order_has_rank_correlation_one() -> None:
    assert rank_correlation([(1, 10), (2, 30), (5, 90)]) == pytest.approx(1)
    assert rank_correlation([(1, 90), (2, 30), (5, 10)]) == pytest.approx(-1)
