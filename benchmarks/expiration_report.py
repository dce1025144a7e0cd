"""What `benchmarks.expiration` measured, as charts and as tables beside the words of the paper (Ghanem et al.,
2005)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks import charts
from benchmarks.markdown import Content, measured_on, rate, short, table

Curves = Mapping[str, Mapping[float, float]]
"""What each way gave, by what is on the axis."""

BASE = "negative"
"""The way with which the speed of others is compared: it is the one that the paper improves on."""


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its title, what is on its axes, what the paper found, and how it is told here."""

    title: str
    x: str
    y: str
    found: str
    told: Callable[[Curves], str]
    cell: Callable[[float], str] = short
    is_log: bool = False


def ends(curves: Curves) -> str:
    """What each way gives at both ends of the axis.

    >>> ends({"piggyback": {1: 0.31, 2: 0.2, 5: 0.1}, "negative": {1: 1.0, 5: 1.0}})
    'piggyback 0.31 to 0.1, negative 1'
    """
    found = []
    for way, points in curves.items():
        texts = [short(points[min(points)]), short(points[max(points)])]
        found.append(f"{way} {' to '.join(dict.fromkeys(texts))}")
    return ", ".join(found)


def times(curves: Curves) -> str:
    """How many times as much as with negative tuples each other way gives, at least and at most.

    >>> times({"piggyback": {1: 3.0, 2: 4.0}, "negative": {1: 2.0, 2: 2.0}})
    'piggyback 1.5 to 2 times as many as negative'
    """
    base = curves[BASE]
    found = []
    for way, points in curves.items():
        if way != BASE:
            ratios = [value / base[x] for x, value in points.items()]
            texts = dict.fromkeys((short(min(ratios)), short(max(ratios))))
            found.append(f"{way} {' to '.join(texts)}")
    return f"{', '.join(found)} times as many as {BASE}"


_PASS, _MET, _JOIN, _RATE = (
    "share that passes",
    "tuples that one meets",
    "share of pairs",
    "tuples/s of a stream",
)
_LATE = (
    "the input-triggered approach is the later, the fewer tuples pass; negative tuples depend on neither the "
    "share nor the places of these"
)
_TOGETHER = "the input-triggered approach is later than with scattered tuples; negative tuples are not"
_DOUBLED = (
    "as many as without negative tuples (input-triggered); twice as many when these need not be joined "
    "(messages); the same whatever one meets"
)
_FASTER = "negative < input-triggered < optimized under load, the same at 50/s"
_PER_SECOND = "tuples per CPU second"

FIGURES = {
    "7a": Figure(
        "tuples that pass, per second",
        "second",
        "tuples per second",
        "the two distributions of figures 7b and 7c: along the window, or together at one end of it",
        ends,
    ),
    "7b, scattered": Figure("mean delay, s", _PASS, "s", _LATE, ends, is_log=True),
    "7b, together": Figure("mean delay, s", _PASS, "s", _TOGETHER, ends, is_log=True),
    "7c, scattered": Figure("greatest delay, s", _PASS, "s", _LATE, ends, is_log=True),
    "7c, together": Figure("greatest delay, s", _PASS, "s", _TOGETHER, ends, is_log=True),
    "9a": Figure(
        "mean delay, s",
        _JOIN,
        "s",
        "negative tuples are the later, the more the join gives; piggybacking has the least delay everywhere",
        ends,
    ),
    "8a": Figure(
        "negative to positive",
        _MET,
        "",
        "negative tuples about 1, input-triggered 0, join messages the fewer, the more one meets",
        ends,
    ),
    "9b": Figure(
        "negative to positive",
        _JOIN,
        "",
        "negative tuples about 1; piggybacking the fewer, the more the join gives",
        ends,
    ),
    "8b": Figure("tuples joined", _MET, _PER_SECOND, _DOUBLED, times, rate),
    "8b, 100×": Figure("tuples joined", _MET, _PER_SECOND, _DOUBLED, times, rate),
    "10": Figure("tuples taken in", _RATE, _PER_SECOND, _FASTER, times, rate),
}
"""By the name that points have; 100× is at so many times the rate of the paper."""
CHARTS = {
    "expiration-delay": ("7a", "7b, scattered", "7b, together", "9a", "7c, scattered", "7c, together"),
    "expiration-cost": ("8a", "8b", "8b, 100×", "9b", "10"),
}


def curves_of(results: Sequence[Mapping[str, object]], figure: str) -> dict[str, dict[float, float]]:
    """The points of a figure by way."""
    found: dict[str, dict[float, float]] = {}
    for point in results:
        if point["figure"] == figure:
            x, y = point["x"], point["y"]
            assert isinstance(x, int | float)
            assert isinstance(y, int | float)
            found.setdefault(str(point["curve"]), {})[x] = y
    return found


def expiration_tables(content: Content) -> str:
    """What the paper found beside what is found here, and the points of all figures."""
    found = {name: curves_of(content["results"], name) for name in FIGURES}
    found = {name: curves for name, curves in found.items() if curves}
    beside = [
        [name, FIGURES[name].title, FIGURES[name].found, FIGURES[name].told(curves)]
        for name, curves in found.items()
    ]
    parts = [measured_on(content), table(["figure", "", "the paper", "here"], beside, left=4)]
    parts += [f"![{' and '.join(names)}](charts/{chart}.svg)" for chart, names in CHARTS.items()]
    for name, curves in found.items():
        figure = FIGURES[name]
        places = list(next(iter(curves.values())))
        rows = [[way, *(figure.cell(points[x]) for x in places)] for way, points in curves.items()]
        parts.append(table([f"{name}: {figure.title}, by {figure.x}", *(f"{x:g}" for x in places)], rows))
    return "\n\n".join(parts)


def draw(results: Sequence[Mapping[str, object]]) -> None:
    """The figures that were measured, as charts."""
    for chart, names in CHARTS.items():
        panels = []
        for name in names:
            curves, figure = curves_of(results, name), FIGURES[name]
            if curves:
                lines = {way: list(points.items()) for way, points in curves.items()}
                title = f"{name}: {figure.title}"
                panels.append(
                    charts.Panel(title, lines, figure.x, figure.y, is_log_x=False, is_log_y=figure.is_log)
                )
        charts.lines(chart, panels)
