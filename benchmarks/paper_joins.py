"""The joins of the paper on static optimization (Ayad and Naughton, SIGMOD 2004), over ROWS or RANGE windows."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

from panes.optimizer.shedding.sheddable_plans import SheddablePlan
from panes.optimizer.shedding.windowed_join import WindowedJoin, WindowedStream

RATES = {"A": 10.0, "B": 70.0, "C": 20.0}
"""Example 1: all three windows hold ten tuples."""
EXAMPLE_SELECTIVITIES = {frozenset("AB"): 0.5, frozenset("BC"): 0.2}
ORDERS = {"a": "ABC", "b": "BCA", "c": "ACB"}
"""The plans of figure 3."""

WINDOWS = {"A": 100.0, "B": 300.0, "C": 500.0, "D": 400.0, "E": 1000.0}
"""Table 2."""
SELECTIVITIES = {frozenset("AB"): 0.2, frozenset("AC"): 0.5, frozenset("BD"): 0.1, frozenset("DE"): 0.001}
SLOWEST, FASTEST = 10.0, 1000.0
FEWEST, MOST = 1.0, 1000.0
"""Tuples per second and tuples in a window, of drawn joins."""
LEAST_SELECTIVE, MOST_SELECTIVE = 1.0, 0.001


def joined(
    rates: Mapping[str, float],
    windows: Mapping[str, float],
    selectivities: Mapping[frozenset[str], float],
    is_range: bool,
) -> WindowedJoin:
    """A join whose windows hold the same number of tuples, in ROWS or in RANGE."""
    streams = (
        WindowedStream(box, rate, seconds=windows[box] / rate)
        if is_range
        else WindowedStream(box, rate, rows=windows[box])
        for box, rate in rates.items()
    )
    return WindowedJoin(tuple(streams), dict(selectivities))


def example_plans(is_range: bool = False) -> dict[str, SheddablePlan]:
    """The plans of Example 1 by their letters."""
    join = joined(RATES, dict.fromkeys(RATES, 10.0), EXAMPLE_SELECTIVITIES, is_range)
    return {letter: SheddablePlan(join, tuple(order)) for letter, order in ORDERS.items()}


def random_joins(count: int, seed: int = 2004, is_range: bool = False) -> Iterator[WindowedJoin]:
    """Joins of five streams with rates that are drawn evenly, the rest from table 2."""
    drawn = random.Random(seed)
    for _ in range(count):
        rates = {box: drawn.uniform(SLOWEST, FASTEST) for box in WINDOWS}
        yield joined(rates, WINDOWS, SELECTIVITIES, is_range)


def drawn_joins(count: int, is_range: bool, seed: int = 2004) -> Iterator[WindowedJoin]:
    """Chains of three streams of which everything is drawn, evenly by order of magnitude.

    In the paper's random joins only rates are drawn, so one plan tends to be the cheapest of all of them.
    """
    drawn = random.Random(seed)

    def between(least: float, most: float) -> float:
        return least * (most / least) ** drawn.random()

    for _ in range(count):
        rates = {box: between(FEWEST, MOST) for box in "ABC"}
        windows = {box: between(FEWEST, MOST) for box in "ABC"}
        pairs = {frozenset(pair): between(MOST_SELECTIVE, LEAST_SELECTIVE) for pair in ("AB", "BC")}
        yield joined(rates, windows, pairs, is_range)
