"""VALUES: rows of constants as a query."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import bind, parse
from panes.language.binder.bind_values import MOST_ROWS
from panes.language.statements import SelectQuery
from panes.plan.nodes import Node, Values
from tests.language.corpus import Shelf


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return bind(query, Shelf())


def test_columns_have_the_type_of_all_their_values() -> None:
    plan = plan_of("VALUES (1, NULL, 'a'), (0.5, NULL, NULL), (-1, NULL, 'b' || 'c')")
    assert isinstance(plan, Values)
    assert [str(type_) for type_ in plan.schema.types] == ["DOUBLE", "BIGINT", "STRING"]
    assert plan.rows == ((1.0, None, "a"), (0.5, None, None), (-1.0, None, "bc"))


def test_many_rows_belong_in_a_table() -> None:
    assert plan_of(f"VALUES {', '.join(['(1)'] * MOST_ROWS)}")
    with pytest.raises(SqlError, match="at most"):
        plan_of(f"VALUES {', '.join(['(1)'] * (MOST_ROWS + 1))}")
