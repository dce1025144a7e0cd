"""Queries that are equal up to the constants of their selections, and the one plan that answers all of them.

Every query of a group has its own predicate on each stream that it reads. In the plan of the group a Matched
node stands in its place; the rows above it are marked with the query that they are for (`_query`), and that mark
is one more key of whatever brings rows together. So operators need to know nothing of sharing.

An aggregate over one window of one stream, or over a join of two, may share another thing with others: a synopsis
(`panes/synopses/`), if the tuples that they are computed from and the groups are the same. Windows, aggregates and
conditions belong to the query.

A selection (projections and one time window over a stream, nothing else) is kept in another way: its template is
the stream alone, and window and projection belong to the query (`sharing/selection.py`). All selections on a
stream are one group. So are all joins of two streams by the same keys (`sharing/pair_reading.py`), and all
BEGIN … END aggregates of the same tuples by the same keys (`sharing/begin_end_aggregate.py`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.operators.lower import lower
from panes.plan.expressions import Column
from panes.plan.lifetime_window import LifetimeWindow
from panes.plan.lookups import Matching
from panes.plan.nodes import (
    QUERY,
    AntiJoin,
    Distinct,
    GroupBy,
    Join,
    JoinSynopsis,
    Matched,
    MatchedPairs,
    Node,
    OuterJoin,
    Project,
    Select,
    SemiJoin,
    StreamScan,
    Synopsis,
    TableScan,
    Timed,
    TopN,
    Window,
    with_children,
)
from panes.plan.order_of_answer import relation_of
from panes.plan.own_calls import own_calls
from panes.plan.types import BIGINT
from panes.plan.walk import is_table_only, walk
from panes.plan.windows import BeginEndWindow
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.sharing.joined_aggregate import joined_aggregate_of
from panes.sharing.pair_reading import pair_reading_of
from panes.sharing.predicates import Predicate, predicate_of
from panes.sharing.selection import selection_of
from panes.sharing.stateless import Columns, stateless_of
from panes.sharing.windowed_aggregate import windowed_aggregate_of
from panes.synopses.definition import AUTO
from panes.synopses.synopsis_of import Source, synopsis_of


@dataclass(frozen=True)
class Template:
    """A plan for all queries that are equal up to constants. Its first column is `_query`, unless they share a
    synopsis."""

    plan: Node
    example: Node = field(compare=False)
    """The plan of one of the queries."""
    source: Source | None = None
    """What a synopsis is computed from; then `plan` is that for one query alone, and others may need more."""

    @property
    def has_store(self) -> bool:
        """Whether its queries are read from a store; `plan` then says what that keeps."""
        return isinstance(self.plan, (Matched, Synopsis, JoinSynopsis, Timed))

    @cached_property
    def matched(self) -> tuple[Matched, ...]:
        """The places where predicates are applied, by scan number."""
        found = {node.scan_number: node for node in walk(self.plan) if isinstance(node, Matched)}
        return tuple(found[number] for number in sorted(found))

    @cached_property
    def key(self) -> str:
        """A short name that is the same for equal templates, in every process."""
        told_by = self.plan if self.source is None else self.source
        return hashlib.sha256(repr(told_by).encode()).hexdigest()[:16]

    @property
    def of_nothing(self) -> pa.Table:
        """The answer of a query that no row of the plan is for: `count(*)` without groups is then 0."""
        if _global_group(self.example) is None:
            return self.example.schema.arrow.empty_table()
        return _of_nothing(self)


@lru_cache(maxsize=64)
def templates_of(plan: Node) -> tuple[Template, ...]:
    """What a query may share with others; the first one is preferred where there are others for each."""
    found = template_of(plan)
    synopsis = _synopsis_template_of(plan)
    return tuple(t for t in (None if found is None else found[0], synopsis) if t is not None)


def _synopsis_template_of(plan: Node) -> Template | None:
    plan = relation_of(plan)
    reading = windowed_aggregate_of(plan) or joined_aggregate_of(plan)
    if reading is None or own_calls(plan):
        return None
    return Template(synopsis_of([reading.reader], AUTO), plan, reading.reader.source)


def template_of(plan: Node) -> tuple[Template, tuple[Predicate, ...]] | None:
    """The template of a query that is equal to others up to constants, and its predicates by scan number; None
    when it cannot share its work in this way.

    The plan is to be as the optimizer leaves it, with selections below windows. In which order an answer is read
    makes no difference to what is computed.
    """
    plan = relation_of(plan)
    if any(name.startswith(QUERY) for node in walk(plan) for name in node.schema.names):
        return None
    if own_calls(plan):
        return None  # where a function of a user fails, it fails for one query
    reading = selection_of(plan)
    if reading is not None:
        return Template(Matched(reading.scan), plan), (reading.predicate,)
    aggregate = begin_end_aggregate_of(plan)
    if aggregate is not None:
        return Template(aggregate.store, plan), ()
    pairs = pair_reading_of(plan)
    if pairs is not None:
        return Template(MatchedPairs(pairs.join), plan), (pairs.predicate,)
    if not _one_row_is_told(plan):
        return None
    sharing = _Sharing()
    try:
        shared = sharing.relation(_of_no_query(plan))
    except _NotShareable:
        return None
    if not sharing.predicates:
        return None
    return Template(_in_order(shared, plan), plan), tuple(sharing.predicates)


def _of_no_query(node: Node) -> Node:
    """The plan without the names of the queries that it reads: those of a group may read different ones."""
    if isinstance(node, (StreamScan, TableScan)):
        return replace(node, queries=())
    return with_children(node, *map(_of_no_query, node.children))


@lru_cache(maxsize=256)
def _of_nothing(template: Template) -> pa.Table:
    """The same for all queries of a template, so any of them will do as an example."""
    return _answer_of_nothing(template.example)


class _NotShareable(Exception):
    """The plan has a part that queries cannot share."""


@dataclass
class _Sharing:
    """Makes the shared plan from the leaves up.

    A relation that has no predicate below it is the same for all queries, and has no `_query`: so are tables.
    """

    predicates: list[Predicate] = field(default_factory=list)

    def relation(self, node: Node) -> Node:
        if is_table_only(node):
            return node
        match node:
            case Window(spec=spec):
                is_other = isinstance(spec, (BeginEndWindow, LifetimeWindow))
                if not spec.is_timed or is_other or spec.internal:
                    raise _NotShareable
                return replace(node, child=self._stream(node.child))
            case GroupBy():
                child = self.relation(node.child)
                query = _query_of(child)
                if query is None:
                    raise _NotShareable
                return replace(node, child=child, keys=(query, *node.keys))
            case TopN():
                child = self.relation(node.child)
                query = _query_of(child)
                if query is None:
                    raise _NotShareable
                return replace(node, child=child, partition_by=(query, *node.partition_by))
            case Join():
                return self._join(node)
            case OuterJoin() | SemiJoin() | AntiJoin() if is_table_only(node.right):
                if isinstance(node, OuterJoin) and node.is_full:
                    raise _NotShareable  # rows of the table that are alone are alone in each query
                _check_versions(node)
                return replace(node, left=self.relation(node.left))
        if stateless_of(node) is not None:
            return self._stream(node)
        match node:
            case Select() | Distinct():
                return replace(node, child=self.relation(node.child))
            case Project(columns=columns):
                return _project(self.relation(node.child), columns)
        raise _NotShareable

    def _stream(self, node: Node) -> Node:
        whole = stateless_of(node)
        if whole is None:
            raise _NotShareable
        below: Node = whole.scan
        if whole.predicate is not None:
            below = Matched(below, len(self.predicates))
            self.predicates.append(predicate_of(whole.predicate))
        return below if whole.columns is None else _project(below, whole.columns)

    def _join(self, node: Join) -> Node:
        _check_versions(node)
        left, right = self.relation(node.left), self.relation(node.right)
        one, other = _query_of(left), _query_of(right)
        left_keys, right_keys = node.left_keys, node.right_keys
        if one is not None and other is not None:
            left_keys, right_keys = (one, *left_keys), (other, *right_keys)
        return replace(node, left=left, right=right, left_keys=left_keys, right_keys=right_keys)


def _check_versions(node: Matching) -> None:
    """A query that joins a group has met the versions of a table that its tuples looked up. The group knows them
    where a window says how old these can be; without one a query begins with all tuples that are kept."""
    if node.time is not None and not _is_bounded(node.left):
        raise _NotShareable


def _is_bounded(node: Node) -> bool:
    if isinstance(node, Window):
        return node.spec.retained() is not None
    return bool(node.children) and all(_is_bounded(c) for c in node.children if not is_table_only(c))


def _query_of(node: Node) -> str | None:
    """The column that says which query a row is for; above a join of two that have one, either will do."""
    return next((name for name in node.schema.names if name.startswith(QUERY)), None)


def _project(child: Node, columns: Columns) -> Node:
    query = _query_of(child)
    mark: Columns = () if query is None else ((query, Column(BIGINT, query)),)
    return Project(child, mark + columns)


def _in_order(shared: Node, plan: Node) -> Node:
    """`_query`, then the columns of the query."""
    if shared.schema.names == (QUERY, *plan.schema.names):
        return shared
    return _project(shared, tuple((f.name, Column(f.type, f.name)) for f in plan.schema))


def _global_group(plan: Node) -> GroupBy | None:
    """The group-by without keys that the answer is made of, row by row."""
    while isinstance(plan, (Select, Project)):
        plan = plan.child
    return plan if isinstance(plan, GroupBy) and not plan.keys else None


def _one_row_is_told(plan: Node) -> bool:
    """Without keys a group-by gives one row also for a query of which no row is there. It is left to readers to
    add it (`of_nothing`), so no other operator may depend on it, and they must know when it is there: after
    HAVING, the absence of a row must not have two meanings."""
    of_all = [node for node in walk(plan) if isinstance(node, GroupBy) and not node.keys]
    if not of_all:
        return True
    if len(of_all) > 1 or _global_group(plan) is None:
        return False
    has_having = any(isinstance(node, Select) for node in _above(plan, of_all[0]))
    return not has_having or _answer_of_nothing(plan).num_rows == 0


def _above(plan: Node, group_by: GroupBy) -> list[Node]:
    above = []
    while plan is not group_by:
        above.append(plan)
        (plan,) = plan.children
    return above


def _answer_of_nothing(plan: Node) -> pa.Table:
    return contents_at(lower(plan).process({}, 0, 1).table, 1)
