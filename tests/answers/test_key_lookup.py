"""Lookups in answers: a condition finds what it leaves of the whole answer, and little is read for it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.answers import key_lookup as lookups
from panes.answers.answer_index import AnswerIndex
from panes.answers.index_cells import IndexCells
from panes.answers.indexed_answer import clustered
from panes.answers.key_lookup import KeyLookup
from panes.clock import to_datetime
from panes.delta.evaluate import mask_of
from panes.language import bind, bind_invoke_where, parse
from panes.optimizer.optimizer import optimize
from panes.plan.expressions import Expression
from panes.plan.nodes import Node
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, decimal
from panes.state.buffers.chunk import Chunk
from tests.answers.kept import Kept
from tests.language.corpus import Shelf, read_catalog

SCHEMA = Schema.of(
    [
        ("k", INT),
        ("s", STRING),
        ("d", DOUBLE),
        ("m", decimal(9, 2)),
        ("t", TIMESTAMP),
        ("b", BOOLEAN),
        ("n", BIGINT),
    ]
)


def condition(text: str, schema: Schema = SCHEMA) -> Expression:
    (statement,) = parse(f"INVOKE q WHERE {text}")
    found = bind_invoke_where(statement, schema, Shelf())
    assert found is not None
    return found


def order(*names: str, schema: Schema = SCHEMA):
    return [(name, schema[name].type) for name in names]


ROWS = pa.table(
    {
        "k": pa.array([None if n % 11 == 0 else n % 7 - 2 for n in range(200)], pa.int32()),
        "s": pa.array([None if n % 13 == 0 else "abé€"[n % 4] * (n % 3) for n in range(200)]),
        "d": pa.array([float("nan") if n % 17 == 0 else n % 5 / 2 for n in range(200)]),
        "m": pa.array([Decimal(n % 9) / 4 for n in range(200)], pa.decimal128(9, 2)),
        "t": pa.array(
            [datetime(2020, 1, 1 + n % 4, tzinfo=UTC) for n in range(200)], pa.timestamp("us", "UTC")
        ),
        "b": pa.array([n % 2 == 0 for n in range(200)]),
        "n": pa.array(range(200), pa.int64()),
    }
)
CONDITIONS = [
    "k = 3", "k > 1", "k >= 1 AND k < 4", "2 > k", "k BETWEEN -1 AND 2", "k IN (1, 4, 1, 99)",
    "k = 3 AND s = 'bb'",
    "k IN (0, 2) AND s >= 'a' AND s < 'é'", "k = 1 AND s IN ('a', '€€')", "k IS NULL", "k = 1 OR k = 2", "k <> 3",
    "k = 3000000000", "k = 1 AND k = 2", "k > 4 AND k < 1", "n = 7", "k = 1 AND n > 50", "s = ''", "s > 'b'",
    "d = 1.0", "d > 1.5", "d < 1", "m = 0.25", "m > 1.5", "t = TIMESTAMP '2020-01-02'",
    "t >= TIMESTAMP '2020-01-03'",
    "b", "b = TRUE", "b = FALSE AND k = 2", "k + 1 = 3", "abs(k) = 2 AND k < 0", "k > 0.5", "k = NULL",
]  # fmt: skip


@pytest.mark.parametrize("text", CONDITIONS)
@pytest.mark.parametrize(
    "by", [("k",), ("k", "s"), ("s", "k"), ("d",), ("m", "k"), ("t", "k"), ("b", "k")], ids=str
)
def test_a_lookup_finds_what_the_condition_leaves_of_all_rows(text, by):
    rows = clustered(ROWS, by)
    lookup = KeyLookup.of(condition(text), order(*by))
    found = [
        row
        for part in lookup.slices(Chunk.of(rows, "n"))
        for row in lookup.rows(part).column("n").to_pylist()
    ]
    assert sorted(found) == sorted(rows.filter(mask_of(condition(text), rows)).column("n").to_pylist())


@pytest.mark.parametrize(
    ("text", "by", "bound"),
    [
        ("k = 3", ("k",), "k = 3"),
        ("k = 3 AND n < 100", ("k",), "k = 3"),
        ("k = 3 AND s = 'bb'", ("k", "s"), "k = 3 AND s = 'bb'"),
        ("n < 9 AND k IN (3, 4) AND s = 'bb'", ("k", "s"), "k IN (3, 4) AND s = 'bb'"),
        ("k > 3 AND s = 'bb'", ("k", "s"), "k > 3"),
        ("s = 'bb'", ("k", "s"), "TRUE"),
        ("k <> 3", ("k",), "TRUE"),
    ],
)
def test_rows_outside_of_the_bounds_are_not_read(text, by, bound):
    lookup, table = KeyLookup.of(condition(text), order(*by)), clustered(ROWS, by)
    read = KeyLookup(condition(bound)).rows(table).num_rows
    assert sum(part.num_rows for part in lookup.slices(Chunk.of(table, "n"))) == read
    assert lookup.is_narrow == (bound != "TRUE")


STREAMS = """
    CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY ts MICROSECONDS;
    CREATE STREAM b (ts BIGINT, k BIGINT, w BIGINT) TIMESTAMP BY ts MICROSECONDS;
