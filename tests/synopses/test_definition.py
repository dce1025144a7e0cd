"""The panes and columns of a synopsis follow from the queries that it is for."""

from __future__ import annotations

import pytest

from panes.plan.expressions import Aggregate, Call, Expression, Literal
from panes.plan.nodes import SIGNATURE, Signed
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE
from panes.plan.windows import RangeWindow
from panes.synopses.definition import (
    AUTO,
    EVERY,
    NEVER,
    Definition,
    SynopsisReader,
    SynopsisSource,
    kept_values,
    panes_text,
    source_of,
)
from panes.synopses.synopsis_of import has_what_is_asked
from tests.synopses.figure import ALL, BY_K, COUNT, MAX, SECOND, SUM, X


def reader(
    length: int,
    slide: int,
    *aggregates: Aggregate,
    source: SynopsisSource = BY_K,
    predicate: Expression = EVERY,
) -> SynopsisReader:
    window = RangeWindow(length * SECOND, slide * SECOND)
    return SynopsisReader(source, predicate, window, aggregates or (COUNT,))


def above(value: int) -> Expression:
    return Call(BOOLEAN, "gt", (X, Literal(BIGINT, value)))


def test_a_pane_divides_all_ranges_and_slides():
    known = Definition.of([reader(60, 10), reader(45, 15), reader(100, 20)])
    assert (known.pane_us, known.range_us, known.reach_us) == (5 * SECOND, 100 * SECOND, 120 * SECOND)


@pytest.mark.parametrize(
    ("more", "is_covered"),
    [
        (reader(30, 10), True),
        (reader(60, 30), False),
        (reader(70, 10), False),
        (reader(60, 15), False),
        (reader(60, 10, SUM), False),
        (reader(20, 10, COUNT, COUNT), True),
    ],
)
def test_a_query_that_needs_no_more_is_covered(more: SynopsisReader, is_covered: bool):
    known = Definition.of([reader(60, 10), reader(40, 20)])
    assert known.covers(more) is is_covered


def test_the_least_and_the_greatest_values_do_not_cover_a_median():
    median = Aggregate("middle", "median", X, DOUBLE)
    source = SynopsisSource(BY_K.scan, BY_K.keys, kept_values([MAX]))
    assert source.values == kept_values([median])
    ends, middle, both = (
        [reader(60, 10, aggregate, source=source) for aggregate in aggregates]
        for aggregates in ((MAX,), (median,), (MAX, median))
    )
    assert not Definition.of(ends).covers(middle[0])
    assert all(Definition.of(some).covers(one) for some in (middle, both) for one in both)


def test_the_source_of_a_synopsis_is_told_by_its_plan():
    kept = SynopsisSource(BY_K.scan, BY_K.keys, kept_values([MAX]))
    for predicates in ((EVERY,), (EVERY, above(3))):
        readers = [reader(60, 10, MAX, COUNT, source=kept, predicate=p) for p in predicates]
        node = Definition.of(readers).node(AUTO, 1)
        assert source_of(node) == kept
        assert has_what_is_asked(node, reader(20, 10, COUNT))
        assert has_what_is_asked(node, reader(20, 10, MAX, source=kept))
        assert not has_what_is_asked(node, reader(20, 10, COUNT, source=ALL))
        assert not has_what_is_asked(node, reader(70, 10, COUNT))
    assert not BY_K.has(kept)


def test_a_synopsis_with_the_columns_of_a_sum_covers_its_average():
    known = Definition.of([reader(60, 10, SUM)])
    assert known.covers(reader(60, 10, Aggregate("mean", "avg", SUM.arg, COUNT.type)))


@pytest.mark.parametrize(
    ("asked", "readers", "form"),
    [
        ([reader(600, 10)], 1, "interval"),
        ([reader(600, 10)], 11, "basic"),
        ([reader(30, 10)], 1, "basic"),
        ([reader(600, 10, SUM, source=ALL)], 1, "running"),
        ([reader(600, 10, MAX, source=ALL)], 1, "interval"),
    ],
)
def test_the_form_is_the_one_that_costs_least(asked: list[SynopsisReader], readers: int, form: str):
    # 60 / log2 60 is 10.2.
    assert Definition.of(asked).chosen_form(AUTO, readers) == form


def test_a_form_that_cannot_be_had_is_chosen_anew():
    assert Definition.of([reader(600, 10, MAX)]).chosen_form("running", 1) == "interval"
    assert Definition.of([reader(600, 10, SUM)]).chosen_form("running", 1) == "running"


def test_a_plan_that_runs_says_what_it_holds():
    known = Definition.of([reader(60, 10, SUM)])
    node = known.node("basic", 1)
    assert Definition.from_node(node, BY_K) == known
    assert panes_text(node) == "basic, 6 × 10 s"


def test_a_predicate_that_is_new_makes_a_synopsis_begin_anew():
    one, other = reader(60, 10, predicate=above(1)), reader(30, 10, predicate=above(2))
    alone = Definition.of([one])
    assert not isinstance(alone.group_by.child.children[0].children[0], Signed)
    assert not alone.covers(other)
    both = Definition.of([one, other], alone)
    assert both.covers(one)
    assert both.covers(other)
    assert both.group_by.keys == (SIGNATURE, "_key_0")


def test_a_predicate_keeps_its_number_when_others_go():
    one, two, three, four = (reader(60, 10, predicate=above(value)) for value in range(4))
    first = Definition.of([one, two, three])
    second = Definition.of([two, three], first)
    assert second.predicates == (NEVER, above(1), above(2))
    assert Definition.of([three, four], second).predicates == (above(3), NEVER, above(2))


def test_a_plan_tells_its_predicates():
    for some in ([EVERY], [above(1)], [above(1), EVERY, above(3)]):
        known = Definition.of([reader(60, 10, predicate=predicate) for predicate in some])
        assert Definition.from_node(known.node(AUTO, 1), BY_K) == known
