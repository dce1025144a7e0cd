"""Long spans are cut where lifetimes end."""

import numpy as np
import pyarrow as pa

from panes.delta.delta import FOREVER, Delta
from panes.operators.join import Join
from panes.operators.tools import split_span as cuts
from panes.operators.tools.edge import Edge
from panes.operators.tools.split_span import cuts_of, split_span
from panes.plan.patterns import Pattern
from panes.plan.schema import Schema
from panes.plan.types import BIGINT

LEFT = Schema.of([("a.k", BIGINT), ("a.x", BIGINT)])
RIGHT = Schema.of([("b.k", BIGINT), ("b.y", BIGINT)])


def delta(ts, lifetime):
    ts = np.asarray(ts, np.int64)
    exp = np.full(len(ts), FOREVER) if lifetime is None else ts + lifetime
    return Delta(pa.table({"a": np.arange(len(ts)), "_ts": ts, "_exp": exp}), int(ts.max()))


def test_pieces_are_about_as_long_as_a_lifetime():
    many = delta(np.arange(40_000), 8_000)
    assert cuts_of([many, many]) == [9_999, 19_998, 29_997]


def test_nothing_is_cut_that_is_short_small_or_without_end():
    assert cuts_of([delta(np.arange(40_000), 20_000)]) == []
    assert cuts_of([delta(np.arange(100), 1)]) == []
    assert cuts_of([delta(np.arange(40_000), None)]) == []


def test_there_are_not_too_many_pieces():
    assert len(cuts_of([delta(np.arange(40_000), 1)])) == cuts._MOST_PIECES - 1


def test_each_row_is_in_the_piece_of_its_time_whatever_the_order():
    pieces = split_span(delta([5, 1, 3, 2, 4], 1), [2, 4, 9])
    assert [piece.ts.tolist() for piece in pieces] == [[1, 2], [3, 4], [5]]
    assert [piece.table.column("a").to_pylist() for piece in pieces] == [[1, 3], [2, 4], [0]]
    assert [piece.clock for piece in pieces] == [2, 4, 9]


def test_a_join_gives_the_same_pairs_whether_its_span_is_cut_or_not(monkeypatch):
    rng = np.random.default_rng(3)
    first, later = (sides(rng, begin) for begin in (0, 30_000))
    results = []
    for fewest in (1, 10**9):
        monkeypatch.setattr(cuts, "_FEWEST_ROWS", fewest)
        join = Join(Edge(LEFT, Pattern.WEAKEST), Edge(RIGHT, Pattern.WEAKEST), ["a.k"], ["b.k"])
        tables = [join.process(first, 0, 30_000).table, join.process(later, 30_000, 60_000).table]
        together = pa.concat_tables(tables)
        results.append(together.sort_by([(name, "ascending") for name in together.column_names]))
    assert results[0].num_rows > 10_000
    assert results[0].equals(results[1])


def sides(rng, begin):
    tables = []
    for key, value in (("a.k", "a.x"), ("b.k", "b.y")):
        ts = begin + np.sort(rng.integers(1, 30_001, 3_000))
        columns = {key: rng.integers(0, 40, 3_000), value: rng.integers(0, 9, 3_000), "_ts": ts}
        tables.append(Delta(pa.table({**columns, "_exp": ts + 2_500}), begin + 30_000))
    return tables
