"""How many rows joins of several relations have, by numbers alone."""

from __future__ import annotations

import pytest

from panes.optimizer.estimates import Estimate
from panes.optimizer.joined_column import JoinedColumn
from panes.optimizer.joined_rows import JoinedCondition, JoinedRows
from panes.optimizer.nested_loop_cost import joined_size
from tests.optimizer.test_nested_loop_cost import TABLE_5_3

A, B, C, D = (1 << number for number in range(4))


def test_a_join_of_two_has_the_rate_and_size_of_the_paper():
    # λo = f (W_R λ_L + W_L λ_R), Wo = f W_L W_R
    rows = JoinedRows([Estimate(10, 100), Estimate(70, 30)], conditions=[JoinedCondition(A | B, 0.5)])
    found = rows.estimate(A | B)
    assert (found.rate, found.size) == pytest.approx((0.5 * (30 * 10 + 100 * 70), 0.5 * 100 * 30))


def test_rows_that_are_taken_back_take_back_their_results():
    rows = JoinedRows([Estimate(10, 100, early=10), Estimate(70, 30)])
    assert rows.estimate(A | B).early == pytest.approx(10 * 30)


def test_sizes_are_those_of_table_5_4():
    rows = JoinedRows(
        [Estimate(stream.rate, stream.size) for stream in TABLE_5_3],
        [JoinedColumn({number: stream.values for number, stream in enumerate(TABLE_5_3)})],
    )
    sizes = {
        A | B: 200,
        A | C: 400,
        A | D: 600,
        B | C: 400,
        B | D: 600,
        C | D: 1500,
        A | B | C: 800,
        A | B | D: 1200,
    }
    assert {found: rows.estimate(found).size for found in sizes} == pytest.approx(sizes)
    assert rows.estimate(rows.all).size == pytest.approx(joined_size(TABLE_5_3))


def test_what_is_known_of_pairs_counts_before_numbers_of_values():
    column = JoinedColumn({0: 1000, 1: 10, 2: 10}, {(0, 1): 0.5})
    assert column.share(A | B) == 0.5
    assert column.share(A | C) == 1 / 1000
    assert column.share(B | C) == 1 / 10
    assert column.share(A | B | C) == 0.5 / 10


def test_ties_that_are_what_values_say_change_nothing():
    values = {0: 500.0, 1: 50.0, 2: 40.0, 3: 5.0}
    ties = {(a, b): 1 / max(values[a], values[b]) for a in values for b in values if a < b}
    for relations in range(1, 16):
        assert JoinedColumn(values, ties).share(relations) == pytest.approx(
            JoinedColumn(values).share(relations)
        )


def test_a_relation_without_rows_gives_none():
    rows = JoinedRows([Estimate(0, 0), Estimate(70, 30)])
    assert rows.estimate(A | B) == Estimate(0, 0)


def test_keys_are_columns_that_both_sides_have():
    rows = JoinedRows(
        [Estimate(1, 1)] * 4,
        [JoinedColumn({0: 1, 1: 1, 2: 1}), JoinedColumn({2: 1, 3: 1})],
        [JoinedCondition(A | B | D, 0.1, (A | B, D))],
    )
    assert rows.keys(A, B) == 1
    assert rows.keys(A | B, C) == 1
    assert rows.keys(A, D) == 0
    assert rows.keys(A | C, D) == 1
    assert rows.keys(A | B, D) == 1
    assert rows.keys(A | B | C, D) == 2
    assert rows.keys(A | D, B) == 1  # the sum of a and b is not known before they are joined
    assert rows.has_column_of_all(A | B | C)
    assert not rows.has_column_of_all(A | D)


def test_pairs_are_counted_before_what_is_not_equal_is_tested():
    rows = JoinedRows(
        [Estimate(10, 10), Estimate(20, 10), Estimate(30, 10)],
        [JoinedColumn({0: 5, 1: 5, 2: 5})],
        [JoinedCondition(A | B, 0.5), JoinedCondition(A | C, 0.1)],
    )
    assert rows.pairs(A, B) == pytest.approx((10 * 10 + 20 * 10) / 5)
    assert rows.pairs(A | B, C) == pytest.approx(rows.estimate(rows.all).rate / 0.1)
    assert rows.pairs(B | C, A) == pytest.approx(rows.estimate(rows.all).rate / 0.05)
