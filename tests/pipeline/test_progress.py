"""How far time has come: the slowest stream decides, silence counts after a while, and ties are waited for."""

from panes.delta.delta import BEGINNING
from panes.pipeline.progress import complete_to, rows_since, with_arrival_times
from panes.state.epochs import StreamProgress
from tests.base_stream import base_stream

STAMPED = base_stream("CREATE STREAM stamped (ts BIGINT) TIMESTAMP BY ts MICROSECONDS", 1)
SLACK = base_stream("CREATE STREAM slack (ts BIGINT) TIMESTAMP BY ts MICROSECONDS SLACK INTERVAL 1 SECOND", 2)
ARRIVING = base_stream("CREATE STREAM arriving (a BIGINT)", 3)

IDLE_US = 60_000_000


NUMBERS = {stream.name: stream.number for stream in (STAMPED, SLACK, ARRIVING)}


def progress(**max_ts):
    return {NUMBERS[name]: StreamProgress(rows=1, max_ts=ts, last_us=100) for name, ts in max_ts.items()}


def test_the_clock_stands_just_before_the_last_tuple_because_ties_may_follow():
    assert complete_to([STAMPED], progress(stamped=500), 100, IDLE_US) == 499


def test_slack_holds_the_clock_back():
    assert complete_to([SLACK], progress(slack=5_000_000), 100, IDLE_US) == 3_999_999


def test_no_tie_follows_an_arrival_time():
    assert complete_to([ARRIVING], progress(arriving=500), 100, IDLE_US) == 500


def test_the_slowest_stream_decides():
    assert complete_to([STAMPED, ARRIVING], progress(stamped=500, arriving=900), 100, IDLE_US) == 499
    assert (
        complete_to([STAMPED, ARRIVING], progress(stamped=BEGINNING, arriving=9), 100, IDLE_US) == BEGINNING
    )


def test_a_stream_that_is_silent_for_long_holds_nobody_back():
    now = {**progress(stamped=500), ARRIVING.number: StreamProgress(max_ts=900, last_us=IDLE_US)}
    assert complete_to([STAMPED, ARRIVING], now, IDLE_US + 99, IDLE_US) == 499
    assert complete_to([STAMPED, ARRIVING], now, IDLE_US + 100, IDLE_US) == 900


def test_when_all_are_silent_the_slowest_decides_again():
    assert complete_to([STAMPED, ARRIVING], progress(stamped=500, arriving=900), 10 * IDLE_US, IDLE_US) == 499


def test_silence_moves_the_time_of_streams_without_one_of_their_own():
    after = with_arrival_times([STAMPED, ARRIVING], progress(stamped=500, arriving=900), 1_000)
    assert (after[STAMPED.number].max_ts, after[ARRIVING.number].max_ts) == (500, 1_000)


def test_rows_are_counted_from_one_measurement_to_the_next():
    assert (
        rows_since({1: StreamProgress(rows=7), 2: StreamProgress(rows=2)}, {1: StreamProgress(rows=3)}) == 6
    )
