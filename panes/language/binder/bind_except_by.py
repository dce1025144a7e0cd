"""EXCEPT ALL BY: of the rows that agree in some columns, as many as the left side has more of than the right.

Which ones are given is decided by time: the youngest tuples of the left side. It is written as functions over
partitions of both sides together, so that every row of the left knows its place among those of its partition, and
how many more of these there are than rows of the right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from panes.language.binder.bind_expressions import cast_to
from panes.language.binder.bind_lookup import with_time
from panes.language.binder.refusals import check_bounded, check_internal, check_with_tables
from panes.language.names import same
from panes.language.positions import did_you_mean, offset_of
from panes.plan.expressions import Call, Column, Expression, Literal
from panes.plan.nodes import Node, Over, Project, Select, Union
from panes.plan.over_functions import WHOLE, OverFunction
from panes.plan.sort_key import SortKey
from panes.plan.types import BIGINT, BOOLEAN, Type, wider

if TYPE_CHECKING:
    from sqlglot import exp

    from panes.language.binder.bind_query import QueryBinder
    from panes.language.parser.syntax import SetOperation

_KEY, _TIME, _SIGN, _SURPLUS, _PLACE = "_by_key", "_by_time", "_by_sign", "_by_surplus", "_by_place"

_Columns = tuple[tuple[str, Expression], ...]


def bind_except_by(binder: QueryBinder, tree: SetOperation, left: Node, right: Node) -> Node:
    """The rows of the left side that are left, with all of their columns."""
    offset = offset_of(tree)
    check_with_tables(left, right, binder.text, offset)
    check_bounded("EXCEPT", binder.text, offset, left, right)
    pairs = [_pair(binder, column, left, right) for column in tree.args["by"]]
    shown = tuple((field.name, Column(field.type, field.name)) for field in left.schema)
    left, time = with_time(
        left, {ours.name for ours, _, _ in pairs}, "EXCEPT ALL BY", binder.catalog, binder.text, offset
    )
    keys = tuple(f"{_KEY}{number}" for number in range(len(pairs)))
    our_keys = [(key, cast_to(ours, type_)) for key, (ours, _, type_) in zip(keys, pairs, strict=True)]
    their_keys = [(key, cast_to(theirs, type_)) for key, (_, theirs, type_) in zip(keys, pairs, strict=True)]
    nothing = tuple((name, Literal(column.type, None)) for name, column in shown)
    ours: _Columns = (*shown, *our_keys, (_TIME, Column(BIGINT, time)), (_SIGN, Literal(BIGINT, 1)))
    theirs: _Columns = (*nothing, *their_keys, (_TIME, Literal(BIGINT, None)), (_SIGN, Literal(BIGINT, -1)))
    plan = Project(_youngest_of_surplus(Union(Project(left, ours), Project(right, theirs)), keys), shown)
    check_internal(plan, binder.text, offset)
    return plan


def _youngest_of_surplus(both: Node, keys: tuple[str, ...]) -> Node:
    """Of both sides together the rows of the left that are given."""
    sign, surplus, place = (Column(BIGINT, name) for name in (_SIGN, _SURPLUS, _PLACE))
    counted = Over(both, keys, (), (OverFunction(_SURPLUS, "sum", sign, BIGINT, frame=WHOLE),))
    youngest_first = (SortKey(_SIGN, descending=True), SortKey(_TIME, descending=True))
    placed = Over(counted, keys, youngest_first, (OverFunction(_PLACE, "row_number", None, BIGINT),))
    is_of_left = Call(BOOLEAN, "eq", (sign, Literal(BIGINT, 1)))
    return Select(placed, Call(BOOLEAN, "and", (is_of_left, Call(BOOLEAN, "le", (place, surplus)))))


def _pair(binder: QueryBinder, name: exp.Identifier, left: Node, right: Node) -> tuple[Column, Column, Type]:
    """The columns of a name on both sides, and the type in which they are compared."""
    columns = []
    for side, node in (("left", left), ("right", right)):
        found = next((field for field in node.schema if same(field.name, name.name)), None)
        if found is None:
            hint = did_you_mean(name.name, list(node.schema.names))
            binder.refuse(f"EXCEPT ALL BY: there is no column {name.name} on the {side} side", name, hint)
        columns.append(Column(found.type, found.name))
    ours, theirs = columns
    common = wider(ours.type, theirs.type)
    if common is None:
        binder.refuse(
            f"EXCEPT ALL BY cannot bring {ours.name} {ours.type} and {theirs.name} {theirs.type} to one type",
            name,
        )
    return ours, theirs, common
