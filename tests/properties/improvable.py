"""Plans to draw that leave much to rules: products below conditions, selections on top of everything, parts that
are there twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from panes.plan import nodes
from panes.plan.expressions import Call, Expression, Literal, conjunction
from panes.plan.nodes import Node
from panes.plan.types import BIGINT, BOOLEAN, STRING
from tests.properties.plans import COMPARABLE, Drawing


def improvable(drawing: Drawing) -> Node:
    """A relation with some operators above it, most of them selections and projections."""
    base: list[Callable[[Drawing], Node]] = [
        product, product, twice, looked_up_pair, lambda d: d.relation(2), lambda d: d.lookup(1)
    ]  # fmt: skip
    node = drawing.choose(base)(drawing)
    steps: list[Callable[[Node], Node]] = [
        lambda n: several(drawing, n),
        lambda n: several(drawing, n),
        drawing.project,
        lambda n: nodes.Distinct(comparable(drawing, n)),
        drawing.grouped,
        drawing.over,
        drawing.unnest,
        drawing.first_rows,
        lambda n: joined(drawing, n),
        lambda n: nodes.Union(drawing.narrow(n), drawing.narrow(drawing.relation(1))),
        lambda n: nodes.Except(drawing.narrow(n), drawing.narrow(drawing.relation(1))),
    ]
    for _ in range(drawing.random.randint(1, 4)):
        node = drawing.choose(steps)(node)
    return several(drawing, node)


def several(drawing: Drawing, child: Node) -> Node:
    """A selection by up to three conditions."""
    conditions = [condition(drawing, child) for _ in range(drawing.random.randint(1, 3))]
    predicate = conjunction(tuple(conditions))
    assert predicate is not None
    return nodes.Select(child, predicate)


def condition(drawing: Drawing, child: Node) -> Expression:
    """A comparison, one of values of a column, or one that calculates."""
    column = drawing.column(child, drawing.choose([BIGINT, STRING]))
    if column is None or drawing.one_in(2):
        return drawing.predicate(child)
    values = [Literal(column.type, drawing.choose([*COMPARABLE[column.type], None])) for _ in range(3)]
    if drawing.one_in(2):
        tests = [Call(BOOLEAN, "eq", (column, value)) for value in values]
        return Call(BOOLEAN, "or", (Call(BOOLEAN, "or", (tests[0], tests[1])), tests[2]))
    if column.type == STRING:
        return Call(BOOLEAN, "regexp_matches", (column, Literal(STRING, "^a?$")))
    more = Call(BIGINT, "add", (column, Literal(BIGINT, 1)))
    return Call(BOOLEAN, "gt", (more, Literal(BIGINT, 1)))


def product(drawing: Drawing) -> Node:
    """All pairs or triples of rows of windows, and conditions that tie some of them."""
    parts = [drawing.window() for _ in range(drawing.random.randint(2, 3))]
    node = parts[0]
    for part in parts[1:]:
        node = nodes.Join(node, part, (), ())
    ties = []
    for _ in range(drawing.random.randint(1, 3)):
        one, other = drawing.some(parts, 2, 2)
        type_ = drawing.choose([BIGINT, STRING])
        left, right = drawing.column(one, type_), drawing.column(other, type_)
        if left is None or right is None:
            continue
        if type_ == BIGINT and drawing.one_in(3):
            right = Call(BIGINT, "add", (right, Literal(BIGINT, 1)))
        ties.append(Call(BOOLEAN, drawing.choose(["eq", "eq", "eq", "lt"]), (left, right)))
    predicate = conjunction(tuple(ties))
    return several(drawing, node) if predicate is None else nodes.Select(node, predicate)


def twice(drawing: Drawing) -> Node:
    """A relation joined with itself, or united with some of it, under other names."""
    state = drawing.random.getstate()
    one = drawing.relation(1)
    again = Drawing(Random(), drawing.retracts, drawing.has_tables, drawing.names)
    again.random.setstate(state)
    other = again.relation(1)
    drawing.names = again.names
    if drawing.one_in(3):
        return nodes.Union(several(drawing, one), several(drawing, other))
    pairs = list(zip(one.schema, other.schema.names, strict=True))
    keys = [(f.name, name) for f, name in pairs if f.type.item is None and drawing.one_in(2)]
    return nodes.Join(one, other, tuple(a for a, _ in keys), tuple(b for _, b in keys))


def looked_up_pair(drawing: Drawing) -> Node:
    """Tuples joined with those of another window, and then looked up."""
    timed = drawing.timed_window()
    other = drawing.window()
    pair = nodes.Join(
        timed.node, other, *drawing.keys(timed.node, other), drawing.residual(timed.node, other)
    )
    return drawing.looking_up(replace(timed, node=pair))


def joined(drawing: Drawing, node: Node) -> Node:
    other = drawing.relation(1)
    if any(isinstance(n, nodes.TableScan) for n in (node, other)):
        return node
    return nodes.Join(node, other, *drawing.keys(node, other), drawing.residual(node, other))


def comparable(drawing: Drawing, node: Node) -> Node:
    """The node, or two of its columns when it has a list."""
    return drawing.narrow(node) if any(f.type.item is not None for f in node.schema) else node
