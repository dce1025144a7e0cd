"""Writes the figures of docs/shedding.md from the result files of `benchmarks.shedding` and `benchmarks.overload`:
`python -m benchmarks.shedding_report`."""

from __future__ import annotations

from benchmarks import overload, shedding
from benchmarks.markdown import Content, measured_on, table
from benchmarks.report import PAGE, between
from benchmarks.result_files import load

SHEDDING_PAGE = PAGE.with_name("shedding.md")


def percent(share: float, digits: int = 0) -> str:
    """
    >>> percent(0.389), percent(57.3, 1), percent(1.7e-8, 2), percent(0.0, 2)
    ('39 %', '5,730.0 %', 'below 0.01 %', '0.00 %')
    """
    if 0 < share < 0.5 * 10 ** -(digits + 2):
        return f"below {10**-digits:.{digits}f} %"
    return f"{100 * share:,.{digits}f} %"


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
    ]
    rows = []
    for level in shedding.LEVELS:
        over_rows, over_range = found["ROWS", True, level], found.get(("RANGE", True, level))
        rows.append(
            [
                f"{level} %",
                percent(over_rows["need"], 1),
                percent(over_rows["gain"], 1),
                percent(over_rows["gain_of_needy"], 1),
                percent(over_rows["largest_gain"]),
                percent(over_rows["error"], 2),
                percent(over_rows["largest_error"], 2),
                percent(found["ROWS", False, level]["need"], 1),
                "" if over_range is None else percent(over_range["need"], 1),
            ]
        )
    counts = {r["windows"]: r["queries"] for r in content["results"]}
    note = f"{counts['ROWS']:,} queries with ROWS windows, {counts['RANGE']:,} with RANGE windows."
    return f"{note} {measured_on(content)}\n\n{table(header, rows, left=0)}"


def drawn_joins(content: Content) -> str:
    """The same for joins of which windows and selectivities are drawn, too, with either kind of windows."""
    found = {(r["windows"], r["percent"]): r for r in content["results"]}
    header = ["capacity"]
    for windows in shedding.WINDOWS:
        header += [f"need another plan, {windows}", f"mean gain, {windows}", f"largest, {windows}"]
    rows = []
    for level in shedding.FEWER_LEVELS:
        row = [f"{level} %"]
        for windows in shedding.WINDOWS:
            one = found[windows, level]
            row += [percent(one["need"], 1), percent(one["gain"], 1), percent(one["largest_gain"])]
        rows.append(row)
    count = content["results"][0]["queries"]
    return (
        f"{count:,} joins for each kind of windows. {measured_on(content)}\n\n{table(header, rows, left=0)}"
    )


def papers_words(content: Content) -> str:
    """What the paper says of its figures, beside what comes out here."""
    levels = {r["percent"]: r for r in content["results"] if r["windows"] == "ROWS" and r["products"]}
    others = [level["error"] for capacity, level in levels.items() if capacity != 1]
    majority = max(capacity for capacity, level in levels.items() if level["need"] > 0.5)
    rows = [
        [
            "6",
            "shedding begins with plan (a), then (c), then (b) at 3.5 ms; (c) is best from somewhere between "
            "4 and 4.5 ms; more than twice as good at about 14 ms; (b) is worst beyond 17 ms; all are equal "
            "at 100 ms",
            "the same: 2.0, 2.5 and 3.571 ms, 4.2553 ms, 2.33 times at 14.286 ms, 16.67 ms, 100/s at 100 ms",
        ],
        [
            "7",
            "more likely than not at about 60 %, almost certain from 30 % on",
            f"{percent(levels[60]['need'])} at 60 %, more likely than not at {majority} %, "
            f"{percent(levels[30]['need'])} at 30 %",
        ],
        [
            "8",
            "about 4 % at 60 %, almost 8 times at 1 %",
            f"{percent(levels[60]['gain'], 1)} at 60 %, {1 + levels[1]['gain']:.1f} times at 1 %",
        ],
        [
            "9",
            "the mean over those that gain differs near saturation only; the largest gain and the mean "
            "come closer as resources fall",
            f"{percent(levels[80]['gain_of_needy'])} against {percent(levels[80]['gain'], 1)} at 80 %, "
            f"{percent(levels[30]['gain_of_needy'])} against {percent(levels[30]['gain'])} at 30 %; "
            "the largest is "
            f"{levels[80]['largest_gain'] / levels[80]['gain']:,.0f} times the mean of all at 80 %, "
            f"{levels[1]['largest_gain'] / levels[1]['gain']:.0f} times at 1 %",
        ],
        [
            "10",
            "a mean error of 28 % at 1 %, never more than 0.2 % elsewhere",
            f"{percent(levels[1]['error'], 2)} at 1 %, at most {percent(max(others), 2)} elsewhere: "
            "the 28 % do not come out",
        ],
    ]
    return table(["figure", "the paper", "here"], rows, left=3)


def live(content: Content) -> str:
    """How far answers were behind at three times the capacity, and how good they were."""
    found, queries = content["summary"], overload.QUERIES
    inside, width = found["inside_by_query"], found["width_by_query"]
    rows = [
        ["rows per second that just fit", f"2 × {content['rate']:,.0f}"],
        ["seconds at three times of that", f"{content['seconds']:,.0f}"],
        ["answers behind, largest", f"{found['largest_lag_s']:.2f} s"],
        ["answers behind, median", f"{found['median_lag_s']:.2f} s"],
        [
            f"answers behind, largest in the first {overload.REACTION_S:.0f} s",
            f"{found['largest_lag_at_first_s']:.2f} s",
        ],
        ["times that boxes were changed", f"{found['changes_of_boxes']}"],
        ["values whose interval holds the true one", percent(found["inside"], 1)],
        *([f"values of `{name}`", percent(inside[name], 1)] for name in queries),
        *([f"half width of intervals, `{name}`", percent(width[name], 1)] for name in queries),
        ["memory of all processes, first half", f"{found['megabytes_first_half']:,} MB"],
        ["memory of all processes, second half", f"{found['megabytes_second_half']:,} MB"],
        [
            "all answers exact again after",
            f"{found['exact_again_after_s']:.0f} s" if found["exact_at_the_end"] else "not by the end",
        ],
    ]
    chart = "![lag, shares, intervals and memory over time](charts/overload.svg)"
    return f"{measured_on(content)}\n\n{table(['', ''], rows, left=1)}\n\n{chart}"


def shedding_written(page: str) -> str:
    """The page of load shedding with the figures of its result files, as far as they are there."""
    content, drawn = load(shedding.NAME), load(shedding.DRAWN)
    if content is not None:
        for mark, write in (("example", example), ("words", papers_words), ("queries", random_queries)):
            page = between(page, mark, write(content))
    seen = load(overload.NAME)
    if seen is not None:
        page = between(page, "overload", live(seen))
    if drawn is not None:
        page = between(page, "drawn", drawn_joins(drawn))
    return page


def main() -> None:
    SHEDDING_PAGE.write_text(shedding_written(SHEDDING_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Wrote {SHEDDING_PAGE}")


if __name__ == "__main__":
    main()
