"""Wall time and its hand-moved double."""

from datetime import UTC, datetime, timedelta, timezone

from panes.clock import FIRST_US, LAST_US, HandClock, WallClock, to_datetime, to_microseconds


def test_a_hand_clock_moves_when_told():
    clock = HandClock(5)
    clock.advance(2_000_000)
    assert clock.now_us() == 2_000_005
    assert clock.elapsed() == 2.000005


def test_instants_and_moments_convert_both_ways():
    moment = datetime(2024, 2, 29, 12, 0, 0, 123456, tzinfo=UTC)
    assert to_datetime(to_microseconds(moment)) == moment


def test_every_instant_of_64_bits_is_a_moment_within_the_years_that_a_datetime_holds():
    assert to_datetime(-(2**63)) == to_datetime(FIRST_US) == datetime.min.replace(tzinfo=UTC)
    assert to_datetime(2**63 - 1) == to_datetime(LAST_US) == datetime.max.replace(tzinfo=UTC)


def test_a_moment_of_another_zone_is_the_same_instant():
    east = timezone(timedelta(hours=2))
    assert to_microseconds(datetime(1970, 1, 1, 2, tzinfo=east)) == 0
    assert to_microseconds(datetime(1970, 1, 1)) == 0


def test_the_wall_clock_counts_microseconds_since_1970():
    assert to_datetime(WallClock().now_us()).year >= 2026
