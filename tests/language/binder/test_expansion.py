"""Derived streams and registered queries that stand for their names in FROM."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import bind, parse
from panes.language import statements as st
from panes.language.binder.expansion import DEEPEST
from panes.plan.nodes import Node, StreamScan
from panes.plan.walk import walk
from tests.language.corpus import Shelf, read_catalog

STREAM = "CREATE STREAM s (a INT, b INT);"


def plan_of(sql: str, shelf: Shelf) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return bind(query, shelf)


def test_a_scan_names_the_queries_through_which_it_is_read_the_innermost_first() -> None:
    shelf = read_catalog(
        f"{STREAM} CREATE QUERY one AS SELECT a FROM s [NOW]; CREATE STREAM d AS SELECT Istream(a) FROM one;"
        "CREATE QUERY two AS SELECT d.a FROM d [NOW], s [NOW] WHERE d.a = s.a"
    )
    scans = [
        node for node in walk(plan_of("SELECT * FROM two, s [NOW] x", shelf)) if isinstance(node, StreamScan)
    ]
    assert [(scan.alias, scan.queries) for scan in scans] == [
        ("s", ("one", "two")),
        ("s", ("two",)),
        ("x", ()),
    ]


def test_a_query_that_reads_itself_is_refused() -> None:
    shelf = read_catalog(f"{STREAM} CREATE QUERY a AS SELECT * FROM b; CREATE QUERY b AS SELECT * FROM A")
    with pytest.raises(SqlError, match="a reads itself"):
        plan_of("SELECT * FROM a", shelf)


def test_queries_stand_inside_one_another_up_to_a_depth() -> None:
    chain = [f"CREATE QUERY q{n} AS SELECT a, b FROM q{n - 1}" for n in range(1, DEEPEST + 1)]
    shelf = read_catalog(";".join([STREAM, "CREATE QUERY q0 AS SELECT a, b FROM s [NOW]", *chain]))
    assert plan_of(f"SELECT a FROM q{DEEPEST - 1}", shelf).schema.names == ("a",)
    with pytest.raises(SqlError, match="more than 20 derived streams and queries stand inside one another"):
        plan_of(f"SELECT a FROM q{DEEPEST}", shelf)


def test_queries_that_read_the_one_before_twice_come_to_an_end() -> None:
    chain = [
        f"CREATE QUERY q{n} AS SELECT x.a, y.b FROM q{n - 1} x JOIN q{n - 1} y ON x.a = y.b"
        for n in range(1, 15)
    ]
    shelf = read_catalog(";".join([STREAM, "CREATE QUERY q0 AS SELECT a, b FROM s [NOW]", *chain]))
    with pytest.raises(SqlError, match="this is longer than 30000 characters"):
        plan_of("SELECT a FROM q14", shelf)
