"""By which columns the inputs of a plan are dealt out to shards."""

import pytest

from panes.language import bind, parse
from panes.language.statements import CreateFunction
from panes.optimizer.optimizer import optimize
from panes.stages.cut_stages import cut_stages


class Streams:
    """A catalog with two streams of three columns each, a relation and a table that tuples look up."""

    def __init__(self):
        (self.a,) = parse("CREATE STREAM a (k BIGINT, g BIGINT, x DOUBLE) FROM RATE")
        (self.b,) = parse("CREATE STREAM b (k BIGINT, g BIGINT, x DOUBLE) FROM RATE")
        (self.t,) = parse("CREATE TABLE t (k BIGINT, y DOUBLE)")
        (self.n,) = parse("CREATE TABLE n (k BIGINT, y DOUBLE) NON RETROACTIVE")

    def stream(self, name):
        return {"a": self.a, "b": self.b}.get(name)

    def table(self, name):
        return {"t": self.t, "n": self.n}.get(name)

    def names(self):
        return ["a", "b", "t", "n"]

    def functions(self) -> dict[str, CreateFunction]:
        return {}

    def registered(self, name: str) -> None:  # noqa: ARG002
        return None


def keys(sql, large_tables=()):
    """The key columns of each input of each stage, or None for a stage that runs on one shard. Those of an input
    that every shard gets all of are None."""
    (query,) = parse(sql)
    stages = cut_stages(optimize(bind(query, Streams())), frozenset(large_tables))
    return [[source.keys for source in stage.inputs] if stage.is_sharded else None for stage in stages]