"""
QUERIES = {
    "selection": "SELECT k, v FROM a [RANGE 40 MICROSECONDS] WHERE v < 20",
    "join": "SELECT a.k AS k, v, w FROM a [RANGE 40 MICROSECONDS], b [RANGE 25 MICROSECONDS] WHERE a.k = b.k",
    "groups": "SELECT k, count(*) AS v FROM a [RANGE 40 MICROSECONDS] GROUP BY k",
    "unbounded": "SELECT k, v FROM a WHERE v < 20",
    "some of each": "SELECT k, v FROM a [RANGE 9 MICROSECONDS] UNION ALL SELECT k, w AS v FROM b WHERE w < 10",
    "distinct": "SELECT DISTINCT k FROM a [RANGE 40 MICROSECONDS SLIDE 10 MICROSECONDS]",
}  # fmt: skip
CASES = [
    (AnswerIndex(("k",), IndexCells.of(cells), rebuild)) for cells, rebuild in [("2x2", True), ("4x4", False)]
]


def planned(query: str) -> Node:
    (select,) = parse(query)
    return optimize(bind(select, read_catalog(STREAMS)))


def rows(*tuples: tuple[int, int, int], value: str) -> pa.Table:
    at, keys, values = zip(*tuples, strict=True) if tuples else ((), (), ())
    columns = {"_ts": at, "ts": at, "k": keys, value: values}
    return pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})


def answer(database: Kept, text: str | None, as_of: int | None = None) -> Counter:
    standing = database.standing
    lookup = None if text is None else standing.lookup_of(condition(text, standing.plan.schema))
    found = database.readers.invoke(standing, None if as_of is None else to_datetime(as_of), lookup)
    return Counter(tuple(row.values()) for row in found.to_pylist())


tuples = st.lists(st.tuples(st.integers(1, 100), st.integers(0, 5), st.integers(0, 30)), max_size=25)


@pytest.mark.parametrize("index", CASES, ids=str)
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@settings(max_examples=4)
@given(left=tuples, right=tuples, cuts=st.sets(st.integers(1, 120), max_size=6), shards=st.integers(1, 2))
def test_readers_of_an_index_see_what_those_of_a_plain_answer_see(
    tmp_path_factory, query, index, left, right, cuts, shards
):
    folder, plan = tmp_path_factory.mktemp("kept"), planned(query)
    shards = 1 if "GROUP" in query or "DISTINCT" in query or "a.k" in query else shards
    indexed = Kept(folder / "indexed", plan, shards=shards, index=index)
    plain = Kept(folder / "plain", plan, shards=shards)
    since = 0
    for clock in sorted({*cuts, 120}):
        mine = {
            "a": rows(*(row for row in left if since < row[0] <= clock), value="v"),
            "b": rows(*(row for row in right if since < row[0] <= clock), value="w"),
        }
        indexed.epoch(mine, clock)
        plain.epoch(mine, clock)
        for text in (None, "k = 2", "k >= 1 AND k < 4", "k IN (0, 3)", "k <> 2"):
            assert answer(indexed, text) == answer(plain, text)
            middle = (max(since, min(cuts, default=0)) + clock) // 2
            if middle > since > 0:
                assert answer(indexed, text, middle) == answer(plain, text, middle)
        since = clock
    seen = [
        [
            sorted(change.table.to_pylist(), key=str)
            for change in database.readers.changes(database.standing, "r")
        ]
        for database in (indexed, plain)
    ]
    assert seen[0] == seen[1]


def test_a_key_is_found_without_looking_at_other_rows(tmp_path, monkeypatch):
    database = Kept(tmp_path, planned(QUERIES["selection"]), index=CASES[1])
    database.epoch({"a": rows(*((n % 50 + 1, n % 1000, 3) for n in range(20_000)), value="v")}, 50)
    seen = []
    monkeypatch.setattr(lookups, "mask_of", lambda c, table: seen.append(table.num_rows) or mask_of(c, table))
    found = answer(database, "k = 27")
    assert seen == [sum(found.values())] == [20]


def test_rows_that_have_left_are_not_found_though_their_chunk_is_there(tmp_path):
    database = Kept(tmp_path, planned(QUERIES["selection"]), index=CASES[1])
    database.epoch({"a": rows(*((at, 2, at % 20) for at in range(1, 31)), value="v")}, 30)
    for clock in (30, 45, 55, 69):
        if clock > 30:
            database.epoch({"a": rows(value="v")}, clock)
        held = Counter((2, at % 20) for at in range(1, 31) if at + 40 > clock)
        assert answer(database, "k = 2") == answer(database, None) == held
