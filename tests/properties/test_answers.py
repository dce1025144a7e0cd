"""At every clock the answer of a plan is what SQL gives over the window contents."""

from __future__ import annotations

from panes.plan.lookups import table_below
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import DIRECT, NT, UPA, UPA_FEW_EARLY, check_answers


@drawn(Cases(ways=(UPA, UPA_FEW_EARLY, NT)), share=0.26)
def test_answer_is_that_of_the_oracle_at_every_clock(case: Case) -> None:
    check_answers(case.plan, case.arrivals, case.way.lower(case.plan))


@drawn(Cases(ways=(UPA, NT), out_of_order=True), share=0.05)
def test_tuples_that_come_early_or_late_never_make_an_answer_wrong(case: Case) -> None:
    check_answers(case.plan, case.arrivals, case.way.lower(case.plan))


@drawn(Cases(retracts=False, ways=(DIRECT,)), share=0.1)
def test_scans_of_whole_buffers_give_the_same_answers(case: Case) -> None:
    check_answers(case.plan, case.arrivals, case.way.lower(case.plan))


@drawn(Cases(retracts=False), share=0.05)
def test_no_negative_tuple_is_made_where_none_is_needed(case: Case) -> None:
    dataflow = case.way.lower(case.plan)
    check_answers(case.plan, case.arrivals, dataflow)
    # What is taken out of a table comes as a negative tuple, and goes no further than where it is looked up.
    steps = [step.name for step in dataflow.fragment.steps if table_below(step.node) is None]
    assert all(dataflow.measures[step].expired == dataflow.measures[step].invalid == 0 for step in steps)
