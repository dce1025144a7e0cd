"""Wall time and its hand-moved double."""

from datetime import UTC, datetime, timedelta, timezone

from panes.clock import HandClock, WallClock, to_datetime, to_microseconds


def test_a_hand_clock_moves_when_told():
    clock = HandClock(5)
    clock.advance(2_000_000)
    assert clock.now_us() == 2_000_005
    assert clock.elapsed() == 2.000005


def test_instants_and_moments_convert_both_ways():
    moment = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)
    assert to_datetime(to_microseconds(moment)) == moment


def test_a_moment_of_another_zone_is_the_same_instant():
    east = timezone(timedelta(hours=2))
    assert to_microseconds(datetime(1970, 1, 1, 2, tzinfo=east)) == 0
    assert to_microseconds(datetime(1970, 1, 1)) == 0


def test_the_wall_clock_counts_microseconds_since_1970():
    assert to_datetime(WallClock().now_us()).year >= 2026
