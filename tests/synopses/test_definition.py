"""The panes and columns of a synopsis follow from the queries that it is for."""

from __future__ import annotations

import pytest

from panes.plan.expressions import Aggregate
from panes.plan.windows import RangeWindow
from panes.synopses.definition import AUTO, Definition, SynopsisReader, SynopsisSource, panes_text
from tests.synopses.figure import ALL, BY_K, COUNT, MAX, SECOND, SUM


def reader(length: int, slide: int, *aggregates: Aggregate, source: SynopsisSource = BY_K) -> SynopsisReader:
    return SynopsisReader(source, RangeWindow(length * SECOND, slide * SECOND), aggregates or (COUNT,))


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
