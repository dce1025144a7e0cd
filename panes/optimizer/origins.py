"""What columns are computed from: attributes of streams and tables, whatever the plan between them looks like.

Statistics are kept under such texts. So what was measured in one plan is known in all plans that have the same
condition, under whatever alias and in whatever order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from panes.plan.expressions import Column, Expression, substitute
from panes.plan.nodes import (
    Drop,
    GroupBy,
    Matched,
    Node,
    Over,
    Project,
    Signed,
    StreamScan,
    TableScan,
    Unnest,
    Values,
)

Origins = Mapping[str, Expression]
"""By the name of a column what it is computed from, with columns that are called `stream.attribute`."""


@lru_cache(maxsize=1024)  # planning asks for those of a node tens of times
def origins_of(node: Node) -> Origins:
    """The origins of the columns of a node. A computed value that no row of a stream has, such as an aggregate, is
    its own origin, under its name."""
    match node:
        case StreamScan():
            return {f.name: Column(f.type, f"{node.stream}.{node.attribute(f.name)}") for f in node.schema}
        case TableScan():
            return {f.name: Column(f.type, f"{node.table}.{node.attribute(f.name)}") for f in node.schema}
        case Project():
            below = origins_of(node.child)
            return {name: substitute(expression, below) for name, expression in node.columns}
        case Unnest():
            item = substitute(node.expression, origins_of(node.child))
            type_ = node.schema[node.column].type
            return {**origins_of(node.child), node.column: Column(type_, f"item of {item}")}
        case GroupBy() | Over() | Values() | Matched() | Signed() | Drop():
            below = origins_of(node.children[0]) if node.children else {}
            return {f.name: below.get(f.name, Column(f.type, f.name)) for f in node.schema}
    found: dict[str, Expression] = {}
    for child in reversed(node.children):
        found |= origins_of(child)  # a set operation has the columns of its left side
    return {name: found[name] for name in node.schema.names if name in found}


def condition_text(condition: Expression, origins: Origins) -> str:
    """A condition as a text over attributes of streams and tables."""
    return str(substitute(condition, origins))


def columns_text(columns: Sequence[str], origins: Origins) -> str:
    """Columns as a text over attributes, in one order whatever the order that they are given in."""
    return ", ".join(sorted(str(origins[name]) for name in columns))


def match_text(
    left_keys: Sequence[str],
    right_keys: Sequence[str],
    residual: Expression | None,
    left: Origins,
    right: Origins,
) -> str:
    """The condition of a join as a text that does not tell its sides apart."""
    pairs = zip(left_keys, right_keys, strict=True)
    equal = sorted(" = ".join(sorted((str(left[one]), str(right[other])))) for one, other in pairs)
    rest = [] if residual is None else [condition_text(residual, {**left, **right})]
    return " AND ".join(equal + rest)
