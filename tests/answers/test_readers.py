"""Readers: each goes on where it left off, comes back too late with a clear error, and keeps what it looks at."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pyarrow as pa
import pytest

from panes.answers.answer_from_segments import AnswerFromSegments
from panes.answers.answer_source import AnswerSource
from panes.answers.cursors import Cursors
from panes.answers.memory_cursors import MemoryCursors
from panes.answers.readers import Readers
from panes.clock import to_datetime
from panes.errors import CatalogError, ChangesGone, DatabaseClosed, EpochGone, QueryBegunAnew, StateError
from panes.plan.expressions import Aggregate
from panes.plan.nodes import GroupBy, StreamScan, Window
from panes.plan.schema import Schema
from panes.plan.types import BIGINT, STRING
from panes.plan.windows import RangeWindow
from panes.state.storage.epoch_log import NOTHING, EpochLog, QueryProgress
from panes.state.storage.epoch_states import StagePlace
from tests.answers.kept import Kept
from tests.kept_states import STAGE

SCAN = StreamScan("s", "s", Schema.of([("s.a", STRING)]))
WINDOW = Window(SCAN, RangeWindow(3))
NUMBER = Aggregate("n", "count", None, BIGINT)


def came(*rows: tuple[str, int]) -> dict[str, pa.Table]:
    values, times = zip(*rows, strict=True) if rows else ((), ())
    return {"s": pa.table({"a": pa.array(values, pa.string()), "_ts": pa.array(times, pa.int64())})}


@pytest.fixture
def database(tmp_path):
    """Epochs 0 to 3 with clocks 1 to 4; the tuple of each is in the answer for three of them."""
    database = Kept(tmp_path, WINDOW)
    for clock in (1, 2, 3, 4):
        database.epoch(came((str(clock), clock)), clock)
    return database


def epochs(database: Kept, reader: str, **options: bool) -> list[int]:
    return [change.epoch for change in database.readers.changes(database.standing, reader, **options)]


def values(database: Kept, as_of: int | None = None) -> list[str]:
    answer = database.readers.invoke(database.standing, None if as_of is None else to_datetime(as_of))
    return sorted(answer.table.column("s.a").to_pylist())


def test_a_reader_goes_on_where_it_left_off_and_others_do_not_matter(database):
    assert epochs(database, "phone") == [0, 1, 2, 3]
    assert epochs(database, "phone") == []
    database.epoch(came(("5", 5)), 5)
    assert epochs(database, "phone") == [4]
    assert epochs(database, "desk") == [0, 1, 2, 3, 4]
    assert database.readers.readers(database.standing) == {"desk": 4, "phone": 4}


def test_a_change_is_read_when_the_next_one_is_asked_for(database):
    changes = database.readers.changes(database.standing, "phone")
    next(changes)
    next(changes)
    changes.close()
    assert database.readers.readers(database.standing) == {"phone": 0}
    assert epochs(database, "phone") == [1, 2, 3]


def test_a_reader_goes_on_after_the_process_has_ended(database):
    changes = database.readers.changes(database.standing, "phone")
    next(changes)
    next(changes)
    again = database.reopened()
    assert epochs(again, "phone") == [1, 2, 3]
    with pytest.raises(DatabaseClosed):
        next(changes)


def test_a_reader_sees_epochs_that_end_while_it_reads(database):
    seen = []
    for change in database.readers.changes(database.standing, "phone"):
        seen.append(change.epoch)
        if change.epoch < 6:
            database.epoch(came(), 5 + change.epoch)
    assert seen == list(range(10))


def test_a_reader_that_comes_back_too_late_is_told_what_to_do(database):
    assert epochs(database, "phone") == [0, 1, 2, 3]
    for clock in (5, 6, 7):
        database.epoch(came((str(clock), clock)), clock)
    database.collect(retain_epochs=2)
    with pytest.raises(ChangesGone, match=r"read up to epoch 3.*epoch 4 and later.*restart=True"):
        list(database.readers.changes(database.standing, "phone"))
    (change,) = database.readers.changes(database.standing, "phone", restart=True)
    assert (change.epoch, change.is_whole) == (6, True)
    assert sorted(change.inserted.column("s.a").to_pylist()) == values(database) == ["5", "6", "7"]
    database.epoch(came(), 8)
    assert epochs(database, "phone") == [7]


def test_a_reader_that_comes_back_just_in_time_misses_nothing(database):
    assert epochs(database, "phone") == [0, 1, 2, 3]
    for clock in (5, 6):
        database.epoch(came((str(clock), clock)), clock)
    database.collect(retain_epochs=2)
    assert epochs(database, "phone") == [4, 5]


def test_a_reader_that_comes_late_for_the_first_time_begins_with_the_oldest_answer(database):
    database.collect(retain_epochs=1)
    first, second = database.readers.changes(database.standing, "late")
    assert (first.epoch, first.is_whole, first.as_of) == (2, True, to_datetime(3))
    assert sorted(first.inserted.column("s.a").to_pylist()) == ["1", "2", "3"]
    assert second.inserted.column("s.a").to_pylist() == ["4"]
    assert second.deleted.column("s.a").to_pylist() == ["1"]


def test_a_forgotten_reader_begins_anew(database):
    assert epochs(database, "phone") == [0, 1, 2, 3]
    database.readers.forget(database.standing, "phone")
    assert epochs(database, "phone") == [0, 1, 2, 3]
    database.readers.forget_query(database.standing.id)
    assert database.readers.readers(database.standing) == {}


def test_a_reader_that_takes_its_time_keeps_what_it_has_yet_to_read(database):
    changes = database.readers.changes(database.standing, "slow")
    assert next(changes).epoch == 0
    for clock in range(5, 12):
        database.epoch(came((str(clock), clock)), clock)
        database.collect(retain_epochs=1)
    assert [change.epoch for change in changes] == list(range(1, 11))
    database.collect(retain_epochs=1)
    assert database.log.epochs == range(9, 11)


def test_a_query_that_no_epoch_has_seen_has_no_changes_and_no_answer(tmp_path):
    database = Kept(tmp_path, WINDOW)
    assert epochs(database, "phone") == []
    answer = database.readers.invoke(database.standing)
    assert (answer.as_of, len(answer)) == (None, 0)
    with pytest.raises(EpochGone, match="has no answers yet"):
        values(database, as_of=1)


def test_the_answer_of_an_instant_is_that_of_the_instant(database):
    assert [values(database, as_of=at) for at in (1, 2, 3, 4)] == [
        ["1"],
        ["1", "2"],
        ["1", "2", "3"],
        ["2", "3", "4"],
    ]
    database.epoch(came(), 20)
    assert [values(database, as_of=at) for at in (5, 6, 7, 19)] == [["3", "4"], ["4"], [], []]
    assert database.readers.invoke(database.standing, "1970-01-01T00:00:00.000006").to_pylist() == [
        {"s.a": "4"}
    ]


def test_the_answer_of_an_instant_between_slides_is_that_of_the_slide(tmp_path):
    database = Kept(tmp_path, GroupBy(Window(SCAN, RangeWindow(4, 2)), ("s.a",), (NUMBER,)))
    database.epoch(came(("a", 1), ("a", 3)), 9)
    answer = database.readers.invoke(database.standing, to_datetime(5))
    assert (answer.as_of, answer.to_pylist()) == (to_datetime(4), [{"s.a": "a", "n": 2}])


def test_the_slide_of_the_oldest_answer_that_is_kept_has_that_answer(tmp_path):
    database = Kept(tmp_path, GroupBy(Window(SCAN, RangeWindow(4, 4)), ("s.a",), (NUMBER,)))
    for clock in (3, 5, 6, 7):
        database.epoch(came(("a", clock)), clock)
    database.collect(retain_epochs=1)
    named = database.readers.invoke(database.standing)
    assert named.as_of == to_datetime(4)
    assert database.readers.invoke(database.standing, named.as_of).to_pylist() == named.to_pylist()
    with pytest.raises(EpochGone, match=r"what is kept begins at 1970-01-01T00:00:00\.000004"):
        values(database, as_of=3)


def test_a_reader_of_a_query_that_was_altered_is_told_before_an_epoch_has_run_it(database):
    assert epochs(database, "phone")
    database.first_epoch = None
    with pytest.raises(QueryBegunAnew, match=r"changes\(reader='phone', restart=True\)"):
        epochs(database, "phone")
    assert epochs(database, "phone", restart=True) == []
    assert database.readers.readers(database.standing) == {}


def test_where_answers_are_known_at_clocks_alone_an_instant_between_has_that_of_the_clock_before(tmp_path):
    database = Kept(tmp_path, GroupBy(WINDOW, ("s.a",), (NUMBER,)))
    database.epoch(came(("a", 1)), 2)
    database.epoch(came(("a", 3)), 9)
    answer = database.readers.invoke(database.standing, to_datetime(5))
    assert (answer.as_of, answer.to_pylist()) == (to_datetime(2), [{"s.a": "a", "n": 1}])
    with pytest.raises(EpochGone, match=r"begin at 1970-01-01T00:00:00\.000002"):
        values(database, as_of=1)


def test_an_instant_that_is_not_kept_or_has_not_come_is_refused(database):
    with pytest.raises(EpochGone, match="not known yet: its clock has come to"):
        values(database, as_of=5)
    database.collect(retain_epochs=1)
    assert values(database, as_of=3) == ["1", "2", "3"]
    with pytest.raises(
        EpochGone, match=r"no longer kept: what is kept begins at 1970-01-01T00:00:00\.000003"
    ):
        values(database, as_of=2)


def test_instants_before_the_query_was_registered_are_refused(tmp_path):
    database = Kept(tmp_path, WINDOW, first_epoch=3, since=4)
    database.epoch(came(("a", 3), ("b", 5)), 6, history=True)
    assert (values(database, as_of=4), values(database, as_of=5)) == (["a"], ["a", "b"])
    with pytest.raises(EpochGone, match=r"begin at 1970-01-01T00:00:00\.000004"):
        values(database, as_of=3)


def test_a_query_that_is_dropped_while_it_is_read_is_said_to_be_dropped(database):
    shutil.rmtree(database.folder / "states")
    with pytest.raises(StateError, match="is missing"):
        values(database)
    database.dropped = True
    with pytest.raises(CatalogError, match="'q' was dropped while it was being read"):
        values(database)
    with pytest.raises(CatalogError, match="'q' was dropped while it was being read"):
        epochs(database, "phone")


def test_what_leaves_is_found_without_opening_what_stays(tmp_path):
    #  the large segment of the first epoch stays, the small ones leave
    database = Kept(tmp_path, Window(SCAN, RangeWindow(100)))
    database.epoch(came(*(("long", 50) for _ in range(64)), ("short", 1)), 60)
    database.epoch(came(("x", 61)), 99)
    opened = Readers(database.log, tmp_path / "states", Cursors(tmp_path / "other.sqlite"), lambda _: True)
    rows = AnswerFromSegments(opened.segments, WINDOW.schema.arrow)
    (large,) = opened.segments.chunks(STAGE, 0, 0)["answer"]
    ran = QueryProgress(1, 0, 0, 0, epoch=1, before=0, since=60, clock=99, spread_before=1, answer=STAGE)
    assert rows.leaving(ran) == []
    assert large._table is None
    (left,) = rows.leaving(replace(ran, clock=101))
    assert left.column("s.a").to_pylist() == ["short"]
    opened.close()


class Asked:
    """Rows that say of which plan and epoch they are."""

    def at(self, ran, instant, *, is_first, lookup=None):
        del instant, is_first, lookup
        return pa.table({"s.a": [f"plan {ran.answer.running}, epoch {ran.epoch}"]})


def test_an_instant_of_the_epoch_in_which_a_plan_began_is_answered_by_the_one_that_it_replaced(tmp_path):
    log = EpochLog(tmp_path / "epochs")
    old, new = StagePlace(7, 0, 0, True), StagePlace(9, 0, 0, True)
    first = QueryProgress(1, 0, 0, 0, epoch=0, clock=10, answer=old)
    last = replace(first, epoch=1, before=0, since=10, clock=20)
    begun = replace(last, before=-1, answer=new)
    # In the epoch after the switch the new plan had nothing to do, so it ran last in the epoch in which it began.
    for epoch, queries in enumerate([{7: first}, {7: last, 9: begun}, {7: begun}]):
        log.commit(replace(NOTHING, epoch=epoch, queries=queries))
    readers = Readers(log, tmp_path / "states", MemoryCursors(), lambda _: True)
    standing = AnswerSource(7, "q", WINDOW, Asked(), 7, first_epoch=0)

    def asked(us):
        return readers.invoke(standing, to_datetime(us)).to_pylist()[0]["s.a"]

    assert [asked(us) for us in (10, 15, 20)] == ["plan 7, epoch 0", "plan 7, epoch 1", "plan 7, epoch 1"]
    assert readers.invoke(standing).to_pylist() == [{"s.a": "plan 9, epoch 1"}]
