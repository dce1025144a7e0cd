"""VALUES: rows of constants as a query."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

from panes.delta.evaluate import evaluate
from panes.errors import EvaluationError
from panes.language.binder.bind_expressions import ExpressionBinder, cast_to
from panes.language.binder.scope import Scope
from panes.language.parser.syntax import ValuesBlock
from panes.language.positions import offset_of, refuse
from panes.plan.expressions import Expression, Literal, Value
from panes.plan.nodes import Values
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, INTERVAL, NULL, Type, wider

MOST_ROWS = 1000
"""Rows that VALUES may have: they are part of the plan."""

ONE_ROW = Values(Schema((Field("row", BIGINT),)), ((0,),))
"""What a SELECT without FROM reads."""

_ONE_ROW = pa.table({"_": [0]})


def bind_values(block: ValuesBlock, text: str) -> Values:
    """The rows, each column in the type that all its values have in common."""
    rows = block.expressions
    if len(rows) > MOST_ROWS:
        refuse(
            f"VALUES has at most {MOST_ROWS} rows", text, offset_of(rows[MOST_ROWS]),
            "CREATE TABLE and INSERT INTO it",
        )  # fmt: skip
    for row in rows:
        if len(row.expressions) != len(rows[0].expressions):
            refuse(
                f"the first row has {len(rows[0].expressions)} values, and this one {len(row.expressions)}",
                text, offset_of(row),
            )  # fmt: skip
    columns = [[row.expressions[place] for row in rows] for place in range(len(rows[0].expressions))]
    fields, values = [], []
    for number, nodes in enumerate(columns, start=1):
        type_, found = _column(nodes, text)
        fields.append(Field(f"column_{number}", type_))
        values.append(found)
    return Values(Schema(tuple(fields)), tuple(zip(*values, strict=True)))


def _column(nodes: list[exp.Expression], text: str) -> tuple[Type, list[Value]]:
    binder = ExpressionBinder(Scope(text))
    common = NULL
    bound: list[Expression] = []
    for node in nodes:
        bound.append(binder.bind(node))
        wide = wider(common, bound[-1].type)
        if wide is None:
            refuse(f"the values of this column are {common} and {bound[-1].type}", text, offset_of(node))
        if bound[-1].type == INTERVAL:
            refuse("a column cannot hold an INTERVAL", text, offset_of(node))
        common = wide
    common = BIGINT if common == NULL else common
    pairs = zip(bound, nodes, strict=True)
    return common, [_value(cast_to(value, common), node, text) for value, node in pairs]


def _value(value: Expression, node: exp.Expression, text: str) -> Value:
    if isinstance(value, Literal):
        return value.value
    # There is no column in scope, so an expression that binds reads none.
    try:
        computed: Value = evaluate(value, _ONE_ROW)[0].as_py()
    except EvaluationError as error:
        refuse(str(error), text, offset_of(node))
    return computed
