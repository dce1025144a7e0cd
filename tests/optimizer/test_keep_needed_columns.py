"""States hold the columns that somebody reads, and no others."""

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Window
from panes.plan.walk import walk
from tests.stages.test_partitioning import Streams

CASES = {
    "SELECT a.x FROM a [NOW], b [NOW] WHERE a.k = b.k": [("a.k", "a.x"), ("b.k",)],
    "SELECT a.x FROM a [NOW], b [NOW] WHERE a.k = b.k AND a.g > b.g": [("a.k", "a.g", "a.x"), ("b.k", "b.g")],
    "SELECT k FROM a [NOW] WHERE NOT EXISTS (SELECT * FROM b [NOW] WHERE b.k = a.k)": [("a.k",), ("b.k",)],
    "SELECT k FROM a [NOW] WHERE g IN (SELECT g FROM b [NOW])": [("a.k", "a.g"), ("b.g",)],
    "SELECT count(*) AS n FROM a [NOW], b [NOW] WHERE a.k = b.k": [("a.k",), ("b.k",)],
    "SELECT k, sum(g) AS s FROM a [NOW] GROUP BY k": [("a.k", "a.g")],
    "SELECT count(*) AS n FROM a [NOW]": [("a.k",)],
    "SELECT k FROM a [PARTITION BY g ROWS 2]": [("a.k", "a.g")],
    "SELECT count(*) AS n FROM (SELECT DISTINCT k, g FROM a [NOW])": [("k", "g")],
    "SELECT Istream(k, g) FROM a [NOW]": [("k", "g")],
    "SELECT k FROM (SELECT k, g FROM a [NOW] EXCEPT ALL SELECT k, g FROM b [NOW])": [("k", "g"), ("k", "g")],
    "SELECT a.x FROM a [NOW], b [NOW] WHERE a.x > b.x AND a.g = 1": [("a.x",), ("b.x",)],
}


@pytest.mark.parametrize("sql", CASES)
def test_windows_hold_what_is_read(sql):
    (query,) = parse(sql)
    plan = optimize(bind(query, Streams()))
    assert [node.schema.names for node in walk(plan) if isinstance(node, Window)] == CASES[sql]
    assert optimize(plan) == plan
