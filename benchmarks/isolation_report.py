"""What `benchmarks.isolation` measured, as charts, and as tables beside the findings of the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks import charts
from benchmarks.expiration_report import curves_of
from benchmarks.markdown import Content, measured_on, short, table


class Figure(NamedTuple):
    title: str
    y: str
    found: str


FIGURES = {
    "7.8": Figure(
        "executions that are aborted",
        "share",
        "algorithm 7 aborts more, the longer the window and the shorter t: over half at t = 1, n = 100; "
        "algorithm 8 none",
    ),
    "7.9": Figure(
        "staleness", "periods of t = 1", "TTU and LWS have less than Serial, and Serial less than WS"
    ),
    "7.10": Figure(
        "from one execution to the next",
        "periods of t = 1",
        "Serial least, WS and TTU close behind; LWS worst",
    ),
    "7.11": Figure(
        "executions per period of t = 1",
        "executions",
        "TTU at most 4 %, mostly less than 2 %, below Serial; LWS far below, because of aborts",
    ),
    "7.12": Figure(
        "response of one-time queries", "periods of t = 1", "TTU and WS best, LWS longer, Serial worst"
    ),
    "7.13": Figure(
        "staleness of one-time queries", "periods of t = 1", "TTU least, then LWS; WS and Serial most"
    ),
    "7.14": Figure("staleness of periodic queries beside them", "periods of t = 1", "TTU least"),
}
"""By the number in the thesis. Lines are schedulers, at t = 1 or t = 5, by the number of sub-windows n."""
CHARTS = {"isolation": tuple(FIGURES)}


def ends(curves: Mapping[str, Mapping[float, float]]) -> str:
    """What each line gives with the fewest and with the most sub-windows.

    >>> ends({"LWS, t = 1": {10: 0.1, 100: 0.6}, "TTU, t = 1": {10: 0.0, 100: 0.0}})
    'LWS, t = 1: 0.1 to 0.6; TTU, t = 1: 0'
    """
    found = []
    for name, points in curves.items():
        texts = dict.fromkeys((short(points[min(points)]), short(points[max(points)])))
        found.append(f"{name}: {' to '.join(texts)}")
    return "; ".join(found)


def against(curves: Mapping[str, Mapping[float, float]], one: str = "TTU", other: str = "Serial") -> str:
    """By how much one scheduler is above or below another, on average and at worst.

    >>> against({"Serial, t = 1": {10: 6.0, 100: 0.5}, "TTU, t = 1": {10: 5.94, 100: 0.5}})
    'TTU against Serial: -0.5 % on average, -1.0 % at worst'
    """
    shares = [
        100 * (curves[name.replace(other, one)][x] / y - 1)
        for name, points in curves.items()
        if name.startswith(f"{other},")
        for x, y in points.items()
    ]
    return (
        f"{one} against {other}: {sum(shares) / len(shares):+.1f} % on average, {min(shares):+.1f} % at worst"
    )


def isolation_tables(content: Content) -> str:
    """What the thesis found beside what is found here, the figures, and the readers of a live run."""
    found = {name: curves_of(content["results"], name) for name in FIGURES}
    beside = [
        [
            name,
            FIGURES[name].title,
            FIGURES[name].found,
            f"{against(curves)}; {ends(curves)}" if name == "7.11" else ends(curves),
        ]
        for name, curves in found.items()
        if curves
    ]
    parts = [measured_on(content), table(["figure", "", "the thesis", "here"], beside, left=4)]
    parts.append(f"![figures {', '.join(FIGURES)}](charts/isolation.svg)")
    live = content.get("live")
    if live:
        rows = [[str(name), short(value)] for name, value in live.items()]
        parts.append(table(["readers at `latest` beside a live run", ""], rows))
    return "\n\n".join(parts)


def draw(results: Sequence[Mapping[str, object]]) -> None:
    """The figures as charts."""
    for chart, names in CHARTS.items():
        panels = [panel for name in names for panel in _panels(name, curves_of(results, name))]
        charts.lines(chart, panels)


def _panels(name: str, curves: Mapping[str, Mapping[float, float]]) -> Iterator[charts.Panel]:
    """A panel for each length of a sub-window, whose lines are the schedulers."""
    for length in dict.fromkeys(line.partition(", ")[2] for line in curves):
        lines = {
            line.partition(", ")[0]: sorted(points.items())
            for line, points in curves.items()
            if line.endswith(length)
        }
        title = f"{name}: {FIGURES[name].title}, {length}"
        yield charts.Panel(title, lines, "sub-windows n", FIGURES[name].y, is_log_x=False, is_log_y=False)
