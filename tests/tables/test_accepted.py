from __future__ import annotations

from pathlib import Path

import pytest

from panes.errors import DriverReplaced, StateError
from panes.tables.accepted import Accepted
from panes.tables.transaction import Transaction
from tests.tables.table_of_hosts import change, rows_of

FIRST, SECOND, THIRD = "00000001-aaaaaaaa", "00000002-bbbbbbbb", "00000003-cccccccc"


def transaction(number: int, at: int | None = None) -> Transaction:
    return Transaction(number, at, {1: change((number, f"owner {number}", 1))})


def numbers(transactions: list[Transaction]) -> list[int]:
    return [found.number for found in transactions]


def test_transactions_are_read_as_they_were_put(tmp_path: Path) -> None:
    driver = Accepted(tmp_path, FIRST)
    two = Transaction(2, 77, {1: change((1, "a", -1), (1, "b", 1)), 5: change((9, "x", 1))})
    driver.put([transaction(1), two])
    first, second = Accepted(tmp_path).after(0)
    assert (first.number, first.at) == (1, None)
    assert (second.number, second.at) == (2, 77)
    assert rows_of(second.changes[1]) == [(1, "a", -1), (1, "b", 1)]
    assert rows_of(second.changes[5]) == [(9, "x", 1)]


def test_what_epochs_have_applied_is_neither_given_nor_kept(tmp_path: Path) -> None:
    driver = Accepted(tmp_path, FIRST)
    for number in (1, 2, 3):
        driver.put([transaction(number)])
    assert numbers(Accepted(tmp_path).after(2)) == [3]
    driver.remove(2)
    assert len(list(tmp_path.iterdir())) == 1
    assert numbers(Accepted(tmp_path).after(2)) == [3]


def test_a_driver_takes_over_what_another_has_accepted(tmp_path: Path) -> None:
    Accepted(tmp_path, FIRST).put([transaction(1), transaction(2)])
    second = Accepted(tmp_path, SECOND)
    assert numbers(second.take_over(1)) == [2]
    (there,) = tmp_path.iterdir()
    assert SECOND in there.name
    second.put([transaction(3, 99)])
    assert numbers(Accepted(tmp_path, THIRD).take_over(1)) == [2, 3]


def test_what_a_driver_takes_over_is_added_up(tmp_path: Path) -> None:
    first = Accepted(tmp_path, FIRST)
    for number in range(1, 6):
        first.put([transaction(number)])
    (found,) = Accepted(tmp_path, SECOND).take_over(2)
    assert found.number == 5
    assert [row[0] for row in rows_of(found.changes[1])] == [3, 4, 5]


def test_what_a_replaced_driver_stores_later_does_not_count(tmp_path: Path) -> None:
    old = Accepted(tmp_path, FIRST)
    old.put([transaction(1)])
    new = Accepted(tmp_path, SECOND)
    new.take_over(0)
    old.put([transaction(2)])
    new.put([Transaction(2, None, {1: change((2, "of the new driver", 1))})])
    found = Accepted(tmp_path).after(0)
    assert numbers(found) == [1, 2]
    assert rows_of(found[1].changes[1]) == [(2, "of the new driver", 1)]


def test_a_replaced_driver_hears_of_it_and_leaves_nothing(tmp_path: Path) -> None:
    def check() -> None:
        raise DriverReplaced("another driver has taken over")

    with pytest.raises(DriverReplaced):
        Accepted(tmp_path, FIRST, check).put([transaction(1)])
    assert list(tmp_path.iterdir()) == []


def test_an_object_that_seemed_not_to_be_stored_does_not_count_later(tmp_path: Path) -> None:
    driver = Accepted(tmp_path, FIRST)
    driver.put([transaction(1)])
    unsure = Accepted(tmp_path, FIRST)
    unsure._last = driver._last
    unsure.put([transaction(2)])  # the driver has not heard that it was stored
    driver.put([transaction(3)])
    assert numbers(Accepted(tmp_path).after(0)) == [1, 3]


def test_a_damaged_or_missing_object_is_named(tmp_path: Path) -> None:
    driver = Accepted(tmp_path, FIRST)
    driver.put([transaction(1)])
    driver.put([transaction(2)])
    _first, second = sorted(tmp_path.iterdir())
    second.write_bytes(second.read_bytes()[:-1] + b"x")
    with pytest.raises(StateError, match=f"{second.name} is damaged"):
        Accepted(tmp_path).after(0)
    second.write_bytes(b"")
    with pytest.raises(StateError, match=f"{second.name} is damaged"):
        Accepted(tmp_path).check(0)


def test_an_object_in_the_midst_that_is_gone_is_missed(tmp_path: Path) -> None:
    driver = Accepted(tmp_path, FIRST)
    driver.put([transaction(1)])
    driver.put([transaction(2)])
    first, _ = sorted(tmp_path.iterdir())
    first.unlink()
    with pytest.raises(StateError, match=f"{first.name} is missing"):
        Accepted(tmp_path).after(0)
    assert numbers(Accepted(tmp_path).after(1)) == [2]
