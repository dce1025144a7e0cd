"""The progress bar of `run`: on a terminal it tells how far things are, and elsewhere it is silent."""

from __future__ import annotations

import io

from rich.console import Console

from panes.clock import HandClock, to_datetime
from panes.progress_bar import progress_bar, progress_line
from panes.status import Epoch

EPOCHS = [Epoch(number, to_datetime(number * 60_000_000), 1000, 0.5) for number in range(4)]


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=160)


def test_a_terminal_is_told_rows_rate_clock_and_files_left():
    console, clock, left = terminal(), HandClock(), [4]
    with progress_bar(console, lambda: left[0], clock) as show:
        for epoch in EPOCHS:
            clock.advance(500_000)
            left[0] -= 1
            show(epoch)
    shown = console.file.getvalue()
    assert "epoch 3" in shown
    assert "4,000 rows  2,000 rows/s  clock 1970-01-01 00:03:00  0 files left" in shown


def test_a_source_that_is_not_made_of_files_has_a_lag_instead():
    console, clock = terminal(), HandClock(180_000_000)
    with progress_bar(console, lambda: None, clock) as show:
        clock.advance(2_000_000)
        show(EPOCHS[-1])
    assert "1,000 rows  2,000 rows/s  clock 1970-01-01 00:03:00  2.0 s behind" in console.file.getvalue()


def test_nothing_is_written_where_there_is_no_terminal(capsys):
    for where in (None, False):
        with progress_bar(where, lambda: 1, HandClock()) as show:
            assert show is None
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_bar_that_is_asked_for_is_shown_in_any_case(capsys):
    with progress_bar(True, lambda: None, HandClock()) as show:
        assert show is not None
    assert capsys.readouterr().out == ""


def test_a_line_stands_while_something_goes_on_and_is_gone_at_the_end():
    console = Console(file=io.StringIO(), force_terminal=True, width=60)
    with progress_line(console, "loading [5] rows"):
        pass
    shown = console.file.getvalue()
    assert "loading [5] rows" in shown
    assert shown.endswith("\x1b[2K")


def test_no_line_stands_where_none_is_wanted(capsys):
    for where in (False, None):
        with progress_line(where, "loading"):
            pass
    assert capsys.readouterr() == ("", "")
