"""By which columns the inputs of a plan are dealt out to shards."""

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.stages.cut_stages import cut_stages


class Streams:
    """A catalog with two streams of three columns each."""

    def __init__(self):
        (self.a,) = parse("CREATE STREAM a (k BIGINT, g BIGINT, x DOUBLE) FROM RATE")
        (self.b,) = parse("CREATE STREAM b (k BIGINT, g BIGINT, x DOUBLE) FROM RATE")

    def stream(self, name):
        return {"a": self.a, "b": self.b}.get(name)

    def table(self, _):
        return None

    def names(self):
        return ["a", "b"]


def keys(sql):
    """The key columns of each input of each stage, or None for a stage that runs on one shard."""
    (query,) = parse(sql)
    stages = cut_stages(optimize(bind(query, Streams())))
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
        [("a.k",)], [()]],
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
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_rows_that_must_meet_agree_on_the_key(sql):
    assert keys(sql) == CASES[sql]
