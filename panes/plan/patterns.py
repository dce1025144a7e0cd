"""The update pattern of every edge of a plan, with the reason.

A pattern says how rows leave the relation on an edge:

    MONOTONIC   never
    WEAKEST     at a time known when they come, first in first out
    WEAK        at a time known when they come, in any order
    STRICT      at a time nobody can know when they come: a retraction must say so

`pattern_of` labels an edge as the operator above it sees it: there the windows always slide, because state
must forget what has left its window. INTERNAL windows only change what the *answer* does, which is
`answer_pattern`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
    JoinSynopsis,
    Matched,
    MatchedPairs,
    MultiJoin,
    Node,
    OrderBy,
    OuterJoin,
    Over,
    Project,
    Rstream,
    Select,
    SemiJoin,
    Signed,
    StreamScan,
    Synopsis,
    TableScan,
    TemporalFilter,
    Timed,
    TopN,
    Union,
    Unnest,
    Values,
    Window,
    Wstream,
)
from panes.plan.update_pattern import MONOTONIC as MONOTONIC
from panes.plan.update_pattern import STRICT as STRICT
from panes.plan.update_pattern import WEAK as WEAK
from panes.plan.update_pattern import WEAKEST as WEAKEST
from panes.plan.update_pattern import Labeled as Labeled
from panes.plan.update_pattern import Pattern as Pattern
from panes.plan.walk import is_table_only, tables_of
from panes.plan.windows import WindowSpec


def pattern_of(node: Node) -> Labeled:
    """The pattern of the edge that leaves this node.

    >>> from panes.plan.schema import Schema
    >>> from panes.plan.windows import RangeWindow
    >>> scan = StreamScan("s", "s", Schema(()))
    >>> str(pattern_of(Window(scan, RangeWindow(60_000_000))).pattern)
    'WEAKEST'
    """
    return _Labeling(seen_by_state=True).label(node)


def answer_pattern(plan: Node) -> Labeled:
    """The pattern of the answer: that of the topmost edge, where results of INTERNAL windows stay."""
    return _Labeling(seen_by_state=False).label(plan)


_Passing = Drop | Select | Project | Unnest | Matched | Signed | OrderBy | Synopsis | JoinSynopsis | Timed
"""Nodes whose rows keep their order and their lifetimes."""


@dataclass(frozen=True)
class _Labeling:
    seen_by_state: bool

    def label(self, node: Node) -> Labeled:
        return _CASES[type(node)](self, node)

    def stream_scan(self, _: StreamScan) -> Labeled:
        return Labeled(MONOTONIC, "a stream only grows")

    def table_scan(self, node: TableScan) -> Labeled:
        return Labeled(STRICT, f"{node.table} may be updated at any time")

    def values(self, _: Values) -> Labeled:
        return Labeled(MONOTONIC, "constants stay")

    def window(self, node: Window) -> Labeled:
        if not self.seen_by_state and node.spec.internal:
            return Labeled(MONOTONIC, "results of an internal window stay")
        return node.spec.label()

    def unary(self, node: _Passing) -> Labeled:
        # Rows keep their order and their lifetimes, so the label of the input stands, with its reason.
        return self.label(node.child)

    def temporal_filter(self, node: TemporalFilter) -> Labeled:
        below = self.label(node.child)
        if below.pattern is STRICT:
            return below
        return Labeled(WEAK, "a row comes or leaves at a time that it has in a column")

    def union(self, node: Union) -> Labeled:
        left, right = self.label(node.left).pattern, self.label(node.right).pattern
        hardest = max(left, right)
        if hardest is STRICT:
            return Labeled(STRICT, "one of its inputs is STRICT")
        if hardest is WEAKEST and len(self._lengths(node)) > 1:
            return Labeled(WEAK, "rows of windows of different lengths leave out of order")
        return Labeled(hardest, "a merge leaves the harder pattern of its inputs")

    def join(self, node: Join) -> Labeled:
        if node.time is not None or _reads_tables(node.right):
            return self._with_tables(node)
        return self._of_all(
            node,
            stay="pairs of rows that stay, stay",
            leave="a pair leaves with the first of its two rows to leave",
        )

    def multi_join(self, node: MultiJoin) -> Labeled:
        return self._of_all(
            node,
            stay="combinations of rows that stay, stay",
            leave="a combination leaves with the first of its rows to leave",
        )

    def outer_join(self, node: OuterJoin) -> Labeled:
        if node.time is not None or _reads_tables(node.right):
            return self._with_tables(node)
        return Labeled(STRICT, "a row that is alone may get a partner at any time")

    def semi_join(self, node: SemiJoin) -> Labeled:
        if node.time is not None or _reads_tables(node.right):
            return self._with_tables(node)
        return self._of_all(
            node,
            stay="a match that stays keeps its row",
            leave="a row leaves with its last match, whose time is known",
        )

    def anti_join(self, node: AntiJoin) -> Labeled:
        if node.time is not None or _reads_tables(node.right):
            return self._with_tables(node)
        return Labeled(STRICT, "a new row on the right may end a result at any time")

    def distinct(self, node: Distinct) -> Labeled:
        child = self.label(node.child).pattern
        if child is STRICT:
            return Labeled(STRICT, "its input is STRICT")
        if child is MONOTONIC:
            return Labeled(MONOTONIC, "a value that has appeared stays")
        return Labeled(WEAK, "the shown row leaves at its known time, and a younger duplicate follows")

    def group_by(self, node: GroupBy) -> Labeled:
        if not self.seen_by_state and self.label(node.child).pattern is MONOTONIC and has_internal(node):
            return Labeled(MONOTONIC, "values given over internal windows stay")
        return Labeled(STRICT, "a new value of a group replaces the old one")

    def over(self, _: Over) -> Labeled:
        return Labeled(STRICT, "a row that comes or goes may change the values of others")

    def top_n(self, _: TopN) -> Labeled:
        return Labeled(STRICT, "a row that comes may push another one out of the top")

    def intersect(self, node: Intersect) -> Labeled:
        return self._of_all(
            node,
            stay="rows on both sides that stay, stay",
            leave="a row leaves when either side runs out of it, at a known time",
        )

    def except_(self, _: Except) -> Labeled:
        return Labeled(STRICT, "a new row on the right may end a result at any time")

    def output(self, _: Istream | Dstream | Rstream) -> Labeled:
        return Labeled(MONOTONIC, "an output stream is only appended to")

    def wstream(self, node: Wstream) -> Labeled:
        return node.spec.label()

    def _of_all(self, node: Join | MultiJoin | SemiJoin | Intersect, *, stay: str, leave: str) -> Labeled:
        """A result lives as long as the rows of all inputs that it is made of."""
        hardest = max(self.label(child).pattern for child in node.children)
        if hardest is STRICT:
            return Labeled(STRICT, "one of its inputs is STRICT")
        if hardest is MONOTONIC:
            return Labeled(MONOTONIC, stay)
        return Labeled(WEAK, leave)

    def _with_tables(self, node: Join | OuterJoin | SemiJoin | AntiJoin) -> Labeled:
        tables = " or ".join(sorted(tables_of(node.right)))
        if node.time is None:
            return Labeled(STRICT, f"an update of {tables} may end a result at any time")
        left = self.label(node.left).pattern
        return Labeled(left, f"updates of {tables} are not retroactive: results keep their lifetimes")

    def _lengths(self, node: Node) -> frozenset[WindowSpec | None]:
        """The windows that give the rows of an edge their lifetimes; None when they stay for ever."""
        match node:
            case StreamScan() | Values() | Istream() | Dstream() | Rstream():
                return frozenset({None})
            case Window(spec=spec):
                stays = self.window(node).pattern is MONOTONIC
                return frozenset({None if stays else replace(spec, internal=False)})
            case Wstream(spec=spec):
                return frozenset({spec})
        return frozenset[WindowSpec | None]().union(*map(self._lengths, node.children))


_CASES: dict[type[Node], Callable[[_Labeling, Any], Labeled]] = {
    StreamScan: _Labeling.stream_scan,
    TableScan: _Labeling.table_scan,
    Values: _Labeling.values,
    Window: _Labeling.window,
    Drop: _Labeling.unary,
    Select: _Labeling.unary,
    TemporalFilter: _Labeling.temporal_filter,
    Project: _Labeling.unary,
    Unnest: _Labeling.unary,
    Matched: _Labeling.unary,
    Signed: _Labeling.unary,
    Synopsis: _Labeling.unary,
    JoinSynopsis: _Labeling.unary,
    MatchedPairs: _Labeling.unary,
    Timed: _Labeling.unary,
    TopN: _Labeling.top_n,
    OrderBy: _Labeling.unary,
    Union: _Labeling.union,
    Join: _Labeling.join,
    MultiJoin: _Labeling.multi_join,
    OuterJoin: _Labeling.outer_join,
    SemiJoin: _Labeling.semi_join,
    AntiJoin: _Labeling.anti_join,
    Distinct: _Labeling.distinct,
    GroupBy: _Labeling.group_by,
    Over: _Labeling.over,
    Intersect: _Labeling.intersect,
    Except: _Labeling.except_,
    Istream: _Labeling.output,
    Dstream: _Labeling.output,
    Rstream: _Labeling.output,
    Wstream: _Labeling.wstream,
}


def _reads_tables(node: Node) -> bool:
    """Whether updates of tables alone change a relation."""
    return is_table_only(node) and bool(tables_of(node))


def has_internal(node: Node) -> bool:
    """Whether results of an INTERNAL window reach this edge. They end where an output operator makes them a
    stream: from there on everything is a stream like any other."""
    if isinstance(node, Window) and node.spec.internal:
        return True
    if isinstance(node, (Istream, Dstream, Rstream, Wstream)):
        return False
    return any(has_internal(child) for child in node.children)
