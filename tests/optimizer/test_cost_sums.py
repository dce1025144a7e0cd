"""Costs of operators: a line through what steps cost."""

from __future__ import annotations

import random

import pytest

from panes.operators.measures import Measures
from panes.optimizer.assumed import assumed_cost
from panes.optimizer.cost_sums import cost_after, cost_sums, costs_of
from panes.optimizer.fact_sums import FactSums


def costs(operator: str, *done: Measures) -> dict[str, float]:
    sums: FactSums | None = None
    for epoch, measures in enumerate(done):
        sums = cost_after(sums, cost_sums([measures]), epoch)
    assert sums is not None
    return dict(costs_of(operator, sums.sums))


def test_what_a_span_and_a_row_cost_follows_where_rows_vary():
    done = [Measures(rows_in=n, cpu_us=500 + 0.25 * n, spans=1) for n in (100, 5_000, 40_000)]
    found = costs("Select", *done)
    assert found == {"fixed": pytest.approx(500), "row": pytest.approx(0.25)}


def test_shards_count_as_spans_of_their_own():
    done = [Measures(rows_in=4 * n, cpu_us=4 * (500 + 0.25 * n), spans=4) for n in (100, 5_000, 40_000)]
    assert costs("Select", *done) == {"fixed": pytest.approx(500), "row": pytest.approx(0.25)}


def test_noise_of_a_tenth_leaves_a_row_within_a_tenth():
    draw = random.Random(7)
    sizes = [draw.randrange(1_000, 50_000) for _ in range(60)]
    done = [Measures(rows_in=n, cpu_us=(800 + 0.4 * n) * draw.gauss(1, 0.1), spans=1) for n in sizes]
    assert costs("Join", *done)["row"] == pytest.approx(0.4, rel=0.1)


def test_both_are_as_many_times_as_assumed_where_rows_hardly_vary():
    fixed, row = assumed_cost("Select", "fixed"), assumed_cost("Select", "row")
    done = Measures(rows_in=1_000, cpu_us=3 * (fixed + 1_000 * row), spans=1)
    assert costs("Select", done, done) == {"fixed": pytest.approx(3 * fixed), "row": pytest.approx(3 * row)}


def test_neither_is_less_than_nothing():
    falling = [Measures(rows_in=n, cpu_us=10_000 / n, spans=1) for n in (10, 100, 1_000)]
    assert min(costs("Select", *falling).values()) >= 0
    steep = [Measures(rows_in=n, cpu_us=n * n, spans=1) for n in (10, 100, 1_000)]
    assert min(costs("Select", *steep).values()) >= 0


def test_a_step_without_rows_says_nothing_of_what_a_row_costs():
    assert costs("Select", Measures(cpu_us=90, spans=3)) == {"fixed": 30}


def test_the_parts_of_a_join_add_up_to_its_rows():
    done = [
        Measures(
            rows_in=n,
            cpu_us=1_000 + n,
            spans=1,
            visits=2 * n,
            positive=n / 2,
            probe_us=0.35 * (1_000 + n),
            weigh_us=0.05 * (1_000 + n),
            visit_us=0.3 * (1_000 + n),
            insert_us=0.2 * (1_000 + n),
            expire_us=0.1 * (1_000 + n),
        )
        for n in (1_000, 30_000)
    ]
    found = costs("Join", *done)
    assert found == {
        "fixed": pytest.approx(1_000),
        "row": pytest.approx(1.0),
        "probe": pytest.approx(0.35),
        "weigh": pytest.approx(0.1),  # a result for two rows
        "visit": pytest.approx(0.15),  # two pairs per row
        "insert": pytest.approx(0.2),
        "expire": pytest.approx(0.1),
    }
