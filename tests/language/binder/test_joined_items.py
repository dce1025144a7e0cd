"""FROM: which joins have their place, and which conditions stand above them."""

from __future__ import annotations

import pytest

from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.plan.nodes import Join, Node, OuterJoin, Select
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

CATALOG = read_catalog()


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return bind(query, CATALOG)


def nodes_of(sql: str) -> list[str]:
    """The selections and joins of a query, from the top down."""
    kinds = (Select, Join, OuterJoin)
    return [type(node).__name__ for node in walk(plan_of(sql)) if isinstance(node, kinds)]


XY = "FROM s1 [NOW] x LEFT JOIN s2 [NOW] y ON x.a = y.a"


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        (f"SELECT x.b {XY} WHERE x.b > 1", ["Select", "OuterJoin"]),
        (f"SELECT x.b {XY} WHERE y.b > 1", ["Select", "OuterJoin"]),
        (f"SELECT x.b {XY} AND y.b > 1", ["OuterJoin", "Select"]),
        (f"SELECT x.b {XY} AND x.b > 1", ["OuterJoin"]),
        (f"SELECT x.b {XY} JOIN s3 [NOW] z ON z.a = x.a", ["Select", "Join", "OuterJoin"]),
        (f"SELECT x.b {XY}, s3 [NOW] z WHERE z.a = x.a", ["Select", "Join", "OuterJoin"]),
        (f"SELECT x.b FROM s3 [NOW] z, {XY[5:]} WHERE z.a = x.a", ["Select", "Join", "OuterJoin"]),
        (f"SELECT x.b FROM s3 [NOW] z CROSS JOIN {XY[5:]} WHERE z.a = x.a", ["Select", "OuterJoin", "Join"]),
    ],
)
def test_conditions_and_joins_stand_where_they_belong(sql: str, found: list[str]) -> None:
    assert nodes_of(sql) == found


def test_the_name_of_a_semi_joined_relation_is_free_again() -> None:
    assert plan_of(
        "SELECT y.a FROM s1 [NOW] x SEMI JOIN s2 [NOW] y ON x.a = y.a JOIN s3 [NOW] y ON x.a = y.a"
    )
