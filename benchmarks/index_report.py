"""What `benchmarks.index` measured, as charts and as tables beside the findings of the thesis (Golab, 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks import charts
from benchmarks.markdown import Content, measured_on, short, table

Results = Sequence[Mapping[str, Any]]
Curves = Mapping[str, Mapping[float, float]]
"""What each index gave, by the number of its cells."""

_UNITS = {"update": "ms", "probe": "ms", "scan": "ms", "written": "KB", "cells": "cells"}
_TITLES = {
    "update": "an update",
    "probe": "a probe of one key",
    "scan": "a scan",
    "written": "written by an update",
    "cells": "cells that an update writes",
}
FIGURES: Mapping[str, tuple[str, str]] = {
    "small, update": (
        "4.5",
        "Rebuild and NoRebuild are twice as fast as R-ins and D-ins as n grows, also chr",
    ),
    "small, probe": ("4.6", "grows with n; Rebuild less than 1 % faster than NoRebuild"),
    "small, scan": ("4.7", "grows with n; two orders of magnitude slower than probes"),
    "large, update": (
        "4.9",
        "up to 3 times as fast as R-ins and D-ins; NoRebuild 5 to 9 % faster than Rebuild",
    ),
    "large, probe": ("4.10", "Rebuild 2 to 3 % faster than NoRebuild"),
    "large, scan": ("4.11", "grows with n"),
}
"""The charts, each with its number in the thesis and what that found."""


def curves_of(results: Results, figure: str) -> Curves:
    """The points of a figure, by index."""
    found: dict[str, dict[float, float]] = {}
    for point in results:
        if point["figure"] == figure:
            found.setdefault(point["curve"], {})[point["x"]] = point["y"]
    return found


def index_tables(content: Content) -> str:
    """The tables of docs/benchmarks.md."""
    results: Results = content["results"]
    parts = [measured_on(content)]
    for size in ("small", "large"):
        megabytes = content["megabytes"] * (1 if size == "small" else 4)
        for what in ("update", "written", "cells", "probe", "scan"):
            curves = curves_of(results, f"{size}, {what}")
            if curves and (size == "small" or what not in ("written", "cells")):
                parts.append(_of_cells(f"{_TITLES[what]}, {_UNITS[what]}, {megabytes} MB", curves))
    parts += [_shapes(results), _fluctuating(results), _found(results), _lookups(content)]
    parts += [f"![{_TITLES['update']}, by the number of cells](charts/index-cells.svg)"]
    return "\n\n".join(part for part in parts if part)


def _of_cells(title: str, curves: Curves) -> str:
    cells = sorted({x for points in curves.values() for x in points})
    rows = [
        [name, *(short(points[x]) if x in points else "" for x in cells)] for name, points in curves.items()
    ]
    return table([title, *(f"{x:.0f}" for x in cells)], rows)


def _shapes(results: Results) -> str:
    rows = []
    for what in ("update", "probe", "scan"):
        found = {name: points[16] for name, points in curves_of(results, f"shape, {what}").items()}
        if not found:
            return ""
        rows.append([_TITLES[what], *(f"{value / max(found.values()):.2f}" for value in found.values())])
    names = list(curves_of(results, "shape, update"))
    note = "The thesis (4.4): 4x4 is updated about 20 % faster, 2x8 slowest; probes and scans are alike."
    return f"{table(['normalized', *names], rows)}\n\n{note}"


def _fluctuating(results: Results) -> str:
    steady, varying = curves_of(results, "small, update"), curves_of(results, "fluctuating, update")
    rows = []
    for name, points in varying.items():
        for cells, value in points.items():
            base = steady[name][cells]
            rows.append(
                [
                    f"{name}, {cells:.0f} cells",
                    short(base),
                    short(value),
                    f"{100 * (value / base - 1):+.0f} %",
                ]
            )
    if not rows:
        return ""
    note = (
        "The thesis (4.8): Rebuild and NoRebuild suffer less from a varying rate than R-ins and D-ins, most for "
        "large n."
    )
    return f"{table(['update, ms', 'steady', 'rate x 1 to 4', 'more'], rows)}\n\n{note}"


def _found(results: Results) -> str:
    rows = []
    for figure, (number, finding) in FIGURES.items():
        curves = curves_of(results, figure)
        if "Rebuild" in curves and "R-ins" in curves:
            rows.append([number, _TITLES[figure.split(", ")[1]], finding, _ratios(curves)])
    return table(["figure", "time of", "the thesis", "here, at 25 cells"], rows, left=4) if rows else ""


def _ratios(curves: Curves, cells: float = 25) -> str:
    """How many times as long the indexes by one time take.

    >>> _ratios({"Rebuild": {25: 2.0}, "R-ins": {25: 5.0}, "NoRebuild": {25: 1.0}, "D-ins": {25: 1.5}})
    'R-ins 2.5 times Rebuild, D-ins 1.5 times NoRebuild, Rebuild 2 times NoRebuild'
    """
    pairs = (("R-ins", "Rebuild"), ("D-ins", "NoRebuild"), ("Rebuild", "NoRebuild"))
    ratios = ((one, other, curves[one][cells] / curves[other][cells]) for one, other in pairs)
    return ", ".join(f"{one} {short(ratio)} times {other}" for one, other, ratio in ratios)


def _lookups(content: Content) -> str:
    results: Results = content["results"]
    figures: Mapping[str, Callable[[Mapping[float, float]], str]] = {
        "lookup, segments": lambda points: f"{points[0]:.0f}",
        "lookup, first": lambda points: short(points[0]),
        "lookup, quiet": lambda points: " / ".join(short(points[share]) for share in sorted(points)),
        "lookup, quiet, CPU": lambda points: " / ".join(short(points[share]) for share in sorted(points)),
        "lookup, busy": lambda points: " / ".join(short(points[share]) for share in sorted(points)),
        "lookup, busy, CPU": lambda points: " / ".join(short(points[share]) for share in sorted(points)),
        "lookup, whole": lambda points: short(points[0]),
    }
    names = list(curves_of(results, "lookup, quiet"))
    if not names:
        return ""
    rows = [
        [figure.removeprefix("lookup, "), *(told(curves_of(results, figure)[name]) for name in names)]
        for figure, told in figures.items()
    ]
    head = f"one key of {content['rows']:,} rows, ms"
    note = (
        "`quiet` and `busy` are the median, 95 % and 99 % of lookups without epochs and beside them; `first` also "
        "computes the checksums of all segments; `whole` reads the answer."
    )
    return f"{table([head, *names], rows)}\n\n{note}"


def draw(results: Results) -> None:
    """The chart of the figures of the thesis."""
    panels = [
        charts.Panel(
            f"{number}: {_TITLES[figure.split(', ')[1]]}",
            {name: sorted(points.items()) for name, points in curves_of(results, figure).items()},
            "cells",
            "ms of CPU",
            is_log_x=False,
            is_log_y=False,
        )
        for figure, (number, _) in FIGURES.items()
        if curves_of(results, figure)
    ]
    charts.lines("index-cells", panels)
