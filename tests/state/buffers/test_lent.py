"""State that is lent: read as it was at the beginning of a span."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import EXP
from panes.state.buffers.chunked import cluster
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.lent import Lent


def rows(*pairs: tuple[int, int]) -> pa.Table:
    keys, exps = zip(*pairs, strict=True)
    return pa.table({"k": pa.array(keys, pa.int64()), EXP: pa.array(exps, pa.int64())})


def found(lent: Lent, *keys: int) -> list[tuple[int, int]]:
    needles = cluster(pa.table({"k": pa.array(keys, pa.int64())}), ["k"])
    wanted = needles.column("k").to_pylist()
    pairs = [
        (wanted[place], table.column(EXP)[row].as_py())
        for at, table, stored_at in lent.matches(needles, ["k"])
        for place, row in zip(at.tolist(), stored_at.tolist(), strict=True)
    ]
    return sorted(pairs)


def test_a_reader_sees_what_there_was_before_the_span():
    lender = Keyed(["k"], combine=None)
    lent = Lent(lender, "the lender")
    lender.insert(rows((1, 10), (2, 20)))
    lent.borrow(since=5)
    lender.insert(rows((3, 30)))
    lender.expire(15)
    assert found(lent, 1, 2, 3) == [(1, 10), (2, 20)]
    lent.forget(15)
    lent.borrow(since=15)
    assert found(lent, 1, 2, 3) == [(2, 20), (3, 30)]


def test_a_row_that_the_lender_holds_twice_is_found_once_for_each_needle():
    lender = Keyed(["k"], combine=None)
    lent = Lent(lender, "the lender")
    lender.insert(rows((1, 10), (1, 10)))
    lender.insert(rows((1, 10)))
    lent.borrow(since=5)
    assert len(lender.chunks) == 2
    assert found(lent, 1, 1) == [(1, 10), (1, 10)]


def test_rows_that_are_dead_at_the_beginning_are_not_found():
    lender = Keyed(["k"], combine=None)
    lent = Lent(lender, "the lender")
    lender.insert(rows((1, 4), (1, 10)))
    lent.borrow(since=4)
    assert found(lent, 1) == [(1, 10)]


def test_nothing_is_kept():
    lender = Keyed(["k"], combine=None)
    lent = Lent(lender, "the lender")
    lent.insert(rows((1, 4)))
    assert lent.chunks == ()
    assert lent.rows == 0
    assert lent.reason == "reads the state of the lender"
