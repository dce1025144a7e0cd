"""The picture of docs/tables.md: the demo's two bills, run as tasks run them, without Spark.

    python -m tests.tables_picture

draws it anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.measuring import plans
from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.stages.running_query import RunningQuery
from tests.properties.shards import Shards

PICTURE = Path(__file__).parent.parent / "docs" / "charts" / "tables.svg"
SECONDS = 44
CHANGES = ((12, 10, 20), (28, 20, 10))
"""Second, old and new tariff of the one link that is used."""
BYTES = 100
"""Of the packet that comes every second."""

_SECOND = 1_000_000
_LEFT, _PER_SECOND, _BOTTOM, _PER_BILL = 96, 14, 306, 0.0085
_NOW, _THEN, _INK, _FAINT = "#c2410c", "#1d4ed8", "#1f2937", "#d1d5db"

Points = Sequence[tuple[float, float]]


def bills(query: str) -> list[tuple[int, int]]:
    """The bill of a query of the demo at every second."""
    run = Shards(RunningQuery(1, plans()[query], 1, 0))
    found = []
    for second in range(1, SECONDS + 1):
        since = BEGINNING if second == 1 else (second - 1) * _SECOND
        changed = _tariffs(second)
        arrivals = {"packets": _packet(second), "tariffs": changed, "tariffs_then": changed}
        run.process(arrivals, since, second * _SECOND)
        found.append((second, run.answer(second * _SECOND).column("bill")[0].as_py()))
    return found


def _packet(second: int) -> pa.Table:
    columns = {"ts": second * 1000, "link": 0, "src": 1, "dst": 2, "proto": "http", "bytes": BYTES}
    table = pa.table({name: [value] for name, value in columns.items()} | {TS: [second * _SECOND]})
    return table.set_column(1, "link", table.column("link").cast(pa.int32()))


def _tariffs(second: int) -> pa.Table:
    """The change just after the second before this one."""
    rows = [(10, 1, BEGINNING)] if second == 1 else []
    for at, old, new in CHANGES:
        if at == second - 1:
            rows += [(old, -1, at * _SECOND + 1), (new, 1, at * _SECOND + 1)]
    rates, weights, instants = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "link": pa.array([0] * len(rows), pa.int32()),
            "rate": pa.array(rates, pa.int64()),
            TS: pa.array(instants, pa.int64()),
            EXP: pa.array(np.full(len(rows), FOREVER)),
            WEIGHT: pa.array(weights, pa.int64()),
        }
    )


@dataclass
class Drawing:
    """Lines of an SVG file."""

    lines: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, *, color: str = _INK, anchor: str = "start") -> None:
        self.lines.append(f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}">{words}</text>')

    def line(self, points: Points, color: str, *, width: float = 1, dashes: str = "none") -> None:
        corners = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.lines.append(
            f'<polyline points="{corners}" fill="none" stroke="{color}" stroke-width="{width:g}" '
            f'stroke-dasharray="{dashes}"/>'
        )

    def steps(self, points: Points, color: str, *, dashes: str = "none") -> None:
        """A value that stays until the next one comes."""
        corners: list[tuple[float, float]] = []
        for x, y in points:
            corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
        self.line(corners, color, width=2.5, dashes=dashes)


def picture() -> str:
    drawing = Drawing()
    drawing.text(_LEFT - 12, 62, "tariff", anchor="end")
    drawing.text(_LEFT - 12, 104, "packets", anchor="end")
    drawing.text(_LEFT - 12, 178, "bill of the", anchor="end")
    drawing.text(_LEFT - 12, 194, "last 10 s", anchor="end")
    for bill in (0, 10_000, 20_000):
        drawing.line([(_LEFT, _bill(bill)), (_x(SECONDS), _bill(bill))], _FAINT)
        drawing.text(_LEFT - 12, _bill(bill) + 4, f"{bill:,}", anchor="end")
    for second in range(0, SECONDS + 1, 10):
        drawing.text(_x(second), _BOTTOM + 20, f"{second} s", anchor="middle")
    for at, old, new in CHANGES:
        drawing.line([(_x(at), 28), (_x(at), _BOTTOM)], _INK, dashes="3 4")
        drawing.text(_x(at) + 6, 24, f"UPDATE … SET rate = {new}")
        drawing.text(_x(at - 6), 62, str(old), anchor="middle")
    drawing.text(_x(SECONDS - 6), 62, str(CHANGES[-1][2]), anchor="middle")
    for second in range(1, SECONDS + 1):
        drawing.line([(_x(second), 94), (_x(second), 106)], _INK, width=2)
    now, then = ([(_x(at), _bill(bill)) for at, bill in bills(name)] for name in ("bill_now", "bill_then"))
    drawing.steps(now, _NOW)
    drawing.steps(then, _THEN, dashes="7 4")
    drawing.text(_x(13), _bill(20_000) - 8, "tariffs: at the tariff of now", color=_NOW)
    drawing.text(_x(30), _bill(8_000), "tariffs_then: at the tariff of then", color=_THEN)
    width, height = _x(SECONDS) + 84, _BOTTOM + 34
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" '
        f'height="{height}" font-family="sans-serif" font-size="13">'
    )
    paper = f'<rect width="{width:g}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, paper, *drawing.lines, "</svg>", ""])


def _x(second: float) -> float:
    return _LEFT + second * _PER_SECOND


def _bill(bill: float) -> float:
    return round(_BOTTOM - bill * _PER_BILL, 2)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
