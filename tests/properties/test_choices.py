"""Whatever statistics say, the plan that is chosen gives the answers of the query, and so do the others."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.optimizer.candidates import candidates
from panes.optimizer.choose_plan import choose_plan
from panes.optimizer.estimates import Estimates
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.plan.output_streams import is_known_at_every_instant
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.plan_text import plan_from, plan_text
from panes.stages.running_query import RunningQuery
from panes.testing import Oracle, same_rows
from tests.properties.choices import drawn_planning, drawn_statistics, with_choices
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.plans import Drawing
from tests.properties.running import NT, UPA, connection, history, outputs, together
from tests.properties.shards import Shards

CASES = Cases(plan=with_choices, most_rows=24, ways=(UPA, UPA, UPA, NT))


def check(case: Case, plans: list[PhysicalPlan], shards: tuple[int, ...]) -> None:
    """At every clock, all plans give the answer of the oracle, on all these numbers of shards."""
    oracle = Oracle(case.arrivals.tables, connection())
    expected = [oracle.answer_at(case.plan, clock) for clock in case.arrivals.clocks]
    for plan in plans:
        for number in shards:
            run = Shards(RunningQuery(1, plan, number, 0))
            tables: list[pa.Table] = []
            for (came, since, clock), answer in zip(case.arrivals.spans(), expected, strict=True):
                tables.append(run.process(came, since, clock))
                difference = same_rows(contents_at(together(tables), clock), answer)
                assert difference is None, f"{number} shards at {clock}: {difference}\n{plan.plan}"


@drawn(CASES, share=0.04)
def test_the_chosen_plan_has_the_answers_of_the_oracle_whatever_statistics_say(case: Case) -> None:
    chosen = choose_plan(optimize(case.plan), drawn_statistics(case), drawn_planning(case))
    assert plan_from(plan_text(chosen)) == chosen
    check(case, [chosen], (1, 2, 5))


@drawn(CASES, share=0.025)
def test_every_candidate_has_the_answers_of_the_oracle(case: Case) -> None:
    planning = drawn_planning(case)
    found = candidates(optimize(case.plan), Estimates(drawn_statistics(case)), planning).plans
    ways = [(one, leaves_early) for one in found for leaves_early in (True, False)]
    made = [
        make_plan(one.plan, strategy=planning.strategy, leaves_early=leaves_early, calendar_days=3)
        for one, leaves_early in ways
    ]
    check(case, made, (2,))


def a_stream_of(drawing: Drawing) -> nodes.Node:
    """What enters, leaves or is a relation with choices."""
    return drawing.choose([nodes.Istream, nodes.Dstream, nodes.Rstream])(with_choices(drawing))


@drawn(Cases(plan=a_stream_of, most_rows=16, ways=(UPA,)), share=0.015)
def test_output_streams_of_the_chosen_plan_are_those_of_the_plan_as_written(case: Case) -> None:
    every_instant = not is_known_at_every_instant(case.plan)
    dataflow = case.way.lower(case.plan, changes="instant" if every_instant else "epoch")
    expected = history(list(outputs(dataflow, case.arrivals)), case.arrivals.clocks[-1])
    for one in candidates(optimize(case.plan), Estimates(drawn_statistics(case)), drawn_planning(case)).plans:
        run = Shards(RunningQuery(1, make_plan(one.plan, every_instant=every_instant), 2, 0))
        tables = [run.process(came, since, clock) for came, since, clock in case.arrivals.spans()]
        assert history(tables, case.arrivals.clocks[-1]) == expected, one.name
