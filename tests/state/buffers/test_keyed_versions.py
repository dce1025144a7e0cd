from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS, WEIGHT
from panes.delta.hashing import HASH
from panes.state.buffers.keyed_versions import KeyedVersions, net_versions

Version = tuple[int, int, int, int]
"""Key, `_ts`, `_exp`, weight."""


def table_of(rows: list[Version]) -> pa.Table:
    names = ["k", TS, EXP, WEIGHT]
    arrays = [pa.array([row[place] for row in rows], pa.int64()) for place in range(len(names))]
    return pa.table(arrays, names=names)


def rows_of(table: pa.Table) -> list[Version]:
    return sorted(tuple(row[name] for name in ("k", TS, EXP, WEIGHT)) for row in table.to_pylist())


def stored(versions: KeyedVersions) -> list[Version]:
    return sorted(row for chunk in versions.chunks for row in rows_of(chunk.table))


def held(rows: list[Version], k: int, at: int) -> int:
    return sum(weight for key, ts, exp, weight in rows if key == k and ts <= at < exp)


versions_of_keys = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(1, 9),
        st.one_of(st.integers(10, 15), st.just(FOREVER)),
        st.sampled_from([-2, -1, 1, 2]),
    ),
    max_size=12,
)


def test_a_row_and_its_deletion_become_one_row_that_ends():
    #  1   2   3   4
    #  +-----------------
    #          --------       deleted at 3
    assert rows_of(net_versions(table_of([(7, 1, FOREVER, 1), (7, 3, FOREVER, -1)]))) == [(7, 1, 3, 1)]


@settings(deadline=None)
@given(versions_of_keys)
def test_netted_versions_say_the_same_at_every_instant(rows: list[Version]):
    netted = rows_of(net_versions(table_of(rows)))
    for k in range(1, 4):
        for at in range(17):
            assert held(netted, k, at) == held(rows, k, at)
    by_key = {k: sorted(row[1:3] for row in netted if row[0] == k) for k in range(1, 4)}
    assert all(a[1] <= b[0] for spans in by_key.values() for a, b in pairwise(spans))


@settings(deadline=None)
@given(versions_of_keys)
def test_counts_are_those_of_all_keys(rows: list[Version]):
    versions = KeyedVersions(["k"], reason="")
    for row in rows:
        versions.insert(table_of([row]))
    instants = pa.array(range(17)).to_numpy()
    expected = [sum(held(rows, k, at) for k in range(1, 4)) for at in range(17)]
    assert versions.counts_at(instants).tolist() == expected


def test_what_ended_before_the_instant_that_is_asked_for_goes_with_the_next_merge():
    versions = KeyedVersions(["k"], reason="")
    versions.insert(table_of([(7, 1, FOREVER, 1), (8, 1, FOREVER, 1)]))
    versions.insert(table_of([(7, 3, FOREVER, -1)]))
    versions.forget(3)
    assert versions.rows == 3
    versions.compact()
    assert stored(versions) == [(8, 1, FOREVER, 1)]


def test_chunks_stay_sorted_by_hash_when_versions_end():
    versions = KeyedVersions(["k"], reason="")
    versions.insert(table_of([(k, 1, FOREVER, 1) for k in range(50)]))
    versions.insert(table_of([(k, 5, FOREVER, -1) for k in range(0, 50, 2)]))
    versions.compact()
    (chunk,) = versions.chunks
    hashes = chunk.table.column(HASH).to_pylist()
    assert hashes == sorted(hashes)
    assert stored(versions) == sorted((k, 1, FOREVER if k % 2 else 5, 1) for k in range(50))


def test_nothing_is_held_before_the_beginning():
    versions = KeyedVersions(["k"], reason="")
    assert versions.counts_at(pa.array([BEGINNING, 1]).to_numpy()).tolist() == [0, 0]
