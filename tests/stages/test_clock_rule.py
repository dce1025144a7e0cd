"""How clocks move: each stream has its own, and a query that of the slowest stream it reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panes.delta.delta import BEGINNING, FOREVER
from panes.stages.clock_rule import ClockRule, Measured, Position, Span
from panes.state.storage.epoch_log import StreamProgress
from tests.base_stream import base_stream

STAMPED = base_stream("CREATE STREAM stamped (ts BIGINT) TIMESTAMP BY ts MICROSECONDS", 1)
SLACK = base_stream("CREATE STREAM slack (ts BIGINT) TIMESTAMP BY ts MICROSECONDS SLACK INTERVAL 1 SECOND", 2)
ARRIVING = base_stream("CREATE STREAM arriving (a BIGINT)", 3)
OTHER = base_stream("CREATE STREAM other (ts BIGINT) TIMESTAMP BY ts MICROSECONDS", 4)
STREAMS = (STAMPED, SLACK, ARRIVING, OTHER)

IDLE_US = 60_000_000


def rule(*, now_us=100, started_us=0, before=None, occasion="rows", **queries):
    """`queries` have the streams that each reads; those of `before` their clocks."""
    progress = {
        number: StreamProgress(clock=clock, max_ts=clock + (number != ARRIVING.number))
        for number, clock in (before or {}).items()
    }
    positions = {
        int(name.removeprefix("q")): Position(
            frozenset(stream.number for stream in streams),
            min((progress.get(s.number, StreamProgress()).clock for s in streams), default=BEGINNING),
            4,
        )
        for name, streams in queries.items()
    }
    return ClockRule(5, STREAMS, progress, positions, now_us, started_us, IDLE_US, occasion)


def came(stream, *times, rows=None):
    return Measured(stream.number, rows or len(times), min(times), max(times))


def test_the_clock_stands_just_before_the_last_tuple_because_ties_may_follow():
    moved = rule(q1=[STAMPED]).moved([came(STAMPED, 300, 500)])
    assert moved.streams[STAMPED.number].clock == 499
    assert moved.spans == {1: Span(5, BEGINNING, 499, 4)}


def test_slack_holds_the_clock_back():
    moved = rule(q1=[SLACK]).moved([came(SLACK, 5_000_000)])
    assert moved.clocks == {1: 3_999_999}


def test_no_tie_follows_an_arrival_time():
    assert rule(q1=[ARRIVING]).moved([came(ARRIVING, 500)]).clocks == {1: 500}


def test_what_several_tasks_found_adds_up():
    moved = rule().moved([came(STAMPED, 7), came(OTHER, 2), came(STAMPED, 3, 5)])
    assert moved.rows == 4
    assert (moved.streams[STAMPED.number].rows, moved.streams[STAMPED.number].max_ts) == (3, 7)


def test_the_slowest_stream_decides_for_the_queries_that_read_it_and_for_no_others():
    moved = rule(q1=[STAMPED], q2=[OTHER], q3=[STAMPED, OTHER]).moved([came(STAMPED, 500), came(OTHER, 90)])
    assert moved.clocks == {1: 499, 2: 89, 3: 89}


def test_a_stream_that_has_brought_nothing_yet_holds_its_queries_back():
    moved = rule(q1=[STAMPED], q2=[STAMPED, OTHER]).moved([came(STAMPED, 500)])
    assert moved.clocks == {1: 499, 2: BEGINNING}


def test_queries_over_streams_that_bring_nothing_are_not_run():
    moved = rule(q1=[STAMPED], q2=[OTHER], before={4: 50}).moved([came(STAMPED, 500)])
    assert set(moved.spans) == {1}
    assert moved.clocks == {1: 499, 2: 50}


def test_a_query_to_which_rows_came_is_run_though_its_clock_stands_still():
    moved = rule(q1=[STAMPED, OTHER], before={1: 40, 4: 20}).moved([came(STAMPED, 100)])
    assert moved.spans == {1: Span(5, 20, 20, 4)}


def test_clocks_never_move_back():
    moved = rule(q1=[STAMPED], before={1: 900}).moved([came(STAMPED, 100)])
    assert moved.streams[STAMPED.number].clock == 900
    assert moved.clocks == {1: 900}


def test_a_query_that_begins_is_run_though_nothing_came_to_it():
    started = rule(q1=[OTHER], before={4: 50})
    started = replace(started, queries={1: replace(started.queries[1], begins=True)})
    assert started.moved([came(STAMPED, 500)]).spans == {1: Span(5, 50, 50, 4)}


def test_a_stream_that_is_silent_for_long_holds_nobody_back():
    both = {"q1": [STAMPED, OTHER], "before": {1: 499, 4: 899}}
    waiting = rule(now_us=IDLE_US - 1, **both).moved([came(OTHER, 1_000)])
    assert waiting.clocks == {1: 499}
    assert rule(now_us=IDLE_US, **both).moved([came(OTHER, 1_000)]).clocks == {1: 999}


def test_silence_counts_from_the_start_of_the_run_at_the_earliest():
    both = {"q1": [STAMPED, OTHER], "before": {1: 499, 4: 899}}
    restarted = rule(now_us=10 * IDLE_US, started_us=10 * IDLE_US - 1, **both)
    assert restarted.moved([came(OTHER, 1_000)]).clocks == {1: 499}


def test_when_all_are_silent_nobody_is_waited_for():
    silent = rule(now_us=10 * IDLE_US, occasion="silence", q1=[STAMPED, OTHER], before={1: 499, 4: 899})
    assert silent.moved([]).clocks == {1: 899}


def test_silence_moves_the_time_of_streams_without_one_of_their_own():
    moved = rule(
        now_us=1_000, occasion="silence", q1=[ARRIVING], q2=[STAMPED], before={1: 499, 3: 900}
    ).moved([])
    assert moved.clocks == {1: 1_000, 2: 499}
    assert set(moved.spans) == {1}


def test_there_is_no_epoch_when_nothing_comes_and_no_clock_moves():
    assert rule(q1=[STAMPED], occasion="silence", before={1: 499, 3: 100}).moved([]) is None


@pytest.mark.parametrize("before", [{1: 498, 2: 10}, {1: 498}])
def test_at_the_end_every_stream_is_complete_to_its_last_tuple_and_queries_go_to_the_furthest(before):
    moved = rule(occasion="end", q1=[STAMPED], q2=[SLACK], q3=[STAMPED, SLACK], before=before).moved([])
    assert moved.clocks == {1: 499, 2: 11 if 2 in before else BEGINNING, 3: 499}


def test_late_and_bad_rows_are_counted_on():
    found = Measured(STAMPED.number, rows=5, min_ts=1, max_ts=9, late=2, bad=1)
    after = rule().moved([found, found]).streams[STAMPED.number]
    assert (after.rows, after.late, after.bad) == (10, 4, 2)


IDLE = base_stream(
    "CREATE STREAM idle (ts BIGINT) TIMESTAMP BY ts MICROSECONDS SLACK INTERVAL 1 SECOND IDLE ADVANCE", 5
)


def idle_rule(*, now_us, started_us=0, last_us=0, clock=8_999_999, occasion="silence"):
    """The stream brought a tuple of 10 s at `last_us`."""
    before = {IDLE.number: StreamProgress(rows=1, max_ts=10_000_000, last_us=last_us, clock=clock)}
    queries = {1: Position(frozenset({IDLE.number}), clock, 4)}
    return ClockRule(5, (IDLE,), before, queries, now_us, started_us, IDLE_US, occasion)


def test_a_silent_stream_with_idle_advance_goes_on_with_wall_time_since_its_last_tuple():
    #  wall time   0          60 s           75 s
    #  clock       9 s  ...   69 s           84 s      minus one tick, minus a second of slack
    assert idle_rule(now_us=IDLE_US - 1).moved([]) is None
    assert idle_rule(now_us=IDLE_US).moved([]).clocks == {1: 8_999_999 + IDLE_US}
    moved = idle_rule(now_us=75_000_000, clock=8_999_999 + IDLE_US).moved([])
    assert moved.clocks == {1: 83_999_999}
    assert moved.streams[IDLE.number].last_us == 0


def test_without_idle_advance_a_silent_stream_stands_still():
    silent = rule(now_us=10 * IDLE_US, occasion="silence", q1=[STAMPED], before={1: 499})
    assert silent.moved([]).clocks == {1: 499}


def test_after_a_restart_the_wall_time_in_between_counts_once_the_stream_has_had_its_chance():
    restarted_us = 10 * IDLE_US
    assert idle_rule(now_us=11 * IDLE_US - 1, started_us=restarted_us).moved([]) is None
    moved = idle_rule(now_us=11 * IDLE_US, started_us=restarted_us).moved([])
    assert moved.clocks == {1: 8_999_999 + 11 * IDLE_US}


def test_tuples_end_the_silence_and_the_clock_never_goes_back():
    advanced = 8_999_999 + 2 * IDLE_US
    back = idle_rule(now_us=2 * IDLE_US, clock=advanced, occasion="rows").moved([came(IDLE, 11_000_000)])
    assert back.clocks == {1: advanced}
    assert back.streams[IDLE.number].last_us == 2 * IDLE_US
    later = idle_rule(now_us=2 * IDLE_US, clock=advanced, occasion="rows").moved([came(IDLE, 300_000_000)])
    assert later.clocks == {1: 298_999_999}


def test_a_stream_that_never_brought_a_tuple_has_no_time_to_go_on_from():
    queries = {1: Position(frozenset({IDLE.number}), BEGINNING, 4)}
    assert ClockRule(5, (IDLE,), {}, queries, 10 * IDLE_US, 0, IDLE_US, "silence").moved([]) is None


def test_the_end_of_a_run_is_no_silence():
    assert idle_rule(now_us=10 * IDLE_US, occasion="end").moved([]).clocks == {1: 10_000_000}


def test_a_change_of_a_table_runs_the_queries_that_read_it_and_moves_no_clock():
    before = rule(before={1: 300, 4: 500}, q1=[STAMPED], q2=[OTHER])
    changed = replace(before.queries[1], has_changes=True)
    moved = replace(
        before, applies_changes=True, effective={1: 301, 4: 501}, queries={1: changed, 2: before.queries[2]}
    ).moved([])
    assert moved.spans == {1: Span(5, 300, 300, 4)}
    assert moved.clocks == {1: 300, 2: 500}


def test_a_change_of_a_table_that_nobody_reads_makes_an_epoch():
    assert rule(occasion="end").moved([]) is None
    moved = replace(rule(occasion="end"), applies_changes=True).moved([])
    assert moved.spans == {}


def test_at_the_end_streams_go_on_to_the_last_change_of_a_table():
    at_the_end = rule(before={1: 300, 4: 500}, occasion="end", q1=[STAMPED], q2=[OTHER])
    moved = replace(at_the_end, effective={1: 302, 2: 77, 4: 400}).moved([])
    assert moved.streams[STAMPED.number].clock == 302
    assert moved.streams[OTHER.number].clock == 501  # its last tuple is later
    assert moved.streams[SLACK.number].clock == BEGINNING  # it has not begun


def sleeping_rule(next_change, *, now_us=IDLE_US, **position):
    """A query over a silent stream whose clock goes on to 69 s, minus one tick."""
    before = {IDLE.number: StreamProgress(rows=1, max_ts=10_000_000, clock=8_999_999)}
    queries = {1: Position(frozenset({IDLE.number}), 8_999_999, 4, next_change=next_change, **position)}
    return ClockRule(5, (IDLE, OTHER), before, queries, now_us, 0, IDLE_US, "silence")


def test_a_query_sleeps_until_the_clock_reaches_its_next_change_and_its_clock_moves_on():
    clock = 8_999_999 + IDLE_US
    for next_change, is_run in ((clock + 1, False), (clock, True), (None, True)):
        moved = sleeping_rule(next_change).moved([])
        assert moved.clocks == {1: clock}
        expected = {1: Span(5, 8_999_999, clock, 4, is_silent=True)} if is_run else {}
        assert moved.spans == expected, next_change


def test_what_comes_or_changes_wakes_a_query():
    clock = 8_999_999 + IDLE_US
    moved = sleeping_rule(FOREVER).moved([came(IDLE, 20_000_000)])
    assert list(moved.spans) == [1]
    assert not moved.spans[1].is_silent
    assert sleeping_rule(FOREVER).moved([came(OTHER, 20_000_000)]).spans == {}
    for reason in ("begins", "has_changes"):
        assert sleeping_rule(FOREVER, **{reason: True}).moved([]).spans == {1: Span(5, 8_999_999, clock, 4)}


def test_tasks_need_not_hear_of_queries_that_sleep_whatever_comes():
    assert sleeping_rule(FOREVER).asleep({OTHER.number}) == {1}
    assert sleeping_rule(FOREVER).asleep({IDLE.number}) == frozenset()
    assert sleeping_rule(FOREVER, begins=True).asleep(set()) == frozenset()
    assert sleeping_rule(20_000_000).asleep(set()) == frozenset(), "it is due"
    assert sleeping_rule(20_000_000, now_us=0).asleep(set()) == {1}, "its clock stands still"
