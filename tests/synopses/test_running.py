"""The running synopsis: a window is the sums up to its end, less those up to its begin."""

from __future__ import annotations

from collections.abc import Sequence

from panes.aggregates.linear import ROWS
from panes.plan.nodes import GroupBy
from panes.state.storage.manifest import SUMS
from panes.synopses.layout import Layout
from panes.synopses.synopsis_store import SynopsisStore
from tests.synopses.figure import BY_K, LONGEST, SECOND, SUM, group_by_of, partial_rows, store_of, total


def test_the_sum_of_seven_panes_is_the_difference_of_two():
    probed = store_of("running", SUM).window(8 * SECOND, 7 * SECOND)
    assert (probed.probes, total(probed.rows, group_by_of(SUM))) == (2, 33)


def test_every_window_is_the_difference_of_two():
    store, group_by = store_of("running", SUM), group_by_of(SUM)
    found = [total(store.window(8 * SECOND, n * SECOND).rows, group_by) for n in range(1, 9)]
    assert found == [8, 12, 13, 19, 21, 28, 33, 36]


def store_with(
    group_by: GroupBy, spans: Sequence[tuple[int, Sequence[tuple[int, int, int]]]]
) -> SynopsisStore:
    """A synopsis after some spans: the clock of each, and the pane, key and value of its tuples."""
    store = SynopsisStore(Layout.of(group_by), SECOND)
    since = 0
    for clock, tuples in spans:
        for pane, key, value in tuples:
            store.add(partial_rows(group_by, [value], first=pane, key=key), LONGEST)
        store.complete("running", since * SECOND, clock * SECOND, LONGEST)
        since = clock
    return store


def test_a_group_that_was_away_for_the_longest_window_is_summed_anew():
    #  1 … 3 … 9 … 12 … 20       key 1 comes at 1 and 20, key 2 at 3, 9 and 12
    group_by = group_by_of(SUM, source=BY_K)
    store = store_with(
        group_by, [(4, [(1, 1, 5), (3, 2, 7)]), (12, [(9, 2, 1), (12, 2, 2)]), (20, [(20, 1, 9)])]
    )
    at_20 = store.window(20 * SECOND, 8 * SECOND).rows.to_pylist()
    assert [(row["_key_0"], row[ROWS]) for row in at_20] == [(1, 1)]
    assert total(store.window(20 * SECOND, 8 * SECOND).rows, group_by) == 9
    assert total(store.window(12 * SECOND, 4 * SECOND).rows, group_by) == 3


def test_sums_that_would_not_fit_are_begun_anew_and_then_given_up():
    large = 2**61
    group_by = group_by_of(SUM)
    store = store_with(group_by, [(1, [(1, 0, large)])])
    store.expire(10 * SECOND, 9 * SECOND)
    store.add(partial_rows(group_by, [large], first=10), LONGEST)
    store.complete("running", SECOND, 10 * SECOND, LONGEST)
    assert store.chunks[SUMS], "the first of them is in no window any more"
    assert total(store.window(10 * SECOND, 8 * SECOND).rows, group_by) == large
    store = store_with(group_by, [(3, [(1, 0, large), (2, 0, large), (3, 0, large)])])
    assert store.chunks[SUMS] == []
    assert total(store.window(3 * SECOND, 8 * SECOND).rows, group_by) == 3 * large
