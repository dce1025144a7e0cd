"""Equalities between two sides are keys of joins, and keys that were computed before are found."""

from __future__ import annotations

from panes.plan.expressions import Call, Column, Literal
from panes.plan.join_keys import already_computed, split_keys, with_keys
from panes.plan.nodes import Join, Project, StreamScan
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, BOOLEAN

A = StreamScan("a", "a", Schema.of([("a.k", BIGINT), ("a.v", BIGINT)]))
B = StreamScan("b", "b", Schema.of([("b.k", BIGINT)]))
AK, AV, BK = Column(BIGINT, "a.k"), Column(BIGINT, "a.v"), Column(BIGINT, "b.k")
NEXT = Call(BIGINT, "add", (AK, Literal(BIGINT, 1)))


def test_equalities_are_pairs_whatever_side_they_are_written_on():
    less = Call(BOOLEAN, "lt", (AK, BK))
    one_side = Call(BOOLEAN, "eq", (AK, AV))
    pairs, residual = split_keys(
        [Call(BOOLEAN, "eq", (BK, NEXT)), less, Call(BOOLEAN, "eq", (AV, BK)), one_side], A, B
    )
    assert pairs == [(NEXT, BK), (AV, BK)]
    assert str(residual) == "(a.k < b.k) AND (a.k = a.v)"


def test_a_key_that_is_more_than_a_column_is_computed_below_the_join():
    left, right, left_keys, right_keys = with_keys(A, B, [(NEXT, BK)])
    assert isinstance(left, Project)
    assert left.schema.names == ("a.k", "a.v", "a.k + 1")
    assert (right, left_keys, right_keys) == (B, ("a.k + 1",), ("b.k",))


def test_a_key_that_an_earlier_join_computed_is_found_below_projections_that_keep_it():
    join = Join(*with_keys(A, B, [(NEXT, BK)]))
    kept = Project(join, (("a.k", AK), ("x", Column(BIGINT, "a.k + 1"))))
    other = Project(join, (("a.k", AV), ("x", Column(BIGINT, "a.k + 1"))))
    assert already_computed(join, NEXT) == "a.k + 1"
    assert already_computed(kept, NEXT) == "x"
    assert already_computed(other, NEXT) is None
