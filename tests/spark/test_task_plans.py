"""What tasks run: plans that are the same from epoch to epoch, and values that are not."""

from __future__ import annotations

import pickle
from dataclasses import replace

import panes
from panes.delta.delta import BEGINNING
from panes.history.query_clocks import KnownClocks
from panes.plan.box_schedule import BoxSchedule
from panes.plan.sheddable import with_drop_boxes
from panes.runtime.job_plan import JobPlan
from panes.sharing.shared_indexes import Indexed
from panes.stages.clock_rule import ClockRule, Position
from panes.stages.make_plan import make_plan
from panes.state.storage.epoch_log import NOTHING

STREAM = "CREATE STREAM r (ts BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY ts SECONDS"
SUMS = "SELECT a, sum(b) AS total FROM r [RANGE {range} SECONDS SLIDE 2 SECONDS] GROUP BY a"
SELECTION = "SELECT a FROM r [RANGE 10 SECONDS] WHERE b > {least}"
MATCHED = "SELECT a, count(*) AS n FROM r [RANGE 10 SECONDS] WHERE b > {least} GROUP BY a"


def job_of(db, epoch, clock=BEGINNING):
    queries = db._running.workload(NOTHING, 2).queries
    positions = {query.id: Position(frozenset({1}), clock, epoch - 1, begins=False) for query in queries}
    streams = db._connection.catalog.base_streams()
    rule = ClockRule(epoch, streams, {}, positions, 10**15, 0, 10**7, occasion="rows")
    return JobPlan(queries, rule, KnownClocks(db._connection.log).of)


def test_plans_stay_the_same_while_clocks_move_and_change_with_the_queries(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SUMS.format(range=10))
        first, second = job_of(db, 1, 5), job_of(db, 2, 7)
        assert first.plans == second.plans
        assert (set(first.values.since.values()), set(second.values.since.values())) == ({5}, {7})
        db.register(SUMS.format(range=20))
        assert job_of(db, 2, 7).plans != first.plans


def test_plans_have_no_members_and_values_give_them_back(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        db.register(SELECTION.format(least=1))
        one = job_of(db, 1)
        db.register(SELECTION.format(least=2))
        other = job_of(db, 1)
        # The plan of a group is the same whichever queries share it.
        assert one.plans == other.plans
        assert one.values != other.values
        (stage,) = other.plans.stages
        assert stage.query.members is None
        shared = other.values.with_members(stage).query.members
        (mine,) = shared.all
        assert isinstance(mine.index, Indexed)
        assert len(mine.value.members) == 2


def test_rows_are_matched_with_the_queries_of_the_group_that_reads_them(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        db.register(MATCHED.format(least=1))
        other = job_of(db, 1)
        (shared,) = other.values.members.values()
        (route,) = other.plans.inputs
        assert other.values.slices_of(route, is_history=False) is shared.all
        assert other.values.slices_of(route, is_history=True) is shared.fresh


def test_plans_travel(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SUMS.format(range=10))
        plans = job_of(db, 1).plans
        assert pickle.loads(pickle.dumps(plans)) == plans


def test_what_two_stages_hand_on_under_the_same_names_is_not_taken_for_one_input(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        sums = "SELECT a, sum(b) AS n FROM r [RANGE 10 SECONDS] GROUP BY a"
        joined = f"SELECT r.a, x.n FROM r [RANGE 10 SECONDS] JOIN ({sums}) x ON r.b = x.n"
        db.register(f"SELECT a, n FROM ({joined}) y INTERSECT SELECT a, n FROM ({sums}) z")
        stages = job_of(db, 1).plans.stages
        last = next(stage for stage in stages if not stage.outputs)
        assert len(set(last.inputs)) == 2
        outputs = [output for stage in stages for output in stage.outputs]
        assert sorted(outputs) == sorted(set(outputs)), "no two stages hand on to the same input"


def test_queries_whose_boxes_keep_other_shares_do_not_share_inputs(tmp_path):
    box = BoxSchedule(((5, 0.5),))
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SUMS.format(range=10))
        streams = db._connection.catalog.base_streams()
        (query,) = db._running.workload(NOTHING, 2).queries
        plan = make_plan(with_drop_boxes(query.plan.plan))
        queries = [replace(query, id=number, of=number, plan=plan) for number in (1, 2, 3)]
        positions = {q.id: Position(frozenset({1}), 0, 0, begins=False) for q in queries}
        rule = ClockRule(1, streams, {}, positions, 10**15, 0, 10**7, occasion="rows")

        def job(boxes):
            return JobPlan(queries, rule, KnownClocks(db._connection.log).of, boxes)

        number = streams[0].number
        assert len(job({}).inputs) == 1
        shed = job({2: {number: box}, 3: {number: box}})
        assert [[place.query for place in readers] for readers in shed.readers] == [[1], [2, 3]]
        assert shed.values.boxes == {1: box}
        assert (shed.values.box_of(0), shed.values.box_of(1)) == (BoxSchedule(), box)


def test_shares_that_were_decided_after_an_epoch_hold_in_the_next(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql(STREAM)
        db.register(SUMS.format(range=10))
        running = db._running
        first = running.workload(NOTHING, 2)
        (query,) = first.queries
        # Only queries with drop boxes have any.
        running.set_shares(NOTHING, {query.id: {1: 0.5}})
        assert running.workload(NOTHING, 2).boxes == {}
