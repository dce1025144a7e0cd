"""Numbers for the groups of rows."""

from __future__ import annotations

import pyarrow as pa

from panes.synopses.group_numbers import group_numbers


def test_groups_are_numbered_in_the_order_in_which_they_come():
    keys = pa.table({"k": [5, None, 5, 7, None], "l": ["a", "b", "a", "a", "b"]})
    group, example = group_numbers(keys, keys.num_rows)
    assert group.tolist() == [0, 1, 0, 2, 1]
    assert example.tolist() == [0, 1, 3]


def test_rows_without_keys_are_one_group():
    group, example = group_numbers(pa.table({}), 3)
    assert (group.tolist(), example.tolist()) == ([0, 0, 0], [0])
    assert [len(part) for part in group_numbers(pa.table({}), 0)] == [0, 0]
