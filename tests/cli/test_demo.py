"""The demo over a database that needs no Spark, and once over Spark."""

from __future__ import annotations

import io
import signal
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from panes.cli.demo import PATIENCE_SECONDS, REFRESH_SECONDS, follow, prepare
from panes.cli.demo_queries import QUERIES
from panes.cli.demo_tariffs import RATE, SECONDS_BETWEEN_CHANGES
from panes.cli.demo_views import LiveView, PlainView, status_line
from panes.cli.interrupts import ctrl_c
from panes.cli.main import app
from panes.cli.snapshot import Snapshot, take_snapshot
from panes.clock import HandClock


def pass_time(clock: HandClock):
    """A wait that takes no time but that of the hand-moved clock."""

    def wait(seconds: float) -> bool:
        clock.advance(int(seconds * 1_000_000))
        return False

    return wait


def watched(db, view_of, seconds: float = 3.0) -> str:
    out = Console(file=io.StringIO(), width=120, height=30, force_terminal=view_of is not PlainView)
    clock = HandClock()
    view = PlainView(out) if view_of is PlainView else LiveView(out, seconds)
    with view:
        follow(db, prepare(db, rate=1000), view, seconds, clock, pass_time(clock))
    return out.file.getvalue()


def test_there_are_at_least_five_queries_with_names_of_their_own():
    assert len({query.name for query in QUERIES}) == len(QUERIES) >= 5


def test_the_rate_is_that_asked_for(db):
    prepare(db, rate=1234)
    assert "rows_per_second = 1234" in db.calls[0]


def test_follow_ends_when_the_time_is_up(db):
    clock = HandClock()
    last = follow(db, prepare(db, 1), PlainView(Console(file=io.StringIO())), 3.0, clock, pass_time(clock))
    assert last.elapsed == 3.0
    assert clock.elapsed() == 3.0


def test_the_time_counts_from_the_first_answers(db):
    clock = HandClock()
    queries = prepare(db, 1)
    full, empty = db.table, db.table.slice(0, 0)

    def answer_after_ten_seconds() -> None:
        for query in queries.values():
            query.table = full if clock.elapsed() >= 10 else empty

    db.on_status = answer_after_ten_seconds
    last = follow(db, queries, PlainView(Console(file=io.StringIO())), 3.0, clock, pass_time(clock))
    assert last.elapsed == 3.0
    assert clock.elapsed() == 13.0


def test_without_answers_the_demo_ends_all_the_same(db):
    clock = HandClock()
    db.table = db.table.slice(0, 0)
    follow(db, prepare(db, 1), PlainView(Console(file=io.StringIO())), 3.0, clock, pass_time(clock))
    assert clock.elapsed() == PATIENCE_SECONDS + 3.0


def test_follow_ends_when_asked_to_stop(db):
    clock = HandClock()
    waits = iter([False, True])
    last = follow(
        db, prepare(db, 1), PlainView(Console(file=io.StringIO())), 99, clock, lambda _: next(waits)
    )
    assert last.elapsed == 0.0
    assert next(waits, None) is None


def test_answers_show_their_largest_rows_first(db):
    snapshot = take_snapshot(db, prepare(db, 1), elapsed=0)
    assert [answer.rows[0][answer.query.largest] for answer in snapshot.answers] == [
        max(answer.rows[0][answer.query.largest], answer.rows[1][answer.query.largest])
        for answer in snapshot.answers
    ]


def test_tariffs_change_in_both_tables_together_while_time_passes(db):
    clock = HandClock()
    out = Console(file=io.StringIO(), width=120)
    queries = prepare(db, 1)
    last = follow(db, queries, PlainView(out), 3 * SECONDS_BETWEEN_CHANGES, clock, pass_time(clock))
    assert [call for call in db.calls if call.startswith("UPDATE")] == [
        f"UPDATE tariffs SET rate = {rate} WHERE link = {link}; "
        f"UPDATE tariffs_then SET rate = {rate} WHERE link = {link}"
        for link, rate in ((0, 2 * RATE), (0, RATE), (1, 2 * RATE))
    ]
    assert last.last_change == f"the tariff of link 1 is {2 * RATE} now, and was {RATE}"


