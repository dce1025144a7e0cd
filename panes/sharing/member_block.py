"""A block of queries, indexed by attribute: for each cell of an attribute a row of bits, one per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from panes.plan.expressions import Expression, columns_of
from panes.sharing.bits import At, Flags, Ints, Words, bit_of, set_columns, words_for
from panes.sharing.predicates import Condition, Predicate
from panes.sharing.residual_predicates import ResidualPredicates, Tuples
from panes.sharing.value_cells import ValueCells

MOST = 1024
"""Queries in a block. So the cells of an attribute and a run of tuples fit into the caches of a processor, and
the size of an index grows with the number of queries, not with its square."""


@dataclass(frozen=True)
class Attribute:
    """Which queries of the block a value passes, as far as this attribute is concerned: a row of bits per cell."""

    expression: Expression
    cells: ValueCells
    passes: Words


class LookedUp(Tuples, Protocol):
    """Tuples of which it is known in which cells their attributes lie."""

    def cells(self, attribute: Attribute, at: At) -> Ints:
        """The cell of some tuples among those of a block."""


@dataclass(frozen=True)
class MemberBlock:
    """The predicates of some queries, in an order that says which bit is whose."""

    queries: Ints
    attributes: tuple[Attribute, ...]
    residuals: ResidualPredicates
    alive: Words
    """The bits of the queries that are there: one that is dropped leaves a hole until the block is made anew."""

    @classmethod
    def of(cls, members: Mapping[int, Predicate]) -> MemberBlock:
        queries = np.array(list(members), np.int64)
        predicates = tuple(members.values())
        words = words_for(len(queries))
        conditions = _by_attribute(predicates)
        attributes = tuple(_attribute(expression, found, words) for expression, found in conditions.items())
        return cls(
            queries,
            attributes,
            ResidualPredicates.of(
                [(place, p.residual) for place, p in enumerate(predicates) if p.residual], words
            ),
            set_columns(np.arange(len(queries)), words),
        )

    @property
    def words(self) -> int:
        return len(self.alive)

    @property
    def is_alive(self) -> Flags:
        """Which of the queries are there."""
        places = np.arange(len(self.queries))
        there: Flags = (self.alive[places // 64] & bit_of(places)) != 0
        return there

    def without(self, queries: Ints) -> MemberBlock:
        """The block without some queries; itself when it has none of them."""
        gone = np.flatnonzero(np.isin(self.queries, queries))
        if not len(gone):
            return self
        return replace(self, alive=self.alive & ~set_columns(gone, self.words))

    def over(self, columns: Set[str]) -> MemberBlock:
        """The block without what concerns any other column."""
        attributes = tuple(a for a in self.attributes if columns_of(a.expression) <= columns)
        return replace(self, attributes=attributes, residuals=self.residuals.over(columns))

    def match(self, batch: LookedUp, at: At, bits: Words) -> None:
        """Sets the bits of some tuples of a batch: which queries each passes.

        Cost: per tuple and attribute a row of bits to AND; residuals are evaluated for those pairs of tuple and
        query that pass the rest.
        """
        bits[:] = self.alive
        for attribute in self.attributes:
            bits &= attribute.passes.take(batch.cells(attribute, at), axis=0)
        self.residuals.apply(bits, batch, at)


_Found = list[tuple[int, Condition]]


def _by_attribute(predicates: Sequence[Predicate]) -> dict[Expression, _Found]:
    found: dict[Expression, _Found] = {}
    for place, predicate in enumerate(predicates):
        for condition in predicate.conditions:
            found.setdefault(condition.attribute, []).append((place, condition))
    return found


def _attribute(expression: Expression, found: _Found, words: int) -> Attribute:
    constants = [c for _, condition in found for c in condition.constants if c is not None]
    cells = ValueCells.of(constants, expression.type)
    spans = _spans(found, cells, words)
    passes = _inside(*spans, len(cells))
    _leave_out(passes, [(place, c) for place, c in found if c.op == "ne"], cells)
    _only_options(passes, [(place, c) for place, c in found if c.op == "in"], cells)
    return Attribute(expression, cells, passes)


def _spans(found: _Found, cells: ValueCells, words: int) -> tuple[Ints, Ints]:
    """The first cell that each query admits, and the first that it does not. Queries without a condition on this
    attribute admit all, also NULL."""
    low, high = np.zeros(words * 64, np.int64), np.full(words * 64, len(cells), np.int64)
    places = np.array([place for place, _ in found], np.int64)
    ops = np.array([condition.op for _, condition in found])
    at = np.full(len(found), -1, np.int64)
    compares = [number for number, (_, c) in enumerate(found) if len(c.constants) == 1 and c.op != "in"]
    known = [number for number in compares if found[number][1].constants[0] is not None]
    at[known] = cells.cell_of([found[number][1].constants[0] for number in known])
    np.minimum.at(high, places[ops != "is_null"], cells.null)
    nulls = places[ops == "is_null"]
    np.maximum.at(low, nulls, cells.null)
    for op, begins, ends in (
        ("eq", 0, 1),
        ("lt", None, 0),
        ("le", None, 1),
        ("gt", 1, None),
        ("ge", 0, None),
    ):
        mine = (ops == op) & (at >= 0)
        if begins is not None:
            np.maximum.at(low, places[mine], at[mine] + begins)
        if ends is not None:
            np.minimum.at(high, places[mine], at[mine] + ends)
    # To compare with NULL is never true.
    never = [number for number in compares if found[number][1].constants[0] is None]
    high[places[never]] = 0
    return low, high


def _inside(low: Ints, high: Ints, cells: int) -> Words:
    """The bits of the queries whose span holds each cell: a bit is switched where a span begins and ends."""
    some = np.flatnonzero(low < high)
    switches = np.zeros((cells + 1, words_for(len(low))), np.uint64)
    np.bitwise_xor.at(switches, (low[some], some // 64), bit_of(some))
    np.bitwise_xor.at(switches, (high[some], some // 64), bit_of(some))
    return np.bitwise_xor.accumulate(switches[:-1], axis=0)


def _leave_out(passes: Words, found: _Found, cells: ValueCells) -> None:
    """`attribute <> constant`: all cells but one."""
    known = [(place, c.constants[0]) for place, c in found if c.constants[0] is not None]
    places = np.array([place for place, _ in known], np.int64)
    at = cells.cell_of([constant for _, constant in known])
    np.bitwise_and.at(passes, (at, places // 64), ~bit_of(places))


def _only_options(passes: Words, found: _Found, cells: ValueCells) -> None:
    """`attribute IN (…)`: only the cells of the options. There is one such list per query and attribute."""
    if not found:
        return
    options = [(place, option) for place, c in found for option in c.constants if option is not None]
    places = np.array([place for place, _ in options], np.int64)
    allowed = np.zeros_like(passes)
    at = cells.cell_of([option for _, option in options])
    np.bitwise_or.at(allowed, (at, places // 64), bit_of(places))
    passes &= allowed | ~set_columns(np.array([place for place, _ in found], np.int64), passes.shape[1])
