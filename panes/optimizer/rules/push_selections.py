"""Selections go down as far as they may: rows that are not wanted are then neither kept nor computed with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from panes.plan.can_fail import can_fail
from panes.plan.expressions import Column, Expression, columns_of, conjuncts, substitute
from panes.plan.join_keys import split_keys, with_keys
from panes.plan.keeps_state import keeps_state
from panes.plan.lookups import Matching
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Dstream,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Join,
    Node,
    OuterJoin,
    Over,
    Project,
    Select,
    SemiJoin,
    TopN,
    Union,
    Unnest,
    Window,
    with_children,
)
from panes.plan.schema import Schema
from panes.plan.selected import selected
from panes.plan.walk import walk
from panes.plan.windows import BeginEndWindow

AnyMatching = TypeVar("AnyMatching", bound=Matching)


def push_selections(plan: Node) -> Node:
    """The plan with every condition where its columns are first known.

        Select a.k = b.k AND a.v > 5 AND n > 3        Join on a.k = b.k
          Join of all pairs                             Window [RANGE 1 MINUTE]
            Window [RANGE 1 MINUTE]                →      Select a.v > 5
              Stream a                                      Stream a
            Group by b.k: n                             Select n > 3
              …                                           Group by b.k: n
                                                            …

    A condition passes what lets all rows through that agree on its columns, or none: time windows, projections,
    unions, DISTINCT, groups and partitions by these columns, joins on the side that it reads. Of an outer join
    that is the side that is kept. An equality between the sides of a join becomes a key of it, and any other
    condition is tested for the pairs. Count windows and sessions hold what they hold because of other rows, so
    only conditions on partition columns pass them.

    A condition that can fail is not tested on rows that an inner query leaves out: it stays above the selections,
    projections and semi-joins that it stands on.
    """
    return _exactly(_tested_below(plan, ()), plan.schema)


def _tested_below(node: Node, conditions: Sequence[Expression]) -> Node:
    """The rows of a node that pass all conditions, with more columns where joins computed them for keys."""
    match node:
        case Select():
            # What can fail is tested on the rows that the conditions below let through, where these stay together.
            late = [c for c in conditions if can_fail(c)]
            early = dict.fromkeys([*conjuncts(node.predicate), *_without(conditions, late)])
            child = _tested_below(node.child, tuple(early))
            stays = not late or isinstance(child, Select)
            return _tested(child, late) if stays else _tested_below(child, late)
        case Project():
            columns = dict(node.columns)
            below = [c for c in conditions if _passes_projection(c, node)]
            child = _tested_below(node.child, [substitute(c, columns) for c in below])
            return _tested(with_children(node, child), _without(conditions, below))
    below = [c for c in conditions if _goes_below(c, node)]
    return _tested(_with_conditions_below(node, below), _without(conditions, below))


def _with_conditions_below(node: Node, conditions: Sequence[Expression]) -> Node:
    """The node over the rows of its children that pass the conditions."""
    match node:
        case Window() | Unnest() | GroupBy():
            return with_children(node, _tested_below(node.child, conditions))
        case Join():
            return _join(node, conditions)
        case OuterJoin() | SemiJoin() | AntiJoin():
            return _with_sides(node, _tested_below(node.left, conditions), _tested_below(node.right, ()))
        case Union() | Intersect() | Except():
            return _set_operation(node, conditions)
    # What compares rows as a whole must not see columns that were added.
    return with_children(
        node, *(_exactly(_tested_below(child, conditions), child.schema) for child in node.children)
    )


def _goes_below(condition: Expression, node: Node) -> bool:
    """Whether a condition may be tested on rows below a node, or as a part of it."""
    read = columns_of(condition)
    if not read:
        return isinstance(node, Window) and _is_of_time(node)
    match node:
        case Window():
            return _is_of_time(node) or read <= set(node.spec.partition_by)
        case Over() | TopN():
            return read <= set(node.partition_by)
        case GroupBy():
            return read <= set(node.keys)
        case Distinct() | Dstream() | Istream(restore=False) | Join():
            return True
        case Unnest():
            return node.column not in read and not can_fail(condition)
        case OuterJoin():
            return not node.is_full and read <= set(node.left.schema.names)
        case SemiJoin() | AntiJoin() | Intersect() | Except():
            return not can_fail(condition)
        case Union():
            return not _has_common_state(node)
    return False


def _passes_projection(condition: Expression, node: Project) -> bool:
    columns = dict(node.columns)
    below = substitute(condition, columns)
    if can_fail(below):
        return False
    is_renamed = all(isinstance(columns[name], Column) for name in columns_of(condition))
    # What a column is computed from is computed once more for the condition.
    return is_renamed or _goes_far(below, node.child)


def _goes_far(condition: Expression, node: Node) -> bool:
    """Whether a condition comes below more than selections, projections and windows."""
    match node:
        case Select():
            return _goes_far(condition, node.child)
        case Project():
            return _goes_far(substitute(condition, dict(node.columns)), node.child)
        case Window() if _is_of_time(node):
            return _goes_far(condition, node.child)
    return _goes_below(condition, node)


def _is_of_time(window: Window) -> bool:
    """Whether a window keeps or drops a tuple by its time alone, at all times."""
    return window.spec.is_timed and not isinstance(window.spec, BeginEndWindow)


def _has_common_state(union: Union) -> bool:
    """Whether both sides have a part in common, which would be computed twice if they differed in conditions."""
    left = {node for node in walk(union.left) if keeps_state(node)}
    return bool(left) and any(node in left for node in walk(union.right) if keeps_state(node))


def _join(join: Join, conditions: Sequence[Expression]) -> Join:
    conditions = tuple(dict.fromkeys([*conjuncts(join.residual), *conditions]))
    left, right = (
        [c for c in conditions if columns_of(c) and columns_of(c) <= set(side.schema.names)]
        for side in join.children
    )
    join = _with_sides(join, _tested_below(join.left, left), _tested_below(join.right, right))
    pairs, residual = split_keys(_without(conditions, [*left, *right]), join.left, join.right)
    one, other, left_keys, right_keys = with_keys(join.left, join.right, pairs)
    return replace(
        join,
        left=one,
        right=other,
        left_keys=join.left_keys + left_keys,
        right_keys=join.right_keys + right_keys,
        residual=residual,
    )


def _with_sides(node: AnyMatching, left: Node, right: Node) -> AnyMatching:
    if not set(left.schema.names).isdisjoint(right.schema.names):
        left, right = _exactly(left, node.left.schema), _exactly(right, node.right.schema)
    return with_children(node, left, right)


def _set_operation(node: Union | Intersect | Except, conditions: Sequence[Expression]) -> Node:
    sides = []
    for side in node.children:
        columns = {
            name: Column(f.type, f.name) for name, f in zip(node.schema.names, side.schema, strict=True)
        }
        below = _tested_below(side, [substitute(c, columns) for c in conditions])
        sides.append(_exactly(below, side.schema))
    return with_children(node, *sides)


def _tested(node: Node, conditions: Sequence[Expression]) -> Node:
    """A selection over a node. It goes below time windows together with what stands between the two."""
    if not conditions:
        return node
    between, window = [], node
    while isinstance(window, (Select, Project, Unnest)):
        between.append(window)
        window = window.child
    if not isinstance(window, Window) or not _is_of_time(window):
        return selected(node, conditions)
    below = window.child
    for step in reversed(between):
        below = with_children(step, below)
    return with_children(window, selected(below, conditions))


def _exactly(node: Node, schema: Schema) -> Node:
    if node.schema == schema:
        return node
    return Project(node, tuple((f.name, Column(f.type, f.name)) for f in schema))


def _without(conditions: Iterable[Expression], others: Iterable[Expression]) -> list[Expression]:
    left_out = list(others)
    return [c for c in conditions if c not in left_out]
