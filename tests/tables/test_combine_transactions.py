from __future__ import annotations

from panes.tables.combine_transactions import combine_transactions
from panes.tables.transaction import Transaction
from tests.tables.table_of_hosts import change, rows_of


def test_changes_of_one_instant_add_up() -> None:
    found = combine_transactions(
        [
            Transaction(4, None, {1: change((1, "a", 1)), 2: change((7, "x", 1))}),
            Transaction(5, 30, {1: change((2, "b", 1))}),
            Transaction(6, None, {1: change((1, "a", -1), (1, "c", 1))}),
            Transaction(9, 20, {1: change((3, "d", 1))}),
            Transaction(10, 30, {1: change((4, "e", 1))}),
        ]
    )
    assert [(one.number, one.at) for one in found] == [(8, 20), (9, 30), (10, None)]
    assert rows_of(found[0].changes[1]) == [(3, "d", 1)]
    assert rows_of(found[1].changes[1]) == [(2, "b", 1), (4, "e", 1)]
    assert rows_of(found[2].changes[1]) == [(1, "c", 1)]
    assert rows_of(found[2].changes[2]) == [(7, "x", 1)]


def test_one_transaction_stays_as_it_is() -> None:
    one = Transaction(4, None, {1: change((1, "a", 1))})
    assert combine_transactions([one]) == [one]
    assert combine_transactions([]) == []
