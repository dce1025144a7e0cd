from __future__ import annotations

from panes.delta.delta import ALWAYS, BEGINNING
from panes.delta.rows import concat
from panes.state.storage.epoch_log import StreamProgress
from panes.tables.table_versions import versions_of
from panes.tables.version_clocks import SETTLED, VersionClocks
from tests.tables.table_of_hosts import change

CLOCKS = VersionClocks.before(
    7,
    {
        1: StreamProgress(clock=100, rows=5, max_ts=101),
        2: StreamProgress(clock=40, is_awaited=False),
        3: StreamProgress(),
    },
    [(frozenset({1}), 100), (frozenset({1, 3}), 90), (frozenset({1, 2}), 50), (frozenset({1, 3}), 95)],
)


def test_a_change_takes_effect_one_tick_after_the_clock_before_its_epoch() -> None:
    assert CLOCKS.effective(7, {1}) == 101
    assert CLOCKS.effective(7, {2}) == 41


def test_a_change_before_a_stream_had_begun_has_always_been_so() -> None:
    assert CLOCKS.effective(7, {3}) == ALWAYS == BEGINNING + 1
    assert CLOCKS.effective(7, {4}) == ALWAYS


def test_for_several_streams_the_clock_of_the_query_counts() -> None:
    assert CLOCKS.effective(7, {1, 2}) == 101  # nobody waits for the second
    assert CLOCKS.effective(7, {1, 2, 3}) == ALWAYS


def test_a_query_that_went_on_without_a_silent_stream_does_not_go_back() -> None:
    assert CLOCKS.effective(7, {1, 3}) == 96
    assert CLOCKS.epochs[7].ahead == {frozenset({1, 3}): 95}


def test_without_streams_the_furthest_one_counts() -> None:
    assert CLOCKS.effective(7, frozenset()) == 101


def test_what_is_settled_takes_effect_always() -> None:
    assert CLOCKS.effective(SETTLED, {1}) == ALWAYS


def test_an_instant_that_is_named_counts_unless_it_has_passed() -> None:
    at = [None, 90, 101, 250]
    rows = concat([versions_of(change((1, "a", 1)), 7, instant) for instant in at])
    assert CLOCKS.instants(rows, {1}).tolist() == [101, 101, 101, 250]


def test_clocks_are_read_as_they_were_written() -> None:
    assert VersionClocks.decoded(CLOCKS.encoded()) == CLOCKS
