"""What answers say of tuples that were shed, and that nobody sees the columns that they know it from."""

import numpy as np
import pyarrow as pa
import pytest

from panes.answers.answer import Answer
from panes.answers.intervals import intervals
from panes.clock import to_datetime
from panes.plan.box_schedule import BoxSchedule
from panes.plan.order_of_answer import relation_of
from panes.plan.sheddable import with_drop_boxes
from tests.answers.kept import Kept
from tests.plan.test_sheddable import plan_of

SECOND = 1_000_000
COUNTS = "SELECT k, count(*) AS n FROM a [RANGE 10 SECONDS] GROUP BY k"
SORTED = "SELECT k, count(*) AS n, avg(x) AS m FROM a [RANGE 10 SECONDS] GROUP BY k ORDER BY count(*) DESC"
SELECTION = "SELECT k, x FROM a [RANGE 10 SECONDS]"


def rows(begin, end, per_second=100):
    ts = np.linspace(begin * SECOND + 1, end * SECOND, (end - begin) * per_second).astype(np.int64)
    key = np.arange(len(ts)) % 2
    return pa.table({"k": key, "g": np.arange(len(ts)), "x": ts / SECOND, "_ts": ts})


def kept(tmp_path, sql, *steps):
    plan = plan_of(sql)
    return Kept(
        tmp_path,
        relation_of(with_drop_boxes(plan)),
        shown=plan,
        boxes={1: BoxSchedule(steps)},
        streams={1: "a", 2: "b"},
    )


def test_an_answer_says_what_was_kept_while_its_windows_may_hold_what_was_shed(tmp_path):
    db = kept(tmp_path, COUNTS, (10 * SECOND, 0.4), (20 * SECOND, 0.6), (30 * SECOND, 1.0))
    #      0         10        20        30        40
    #      all       40 %      60 %      all
    said = []
    for clock in (9, 15, 25, 35, 39, 45):
        begin = 0 if db.position[0] < 0 else db.position[1] // SECOND
        db.epoch({"a": rows(begin, clock)}, clock * SECOND)
        answer = db.readers.invoke(db.standing)
        assert answer.table.column_names == ["k", "n"]
        assert answer.error.column_names == ["k", "n", "n_low", "n_high"]
        is_exact = answer.error.column("n_low").null_count == 2
        said.append((answer.kept["a"], answer.is_partial, is_exact))
        if answer.is_partial:
            low, value, high = (answer.error.column(name).to_numpy() for name in ("n_low", "n", "n_high"))
            assert (low < value).all()
            assert (value < high).all()
            assert np.allclose(value, 500, rtol=0.25)
        else:
            assert answer.table.column("n").to_pylist() == [min(clock, 10) * 50] * 2
    assert said == [
        (1.0, False, True),
        (0.4, True, False),
        (0.4, True, False),
        (0.6, True, False),
        (0.6, True, False),
        (1.0, False, True),
    ]


def test_a_selection_gives_the_rows_that_are_left(tmp_path):
    db = kept(tmp_path, SELECTION, (0, 0.3))
    db.epoch({"a": rows(0, 5)}, 5 * SECOND)
    answer = db.readers.invoke(db.standing)
    assert answer.is_partial
    assert answer.kept == {"a": 0.3}
    assert answer.error is None
    assert 100 < len(answer) < 200
    assert answer.table.column_names == ["k", "x"]


def test_a_sorted_answer_has_its_intervals_in_the_same_order(tmp_path):
    db = kept(tmp_path, SORTED, (0, 0.5))
    db.epoch({"a": rows(0, 5)}, 5 * SECOND)
    answer = db.readers.invoke(db.standing)
    assert answer.is_sorted
    assert answer.table.column_names == ["k", "n", "m"]
    assert answer.error.column_names == ["k", "n", "n_low", "n_high", "m", "m_low", "m_high"]
    assert answer.error.select(["k", "n", "m"]).equals(answer.table)
    low, value, high = (answer.error.column(name).to_numpy() for name in ("n_low", "n", "n_high"))
    assert (low < value).all()
    assert (value < high).all()


def test_changes_have_the_columns_of_the_answer_alone(tmp_path):
    db = kept(tmp_path, COUNTS, (0, 0.5))
    total: dict[tuple[int, int], int] = {}
    for clock in (2, 4):
        db.epoch({"a": rows(clock - 2, clock)}, clock * SECOND)
        for change in db.readers.changes(db.standing, "reader"):
            assert change.table.column_names == ["k", "n", "_at", "_weight"]
            for row in change.table.to_pylist():
                key = (row["k"], row["n"])
                total[key] = total.get(key, 0) + row["_weight"]
    answer = db.readers.invoke(db.standing)
    assert {key for key, count in total.items() if count} == {
        (row["k"], row["n"]) for row in answer.to_pylist()
    }
    assert list(answer.to_pandas().columns) == ["k", "n"]


def test_an_answer_of_an_earlier_instant_says_what_was_kept_then(tmp_path):
    db = kept(tmp_path, SELECTION, (10 * SECOND, 0.5))
    db.epoch({"a": rows(0, 9)}, 9 * SECOND)
    db.epoch({"a": rows(9, 15)}, 15 * SECOND)
    earlier = db.readers.invoke(db.standing, to_datetime(9 * SECOND))
    assert (earlier.is_partial, earlier.kept) == (False, {"a": 1.0})
    assert db.readers.invoke(db.standing, to_datetime(12 * SECOND)).kept == {"a": 0.5}


def test_an_answer_shows_that_it_is_partial():
    answer = Answer(to_datetime(0), pa.table({"n": [1]}), kept={"packets": 0.312, "flows": 1.0})
    assert "it was computed from 31.2 % of packets>" in repr(answer)
    assert not Answer(None, pa.table({"n": [1]})).is_partial


def test_an_exact_value_has_no_interval():
    shown = pa.table({"k": [1, 2, 3], "n": [10, 20, None]})
    found = intervals(shown, shown.append_column("_error_n", pa.array([0.0, 2.5, 1.0])))
    assert found.column("n_low").to_pylist() == [None, 17.5, None]
    assert found.column("n_high").to_pylist() == [None, 22.5, None]
    assert intervals(shown, shown) is None


@pytest.mark.parametrize("sql", [COUNTS, SORTED, SELECTION])
def test_answers_without_boxes_are_never_partial(tmp_path, sql):
    db = Kept(tmp_path, plan_of(sql).child if "ORDER" in sql else plan_of(sql))
    db.epoch({"a": rows(0, 2)}, 2 * SECOND)
    answer = db.readers.invoke(db.standing)
    assert (answer.kept, answer.error, answer.is_partial) == ({}, None, False)
