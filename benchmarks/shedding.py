"""The experiments of the paper on static optimization (Ayad and Naughton, SIGMOD 2004, figures 6 to 10).

    python -m benchmarks.shedding [--queries 1000] [--range-queries 50] [--dry]

All of it is the cost model, as in the paper: no tuple is processed. Figure 6 is also drawn for RANGE windows
that hold as many tuples until something is dropped. The figures of docs/shedding.md are then written by
`python -m benchmarks.shedding_report`.
"""

from __future__ import annotations

import os

# The programs are small: threads of the linear algebra only cost time.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from benchmarks import charts
from benchmarks.paper_joins import example_plans, random_joins
from benchmarks.result_files import save
from panes.optimizer.shedding.choose_sheddable_plan import SheddingPlan, choose_sheddable_plan
from panes.optimizer.shedding.grow_sheddable_plan import grow_sheddable_plan
from panes.optimizer.shedding.sheddable_plans import SheddablePlan, sheddable_plans
from panes.optimizer.shedding.windowed_join import WindowedJoin

NAME = "shedding"
LEVELS = (100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 1)
"""Percent of the capacity at which the cheapest plan just fits."""
RANGE_LEVELS = (60, 50, 30, 10, 1)
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
    joins: Sequence[WindowedJoin], windows: str, products: bool, with_growth: bool
) -> list[Level]:
    """The levels for some joins: their plans, the best against the cheapest, and the dynamic program if wanted."""
    levels = LEVELS if windows == "ROWS" else RANGE_LEVELS
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


def draw(points: Sequence[dict[str, float | str]], levels: Sequence[Level]) -> None:
    """Figure 6 in three panels, and figures 7 to 10."""
    per_visit, rate = "ms per visit", "results/s"

    def curves(windows: str, most: float) -> dict[str, list[tuple[float, float]]]:
        found: dict[str, list[tuple[float, float]]] = {}
        for point in points:
            if point["windows"] == windows and float(point["ms"]) <= most:
                found.setdefault(f"plan ({point['plan']})", []).append(
                    (float(point["ms"]), float(point["rate"]))
                )
        return found

    charts.lines(
        "shedding-example",
        [
            charts.Panel("figure 6, ROWS windows", curves("ROWS", 100), per_visit, rate, False, False),
            charts.Panel("the first 6 ms", curves("ROWS", 6), per_visit, rate, False, False),
            charts.Panel("the same, RANGE windows", curves("RANGE", 100), per_visit, rate, False, False),
        ],
    )
    rows = [level for level in levels if level.windows == "ROWS" and level.products]
    joined = [level for level in levels if level.windows == "ROWS" and not level.products]
    ranges = [level for level in levels if level.windows == "RANGE" and level.products]
    capacity = "capacity, % of saturation"

    def line(found: Sequence[Level], name: str) -> list[tuple[float, float]]:
        return [(level.percent, 100 * getattr(level, name)) for level in found]

    charts.lines(
        "shedding-queries",
        [
            charts.Panel(
                "figure 7: need another plan",
                {
                    "ROWS": line(rows, "need"),
                    "ROWS, no products": line(joined, "need"),
                    "RANGE": line(ranges, "need"),
                },
                capacity,
                "% of queries",
                False,
                False,
            ),
            charts.Panel(
                "figure 8: mean gain",
                {
                    "ROWS": line(rows, "gain"),
                    "ROWS, no products": line(joined, "gain"),
                    "RANGE": line(ranges, "gain"),
                },
                capacity,
                "%",
                False,
                False,
            ),
            charts.Panel(
                "figure 9: gain where there is one",
                {"mean, ROWS": line(rows, "gain_of_needy"), "largest, ROWS": line(rows, "largest_gain")},
                capacity,
                "%",
                False,
                False,
            ),
            charts.Panel(
                "figure 10: error of the dynamic program",
                {"mean, ROWS": line(rows, "error"), "largest, ROWS": line(rows, "largest_error")},
                capacity,
                "%",
                False,
                False,
            ),
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--queries", type=int, default=1000, help="with ROWS windows")
    parser.add_argument("--range-queries", type=int, default=50, help="with RANGE windows")
    parser.add_argument("--dry", action="store_true", help="only print; write no results and no charts")
    arguments = parser.parse_args()
    rows, ranges = (
        list(random_joins(arguments.queries)),
        list(random_joins(arguments.range_queries, is_range=True)),
    )
    levels: list[Level] = []
    for joins, windows, products, with_growth in (
        (rows, "ROWS", True, True),
        (rows, "ROWS", False, False),
        (ranges, "RANGE", True, False),
    ):
        levels += random_queries(joins, windows, products, with_growth)
        for level in levels[-len(LEVELS if windows == "ROWS" else RANGE_LEVELS) :]:
            print(level, flush=True)
    if not arguments.dry:
        save(NAME, [asdict(level) for level in levels], example=example(SHOWN_TIMES))
        draw(example(TIMES), levels)


if __name__ == "__main__":
    main()
