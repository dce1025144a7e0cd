"""Tables beside streams: the answer is that of SQL over the windows and the table (a relation as it is, one that
tuples look up as it was at the time of each), however rows come and lie."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.consolidate import contents_at
from panes.plan import nodes
from panes.testing import Oracle, same_rows
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.plans import Drawing
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, connection, outputs, together
from tests.properties.shards import Shards
from tests.properties.streams import Arrivals


def by_time_alone(drawing: Drawing) -> nodes.Node:
    """A lookup over windows that hold a tuple by its time, whenever it came, beside a relation."""
    left, right = drawing.lookup(2), drawing.table()
    return nodes.Join(left, right, *drawing.keys(left, right))


@drawn(Cases(plan=Drawing.with_tables, ways=(UPA, UPA_FEW_EARLY, NT), out_of_order=True), share=0.05)
def test_tuples_of_any_order_meet_the_tables_that_sql_says(case: Case) -> None:
    oracle = Oracle(case.arrivals.tables, connection())
    clocks = case.arrivals.clocks
    expected = [oracle.answer_at(case.plan, clock) for clock in clocks]
    for shards in (1, 2, 5):
        run = Shards.of(case.plan, shards, strategy=case.way.strategy, large_tables=case.large_tables)
        tables: list[pa.Table] = []
        for (came, since, clock), answer in zip(case.arrivals.spans(), expected, strict=True):
            tables.append(run.process(came, since, clock))
            difference = same_rows(contents_at(together(tables), clock), answer)
            assert difference is None, f"{shards} shards at {clock}: {difference}"


@drawn(Cases(plan=by_time_alone, retracts=False, ways=(UPA, NT), out_of_order=True), share=0.02)
def test_the_answer_is_the_same_whether_tuples_came_live_or_late_or_from_history(case: Case) -> None:
    late = case.arrivals
    in_time = {name: table.drop_columns(["_came"]) for name, table in late.streams.items()}
    live = Arrivals(in_time, late.relations, late.clocks)
    history = live.with_clocks(late.clocks[-1:])
    answers = [_last_answer(case, arrivals) for arrivals in (live, late, history)]
    assert same_rows(answers[1], answers[0]) is None
    assert same_rows(answers[2], answers[0]) is None


def _last_answer(case: Case, arrivals: Arrivals) -> pa.Table:
    tables = list(outputs(case.way.lower(case.plan), arrivals))
    return contents_at(together(tables), arrivals.clocks[-1])
