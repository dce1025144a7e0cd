"""The experiments of the paper on static optimization (Ayad and Naughton, SIGMOD 2004, figures 6 to 10).

    python -m benchmarks.shedding [--only paper|drawn|charts] [--queries 1000] [--range-queries 50]

All of it is the cost model, as in the paper: no tuple is processed. Figure 6 is also drawn for RANGE windows
that hold as many tuples until something is dropped. The figures of docs/shedding.md are then written by
`python -m benchmarks.shedding_report`.
"""

from __future__ import annotations

import os

# The programs are small: threads of the linear algebra only cost time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from benchmarks import charts
from benchmarks.paper_joins import drawn_joins, example_plans, random_joins
from benchmarks.result_files import load, save
from panes.optimizer.shedding.choose_sheddable_plan import SheddingPlan, choose_sheddable_plan
from panes.optimizer.shedding.grow_sheddable_plan import grow_sheddable_plan
from panes.optimizer.shedding.sheddable_plans import SheddablePlan, sheddable_plans
from panes.optimizer.shedding.windowed_join import WindowedJoin

NAME = "shedding"
DRAWN = "shedding-drawn"
"""The results of joins of which windows and selectivities are drawn, too."""
LEVELS = (100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 1)
"""Percent of the capacity at which the cheapest plan just fits."""
FEWER_LEVELS = (60, 50, 30, 10, 1)
"""With RANGE windows each plan takes a convex program, so there are fewer of them."""
WINDOWS = {"ROWS": False, "RANGE": True}
TIMES = (0.5, *(1 + step / 20 for step in range(100)), *(6 + step / 4 for step in range(377)))
"""Milliseconds that a visit takes, in figure 6."""
SHOWN_TIMES = (2.0, 2.5, 25 / 7, 1000 / 235, 5.0, 1000 / 70, 1000 / 60, 50.0, 100.0)
"""Those of the table: where shedding begins, where plans change places, and where the paper looks."""
SAME = 1e-6
"""Rates that differ by less, as a share, are the same."""


@dataclass(frozen=True)
class Level:
    """What random queries gain by a plan other than the cheapest, at one capacity, as shares."""

    windows: str
    products: bool
    queries: int
    percent: int
    need: float
    """Queries for which the cheapest plan is not the best one to shed from."""
    gain: float
    """Mean over all queries: results of the best plan against those of the cheapest, less 1."""
    gain_of_needy: float
    largest_gain: float
    error: float | None = None
    """Mean share of the results that the dynamic program loses against the best plan."""
    largest_error: float | None = None


def example(times: Sequence[float]) -> list[dict[str, float | str]]:
    """Results per second of the plans of Example 1, by the time that a visit takes."""
    return [
        {"windows": windows, "plan": letter, "ms": ms, "rate": shed(plan, 1000 / ms).rate}
        for windows, is_range in WINDOWS.items()
        for letter, plan in example_plans(is_range).items()
        for ms in times
    ]


def shed(plan: SheddablePlan, capacity: float) -> SheddingPlan:
    return SheddingPlan(plan, plan.shed(capacity))


def random_queries(
    joins: Iterable[WindowedJoin],
    windows: str,
    levels: Sequence[int],
    products: bool = True,
    with_growth: bool = False,
) -> list[Level]:
    """The levels for some joins: their plans, the best against the cheapest, and the dynamic program if wanted."""
    gains: dict[int, list[float]] = {percent: [] for percent in levels}
    errors: dict[int, list[float]] = {percent: [] for percent in levels}
    for join in joins:
        plans = sheddable_plans(join, products)
        cheapest = min(plans, key=lambda plan: plan.cost.at({}))
        saturation = cheapest.cost.at({})
        for percent in levels:
            capacity = saturation * percent / 100
            best = choose_sheddable_plan(plans, capacity).rate
            gains[percent].append(best / shed(cheapest, capacity).rate - 1)
            if with_growth:
                errors[percent].append(1 - grow_sheddable_plan(join, capacity).rate / best)
    return [
        summary(windows, products, percent, gains[percent], errors[percent] if with_growth else None)
        for percent in levels
    ]


def summary(
    windows: str, products: bool, percent: int, gains: Sequence[float], errors: Sequence[float] | None
) -> Level:
    needy = [gain for gain in gains if gain > SAME]
    return Level(
        windows,
        products,
        len(gains),
        percent,
        len(needy) / len(gains),
        fmean(gains),
        fmean(needy) if needy else 0.0,
        max(gains),
        None if errors is None else max(0.0, fmean(errors)),
        None if errors is None else max(0.0, *errors),
    )


