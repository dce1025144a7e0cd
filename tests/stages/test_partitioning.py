"""By which columns the inputs of a plan are dealt out to shards."""

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.stages.fragment import cut


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
    stages = cut(optimize(bind(query, Streams())))
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
    "SELECT count(*) AS n FROM (SELECT DISTINCT k, g FROM a [RANGE 1 MINUTE])": [[("k", "g")], None],
    "SELECT count(*) AS n FROM (SELECT a.g, count(*) AS m FROM a [NOW], b [NOW] WHERE a.k = b.k GROUP BY a.g)": [
        [("a.k",), ("b.k",)], [("a.g",)], None],
}  # fmt: skip


@pytest.mark.parametrize("sql", CASES)
def test_rows_that_must_meet_agree_on_the_key(sql):
    assert keys(sql) == CASES[sql]
