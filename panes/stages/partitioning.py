"""By which columns the inputs of a plan can be routed to shards, so that every shard works alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from panes.plan.expressions import Column
from panes.plan.lookups import Matching, is_lookup, table_below
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Drop,
    Dstream,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Join,
    Matched,
    MultiJoin,
    Node,
    OuterJoin,
    Over,
    Project,
    Rstream,
    Select,
    SemiJoin,
    Signed,
    StreamScan,
    TemporalFilter,
    TopN,
    Union,
    Unnest,
    Window,
    Wstream,
)
from panes.plan.output_streams import counts_each_result, gives_generated
from panes.plan.slides import slides_of
from panes.plan.walk import constants_below
from panes.plan.windows import RowsWindow, SessionWindow

Keys = tuple[str, ...]


class _OneShard(Exception):
    """Some operator needs to see all rows together."""


@dataclass(frozen=True)
class _Inputs:
    """What a stage reads."""

    are_partials: Mapping[Node, bool]
    large_tables: frozenset[str]

    def __contains__(self, node: Node) -> bool:
        return node in self.are_partials

    def is_partials(self, node: Node) -> bool:
        """Whether an input is the partial sums of a group-by, still to be added up."""
        return self.are_partials[node]

    def may_be_whole(self, node: Matching) -> bool:
        """Whether the right side of a join is a table alone, so that every shard can have all of it."""
        return node.right in self and table_below(node.right) is not None

    def is_small(self, node: Matching) -> bool:
        table = table_below(node.right)
        return table is not None and table.table not in self.large_tables


def partition_keys(
    plan: Node, inputs: Mapping[Node, bool], large_tables: frozenset[str] = frozenset()
) -> Mapping[Node, Keys | None] | None:
    """The columns of each input whose values decide the shard, or None for an input that every shard gets all of;
    None when one shard must see everything.

    `inputs` says of each whether it is the partial sums of a group-by, still to be added up.

    Rows that any operator brings together agree on these columns, so shards never need each other's rows.
    An input with no columns may be routed in any way. A table that stands alone on the right of a join goes to
    every shard, unless it is among `large_tables` and both sides of the join can be routed by its keys.
    """
    keys: dict[Node, Keys | None] = {}
    try:
        _assign(plan, None, _Inputs(inputs, large_tables), keys)
    except _OneShard:
        return None
    return keys


def _assign(node: Node, wanted: Keys | None, inputs: _Inputs, keys: dict[Node, Keys | None]) -> None:
    """Routes the inputs below `node` so that its rows lie by the `wanted` columns; None: as it likes.

    An operator that brings rows together is routed by all columns that the operators below it allow: the more
    there are, the more evenly rows spread.
    """
    if node in inputs:
        if inputs.is_partials(node):
            assert isinstance(node, GroupBy)
            wanted = _within(node.keys, wanted)
        _route(node, wanted or (), keys)
        return
    match node:
        case Select() | TemporalFilter():
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
        case Unnest():
            if wanted and node.column in wanted:
                raise _OneShard  # the items of a row lie where the row does
            _assign(node.child, wanted, inputs, keys)
        case Window(spec=RowsWindow() | SessionWindow()):
            _assign(node.child, _within(_columns(node, inputs), wanted), inputs, keys)
        case Window():
            _assign(node.child, wanted, inputs, keys)
        case Distinct():
            _assign(node.child, wanted or _some(_columns(node.child, inputs)), inputs, keys)
        case GroupBy() | Over() | TopN():
            _assign(node.child, _within(_columns(node, inputs), wanted), inputs, keys)
        case Join() | OuterJoin() | SemiJoin() | AntiJoin():
            if isinstance(node, OuterJoin) and wanted and not set(wanted) <= set(_keys_kept(node)):
                raise _OneShard  # these columns may be NULL where the key is not
            if _has_whole_table(node, inputs):
                _assign_with_whole_table(node, wanted, inputs, keys)
                return
            if isinstance(node, AntiJoin) and node.null_aware:
                raise _OneShard
            left, right = _matched(_pairs(node, inputs), wanted)
            _assign(node.left, left, inputs, keys)
            _assign(node.right, right, inputs, keys)
        case MultiJoin():
            routed = zip(*_of_all(_places(node, inputs), wanted), strict=True)
            for child, own in zip(node.inputs, routed, strict=True):
                _assign(child, own, inputs, keys)
        case Union() | Intersect() | Except():
            if wanted is None and not isinstance(node, Union):
                wanted = _some(_columns(node, inputs))
            renamed = dict(zip(node.schema.names, node.right.schema.names, strict=True))
            _assign(node.left, wanted, inputs, keys)
            _assign(node.right, wanted and tuple(renamed[name] for name in wanted), inputs, keys)
        case _:
            raise _OneShard


def _route(node: Node, by: Keys | None, keys: dict[Node, Keys | None]) -> None:
    # The same input twice must be routed in one way.
    if keys.setdefault(node, by) != by:
        raise _OneShard


def _has_whole_table(node: Matching, inputs: _Inputs) -> bool:
    """Whether every shard has all of the table on the right side of a join."""
    if isinstance(node, OuterJoin) and node.is_full:
        return False
    if constants_below(node.right) is not None:
        return True
    if not inputs.may_be_whole(node):
        return False
    is_null_aware = isinstance(node, AntiJoin) and node.null_aware
    return inputs.is_small(node) or is_null_aware or not _pairs(node, inputs)


def _keys_kept(node: OuterJoin) -> Keys:
    """The columns of an outer join that no row has NULL in because it is alone."""
    return () if node.is_full else node.left.schema.names


def _keeps_matched_rows(node: Matching) -> bool:
    """Whether an operator keeps one row for all equal rows of the left that have a match: they must lie together,
    whatever the number of shards."""
    if isinstance(node, Join) or is_lookup(node):
        return False
    return node.residual is not None or (isinstance(node, AntiJoin) and node.null_aware)


def _assign_with_whole_table(
    node: Matching, wanted: Keys | None, inputs: _Inputs, keys: dict[Node, Keys | None]
) -> None:
    """Rows of the left may lie by any of their columns; those of the table are wherever they are needed."""
    equal = dict(zip(node.right_keys, node.left_keys, strict=True))
    if wanted:
        wanted = tuple(name if name in node.left.schema else equal.get(name, name) for name in wanted)
        if not all(name in node.left.schema for name in wanted):
            raise _OneShard
    elif _keeps_matched_rows(node) or not (is_lookup(node) or _may_lie_anywhere(node.left, inputs)):
        # It keeps rows of the left, and a retraction must find its row whatever the number of shards.
        wanted = _some(_columns(node.left, inputs))
    if constants_below(node.right) is None:
        _route(node.right, None, keys)
    _assign(node.left, wanted, inputs, keys)


def _nets_equal_rows(node: Istream | Dstream | Rstream | Wstream) -> bool:
    """Whether an output stream looks at how often the relation has a row, so that equal rows must meet."""
    if isinstance(node, (Istream, Wstream)) and gives_generated(node):
        return not counts_each_result(node.child)
    return not isinstance(node, Rstream) or node.restore


def _may_lie_anywhere(node: Node, inputs: _Inputs) -> bool:
    """Whether nothing below a node asks for its rows to lie by any columns: they are made of tuples of streams."""
    keys: dict[Node, Keys | None] = {}
    _assign(node, None, inputs, keys)
    return all(by is None or (not by and _is_stream(source)) for source, by in keys.items())


def _is_stream(node: Node) -> bool:
    """Whether an input is a chain over a stream. Rows of others go by their columns, as they may be taken back."""
    while isinstance(node, (Drop, Select, Project, Unnest, Matched, Signed)):
        node = node.child
    return isinstance(node, StreamScan)


def _columns(node: Node, inputs: _Inputs) -> Keys:
    """The columns of a node by which its rows can lie: by all of them, or any part of them."""
    if node in inputs:
        return node.keys if inputs.is_partials(node) and isinstance(node, GroupBy) else node.schema.names
    allowed: Collection[str]
    match node:
        case Project():
            below = _columns(node.child, inputs)
            allowed = [name for name, e in node.columns if isinstance(e, Column) and e.name in below]
        case (
            Window(spec=RowsWindow(partition_by=own) | SessionWindow(partition_by=own))
            | GroupBy(keys=own)
            | Over(partition_by=own)
            | TopN(partition_by=own)
        ):
            allowed = set(own).intersection(_columns(node.child, inputs))
        case Wstream(spec=RowsWindow()):
            return ()
        case OuterJoin():
            have = _columns(node.left, inputs)
            if not _has_whole_table(node, inputs):
                have = tuple(one for one, _ in _pairs(node, inputs))
            allowed = set(have).intersection(_keys_kept(node))
        case Join() | SemiJoin() | AntiJoin() if _has_whole_table(node, inputs):
            left = _columns(node.left, inputs)
            both = zip(node.left_keys, node.right_keys, strict=True)
            allowed = {*left, *(other for one, other in both if one in left)}
        case Join() | SemiJoin() | AntiJoin():
            allowed = {name for pair in _pairs(node, inputs) for name in pair}
        case MultiJoin():
            allowed = {name for place in _places(node, inputs) for name in place}
        case Union() | Intersect() | Except():
            left, right = _columns(node.left, inputs), _columns(node.right, inputs)
            both = zip(node.schema.names, node.right.schema.names, strict=True)
            allowed = [name for name, other in both if name in left and other in right]
        case _ if len(node.children) == 1:
            allowed = _columns(node.children[0], inputs)
        case _:
            return ()
    return tuple(name for name in node.schema.names if name in allowed)


def _pairs(node: Matching, inputs: _Inputs) -> list[tuple[str, str]]:
    """The keys of a join by which both sides can lie."""
    left, right = _columns(node.left, inputs), _columns(node.right, inputs)
    pairs = zip(node.left_keys, node.right_keys, strict=True)
    return [(one, other) for one, other in pairs if one in left and other in right]


def _places(node: MultiJoin, inputs: _Inputs) -> list[Keys]:
    """The keys of a join of many inputs by which all of them can lie, place by place."""
    have = [set(_columns(child, inputs)) for child in node.inputs]
    places = zip(*node.keys, strict=True)
    return [place for place in places if all(name in own for name, own in zip(place, have, strict=True))]


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
    found = _of_all(pairs, wanted)
    return tuple(place[0] for place in found), tuple(place[1] for place in found)


def _of_all(places: Sequence[Keys], wanted: Keys | None) -> Sequence[Keys]:
    """The keys by which all sides of a join are routed, so that its rows lie by the wanted columns."""
    if wanted:
        found = [next((place for place in places if name in place), None) for name in wanted]
        if None in found:
            raise _OneShard
        # Both columns of a pair may be wanted. Other inputs are then routed by two columns, so these are as well.
        places = [place for place in found if place is not None]
    if not places:
        raise _OneShard
    return places
