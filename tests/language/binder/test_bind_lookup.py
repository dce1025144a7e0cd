"""Lookups: whose time it is, how it comes to the lookup, and that nobody sees it."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import parse
from panes.language import statements as st
from panes.language.binder.bind import bind
from panes.optimizer.optimizer import optimize
from panes.plan.lookups import Matching, is_lookup, table_below
from panes.plan.nodes import TIME, AntiJoin, Join, Node, SemiJoin, StreamScan, TableScan, Window
from panes.plan.walk import walk
from panes.plan.windows import FOREVER
from tests.language.corpus import read_catalog

SECOND = 1_000_000
CATALOG = read_catalog(
    """
    CREATE STREAM a (k BIGINT, g BIGINT, x DOUBLE);
    CREATE STREAM b (k BIGINT, g BIGINT) SLACK INTERVAL 2 SECONDS;
    CREATE STREAM c (k BIGINT, g BIGINT) SLACK INTERVAL 2 SECONDS RETAIN INTERVAL 1 MINUTE;
    CREATE STREAM high AS SELECT k, g FROM a WHERE x > 1;
    CREATE STREAM known AS SELECT a.k, n.v FROM a JOIN n ON a.k = n.k;
    CREATE TABLE rel (k BIGINT, v BIGINT);
    CREATE TABLE n (k BIGINT, v BIGINT) NON RETROACTIVE;
    CREATE TABLE m (k BIGINT, v BIGINT) NON RETROACTIVE;
    """
)


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return bind(query, CATALOG)


def lookups(sql: str) -> list[Matching]:
    """The lookups of a query, from the top down; what the optimizer makes of it has the same."""
    plan = plan_of(sql)
    found = [node for node in walk(plan) if is_lookup(node)]
    optimized = [node for node in walk(optimize(plan)) if is_lookup(node)]
    assert [(n.time, n.keep_us) for n in optimized] == [(n.time, n.keep_us) for n in found]
    return found


def timed(node: Node) -> list[str]:
    """The aliases of the scans that give the time of their tuples."""
    scans = [n for n in walk(node) if isinstance(n, StreamScan)]
    return [n.alias for n in scans if f"{n.alias}.{TIME}" in n.schema]


def test_the_scan_has_one_column_more_and_the_table_knows_the_stream() -> None:
    (lookup,) = lookups("SELECT v FROM a [NOW] x JOIN n ON x.k = n.k")
    assert isinstance(lookup, Join)
    assert lookup.time == "x._time"
    assert lookup.left.schema.names == ("x.k", "x.g", "x.x", "x._time")
    table = table_below(lookup.right)
    assert table is not None
    assert table.stream == "a"


@pytest.mark.parametrize(
    ("predicate", "kind"),
    [
        ("k IN (SELECT k FROM n)", SemiJoin),
        ("EXISTS (SELECT * FROM n WHERE n.k = a.k AND n.v > a.g)", SemiJoin),
        ("k NOT IN (SELECT k FROM n)", AntiJoin),
        ("NOT EXISTS (SELECT * FROM n WHERE n.k = a.k)", AntiJoin),
    ],
)
def test_semi_and_anti_joins_look_up_too(predicate: str, kind: type[Node]) -> None:
    (lookup,) = lookups(f"SELECT k FROM a [NOW] WHERE {predicate}")
    assert isinstance(lookup, kind)
    assert lookup.time == "a._time"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM a [NOW] JOIN n ON a.k = n.k",
        "SELECT a.*, n.* FROM a [NOW] JOIN n ON a.k = n.k",
        "SELECT * FROM (SELECT * FROM a [NOW] JOIN n USING (k)) d WHERE k IN (SELECT k FROM m)",
        "SELECT * FROM known [NOW] JOIN m USING (k)",
        "SELECT DISTINCT * FROM a [NOW] JOIN n USING (k) JOIN m USING (k)",
        "SELECT * FROM a [NOW] WHERE k IN (SELECT k FROM n) UNION ALL SELECT * FROM a [NOW]",
    ],
)
def test_no_answer_has_the_time(sql: str) -> None:
    assert lookups(sql)
    assert not [name for name in plan_of(sql).schema.names if TIME in name]


def test_only_the_tuple_that_looks_up_carries_its_time() -> None:
    (lookup,) = lookups("SELECT n.v FROM a [NOW] x, b [NOW] y, n WHERE x.k = y.k AND y.g = n.k")
    assert (lookup.time, timed(lookup)) == ("y._time", ["y"])


def test_each_side_of_a_self_join_has_its_own_time() -> None:
    first, second = lookups(
        "SELECT t.v, u.v FROM a [NOW] x, a [NOW] y, n t, n u WHERE x.k = y.g AND x.k = t.k AND y.k = u.k"
    )
    assert [first.time, second.time] == ["y._time", "x._time"]
    tables = [node for node in walk(first) if isinstance(node, TableScan)]
    assert len(set(tables)) == 2


def test_one_stream_in_two_derived_tables_is_two_tuples() -> None:
    (lookup,) = lookups(
        "SELECT v FROM (SELECT k FROM a [NOW]) d, (SELECT k FROM a [NOW]) e, n WHERE d.k = e.k AND e.k = n.k"
    )
    assert lookup.time == "e._time"
    assert len(timed(lookup)) == 1


def test_two_lookups_of_one_tuple_read_one_column() -> None:
    first, second = lookups("SELECT 1 FROM a [NOW], n, m WHERE a.k = n.k AND a.g = m.k")
    assert (first.time, second.time) == ("a._time", "a._time")
    assert [name for name in first.schema.names if TIME in name] == ["a._time"]


def test_what_a_tuple_has_met_is_of_its_time() -> None:
    first, _ = lookups("SELECT m.v FROM a [NOW], n, m WHERE a.k = n.k AND n.v = m.k")
    assert first.time == "a._time"


def test_a_column_of_a_relation_is_looked_up_at_the_time_of_the_only_tuple() -> None:
    (lookup,) = lookups("SELECT n.v FROM a [NOW], rel, n WHERE a.k = rel.k AND rel.v = n.k")
    assert lookup.left_keys == ("rel.v",)
    assert lookup.time == "a._time"


def test_time_goes_up_through_derived_tables_under_their_alias() -> None:
    (lookup,) = lookups(
        "SELECT d.p FROM (SELECT e.q + 1 AS p FROM (SELECT g AS q FROM a [NOW]) e) d JOIN n ON d.p = n.k"
    )
    assert (lookup.time, timed(lookup)) == ("d._time", ["a"])


def test_a_negation_keeps_the_time_of_its_rows() -> None:
    (lookup,) = lookups(
        "SELECT v FROM (SELECT k FROM a [NOW] WHERE NOT EXISTS (SELECT * FROM b [NOW] WHERE b.k = a.k)) d "
        "JOIN n ON d.k = n.k"
    )
    assert lookup.time == "d._time"


def test_tuples_of_one_stream_are_looked_up_above_their_union() -> None:
    (lookup,) = lookups(
        "SELECT v FROM (SELECT k, g FROM high UNION ALL SELECT g, k FROM a WHERE x < 0) [NOW] d "
        "JOIN n ON d.k = n.k"
    )
    assert (lookup.time, timed(lookup)) == ("d._time", ["a", "a"])


def test_sides_of_a_union_that_have_the_time_in_different_places() -> None:
    first, _, _ = lookups(
        "SELECT m.v FROM (SELECT k FROM a [NOW] WHERE k IN (SELECT k FROM n) UNION ALL "
        "SELECT y.k FROM a [NOW] x, a [NOW] y WHERE x.k = y.k AND x.k IN (SELECT k FROM n)) d "
        "JOIN m ON d.k = m.k"
    )
    assert first.time == "d._time"


@pytest.mark.parametrize(
    ("source", "keep_us"),
    [
        ("a [RANGE 10 SECONDS]", 10 * SECOND),
        ("a [RANGE 10 SECONDS SLIDE 3 SECONDS]", 13 * SECOND),
        ("a [NOW]", 1),
        ("a", 0),
        ("b", 2 * SECOND),
        ("c [RANGE UNBOUNDED]", 62 * SECOND),
        # A row leaves a count window at any age, and is then looked up again.
        ("c [ROWS 10]", FOREVER),
        ("(SELECT k FROM b [RANGE 10 SECONDS] WHERE k NOT IN (SELECT k FROM c [RANGE 1 HOUR]))", 10 * SECOND),
    ],
)
def test_versions_are_kept_as_long_as_tuples_may_ask_for_them(source: str, keep_us: int) -> None:
    (lookup,) = lookups(f"SELECT v FROM {source} x JOIN n ON x.k = n.k")
    assert lookup.keep_us == keep_us


def test_a_time_window_goes_below_the_lookups_of_its_stream() -> None:
    (lookup,) = lookups("SELECT v FROM known [RANGE 10 SECONDS] WHERE v > 1")
    assert isinstance(lookup.left, Window)
    assert isinstance(lookup.left.child, StreamScan)
    assert lookup.keep_us == 10 * SECOND


def test_a_count_window_counts_what_tuples_have_met() -> None:
    plan = plan_of("SELECT v FROM known [ROWS 10]")
    (window,) = (node for node in walk(plan) if isinstance(node, Window))
    assert any(is_lookup(node) for node in walk(window.child))


def test_a_lookup_of_a_query_over_the_table_knows_the_stream_too() -> None:
    (lookup,) = lookups("SELECT w FROM a [NOW] JOIN (SELECT k, v + 1 AS w FROM n WHERE v > 0) d ON a.k = d.k")
    table = table_below(lookup.right)
    assert table is not None
    assert table.stream == "a"


def test_tables_alone_are_joined_as_they_are() -> None:
    plan = plan_of(
        "SELECT n.v FROM n, m, rel WHERE n.k = m.k AND m.v = rel.k AND n.k NOT IN (SELECT k FROM m)"
    )
    assert not any(is_lookup(node) for node in walk(plan))
    assert all(node.stream is None for node in walk(plan) if isinstance(node, TableScan))


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        (
            "SELECT 1 FROM a [NOW], b [NOW], n WHERE a.k = n.k AND b.k = n.v",
            "there are two here, of a and of b",
        ),
        (
            "SELECT 1 FROM a [NOW], b [NOW], n WHERE a.k = n.k AND b.k > n.v",
            "there are two here, of a and of b",
        ),
        (
            "SELECT 1 FROM (SELECT a.k + b.k AS s FROM a [NOW], b [NOW]) d JOIN n ON d.s = n.k",
            "there are two",
        ),
        ("SELECT 1 FROM (SELECT DISTINCT k FROM a [NOW]) d JOIN n ON d.k = n.k", "DISTINCT stands for many"),
        ("SELECT 1 FROM (SELECT k FROM a [NOW] UNION SELECT k FROM a [NOW]) d JOIN n USING (k)", "DISTINCT"),
        ("SELECT 1 FROM (SELECT max(k) AS k FROM a [NOW]) d JOIN n USING (k)", "a group has many"),
        (
            "SELECT 1 FROM (SELECT Dstream(k) FROM a [NOW]) d JOIN n USING (k)",
            "Dstream gives its results times",
        ),
        (
            "SELECT 1 FROM (SELECT k FROM a [NOW] UNION ALL SELECT k FROM rel) d JOIN n USING (k)",
            "a row of rel",
        ),
        (
            "SELECT 1 FROM (SELECT k FROM a UNION ALL SELECT k FROM b) [NOW] d JOIN n USING (k)",
            "of a and of b",
        ),
    ],
)
def test_rows_without_the_time_of_one_tuple_look_nothing_up(sql: str, reason: str) -> None:
    with pytest.raises(SqlError, match=reason) as refused:
        plan_of(sql)
    assert "first" in str(refused.value)
