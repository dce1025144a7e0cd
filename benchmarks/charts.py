"""Charts of results, each as SVG and as PNG under docs/charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

FOLDER = Path(__file__).parent.parent / "docs" / "charts"
COLORS = ("#0b6e99", "#d9730d", "#448361", "#9065b0", "#787774", "#c14c8a", "#cb912f", "#37352f")
PER_ROW = 3

mpl.rcParams.update(
    {
        "svg.hashsalt": "panes",  # the same chart gives the same file
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "legend.frameon": False,
    }
)


@dataclass(frozen=True)
class Panel:
    """One set of axes: lines by name, each of points (x, y)."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    x: str
    y: str
    is_log_x: bool = True
    is_log_y: bool = True


def lines(name: str, panels: Sequence[Panel]) -> None:
    """Panels side by side in one chart; a line has the same color in all of them."""
    if not panels:
        return
    columns = min(PER_ROW, len(panels))
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(4.2 * columns, 3.3 * rows), squeeze=False)
    colors: dict[str, str] = {}
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for panel, axis in zip(panels, axes.flat, strict=False):
        _draw(panel, axis, colors)
    _write(figure, name)


def bars(name: str, groups: Mapping[str, Mapping[str, float]], y: str) -> None:
    """A group of bars for each key, a bar in each for each series, on a logarithmic scale."""
    series = list(dict.fromkeys(label for values in groups.values() for label in values))
    figure, axis = plt.subplots(figsize=(max(6.0, 1.9 * len(groups)), 4.0))
    width = 0.84 / max(1, len(series))
    for number, label in enumerate(series):
        places = [
            i + (number - (len(series) - 1) / 2) * width for i, g in enumerate(groups) if label in groups[g]
        ]
        heights = [values[label] for values in groups.values() if label in values]
        axis.bar(places, heights, width, label=label, color=COLORS[number % len(COLORS)])
    axis.set_xticks(range(len(groups)), list(groups))
    axis.set_yscale("log")
    axis.set_ylabel(y)
    axis.legend(ncols=min(4, len(series)), fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    _write(figure, name)


def _draw(panel: Panel, axis: Axes, colors: dict[str, str]) -> None:
    for label, points in panel.lines.items():
        color = colors.setdefault(label, COLORS[len(colors) % len(COLORS)])
        xs, ys = [x for x, _ in points], [y for _, y in points]
        axis.plot(xs, ys, marker="o" if len(xs) < 30 else None, markersize=3.5, label=label, color=color)
    if panel.is_log_x:
        axis.set_xscale("log")
        _mark_few(axis, sorted({x for points in panel.lines.values() for x, _ in points}))
    if panel.is_log_y:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.set_title(panel.title, fontsize=9)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    axis.legend(fontsize=7)


def _mark_few(axis: Axes, places: Sequence[float]) -> None:
    """Names the places of an axis that has hardly a power of ten: what matplotlib writes between them overlaps."""
    if places and places[-1] < 100 * places[0]:
        axis.set_xticks(places, [f"{place:,.0f}" for place in places])
        axis.xaxis.set_minor_locator(NullLocator())


def _write(figure: Figure, name: str) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    figure.savefig(FOLDER / f"{name}.png", dpi=120)
    plt.close(figure)
