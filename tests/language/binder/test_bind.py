"""Binding: names, types, and the shape of plans."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import bind, bind_stream, parse
from panes.language import statements as st
from panes.language.binder.names_read import names_read
from panes.plan.expressions import Call, Cast, Literal, walk
from panes.plan.nodes import Join, Node, Project, Select, StreamScan, TableScan, Window
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, INT
from panes.plan.walk import walk as nodes_of
from tests.language.corpus import Shelf, read_catalog

CATALOG = read_catalog()


def plan_of(sql: str, catalog: Shelf = CATALOG) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    return bind(query, catalog)


def names_of(sql: str) -> tuple[str, ...]:
    return plan_of(sql).schema.names


def test_columns_keep_the_order_and_the_case_they_are_written_in() -> None:
    assert names_of("SELECT Src AS Source, bytes, count(*) AS N FROM packets [NOW] GROUP BY src, bytes") == (
        "Source", "bytes", "N",
    )  # fmt: skip


def test_names_that_come_again_get_a_number() -> None:
    assert names_of("SELECT x.a, y.a, x.b AS a FROM s1 [NOW] x, s2 [NOW] y") == ("a", "a_1", "a_2")


def test_star_gives_all_columns_and_using_merges_two() -> None:
    assert names_of("SELECT * FROM s1 [NOW] x, s2 [NOW] y") == ("a", "b", "a_1", "b_1")
    assert names_of("SELECT * FROM s1 [NOW] x JOIN s2 [NOW] y USING (a)") == ("a", "b", "b_1")
    assert names_of("SELECT y.* FROM s1 [NOW] x JOIN s2 [NOW] y USING (a)") == ("a", "b")


def test_columns_on_edges_are_named_by_alias() -> None:
    (window,) = (n for n in nodes_of(plan_of("SELECT a FROM s1 [NOW] AS x")) if isinstance(n, Window))
    assert window.schema.names == ("x.a", "x.b")


def test_only_base_streams_and_tables_are_leaves() -> None:
    plan = plan_of("SELECT h.owner FROM heavy [NOW] x JOIN hosts h ON x.src = h.src")
    leaves = [n for n in nodes_of(plan) if not n.children]
    assert [type(leaf) for leaf in leaves] == [StreamScan, TableScan]
    assert isinstance(leaves[0], StreamScan)
    assert leaves[0].stream == "packets"


def test_a_table_is_always_right_of_the_streams() -> None:
    plan = plan_of(
        "SELECT owner FROM hosts h, link0 [NOW] x, link1 [NOW] y WHERE h.src = x.src AND x.src = y.src"
    )
    top = next(n for n in nodes_of(plan) if isinstance(n, Join))
    assert isinstance(top.right, TableScan)
    assert not any(isinstance(n, TableScan) for n in nodes_of(top.left))


def test_evaluators_need_no_silent_casts() -> None:
    """Every call has arguments of the types that its function takes."""
    plan = plan_of(
        "SELECT a + 1.5, a = 2, coalesce(a, bytes, 1.0) FROM s1 [NOW], packets [NOW] WHERE a < bytes"
    )
    for node in nodes_of(plan):
        expressions = [e for _, e in node.columns] if isinstance(node, Project) else []
        expressions += [node.predicate] if isinstance(node, Select) else []
        expressions += [node.residual] if isinstance(node, Join) and node.residual else []
        for expression in expressions:
            for part in walk(expression):
                if isinstance(part, Call) and part.type != BOOLEAN:
                    assert {arg.type for arg in part.args} == {part.type}
                elif isinstance(part, Call):
                    assert len({arg.type for arg in part.args}) == 1


def test_constants_are_cast_when_bound_and_columns_when_evaluated() -> None:
    plan = plan_of("SELECT a / 2 FROM s1")
    assert isinstance(plan, Project)
    ((_, divide),) = plan.columns
    assert isinstance(divide, Call)
    column, constant = divide.args
    assert isinstance(column, Cast)
    assert (column.type, column.arg.type) == (DOUBLE, INT)
    assert constant == Literal(DOUBLE, 2.0)


def test_integers_take_the_smallest_type_and_arithmetic_the_largest() -> None:
    assert plan_of("SELECT 1, 3000000000, a + a, -a, a % 2 FROM s1").schema.types == (
        INT, BIGINT, BIGINT, BIGINT, BIGINT,
    )  # fmt: skip


def test_streams_are_found_whatever_their_case() -> None:
    shelf = Shelf()
    for statement in parse('CREATE STREAM "MixedCase" (Alpha INT)'):
        assert isinstance(statement, st.CreateStream)
        shelf.things[statement.name] = statement
    plan = plan_of("SELECT ALPHA, mixedcase.alpha FROM mixedcase", shelf)
    assert plan.schema.names == ("ALPHA", "alpha_1")


def test_a_stream_derived_from_itself_is_refused() -> None:
    shelf = Shelf()
    for statement in parse("CREATE STREAM a AS SELECT * FROM b; CREATE STREAM b AS SELECT * FROM a"):
        assert isinstance(statement, st.CreateDerivedStream)
        shelf.things[statement.name] = statement
    first = shelf.stream("a")
    assert isinstance(first, st.CreateDerivedStream)
    with pytest.raises(SqlError, match="a reads itself"):
        bind_stream(first, shelf)
    with pytest.raises(SqlError, match="reads itself"):
        plan_of("SELECT * FROM b", shelf)


def test_an_error_in_a_derived_stream_shows_the_text_of_that_stream() -> None:
    shelf = read_catalog("CREATE STREAM s (a INT); CREATE STREAM d AS SELECT gone FROM s")
    with pytest.raises(SqlError) as caught:
        plan_of("SELECT * FROM d", shelf)
    assert "CREATE STREAM d AS SELECT gone FROM s" in str(caught.value)


def test_errors_of_binding_point_into_the_text_as_it_was_written() -> None:
    with pytest.raises(SqlError) as caught:
        plan_of("SELECT a\nFROM s1 [NOW]\nWHERE a > 1\n  AND nope = 2")
    assert (caught.value.line, caught.value.column) == (4, 7)


def test_which_streams_and_tables_a_query_names() -> None:
    (query,) = parse(
        "SELECT x.src FROM Link0 [NOW] x WHERE src IN (SELECT src FROM hosts) UNION ALL SELECT a FROM s1"
    )
    assert isinstance(query, st.SelectQuery)
    assert names_read(query) == {"link0", "hosts", "s1"}


def test_equal_queries_have_equal_plans() -> None:
    one = plan_of("SELECT src FROM link0 [RANGE 60 SECONDS] WHERE bytes > 1")
    other = plan_of("select src  from link0 [range 1 min]  -- the same\nwhere BYTES > 1")
    assert one == other
    assert hash(one) == hash(other)