def paper(queries: int, range_queries: int) -> list[Level]:
    """The random queries of the paper; with RANGE windows fewer of them."""
    rows = list(random_joins(queries))
    return [
        *random_queries(rows, "ROWS", LEVELS, with_growth=True),
        *random_queries(rows, "ROWS", LEVELS, products=False),
        *random_queries(random_joins(range_queries, is_range=True), "RANGE", FEWER_LEVELS),
    ]


def drawn(queries: int) -> list[Level]:
    """Joins of which all is drawn, with either kind of windows."""
    return [
        level
        for windows, is_range in WINDOWS.items()
        for level in random_queries(drawn_joins(queries, is_range), windows, FEWER_LEVELS)
    ]


def draw() -> None:
    """Figure 6 in three panels, figures 7 to 10, and the drawn joins, from the result files."""
    points = example(TIMES)

    def curves(windows: str, most: float) -> dict[str, list[tuple[float, float]]]:
        found: dict[str, list[tuple[float, float]]] = {}
        for point in points:
            if point["windows"] == windows and float(point["ms"]) <= most:
                place = float(point["ms"]), float(point["rate"])
                found.setdefault(f"plan ({point['plan']})", []).append(place)
        return found

    def panel(title: str, windows: str, most: float, is_log: bool = False) -> charts.Panel:
        return charts.Panel(title, curves(windows, most), "ms per visit", "results/s", False, is_log)

    charts.lines(
        "shedding-example",
        [
            panel("figure 6, ROWS windows", "ROWS", 100),
            panel("the first 6 ms", "ROWS", 6),
            panel("the same, RANGE windows (logarithmic)", "RANGE", 100, is_log=True),
        ],
    )
    queries, all_drawn = load(NAME), load(DRAWN)
    if queries is None or all_drawn is None:
        return
    rows = {
        "ROWS": [level for level in queries["results"] if level["windows"] == "ROWS" and level["products"]]
    }
    joined = {"ROWS, no products": [level for level in queries["results"] if not level["products"]]}
    ranges = {"RANGE": [level for level in queries["results"] if level["windows"] == "RANGE"]}
    both = {kind: [level for level in all_drawn["results"] if level["windows"] == kind] for kind in WINDOWS}
    need, gain, percent = {"need": ""}, {"gain": ""}, "%"
    spread = {"gain_of_needy": ", mean", "largest_gain": ", largest"}
    errors = {"error": ", mean", "largest_error": ", largest"}
    charts.lines(
        "shedding-queries",
        [
            _panel("figure 7: need another plan", rows | joined | ranges, need, "% of queries"),
            _panel("figure 8: mean gain", rows | joined, gain, percent, is_log=True),
            _panel("figure 9: gain where there is one", rows, spread, percent, is_log=True),
            _panel("figure 10: error of the dynamic program", rows, errors, percent),
            _panel("all drawn: need another plan", both, need, "% of queries"),
            _panel("all drawn: mean gain", both, gain, percent, is_log=True),
        ],
    )


def _panel(
    title: str,
    levels: Mapping[str, Sequence[Mapping[str, Any]]],
    figures: Mapping[str, str],
    y: str,
    is_log: bool = False,
) -> charts.Panel:
    """A line for each series and figure; a logarithmic scale has no place for zeros."""
    lines = {
        name + more: [
            (level["percent"], 100 * level[figure]) for level in found if level[figure] > 0 or not is_log
        ]
        for name, found in levels.items()
        for figure, more in figures.items()
    }
    return charts.Panel(title, lines, "capacity, % of saturation", y, False, is_log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=("paper", "drawn", "charts"), help="one part")
    parser.add_argument("--queries", type=int, default=1000, help="of the paper, with ROWS windows")
    parser.add_argument("--range-queries", type=int, default=50, help="of the paper, with RANGE windows")
    parser.add_argument("--drawn-queries", type=int, default=300, help="of which all is drawn")
    arguments = parser.parse_args()
    if arguments.only in (None, "paper"):
        levels = paper(arguments.queries, arguments.range_queries)
        save(NAME, [asdict(level) for level in levels], example=example(SHOWN_TIMES))
    if arguments.only in (None, "drawn"):
        save(DRAWN, [asdict(level) for level in drawn(arguments.drawn_queries)])
    draw()


if __name__ == "__main__":
    main()
