"""The picture of docs/refresh.md: the seven queries of the thesis under four schedules, on a virtual clock.

    python -m tests.refresh_picture

draws it anew.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.virtual_refreshes import VirtualRun
from panes.schedule.policies import POLICIES
from tests.schedule.example import WINDOWS, members
from tests.tables_picture import Drawing

PICTURE = Path(__file__).parent.parent / "docs" / "charts" / "refresh-schedules.svg"
MINUTES = 15
BUSY = (3.5, 5.0)
"""The minutes in which the machine does something else, in the last schedule."""
SCHEDULES = {
    "aggressive": "the whole group every two minutes",
    "conservative": "queries of one slide together, and with others that are due at the same time",
    "hybrid": "Q4 and Q5 as often as Q1 to Q3, because together they cost less",
    "hybrid_late_pending": "at 5 what is due goes along with what is late: the machine was busy from 3.5 to 5",
}

_LEFT, _PER_MINUTE, _PER_QUERY, _PER_SCHEDULE, _TOP = 52, 44, 14, 158, 30
_FAINT, _TOGETHER, _BUSY = "#d1d5db", "#1d4ed8", "#f3f4f6"


def run_of(schedule: str) -> VirtualRun:
    """What is refreshed when, when nothing is refreshed before it is due."""
    busy = (BUSY,) if schedule == "hybrid_late_pending" else ()
    seven = members(per_comparison=1e-6)
    return VirtualRun(POLICIES[schedule], seven, only_due=True, busy=busy).run(MINUTES)


def picture() -> str:
    drawing = Drawing()
    for number, (schedule, words) in enumerate(SCHEDULES.items()):
        top = _TOP + number * _PER_SCHEDULE
        drawing.text(_LEFT - 38, top - 12, f"{'abcd'[number]}) {schedule}: {words}")
        if schedule == "hybrid_late_pending":
            drawing.lines.append(
                f'<rect x="{_x(BUSY[0]):g}" y="{top}" width="{_x(BUSY[1]) - _x(BUSY[0]):g}" '
                f'height="{_y(top, 7) - top + 8:g}" fill="{_BUSY}"/>'
            )
        for query in WINDOWS:
            drawing.text(_LEFT - 12, _y(top, query) + 4, f"Q{query}", anchor="end")
            drawing.line([(_LEFT, _y(top, query)), (_x(MINUTES) + 12, _y(top, query))], _FAINT)
        for batch in run_of(schedule).done:
            places = [_y(top, query) for query in batch.queries]
            x = _x(batch.slide)
            if len(places) > 1:
                drawing.line([(x, min(places)), (x, max(places))], _TOGETHER, width=2)
            drawing.lines += [f'<circle cx="{x:g}" cy="{y:g}" r="4" fill="{_TOGETHER}"/>' for y in places]
        for minute in range(1, MINUTES + 1):
            drawing.text(_x(minute), _y(top, 8) + 6, str(minute), anchor="middle")
    width, height = _x(MINUTES) + 30, _TOP + len(SCHEDULES) * _PER_SCHEDULE - 14
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" '
        f'height="{height}" font-family="sans-serif" font-size="12">'
    )
    paper = f'<rect width="{width:g}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, paper, *drawing.lines, "</svg>", ""])


def _x(minute: float) -> float:
    return _LEFT + minute * _PER_MINUTE


def _y(top: float, query: int) -> float:
    return top + query * _PER_QUERY


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
