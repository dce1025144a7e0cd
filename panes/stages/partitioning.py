"""By which columns the inputs of a plan can be routed to shards, so that every shard works alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from panes.operators.lower import slides_of
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
    Wstream,
)
from panes.plan.output_streams import counts_each_result, gives_generated
from panes.plan.windows import RowsWindow

Keys = tuple[str, ...]


class _OneShard(Exception):
    """Some operator needs to see all rows together."""


def partition_keys(plan: Node, inputs: Mapping[Node, bool]) -> Mapping[Node, Keys] | None:
    """The columns of each input whose values decide the shard; None when one shard must see everything.

    `inputs` says of each whether it is the partial sums of a group-by, still to be added up.

    Rows that any operator brings together agree on these columns, so shards never need each other's rows.
    An input with no columns may be routed in any way.
    """
    keys: dict[Node, Keys] = {}
    try:
        _assign(plan, None, inputs, keys)
    except _OneShard:
        return None
    return keys


def _assign(node: Node, wanted: Keys | None, inputs: Mapping[Node, bool], keys: dict[Node, Keys]) -> None:
    """Routes the inputs below `node` so that its rows lie by the `wanted` columns; None: as it likes.

    An operator that brings rows together is routed by all columns that the operators below it allow: the more
    there are, the more evenly rows spread.
    """
    if node in inputs:
        if inputs[node]:
            assert isinstance(node, GroupBy)
            wanted = _within(node.keys, wanted)
        # The same input twice must be routed in one way.
        if keys.setdefault(node, wanted or ()) != (wanted or ()):
            raise _OneShard
        return
    match node:
        case TableScan():
            return  # every shard has the whole table
        case Select():
            _assign(node.child, wanted, inputs, keys)
        case Istream() | Dstream() | Rstream() | Wstream():
            if isinstance(node, Wstream) and isinstance(node.spec, RowsWindow):
                raise _OneShard  # the youngest of all results
            if isinstance(node, Rstream) and not slides_of(node.child):
                raise _OneShard  # a change of any row repeats all others
            if isinstance(node, Rstream) and not _may_lie_anywhere(node.child, inputs):
                # It keeps the relation, and a retraction must find its row whatever the number of shards.
                wanted = wanted or _some(_columns(node.child, inputs))
            if _nets_equal_rows(node):
                wanted = wanted or _some(_columns(node.child, inputs))
            _assign(node.child, wanted, inputs, keys)
        case Project():
            _assign(node.child, wanted and tuple(_passed(node, name) for name in wanted), inputs, keys)
        case Window(spec=RowsWindow()):
            _assign(node.child, _within(_columns(node, inputs), wanted), inputs, keys)
        case Window():
            _assign(node.child, wanted, inputs, keys)
        case Distinct():
            _assign(node.child, wanted or _some(_columns(node.child, inputs)), inputs, keys)
        case GroupBy():
            _assign(node.child, _within(_columns(node, inputs), wanted), inputs, keys)
        case Join(right=TableScan()):
            if wanted and not all(name in node.left.schema for name in wanted):
                raise _OneShard
            _assign(node.left, wanted, inputs, keys)
        case Join() | SemiJoin() | AntiJoin():
            if isinstance(node, AntiJoin) and node.null_aware:
                raise _OneShard
            left, right = _matched(_pairs(node, inputs), wanted)
            _assign(node.left, left, inputs, keys)
            _assign(node.right, right, inputs, keys)
        case Union() | Intersect() | Except():
            if wanted is None and not isinstance(node, Union):
                wanted = _some(_columns(node, inputs))
            renamed = dict(zip(node.schema.names, node.right.schema.names, strict=True))
            _assign(node.left, wanted, inputs, keys)
            _assign(node.right, wanted and tuple(renamed[name] for name in wanted), inputs, keys)
        case _:
            raise _OneShard


def _nets_equal_rows(node: Istream | Dstream | Rstream | Wstream) -> bool:
    """Whether an output stream looks at how often the relation has a row, so that equal rows must meet."""
    if isinstance(node, (Istream, Wstream)) and gives_generated(node):
        return not counts_each_result(node.child)
    return not isinstance(node, Rstream) or node.restore


def _may_lie_anywhere(node: Node, inputs: Mapping[Node, bool]) -> bool:
    """Whether nothing below a node asks for its rows to lie by any columns."""
    keys: dict[Node, Keys] = {}
    _assign(node, None, inputs, keys)
    return not any(keys.values())


def _columns(node: Node, inputs: Mapping[Node, bool]) -> Keys:
    """The columns of a node by which its rows can lie: by all of them, or any part of them."""
    if node in inputs:
        return node.keys if inputs[node] and isinstance(node, GroupBy) else node.schema.names
    allowed: Collection[str]
    match node:
        case TableScan():
            return node.schema.names
        case Project():
            below = _columns(node.child, inputs)
            allowed = [name for name, e in node.columns if isinstance(e, Column) and e.name in below]
        case Window(spec=RowsWindow(partition_by=own)) | GroupBy(keys=own):
            allowed = set(own).intersection(_columns(node.child, inputs))
        case Wstream(spec=RowsWindow()):
            return ()
        case Join(right=TableScan()):
            allowed = _columns(node.left, inputs)
        case Join() | SemiJoin() | AntiJoin():
            allowed = {name for pair in _pairs(node, inputs) for name in pair}
        case Union() | Intersect() | Except():
            left, right = _columns(node.left, inputs), _columns(node.right, inputs)
            both = zip(node.schema.names, node.right.schema.names, strict=True)
            allowed = [name for name, other in both if name in left and other in right]
        case _ if len(node.children) == 1:
            allowed = _columns(node.children[0], inputs)
        case _:
            return ()
    return tuple(name for name in node.schema.names if name in allowed)


def _pairs(node: Join | SemiJoin | AntiJoin, inputs: Mapping[Node, bool]) -> list[tuple[str, str]]:
    """The keys of a join by which both sides can lie."""
    left, right = _columns(node.left, inputs), _columns(node.right, inputs)
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    return [(one, other) for one, other in pairs if one in left and other in right]


def _some(columns: Keys) -> Keys:
    if not columns:
        raise _OneShard
    return columns


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


def _matched(pairs: list[tuple[str, str]], wanted: Keys | None) -> tuple[Keys, Keys]:
    if wanted:
        found = [next((pair for pair in pairs if name in pair), None) for name in wanted]
        if None in found:
            raise _OneShard
        # Both columns of a pair may be wanted. Other inputs are then routed by two columns, so these are as well.
        pairs = [pair for pair in found if pair is not None]
    if not pairs:
        raise _OneShard
    return tuple(left for left, _ in pairs), tuple(right for _, right in pairs)
