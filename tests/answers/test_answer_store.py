"""The answer store against a plain recomputation over all deltas."""

from collections import Counter

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.answers.answer_store import AnswerStore, answer_of, rows_at
from panes.delta.delta import FOREVER, Delta

SCHEMA = pa.schema([("v", pa.int64()), ("s", pa.string())])


def delta(rows, clock, *, weighted):
    names = ["v", "s", "_ts", "_exp"] + ["_weight"] * weighted
    types = [pa.int64(), pa.string()] + [pa.int64()] * (2 + weighted)
    columns = list(zip(*rows, strict=True)) if rows else [[]] * len(names)
    return Delta(pa.table([pa.array(c, t) for c, t in zip(columns, types, strict=True)], names=names), clock)


def answer(store, now):
    table = answer_of([rows_at(chunk.table, now) for chunk in store.chunks], SCHEMA)
    assert table.schema.names == SCHEMA.names
    return Counter(map(tuple, zip(*[c.to_pylist() for c in table.columns], strict=True)))


def test_a_row_is_in_the_answer_until_it_expires():
    #  1   2   3   4   5
    #  a-----------)
    #      b-----------)
    store = AnswerStore()
    store.apply(delta([(1, "a", 1, 4), (2, "b", 2, 5)], 3, weighted=False))
    assert answer(store, 3) == {(1, "a"): 1, (2, "b"): 1}
    store.apply(delta([], 4, weighted=False))
    assert answer(store, 4) == {(2, "b"): 1}
    store.apply(delta([], 5, weighted=False))
    assert store.chunks == ()


def test_a_retraction_takes_back_the_row_it_equals():
    store = AnswerStore()
    store.apply(delta([(1, None, 1, FOREVER, 1), (1, None, 1, FOREVER, 1)], 1, weighted=True))
    assert answer(store, 1) == {(1, None): 2}
    store.apply(delta([(1, None, 2, FOREVER, -1), (2, "b", 2, FOREVER, 1)], 2, weighted=True))
    assert answer(store, 2) == {(1, None): 1, (2, "b"): 1}


def test_a_span_of_many_changes_keeps_only_what_is_left_of_them():
    rows = [(n, "x", n, FOREVER, 1) for n in range(100)] + [(n, "x", n + 1, FOREVER, -1) for n in range(99)]
    store = AnswerStore()
    store.apply(delta(rows, 100, weighted=True))
    assert sum(chunk.rows for chunk in store.chunks) == 1


def test_chunks_stay_few_and_old_ones_are_not_rewritten():
    store = AnswerStore()
    store.apply(delta([(n, "old", 0, 10_000) for n in range(1000)], 0, weighted=False))
    (old,) = store.chunks
    for clock in range(1, 101):
        store.apply(delta([(clock, "new", clock, 10_000)], clock, weighted=False))
    assert old in store.chunks
    assert len(store.chunks) < 10


@settings(deadline=None)
@given(
    spans=st.lists(
        st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", None]), st.integers(1, 6)), max_size=6),
        max_size=12,
    )
)
def test_the_answer_equals_the_sum_of_all_rows_that_live(spans):
    store, seen = AnswerStore(), []
    for clock, rows in enumerate(spans, start=1):
        fresh = [(v, s, clock, clock + length) for v, s, length in rows]
        seen += fresh
        store.apply(delta(fresh, clock, weighted=False))
        assert answer(store, clock) == Counter((v, s) for v, s, _, exp in seen if exp > clock)


@settings(deadline=None)
@given(spans=st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=6), max_size=12))
def test_the_answer_follows_insertions_and_premature_deletions(spans):
    store, live = AnswerStore(), []
    for clock, events in enumerate(spans, start=1):
        rows = []
        for v, choice in events:
            if live and choice < 5:
                rows.append((*live.pop(choice % len(live)), clock, FOREVER, -1))
            else:
                live.append((v, "s"))
                rows.append((v, "s", clock, FOREVER, 1))
        store.apply(delta(rows, clock, weighted=True))
        assert answer(store, clock) == Counter(live)