CASES = {
    "SELECT k FROM a [RANGE 1 MINUTE]": [[()]],
    "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE] GROUP BY k": [[("a.k",)]],
    "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] GROUP BY k": [[("a.k",)]],
    "SELECT count(*) AS n FROM a [RANGE 1 MINUTE]": [None],
    "SELECT k FROM a [ROWS 10]": [None],
    "SELECT k FROM a [PARTITION BY g ROWS 10]": [[("a.g",)]],
    "SELECT a.x FROM a [RANGE 1 MINUTE], b [RANGE 1 MINUTE] WHERE a.k = b.k": [[("a.k",), ("b.k",)]],
    # Grouping by the join key, or by more, needs no rows from elsewhere; by another column it is another stage.
    "SELECT a.k, count(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY a.k": [[("a.k",), ("b.k",)]],
    "SELECT b.k, count(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY b.k": [[("a.k",), ("b.k",)]],
    "SELECT a.g, count(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY a.g": [
        [("a.k",), ("b.k",)], [("a.g",)]],
    "SELECT a.k FROM a [NOW] WHERE NOT EXISTS (SELECT * FROM b [NOW] WHERE b.k = a.k)": [[("a.k",), ("b.k",)]],
    "SELECT k FROM a [RANGE 1 MINUTE] WHERE k NOT IN (SELECT k FROM b [NOW])": [None],
    "SELECT k FROM a [NOW] UNION ALL SELECT g FROM b [NOW]": [[(), ()]],
    "SELECT k FROM a [NOW] EXCEPT ALL SELECT g FROM b [NOW]": [[("k",), ("g",)]],
    "SELECT DISTINCT k FROM a [PARTITION BY k ROWS 2]": [[("a.k",)]],
    "SELECT DISTINCT g FROM a [PARTITION BY k ROWS 2]": [None],
    "SELECT a.x FROM a [NOW], b [NOW] WHERE a.x > b.x": [None],
    # Equal rows of what an output stream looks at lie together: by the columns that are left of the key below, or
    # by all of them in a stage of its own. Computed columns are not needed where others are left.
    "SELECT Istream(k, x) FROM a [RANGE 1 MINUTE]": [[("k", "x")]],
    "SELECT Dstream(k, x + 1 AS y) FROM a [RANGE 1 MINUTE]": [[("k", "y")]],
    "SELECT Istream(k, count(*) AS n) FROM a [RANGE 1 MINUTE] GROUP BY k": [[("a.k",)]],
    "SELECT Istream(k, g, count(*) + 1 AS n) FROM a [NOW] GROUP BY k, g": [[("a.k", "a.g")]],
    "SELECT Istream(a.k, a.x + b.x AS y) FROM a [NOW], b [NOW] WHERE a.k = b.k": [[("a.k",), ("b.k",)]],
    "SELECT Istream(a.x + b.x AS y) FROM a [NOW], b [NOW] WHERE a.k = b.k": [[("a.k",), ("b.k",)], [("y",)]],
    "SELECT DISTINCT k, n FROM (SELECT k, count(*) AS n FROM a [NOW] GROUP BY k)": [[("a.k",)]],
    "SELECT Istream(n) FROM (SELECT k, count(*) AS n FROM a [NOW] GROUP BY k)": [[("a.k",)], [("n",)]],
    "SELECT Istream(count(*) AS n) FROM a [RANGE 1 MINUTE]": [None],
    "SELECT Istream(k) FROM a [ROWS 10]": [None],
    # All of the relation is repeated when any of it changes, but at slides by every shard for itself.
    "SELECT Rstream(k, count(*) AS n) FROM a [RANGE 1 MINUTE] GROUP BY k": [[("a.k",)], None],
    "SELECT Rstream(k, count(*) AS n) FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] GROUP BY k": [[("a.k",)]],
    "SELECT Rstream(n) FROM (SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] GROUP BY k)": [
        [("a.k",)], [("n",)]],
    "SELECT Rstream(k) FROM a [RANGE 1 MINUTE SLIDE 1 SECOND]": [[()]],
    # Results that count one by one need not meet; the youngest of all must be in one place.
    "SELECT Wstream(k) [RANGE 1 MINUTE] FROM a [RANGE 1 MINUTE]": [[()]],
    "SELECT Wstream(n) [RANGE 1 MINUTE] FROM (SELECT k, count(*) AS n FROM a [NOW] GROUP BY k)": [
        [("a.k",)], [("n",)]],
    "SELECT Wstream(k) [ROWS 9] FROM a [RANGE 1 MINUTE]": [None],
    "SELECT k FROM a [RANGE 1 MINUTE INTERNAL]": [[()]],
    "SELECT count(*) AS n FROM (SELECT DISTINCT k, g FROM a [RANGE 1 MINUTE])": [[("k", "g")], None],
    "SELECT count(*) AS n FROM (SELECT a.g, count(*) AS m FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY a.g)": [
        [("a.k",), ("b.k",)], [("a.g",)], None],
    # Items are made before the shuffle, or end a stage; over a count window they lie where their row does.
    "SELECT v, count(*) AS n FROM a [NOW], unnest([k, g]) AS t(v) GROUP BY v": [[("t.v",)]],
    "SELECT v, count(*) AS n FROM (SELECT a.k, b.g FROM a [NOW], b [NOW] WHERE a.k = b.k) q, unnest([k, g]) t(v) "
    "GROUP BY v": [[("a.k",), ("b.k",)], [("t.v",)]],
    "SELECT k, count(v) AS n FROM a [PARTITION BY k ROWS 2], unnest([g]) AS t(v) GROUP BY k": [[("a.k",)]],
    "SELECT v, count(*) AS n FROM a [PARTITION BY k ROWS 2], unnest([g]) AS t(v) GROUP BY v": [None],
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_rows_that_must_meet_agree_on_the_key(sql):
    assert keys(sql) == CASES[sql]


WITH_TABLES = {
    # Every shard has all of a small table, and the rows of the stream may lie by any column, or anywhere.
    "SELECT a.x, t.y FROM a [NOW], t WHERE a.k = t.k": [[(), None]],
    "SELECT a.x, n.y FROM a, n WHERE a.k = n.k": [[(), None]],
    "SELECT t.k, count(*) AS m FROM a [NOW], t WHERE a.k = t.k GROUP BY t.k": [[("a.k",), None]],
    "SELECT a.g, max(n.y) AS m FROM a [NOW], n WHERE a.k = n.k GROUP BY a.g": [[("a.g",), None]],
    "SELECT a.x FROM a [NOW], t WHERE a.x > t.y": [[(), None]],
    "SELECT a.x FROM a [NOW] WHERE k IN (SELECT k FROM t)": [[(), None]],
    "SELECT a.x FROM a [NOW] WHERE NOT EXISTS (SELECT * FROM n WHERE n.k = a.k)": [[(), None]],
    "SELECT x FROM a [NOW] WHERE k NOT IN (SELECT k FROM n)": [[(), None]],
    # Where one row is kept for all equal rows that match, they lie together.
    "SELECT x FROM a [NOW] WHERE k NOT IN (SELECT k FROM t)": [[("a.k", "a.x"), None]],
    "SELECT x FROM a [NOW] WHERE EXISTS (SELECT * FROM t WHERE t.k = a.k AND y > x)": [[("a.k", "a.x"), None]],
    # Elsewhere rows of a table go by the key, or by all of their columns.
    "SELECT k FROM a [NOW] UNION ALL SELECT k FROM t": [[(), ()]],
    "SELECT t.y, count(*) AS m FROM t, a [NOW] WHERE t.k = a.k GROUP BY t.y": [[(), None], [("t.y",)]],
    "SELECT k FROM a [NOW] EXCEPT ALL SELECT k FROM t": [[("k",), ("k",)]],
    # Rows that are kept and may be taken back lie by their columns.
    "SELECT u.k FROM (SELECT k FROM a [NOW] UNION ALL SELECT k FROM t) AS u, t WHERE u.k = t.k": [
        [("k",), ("k",), None]],
}  # fmt: skip
WITH_LARGE_TABLES = {
    "SELECT a.x, t.y FROM a [NOW], t WHERE a.k = t.k": [[("a.k",), ("t.k",)]],
    "SELECT a.x, n.y FROM a, n WHERE a.k = n.k": [[("a.k",), ("n.k",)]],
    "SELECT a.g, max(n.y) AS m FROM a [NOW], n WHERE a.k = n.k GROUP BY a.g": [
        [("a.k",), ("n.k",)], [("a.g",)]],
    # Without a key, and for NOT IN, there is no other way.
    "SELECT a.x FROM a [NOW], t WHERE a.x > t.y": [[(), None]],
    "SELECT x FROM a [NOW] WHERE k NOT IN (SELECT k FROM n)": [[(), None]],
}  # fmt: skip


@pytest.mark.parametrize("sql", WITH_TABLES)
def test_every_shard_has_all_of_a_small_table_beside_a_stream(sql):
    assert keys(sql) == WITH_TABLES[sql]


@pytest.mark.parametrize("sql", WITH_LARGE_TABLES)
def test_large_tables_are_routed_by_the_join_key_where_there_is_one(sql):
    assert keys(sql, ["t", "n"]) == WITH_LARGE_TABLES[sql]
