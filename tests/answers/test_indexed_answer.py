"""Tests of answers that lie by key: the rows of a plain answer, in cells of which an update touches few."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.answers.answer_index import AnswerIndex
from panes.answers.answer_store import AnswerStore, answer_of, rows_at
from panes.answers.index_cells import IndexCells
from panes.answers.indexed_answer import CELL, IndexedAnswer, answer_store, clustered
from panes.delta.delta import EXP, FOREVER, TS, WEIGHT, Delta
from panes.plan.schema import Schema
from panes.plan.types import BIGINT

SCHEMA = Schema.of([("k", BIGINT), ("v", BIGINT)]).arrow
LAYOUTS = [
    AnswerIndex(("k",), IndexCells.of(cells, order), rebuild)
    for cells, order, rebuild in [
        ("1x1", "round_robin", True),
        ("4x1", "round_robin", False),
        ("1x4", "chronological", True),
        ("2x3", "chronological", False),
        ("4x4", "round_robin", True),
        ("4x4", "round_robin", False),
    ]
]


def delta(rows, clock, *, weighted=False):
    """The rows are (k, v, ts, exp) and, with weights, a weight."""
    names = ["k", "v", TS, EXP, *([WEIGHT] if weighted else [])]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return Delta(pa.table({n: pa.array(c, pa.int64()) for n, c in zip(names, columns, strict=True)}), clock)


def rows_of(store: AnswerStore, now: int) -> Counter:
    tables = [rows_at(chunk.table, now) for chunk in store.chunks]
    found = answer_of(tables, SCHEMA)
    return Counter(zip(found.column("k").to_pylist(), found.column("v").to_pylist(), strict=True))


def check_order(store: IndexedAnswer) -> None:
    for chunk in store.chunks:
        keys = chunk.table.column("k").to_pylist()
        assert keys == sorted(keys, key=lambda k: (k is None, k))
        exp = chunk.table.column(EXP).to_numpy()
        assert (chunk.low, chunk.high) == (exp.min(), exp.max())


lifetimes = st.one_of(st.integers(1, 12), st.integers(1, 5_000), st.just(None))
arrivals = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30), lifetimes), max_size=40)


@pytest.mark.parametrize("index", LAYOUTS, ids=str)
@settings(max_examples=30)
@given(arrivals, st.sets(st.integers(1, 100), max_size=12))
def test_an_index_holds_the_rows_of_a_plain_answer_wherever_time_is_cut(index, came, cuts):
    plain, indexed = AnswerStore(), answer_store(index)
    since = 0
    ends = sorted({*cuts, 100})
    rows = [
        (k, n, 1 + 3 * at, FOREVER if life is None else 1 + 3 * at + life)
        for n, (k, at, life) in enumerate(came)
    ]
    for clock in ends:
        fresh = delta([row for row in rows if since < row[2] <= clock], clock)
        plain.apply(fresh)
        # What a store knows is in its chunks: the next epoch begins with these.
        indexed = answer_store(index, indexed.chunks)
        indexed.apply(fresh)
        assert rows_of(indexed, clock) == rows_of(plain, clock)
        check_order(indexed)
        since = clock


@pytest.mark.parametrize("index", LAYOUTS[-2:], ids=str)
@settings(max_examples=30)
@given(st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=6), max_size=12))
def test_rows_that_are_taken_back_leave_an_index(index, spans):
    store, live = IndexedAnswer(index), []
    for clock, events in enumerate(spans, start=1):
        rows = []
        for k, choice in events:
            if live and choice < 5:
                rows.append((*live.pop(choice % len(live)), clock, FOREVER, -1))
            else:
                live.append((k, 0))
                rows.append((k, 0, clock, FOREVER, 1))
        store.apply(delta(rows, clock, weighted=True))
        assert rows_of(store, clock) == Counter(live)
        check_order(store)


def uniform(now: int, panes: int, pane: int) -> list[tuple[int, int, int, int]]:
    """A row that came in pane `now` for each of the panes after it to leave in."""
    return [(n % 3, n, now * pane + 7, (now + n) * pane + 6) for n in range(1, panes + 1)]


@pytest.mark.parametrize("order", ["round_robin", "chronological"])
@pytest.mark.parametrize("cells", ["2x2", "4x4", "2x8"])
@pytest.mark.parametrize("epochs", [1, 3])
def test_an_update_rewrites_one_row_and_one_column_of_the_cells(cells, order, epochs):
    index = AnswerIndex(("k",), IndexCells.of(cells, order), rebuild=True)
    panes, pane, store = index.cells.panes, 1024, IndexedAnswer(index)
    touched = []
    for now in range(3 * panes):
        cuts = np.linspace(now * pane, (now + 1) * pane, epochs + 1).astype(int)
        for since, clock in pairwise(cuts):
            store.apply(
                delta([row for row in uniform(now, panes, pane) if since < row[2] <= clock], int(clock))
            )
            touched.append(store.touched_cells)
    # Within a pane nothing is rewritten but what is young; when it is over, the index is updated once.
    steady = [count for count in touched[2 * panes * epochs :] if count]
    assert len(steady) == panes
    assert max(steady) == index.cells.per_update
    if order == "round_robin":  # else some cells are empty at times
        assert min(steady) == index.cells.per_update


def test_what_is_appended_is_never_read_again_without_rebuild():
    index = AnswerIndex(("k",), IndexCells.of("4x4"))
    panes, pane, store = index.cells.panes, 1024, IndexedAnswer(index)
    runs: set[int] = set()
    for now in range(3 * panes):
        kept = [chunk for chunk in store.chunks if chunk.labels[CELL] >= 0]
        store.apply(delta(uniform(now, panes, pane), (now + 1) * pane))
        assert all(chunk in store.chunks for chunk in kept if chunk.high > (now + 1) * pane)
        runs.add(sum(chunk.labels[CELL] >= 0 for chunk in store.chunks))
    # Each update appends to the cells of one time of coming, and no run lives longer than its rows.
    assert max(runs) <= panes * index.cells.leavings


def test_rows_of_the_current_pane_are_merged_by_size_and_cells_stay_as_they_are():
    index = AnswerIndex(("k",), IndexCells.of("4x4"), rebuild=True)
    store = IndexedAnswer(index)
    store.apply(delta([(n % 7, n, 1, 16 * 1024) for n in range(100)], 1024))
    (old,) = [chunk for chunk in store.chunks if chunk.labels[CELL] >= 0]
    for clock in range(1025, 1125):
        store.apply(delta([(1, clock, clock, clock + 1024)], clock))
    assert old in store.chunks
    assert len(store.chunks) < 10


def test_panes_grow_with_the_longest_lifetime_and_rows_are_divided_anew():
    index = AnswerIndex(("k",), IndexCells.of("2x2"), rebuild=True)
    store = IndexedAnswer(index)
    store.apply(delta([(n, n, n, n + 8) for n in range(1, 9)], 8))
    assert {chunk.labels["pane"] for chunk in store.chunks} == {1}
    store.apply(delta([(9, 9, 9, 9 + 8_000)], 9))
    store.apply(delta([], 1_024))
    (chunk,) = store.chunks
    assert (chunk.labels["pane"], chunk.rows) == (1024, 1)


def test_the_parts_of_several_shards_become_one_index():
    index = AnswerIndex(("k",), IndexCells.of("2x2"))
    stores = [IndexedAnswer(index) for _ in range(2)]
    stores[0].apply(delta([(1, 1, 5, 50), (3, 1, 5, 9)], 8))
    stores[1].apply(delta([(2, 1, 6, 900_000), (0, 1, 6, FOREVER)], 8))
    together = IndexedAnswer(index, [chunk for store in stores for chunk in store.chunks])
    together.gather(10)
    assert rows_of(together, 10) == Counter({(1, 1): 1, (2, 1): 1, (0, 1): 1})
    assert len({chunk.labels["pane"] for chunk in together.chunks if chunk.labels[CELL] != -2}) == 1
    check_order(together)


def test_null_keys_lie_last():
    rows = pa.table({"k": pa.array([None, 2, None, 1]), "v": [1, 2, 3, 4]})
    assert clustered(rows, ("k", "v")).to_pydict() == {"k": [1, 2, None, None], "v": [4, 2, 1, 3]}
