"""At every clock the answer of a plan is what SQL gives over the window contents."""

from __future__ import annotations

from hypothesis import strategies as st

from panes.plan import nodes
from tests.properties.drawn import drawn
from tests.properties.plans import monotone_plans, plans
from tests.properties.running import DIRECT, NT, UPA, UPA_FEW_EARLY, Choice, check_answers
from tests.properties.streams import Arrivals, arrivals


@drawn(st.tuples(plans(), arrivals(), st.sampled_from([UPA, UPA, UPA_FEW_EARLY, NT])), share=0.55)
def test_answer_is_that_of_the_oracle_at_every_clock(case: tuple[nodes.Node, Arrivals, Choice]) -> None:
    plan, arrivals, choice = case
    check_answers(plan, arrivals, choice.lower(plan))


@drawn(st.tuples(monotone_plans(), arrivals()), share=0.15)
def test_scans_of_whole_buffers_give_the_same_answers(case: tuple[nodes.Node, Arrivals]) -> None:
    plan, arrivals = case
    check_answers(plan, arrivals, DIRECT.lower(plan))


@drawn(st.tuples(monotone_plans(), arrivals()), share=0.05)
def test_no_negative_tuple_is_made_where_none_is_needed(case: tuple[nodes.Node, Arrivals]) -> None:
    plan, arrivals = case
    dataflow = UPA.lower(plan)
    check_answers(plan, arrivals, dataflow)
    assert all(counters.negative == 0 for counters in dataflow.counters.values())
