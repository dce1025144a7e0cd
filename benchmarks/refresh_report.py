"""Writes the figures of docs/refresh.md from the result files of `benchmarks.refresh`:
`python -m benchmarks.refresh_report`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from benchmarks import epoch_refreshes, live_refresh, refresh
from benchmarks.markdown import Content, measured_on, short, table
from benchmarks.report import PAGE, between
from benchmarks.result_files import load

REFRESH_PAGE = PAGE.with_name("refresh.md")

Points = Mapping[tuple[int, int, str], Content]
"""By rate, number of queries and schedule."""


def ratios(points: Points, rate: int, one: str, other: str, figure: str) -> str:
    """How many times as much one schedule has as another, by the number of queries."""
    found = []
    for count in refresh.QUERIES:
        base = points[rate, count, other][figure]
        found.append(f"{short(points[rate, count, one][figure] / base)}×" if base else "none")
    return ", ".join(found)


FINDINGS: Mapping[str, tuple[str, Callable[[Points], str]]] = {
    "8.7": (
        "hybrid doubles the throughput of conservative",
        lambda points: ratios(points, 1500, "hybrid", "conservative", "throughput"),
    ),
    "8.8": (
        "hybrid has a tenth of the latency of conservative",
        lambda points: ratios(points, 1500, "hybrid", "conservative", "latency"),
    ),
    "8.8, aggressive": (
        "aggressive has good throughput, but poor latency; here beside hybrid_late_pending",
        lambda points: ratios(points, 1500, "aggressive", "hybrid_late_pending", "latency"),
    ),
    "8.9": (
        "late-pending more than doubles the throughput of hybrid in overload",
        lambda points: ratios(points, 3000, "hybrid_late_pending", "hybrid", "throughput"),
    ),
    "8.9, aggressive": (
        "the throughput of aggressive drops; here beside hybrid_late_pending",
        lambda points: ratios(points, 3000, "aggressive", "hybrid_late_pending", "throughput"),
    ),
    "8.10": (
        "no sharing is extremely late, late-pending is the clear winner; here one beside the other",
        lambda points: ratios(points, 3000, "hybrid_late_pending", "no sharing", "latency"),
    ),
}
"""By figure, what the thesis found, and the same here."""


def virtual(content: Content) -> str:
    """What the thesis found beside what is found here, and all points."""
    points = {(p["rate"], p["queries"], p["schedule"]): p for p in content["results"]}
    counts = ", ".join(f"{count}" for count in refresh.QUERIES)
    beside = [[figure, found, told(points)] for figure, (found, told) in FINDINGS.items()]
    parts = [measured_on(content), table(["figure", "the thesis", f"here, {counts} queries"], beside, left=3)]
    parts.append("![throughput and latency by the number of queries](charts/refresh.svg)")
    for figure, title in (("throughput", "queries refreshed per second"), ("latency", "updates late")):
        for rate in refresh.RATES:
            rows = [
                [name, *(short(points[rate, count, name][figure]) for count in refresh.QUERIES)]
                for name in refresh.SCHEDULES
            ]
            header = [
                f"{title}, {rate:,} tuples/s",
                *(f"{count} queries" for count in refresh.QUERIES),
            ]
            parts.append(table(header, rows))
    return "\n\n".join(parts)


def by_answer_cost(content: Content) -> str:
    """Throughput and latency by what an answer costs beside the pass over the panes."""
    points = {(p["panes"], p["queries"], p["schedule"]): p for p in content["answers"]}
    places = sorted({(panes, count) for panes, count, _ in points})

    def cell(point: Content) -> str:
        return f"{short(point['throughput'])}; {short(point['latency'])}"

    rows = [
        [name, *(cell(points[panes, count, name]) for panes, count in places)] for name in refresh.COMPARED
    ]
    heads = [f"{panes} panes, {count} queries" for panes, count in places]
    return table(["an answer costs as much as", *heads], rows)


def overload(content: Content) -> str:
    """How many queries were refreshed per second in overload, each by itself and together."""
    alone, together = content["results"]
    rows = [
        [
            run["schedule"],
            f"{run['queries']:,}",
            short(run["asked_per_s"]),
            short(run["refreshed_per_s"]),
            str(run["late_by"]),
            str(run["latest"]),
            str(run["least"]),
            str(run["longest_wait"]),
            str(run["epoch_s"]),
        ]
        for run in (alone, together)
    ]
    header = [
        f"{alone['seconds']:g} s each",
        "queries",
        "asked per second",
        "refreshed per second",
        "updates late on average",
        "at most",
        "least refreshes of a query",
        "longest wait, updates",
        "median epoch, s",
    ]
    ratio = together["refreshed_per_s"] / alone["refreshed_per_s"]
    missed = "" if ratio >= live_refresh.AIM else " ✗"
    times = alone["asked_per_s"] / alone["refreshed_per_s"]
    note = (
        f"The load is {times:.2f} times what is refreshed when each is refreshed by itself. Together {ratio:.2f} "
        f"times as many are refreshed{missed}; the aim is {live_refresh.AIM:g}."
    )
    return f"{measured_on(content)}\n\n{table(header, rows)}\n\n{note}"


def refresh_written(page: str) -> str:
    """The page with what the result files say."""
    simulated = load(refresh.NAME)
    if simulated is not None:
        page = between(page, "refresh", virtual(simulated))
        page = between(page, "answers", by_answer_cost(simulated))
    for mark, name in (("epochs", epoch_refreshes.NAME), ("live", live_refresh.NAME)):
        content = load(name)
        if content is not None:
            page = between(page, mark, overload(content))
    return page


if __name__ == "__main__":
    REFRESH_PAGE.write_text(refresh_written(REFRESH_PAGE.read_text(encoding="utf-8")), encoding="utf-8")
