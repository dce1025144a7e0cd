"""The combinations that a pipelined join makes."""

from __future__ import annotations

from dataclasses import replace

from panes.optimizer.estimates import Estimates
from panes.optimizer.nested_loop_cost import JoinedStream, joined_size
from panes.optimizer.pipelined_visits import pipelined_visits, visits_in_order, visits_of
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.nodes import MultiJoin, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow

STREAMS = [
    JoinedStream(10, 100, 500),
    JoinedStream(1, 100, 50),
    JoinedStream(1, 200, 40),
    JoinedStream(3, 100, 5),
]
"""Table 5.3 of the thesis."""
RATES = [stream.rate for stream in STREAMS]


def size(inputs: int) -> float:
    return joined_size([stream for number, stream in enumerate(STREAMS) if inputs >> number & 1])


def test_a_new_row_makes_the_combinations_of_the_inputs_that_it_has_met() -> None:
    # Table 5.4: φ12 = 200, φ123 = 800; φ13 = 400; the window of the first stream has 1,000 rows, of the third 200.
    assert visits_of(0, range(4), RATES, size)[:2] == [10 * 200 / 1000, 10 * 800 / 1000]
    assert visits_of(2, range(4), RATES, size)[:2] == [1 * 400 / 200, 1 * 800 / 200]


def test_the_order_matters_but_for_the_last_combinations() -> None:
    results = sum(visits_of(origin, range(4), RATES, size)[-1] for origin in range(4))
    one, other = (visits_in_order(order, RATES, size) for order in ((0, 1, 2, 3), (3, 2, 1, 0)))
    assert results < one < other


def test_estimates_of_a_plan_give_the_same_as_the_formulas() -> None:
    streams = {name: replace(s, rate=100 * s.rate) for name, s in zip("abcd", STREAMS, strict=True)}
    facts = {FactName("rate", name): Fact(s.rate, 1) for name, s in streams.items()}
    facts |= {FactName("distinct", f"{name}.k"): Fact(s.values, 1) for name, s in streams.items()}
    windows = tuple(
        Window(
            StreamScan(name, name, Schema.of([(f"{name}.k", BIGINT)])), RangeWindow(round(s.seconds * 1e6))
        )
        for name, s in streams.items()
    )
    join = MultiJoin(windows, tuple((f"{name}.k",) for name in streams))
    rates = [s.rate for s in streams.values()]

    def held(inputs: int) -> float:
        return joined_size([s for number, s in enumerate(streams.values()) if inputs >> number & 1])

    found = pipelined_visits(join, rates, Estimates(Statistics(facts)))
    assert abs(found / visits_in_order(range(4), rates, held) - 1) < 0.02