def test_views_say_what_has_changed(db):
    out = Console(file=io.StringIO(), width=120)
    snapshot = take_snapshot(db, prepare(db, 1), elapsed=0, last_change="a tariff is higher")
    PlainView(out).show(snapshot)
    assert "\n  a tariff is higher\n" in out.file.getvalue()
    lines = out.render_lines(LiveView(out, 40).screen(snapshot))
    assert "".join(part.text for part in lines[2]).rstrip() == "a tariff is higher"


def test_plain_view_prints_a_line_for_the_database_and_one_for_each_query(db):
    lines = watched(db, PlainView).splitlines()
    assert lines[0] == "epoch 7 (0.5 s)  clock 12:00:00  5,000 rows/s  lag 0.4 s  state 1.5 MB"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [query.title for query in QUERIES]


@pytest.mark.parametrize(
    ("kept", "line"),
    [
        ({"talkers": {"packets": 0.314}}, "1 query keeps 31.4 % of packets"),
        ({"a": {"packets": 0.5}, "b": {"flows": 0.2}}, "2 queries keep at least 20 % of flows"),
    ],
)
def test_what_is_shed_stands_in_the_line_for_the_database(db, kept, line):
    snapshot = replace(take_snapshot(db, prepare(db, 1), elapsed=0), kept=kept)
    assert status_line(snapshot).endswith(f"state 1.5 MB  {line}")


def test_plain_view_says_nothing_twice_of_one_epoch(db):
    assert watched(db, PlainView, seconds=60).count("epoch 7") == 1


def test_live_view_shows_every_query_and_the_time_left(db):
    screen = watched(db, LiveView, seconds=REFRESH_SECONDS)
    for query in QUERIES:
        assert query.title in screen
    assert "lag 0.4 s" in screen
    assert "ends in 0 s" in screen


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (40, 12)])
def test_live_view_fits_the_screen(db, width: int, height: int):
    out = Console(file=io.StringIO(), width=width, height=height, force_terminal=True)
    view = LiveView(out, seconds=40)
    lines = out.render_lines(view.screen(take_snapshot(db, prepare(db, 1), elapsed=1)))
    assert all(sum(len(part.text) for part in line) <= width for line in lines)
    if width >= 80:
        assert len(lines) <= height


def test_ctrl_c_sets_the_event_and_the_second_one_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c() as stop:
        assert not stop.is_set()
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_the_demo_cleanly(db):
    db.on_status = lambda: signal.raise_signal(signal.SIGINT)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0
    assert db.calls[-2:] == ["stop()", "close()"]
    assert "What to try next" in result.output


def test_ctrl_c_while_spark_starts_ends_the_demo_cleanly(db, monkeypatch: pytest.MonkeyPatch):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(db, "start", interrupted)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0
    assert db.calls[-1] == "close()"


@pytest.mark.usefixtures("commands_on_spark")
def test_demo_on_spark_answers_every_query_and_stops_cleanly(monkeypatch: pytest.MonkeyPatch):
    taken = []

    def take_and_stop_when_all_have_answers(*args, **named) -> Snapshot:
        taken.append(take_snapshot(*args, **named))
        if all(answer.count for answer in taken[-1].answers):
            signal.raise_signal(signal.SIGINT)
        return taken[-1]

    monkeypatch.setattr("panes.cli.demo.take_snapshot", take_and_stop_when_all_have_answers)
    result = CliRunner().invoke(app, ["demo", "--seconds", "60", "--rate", "2000"])
    assert result.exit_code == 0, result.output
    assert {answer.query.name: answer.count > 0 for answer in taken[-1].answers} == {
        query.name: True for query in QUERIES
    }
    assert "What to try next" in result.output
