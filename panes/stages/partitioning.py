"""By which columns the inputs of a plan can be dealt out to shards, so that every shard works alone."""

from __future__ import annotations

from collections.abc import Mapping

from panes.plan.expressions import Column
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
    Project,
    Rstream,
    Select,
    SemiJoin,
    TableScan,
    Union,
    Window,
)
from panes.plan.windows import RowsWindow

Keys = tuple[str, ...]


class _OneShard(Exception):
    """Some operator needs to see all rows together."""


def partition_keys(plan: Node, inputs: Mapping[Node, bool]) -> Mapping[Node, Keys] | None:
    """The columns of each input whose values decide the shard; None when one shard must see everything.

    `inputs` says of each whether it is the partial sums of a group-by, still to be added up.

    Rows that any operator brings together agree on these columns, so shards never need each other's rows.
    An input with no columns may be dealt out in any way.
    """
    keys: dict[Node, Keys] = {}
    try:
        _assign(plan, None, inputs, keys)
    except _OneShard:
        return None
    return keys


def _assign(node: Node, wanted: Keys | None, inputs: Mapping[Node, bool], keys: dict[Node, Keys]) -> None:
    """Deals out the inputs below `node` so that its rows lie by the `wanted` columns; None: as it likes."""
    if node in inputs:
        if inputs[node]:
            assert isinstance(node, GroupBy)
            wanted = _within(node.keys, wanted)
        # The same input twice must be dealt out in one way.
        if keys.setdefault(node, wanted or ()) != (wanted or ()):
            raise _OneShard
        return
    match node:
        case TableScan():
            return  # every shard has the whole table
        case Select() | Istream() | Dstream() | Rstream():
            _assign(node.child, wanted, inputs, keys)
        case Project():
            _assign(node.child, wanted and tuple(_passed(node, name) for name in wanted), inputs, keys)
        case Window(spec=RowsWindow() as spec):
            _assign(node.child, _within(spec.partition_by, wanted), inputs, keys)
        case Window():
            _assign(node.child, wanted, inputs, keys)
        case Distinct():
            _assign(node.child, wanted or node.schema.names, inputs, keys)
        case GroupBy():
            _assign(node.child, _within(node.keys, wanted), inputs, keys)
        case Join(right=TableScan()):
            if wanted and not all(name in node.left.schema for name in wanted):
                raise _OneShard
            _assign(node.left, wanted, inputs, keys)
        case Join() | SemiJoin() | AntiJoin():
            if isinstance(node, AntiJoin) and node.null_aware:
                raise _OneShard
            left, right = _matched(node, wanted)
            _assign(node.left, left, inputs, keys)
            _assign(node.right, right, inputs, keys)
        case Union() | Intersect() | Except():
            if wanted is None and not isinstance(node, Union):
                wanted = node.schema.names
            renamed = dict(zip(node.schema.names, node.right.schema.names, strict=True))
            _assign(node.left, wanted, inputs, keys)
            _assign(node.right, wanted and tuple(renamed[name] for name in wanted), inputs, keys)
        case _:
            raise _OneShard


def _passed(node: Project, name: str) -> str:
    expression = dict(node.columns)[name]
    if not isinstance(expression, Column):
        raise _OneShard
    return expression.name


def _within(have: Keys, wanted: Keys | None) -> Keys:
    """Rows that agree on `have` must stay together: any part of it will do, and nothing else."""
    if not have or (wanted and not set(wanted) <= set(have)):
        raise _OneShard
    return wanted or have


def _matched(node: Join | SemiJoin | AntiJoin, wanted: Keys | None) -> tuple[Keys, Keys]:
    pairs = list(zip(node.left_keys, node.right_keys, strict=True))
    if wanted:
        pairs = [pair for name in wanted for pair in pairs if name in pair]
        if len(pairs) != len(wanted):
            raise _OneShard
    if not pairs:
        raise _OneShard
    return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)
