"""Writes the figures of docs/shedding.md from the result file of `benchmarks.shedding`:
`python -m benchmarks.shedding_report`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import shedding
from benchmarks.report import PAGE, between, measured_on, table
from benchmarks.result_files import load

SHEDDING_PAGE = PAGE.with_name("shedding.md")
Content = Mapping[str, Any]


def example(content: Content) -> str:
    """Results per second of the plans of Example 1; the best plan of each kind of windows is marked."""
    rates = {(p["windows"], p["plan"], p["ms"]): p["rate"] for p in content["example"]}
    columns = list(dict.fromkeys((windows, plan) for windows, plan, _ in rates))
    rows = []
    for ms in dict.fromkeys(ms for _, _, ms in rates):
        best = {
            windows: max(rates[windows, plan, ms] for kind, plan in columns if kind == windows)
            for windows in shedding.WINDOWS
        }
        cells = []
        for windows, plan in columns:
            rate = rates[windows, plan, ms]
            is_best = rate > best[windows] * (1 - shedding.SAME)
            cells.append(f"**{rate:,.1f}**" if is_best else f"{rate:,.1f}")
        rows.append([f"{ms:.5g}", *cells])
    header = ["ms per visit", *(f"{windows} ({plan})" for windows, plan in columns)]
    return table(header, rows, left=0)


def random_queries(content: Content) -> str:
    """Who needs another plan, what is gained, and what the dynamic program loses, by capacity."""
    found = {(r["windows"], r["products"], r["percent"]): r for r in content["results"]}
    rows = []
    for percent in shedding.LEVELS:
        rows_level = found["ROWS", True, percent]
        range_level = found.get(("RANGE", True, percent))
        rows.append(
            [
                f"{percent} %",
                f"{rows_level['need']:.1%}",
                f"{rows_level['gain']:.1%}",
                f"{rows_level['gain_of_needy']:.1%}",
                f"{rows_level['largest_gain']:,.0%}",
                f"{rows_level['error']:.3%}",
                f"{rows_level['largest_error']:.2%}",
                f"{found['ROWS', False, percent]['need']:.1%}",
                "" if range_level is None else f"{range_level['need']:.1%}",
                "" if range_level is None else f"{range_level['gain']:.1%}",
            ]
        )
    header = [
        "capacity",
        "need another plan",
        "mean gain",
        "where there is one",
        "largest gain",
        "mean error of the DP",
        "largest",
        "need, no products",
        "need, RANGE",
        "mean gain, RANGE",
    ]
    counts = {r["windows"]: r["queries"] for r in content["results"]}
    note = f"{counts['ROWS']:,} queries with ROWS windows, {counts['RANGE']:,} with RANGE windows. "
    return f"{note}{measured_on(content)}\n\n{table(header, rows, left=0)}"


def papers_words(content: Content) -> str:
    """What the paper says of its figures, beside what comes out here."""
    levels = {r["percent"]: r for r in content["results"] if r["windows"] == "ROWS" and r["products"]}
    others = [level["error"] for percent, level in levels.items() if percent != 1]
    majority = max(percent for percent, level in levels.items() if level["need"] > 0.5)
    rows = [
        [
            "6",
            "shedding begins with plan (a), then (c), then (b) at 3.5 ms; (c) is best from somewhere between "
            "4 and 4.5 ms; more than twice as good at about 14 ms; (b) is worst beyond 17 ms; all are equal at 100 ms",
            "the same: 2.0, 2.5 and 3.571 ms, 4.2553 ms, 2.33 times at 14.286 ms, 16.67 ms, 100/s at 100 ms",
        ],
        [
            "7",
            "more likely than not at about 60 %, almost certain from 30 % on",
            f"{levels[60]['need']:.0%} at 60 %, more likely than not at {majority} %, "
            f"{levels[30]['need']:.0%} at 30 %",
        ],
        [
            "8",
            "about 4 % at 60 %, almost 8 times at 1 %",
            f"{levels[60]['gain']:.1%} at 60 %, {1 + levels[1]['gain']:.1f} times at 1 %",
        ],
        [
            "9",
            "the mean over those that gain differs near saturation only; the largest gain and the mean "
            "come closer as resources fall",
            f"{levels[80]['gain_of_needy']:.0%} against {levels[80]['gain']:.1%} at 80 %, "
            f"{levels[30]['gain_of_needy']:.0%} against {levels[30]['gain']:.0%} at 30 %; the largest is "
            f"{levels[80]['largest_gain'] / levels[80]['gain']:,.0f} times the mean of all at 80 %, "
            f"{levels[1]['largest_gain'] / levels[1]['gain']:.0f} times at 1 %",
        ],
        [
            "10",
            "a mean error of 28 % at 1 %, never more than 0.2 % elsewhere",
            f"{levels[1]['error']:.4%} at 1 %, at most {max(others):.2%} elsewhere: the 28 % do not come out",
        ],
    ]
    return table(["figure", "the paper", "here"], rows, left=3)


def shedding_written(page: str) -> str:
    """The page of load shedding with the figures of its result file, if it is there."""
    content = load(shedding.NAME)
    if content is None:
        return page
    for mark, write in (("example", example), ("words", papers_words), ("queries", random_queries)):
        page = between(page, mark, write(content))
    return page


def main() -> None:
    SHEDDING_PAGE.write_text(shedding_written(SHEDDING_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Wrote {SHEDDING_PAGE}")


if __name__ == "__main__":
    main()
