"""The schedules of drop boxes from epoch to epoch."""

from dataclasses import replace

from panes.delta.delta import BEGINNING
from panes.plan.box_schedule import BoxSchedule
from panes.plan.sheddable import with_drop_boxes
from panes.stages.make_plan import make_plan
from panes.stages.next_boxes import next_boxes
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import NOTHING, EpochRecord, QueryProgress, StreamProgress
from tests.plan.test_sheddable import plan_of

SECOND = 1_000_000
SQL = "SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k"
QUERY = RunningQuery(7, make_plan(with_drop_boxes(plan_of(SQL))), 2, 0)
NUMBERS = {"a": 1, "b": 2}


def after(clock, boxes=None, max_ts=100 * SECOND):
    ran = QueryProgress(1, 0, 0, 0, epoch=3, clock=clock)
    return replace(
        NOTHING, epoch=3, queries={7: ran}, streams={1: StreamProgress(max_ts=max_ts)}, boxes=boxes or {}
    )


def test_a_new_share_holds_for_rows_younger_than_all_that_have_come():
    found = next_boxes(after(90 * SECOND), [QUERY], NUMBERS, {7: {1: 0.5}})
    assert found == {7: {1: BoxSchedule(((100 * SECOND + 1, 0.5),))}}


def test_without_a_change_schedules_stay():
    boxes = {7: {1: BoxSchedule(((85 * SECOND, 0.5),))}}
    assert next_boxes(after(90 * SECOND, boxes), [QUERY], NUMBERS) == boxes


def test_steps_that_windows_have_moved_past_are_left_out():
    boxes = {7: {1: BoxSchedule(((50 * SECOND, 0.5), (60 * SECOND, 0.4), (95 * SECOND, 1.0)))}}
    assert next_boxes(after(90 * SECOND, boxes), [QUERY], NUMBERS) == {
        7: {1: BoxSchedule(((BEGINNING, 0.4), (95 * SECOND, 1.0)))}
    }
    assert next_boxes(after(106 * SECOND, boxes), [QUERY], NUMBERS) == {}


def test_a_query_that_begins_keeps_everything_of_the_past():
    boxes = {7: {1: BoxSchedule(((85 * SECOND, 0.5),))}}
    anew = replace(QUERY, first_epoch=4)
    assert next_boxes(after(90 * SECOND, boxes), [anew], NUMBERS) == {}


def test_a_plan_that_replaces_another_goes_on_with_the_schedules_of_its_query():
    boxes = {7: {1: BoxSchedule(((85 * SECOND, 0.5),))}}
    successor = replace(QUERY, id=9, of=7, first_epoch=4, replaces=7)
    assert next_boxes(after(90 * SECOND, boxes), [successor], NUMBERS) == boxes
    assert next_boxes(after(90 * SECOND, boxes), [QUERY, successor], NUMBERS) == boxes


def test_queries_that_are_gone_or_have_no_boxes_have_no_schedules():
    boxes = {7: {1: BoxSchedule(((85 * SECOND, 0.5),))}, 8: {1: BoxSchedule(((85 * SECOND, 0.5),))}}
    assert next_boxes(after(90 * SECOND, boxes), [], NUMBERS) == {}
    plain = RunningQuery(8, make_plan(plan_of(SQL)), 2, 0)
    assert next_boxes(after(90 * SECOND, boxes), [plain], NUMBERS, {8: {1: 0.5}}) == {}


def test_windows_of_rows_and_of_all_times_keep_all_steps():
    for window in ("ROWS 10", "RANGE UNBOUNDED"):
        plan = make_plan(with_drop_boxes(plan_of(f"SELECT k FROM a [{window}]")))
        boxes = {7: {1: BoxSchedule(((5 * SECOND, 0.5), (6 * SECOND, 1.0)))}}
        query = RunningQuery(7, plan, 2, 0)
        assert next_boxes(after(90 * SECOND, boxes), [query], NUMBERS) == boxes


def test_schedules_come_back_with_the_record_of_their_epoch():
    record = after(90 * SECOND, {7: {1: BoxSchedule(((BEGINNING, 0.1), (85 * SECOND, 2 / 3)))}})
    record = replace(record, shed={7: {1: 12}})
    assert EpochRecord.from_json(record.as_json()) == record
