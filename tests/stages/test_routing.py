"""Where rows go: shards have ranges of buckets, whatever their number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import EXP, FOREVER, TS, WEIGHT
from panes.delta.hashing import BUCKETS
from panes.stages.fragment_run import FragmentRun
from panes.stages.physical_plan import PhysicalInput
from panes.stages.routing import Route, overlapping, shards_of
from tests.stages.test_fragment_run import inputs_of

ALL_BUCKETS = np.arange(BUCKETS, dtype=np.uint64) + np.uint64(7 << 40)


@pytest.mark.parametrize("shards", [1, 2, 3, 5, 7, 1000, 1024])
def test_buckets_are_spread_evenly_over_any_number_of_shards(shards: int) -> None:
    counts = np.bincount(shards_of(ALL_BUCKETS, shards), minlength=shards)
    assert len(counts) == shards
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize(("shards", "others"), [(1, 5), (2, 5), (5, 2), (3, 3), (1000, 1024), (7, 1)])
def test_a_shard_overlaps_with_those_that_have_one_of_its_buckets(shards: int, others: int) -> None:
    mine, theirs = shards_of(ALL_BUCKETS, shards), shards_of(ALL_BUCKETS, others)
    for shard in range(0, shards, max(1, shards // 50)):
        assert list(overlapping(shard, shards, others)) == sorted(set(theirs[mine == shard].tolist()))


CHANGES = pa.table(
    {
        "k": [1, 1, 2],
        "y": [0.5, 0.5, 1.5],
        TS: [1, 5, 5],
        EXP: [FOREVER] * 3,
        WEIGHT: [1, -1, 1],
    }
)


def routed(source: PhysicalInput, shards: int) -> dict[int, list[tuple[int, int]]]:
    """The keys and weights of the changes of a table that reach each shard."""
    rows, _ = FragmentRun(CHANGES).input(source, 0)
    found = {}
    for shard, mine in Route(source, shards, None).split(rows):
        key = next(name for name in mine.column_names if name.endswith("k"))
        found[shard] = list(zip(mine.column(key).to_pylist(), mine.column(WEIGHT).to_pylist(), strict=True))
    return found


def test_every_shard_gets_all_changes_of_a_table_that_it_has_wholly() -> None:
    _, table = inputs_of("SELECT a.x, t.y FROM a [NOW], t WHERE a.k = t.k")
    assert table.is_whole
    everything = [(1, 1), (1, -1), (2, 1)]
    assert routed(table, 3) == {0: everything, 1: everything, 2: everything}


def test_a_change_of_a_table_goes_where_the_row_that_it_takes_back_went() -> None:
    _, table = inputs_of("SELECT k FROM a [NOW] UNION ALL SELECT k FROM t")
    assert (table.keys, table.is_whole) == ((), False)
    found = routed(table, 5)
    assert sum(map(len, found.values())) == 3
    assert [(1, 1), (1, -1)] in [[row for row in rows if row[0] == 1] for rows in found.values()]


def test_tables_that_streams_look_up_at_different_times_are_different_inputs() -> None:
    sql = "SELECT {0}.x, n.y FROM {0}, n WHERE {0}.k = n.k"
    one, other = (inputs_of(sql.format(stream))[1] for stream in ("a", "b"))
    assert (one.looked_up_by, other.looked_up_by) == ("a", "b")
    assert Route(one, 2, None).key != Route(other, 2, None).key
