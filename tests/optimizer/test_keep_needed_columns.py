"""States hold the columns that somebody reads, and no others."""

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.lookups import table_below
from panes.plan.nodes import AntiJoin, Join, SemiJoin, Window
from panes.plan.walk import walk
from tests.language.binder.test_bind import plan_of
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


WITH_TABLES = {
    "SELECT p.src FROM packets [NOW] p JOIN hosts h ON p.src = h.src": [("p.src",), ("h.src",)],
    "SELECT ward FROM readings [NOW] r JOIN wards w ON r.sensor = w.id": [
        ("r.sensor", "r._time"), ("w.id", "w.ward")],
    "SELECT value FROM readings r JOIN wards w ON r.sensor = w.id": [
        ("r.sensor", "r.value", "r._time"), ("w.id",)],
    "SELECT src FROM packets [NOW] WHERE proto IN (SELECT proto FROM tariffs WHERE rate > 1)": [
        ("packets.src", "packets.proto", "packets._time"), ("tariffs.proto",)],
    "SELECT sensor FROM readings [NOW] r WHERE NOT EXISTS (SELECT * FROM wards w WHERE w.since > r.day)": [
        ("r.sensor", "r.day", "r._time"), ("w.since",)],
    "SELECT owner FROM hosts WHERE src IN (SELECT src FROM packets [NOW])": [
        ("hosts.src", "hosts.owner"), ("packets.src",)],
    "SELECT 1 FROM packets [NOW] WHERE EXISTS (SELECT * FROM hosts)": [("packets.ts",), ("hosts.src",)],
}  # fmt: skip


@pytest.mark.parametrize("sql", WITH_TABLES)
def test_tables_hold_what_is_read_and_lookups_keep_the_time(sql):
    plan = optimize(plan_of(sql))
    (node,) = (n for n in walk(plan) if isinstance(n, (Join, SemiJoin, AntiJoin)))
    assert [side.schema.names for side in node.children] == WITH_TABLES[sql]
    assert any(table_below(side) for side in node.children)
    assert optimize(plan) == plan
