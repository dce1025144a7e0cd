from __future__ import annotations

from random import Random

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.delta.delta import ALWAYS, FOREVER
from panes.tables.version_intervals import version_intervals
from panes.testing import same_rows
from tests.tables.table_of_hosts import change, rows_of


def versions(*rows: tuple[int, str, int, int]) -> pa.Table:
    found = change(*(row[:3] for row in rows))
    return found.append_column("_ts", pa.array([row[3] for row in rows], pa.int64()))


def test_a_row_is_there_until_it_is_deleted() -> None:
    found = version_intervals(
        versions((1, "a", 1, ALWAYS), (1, "a", -1, 10), (1, "b", 1, 10), (2, "c", 1, 5))
    )
    assert rows_of(found) == [(1, "a", ALWAYS, 10), (1, "b", 10, FOREVER), (2, "c", 5, FOREVER)]


def test_a_row_that_comes_back_has_two_intervals() -> None:
    found = version_intervals(versions((1, "a", 1, 20), (1, "a", 1, 3), (1, "a", -1, 10)))
    assert rows_of(found) == [(1, "a", 20, FOREVER), (1, "a", 3, 10)]


def test_a_row_that_is_there_twice_is_given_twice() -> None:
    found = version_intervals(versions((1, "a", 2, 3), (1, "a", -1, 10)))
    assert rows_of(found) == [(1, "a", 10, FOREVER), (1, "a", 3, 10), (1, "a", 3, 10)]


def test_changes_of_one_instant_count_together() -> None:
    assert rows_of(version_intervals(versions((1, "a", -1, 5), (1, "a", 1, 5)))) == []


def test_no_versions_are_no_rows() -> None:
    assert version_intervals(versions()).column_names == ["src", "owner", "_ts", "_exp"]


def test_at_every_instant_the_intervals_hold_what_the_versions_add_up_to() -> None:
    random = Random(7)
    for _ in range(50):
        rows: list[tuple[int, str, int, int]] = []
        held: list[tuple[int, str]] = []
        for ts in sorted(random.randrange(20) for _ in range(30)):
            if held and random.random() < 0.5:
                row = held.pop(random.randrange(len(held)))
                rows.append((*row, -1, ts))
            else:
                row = (random.randrange(3), random.choice("ab"))
                held.append(row)
                rows.append((*row, 1, ts))
        random.shuffle(rows)
        given = versions(*rows)
        found = version_intervals(given)
        for now in range(20):
            expected = contents_at(given.append_column("_exp", pa.array([FOREVER] * len(rows))), now)
            assert same_rows(contents_at(found, now), expected) is None
