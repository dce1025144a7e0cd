"""How many results of a join come and go between slides."""

from __future__ import annotations

from panes.plan.lost_results import lost_results
from panes.plan.nodes import Join, MultiJoin, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow


def window(alias: str, seconds: int, slide: int | None) -> Window:
    scan = StreamScan(alias, alias, Schema.of([(f"{alias}.k", BIGINT)]))
    return Window(scan, RangeWindow(seconds, slide))


def joined(*windows: Window) -> MultiJoin:
    return MultiJoin(windows, tuple(node.schema.names for node in windows))


def test_of_two_windows_it_is_half_of_slide_by_range_and_more_of_more() -> None:
    windows = [window(alias, 60, 10) for alias in "abcd"]
    pair = Join(windows[0], windows[1], ("a.k",), ("b.k",))
    assert round(lost_results(pair), 4) == round(10 / 60 / 2, 4)
    assert round(lost_results(joined(*windows)), 4) == round(3 * 10 / 60 / 2, 4)


def test_nothing_is_lost_where_a_window_moves_on_at_every_instant() -> None:
    assert lost_results(joined(window("a", 60, 10), window("b", 60, None))) == 0
    assert lost_results(window("a", 60, 10)) == 0


def test_rows_of_a_long_window_are_lost_less_often() -> None:
    short, long = (
        joined(window("a", 60, 10), window("b", 60, 10)),
        joined(window("a", 60, 10), window("b", 600, 10)),
    )
    assert lost_results(long) < lost_results(short)
