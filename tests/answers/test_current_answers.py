"""The answers of the last epoch are computed once, and computed anew whenever something has changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from threading import Barrier, Event, Thread

import pyarrow as pa
import pytest

from panes.answers import current_answers
from panes.answers.answer import Answer
from panes.answers.current_answers import CurrentAnswers
from panes.errors import EvaluationError


class Asked:
    """Answers with a row that says how many have been computed."""

    def __init__(self) -> None:
        self.epoch = 0
        self.computed = 0
        self.answers = CurrentAnswers(lambda: self.epoch)

    def compute(self, _epoch: int = 0) -> Answer:
        self.computed += 1
        return Answer(None, pa.table({"number": [self.computed]}))

    def get(self, name: str = "q") -> int:
        (row,) = self.answers.get(name, self.compute).to_pylist()
        return row["number"]


@pytest.fixture
def asked() -> Asked:
    return Asked()


def test_an_answer_is_computed_once_per_epoch_and_query(asked):
    assert [asked.get("q"), asked.get("r"), asked.get("q"), asked.get("r")] == [1, 2, 1, 2]
    asked.epoch += 1
    assert [asked.get("q"), asked.get("r"), asked.get("q")] == [3, 4, 3]


def test_an_answer_without_rows_is_computed_once_too(asked):
    nothing = Answer(None, pa.table({"number": pa.array([], pa.int64())}))
    assert asked.answers.get("q", lambda _: nothing) is nothing
    assert asked.answers.get("q", asked.compute) is nothing


def test_what_is_forgotten_is_computed_anew(asked):
    assert asked.get() == 1
    asked.get("r")
    asked.answers.forget("q")
    assert (asked.get(), asked.get("r")) == (3, 2), "what did not change stays"
    asked.answers.forget_all()
    assert (asked.get(), asked.get("r")) == (4, 5)


def test_a_query_that_is_dropped_while_its_answer_is_computed_is_not_kept(asked):
    def dropped_meanwhile(_epoch: int) -> Answer:
        asked.answers.forget("q")
        return asked.compute()

    asked.answers.get("q", dropped_meanwhile)
    with pytest.raises(ZeroDivisionError):
        asked.answers.get("q", lambda _: 1 // 0)


def test_an_answer_that_an_epoch_overtakes_is_not_kept(asked):
    def overtaken(_epoch: int) -> Answer:
        asked.epoch += 1
        return asked.compute()

    asked.answers.get("q", overtaken)
    assert asked.get() == 2


def test_a_failure_is_not_kept(asked):
    with pytest.raises(ZeroDivisionError):
        asked.answers.get("q", lambda _: 1 // 0)
    assert asked.get() == 1


def test_an_answer_of_an_instant_is_computed_for_each_reader(asked):
    assert [len(asked.answers.computed(asked.compute)) for _ in range(3)] == [1, 1, 1]
    assert asked.computed == 3


def test_threads_that_come_together_wait_for_one_of_them_to_compute(monkeypatch):
    monkeypatch.setattr(current_answers, "_COMPUTED_AT_ONCE", 2)
    asked, together, seen = Asked(), Barrier(20), []

    def read() -> None:
        together.wait()
        seen.append(asked.get())

    threads = [Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 20
    assert asked.computed == 1


def test_no_more_is_kept_than_fits(asked, monkeypatch):
    monkeypatch.setattr(current_answers, "_BYTES_IN_MEMORY", 3 * current_answers._LEAST_BYTES)
    asked.answers.forget_all()
    assert [asked.get(name) for name in "abcd"] == [1, 2, 3, 4]
    assert [asked.get(name) for name in "dcba"] == [4, 3, 2, 5]


def test_who_does_not_wait_is_given_the_answer_of_an_earlier_epoch_while_others_compute(asked):
    assert asked.get() == 1
    asked.epoch += 1
    seen = []

    def slow(_epoch: int) -> Answer:
        (row,) = asked.answers.get("q", asked.compute, may_wait=False).to_pylist()
        seen.append(row["number"])
        return asked.compute()

    asked.answers.get("q", slow)
    assert seen == [1]
    assert asked.get() == 2


def test_those_who_wait_for_an_answer_that_fails_are_given_the_failure(asked):
    has_begun, may_fail, seen = Event(), Event(), []

    def failing(_epoch: int) -> Answer:
        has_begun.set()
        may_fail.wait()
        raise EvaluationError("no")

    def read() -> None:
        try:
            asked.answers.get("q", failing)
        except EvaluationError as error:
            seen.append(str(error))

    threads = [Thread(target=read) for _ in range(5)]
    for thread in threads:
        thread.start()
    has_begun.wait()
    may_fail.set()
    for thread in threads:
        thread.join()
    assert seen == ["no"] * 5
    assert asked.get() == 1


def test_who_does_not_wait_computes_when_nobody_else_does(asked):
    assert asked.get() == 1
    asked.epoch += 1
    (row,) = asked.answers.get("q", asked.compute, may_wait=False).to_pylist()
    assert row["number"] == 2


def test_who_does_not_wait_is_given_an_earlier_answer_when_readers_are_to_rest(asked, monkeypatch):
    assert asked.get() == 1
    asked.epoch += 1
    asked.answers.keep_pace(True)
    monkeypatch.setattr(asked.answers._computed, "_free", float("inf"))
    (row,) = asked.answers.get("q", asked.compute, may_wait=False).to_pylist()
    assert row["number"] == 1


def test_what_is_forgotten_is_not_at_hand_either(asked):
    assert asked.get() == 1
    asked.epoch += 1
    asked.answers.forget("q")
    asked.answers.keep_pace(True)
    asked.answers._computed._free = float("inf")
    with pytest.raises(ZeroDivisionError):
        asked.answers.get("q", lambda _: 1 // 0, may_wait=False)


def test_a_one_time_answer_is_computed_once_per_epoch(asked):
    answers = asked.answers
    first = answers.once("plan", asked.compute)
    assert answers.once("plan", lambda _: 1 // 0, may_wait=False) is first
    assert answers.once("plan", lambda _: 1 // 0) is first
    assert answers.once(None, asked.compute, may_wait=False).to_pylist() == [{"number": 2}]
    asked.epoch += 1
    assert answers.once("plan", asked.compute).to_pylist() == [{"number": 3}]


def test_what_is_ready_is_of_the_last_epoch(asked):
    assert asked.answers.ready("q") is None
    asked.get()
    assert asked.answers.ready("q").to_pylist() == [{"number": 1}]
    asked.epoch += 1
    assert asked.answers.ready("q") is None


def test_one_time_queries_leave_a_place_to_standing_answers(asked, monkeypatch):
    monkeypatch.setattr(current_answers, "_COMPUTED_AT_ONCE", 3)
    answers = CurrentAnswers(lambda: 0)
    has_begun, may_end = Barrier(3), Event()
    began = []

    def slow(number: int, _epoch: int) -> Answer:
        began.append(number)
        if len(began) <= 2:
            has_begun.wait()
        may_end.wait()
        return asked.compute()

    threads = [Thread(target=answers.once, args=(None, partial(slow, number))) for number in range(4)]
    for thread in threads:
        thread.start()
    has_begun.wait()
    # Two are under way and two wait, and a standing answer is computed at once.
    assert answers.get("q", lambda _: replace(asked.compute(), epoch=len(began))).epoch == 2
    may_end.set()
    for thread in threads:
        thread.join()
    assert len(began) == 4


def test_who_does_not_wait_is_given_an_earlier_answer_when_one_time_queries_have_their_places(
    asked, monkeypatch
):
    monkeypatch.setattr(current_answers, "_COMPUTED_AT_ONCE", 2)
    answers = asked.answers = CurrentAnswers(lambda: asked.epoch)
    first = answers.once("plan", asked.compute)
    asked.epoch += 1

    def meanwhile(_epoch: int) -> Answer:
        assert answers.once("plan", lambda _: 1 // 0, may_wait=False) is first
        return asked.compute()

    answers.once("other", meanwhile)


def test_readers_compute_when_no_epoch_is_being_committed():
    done: list[str] = []
    answers = CurrentAnswers(lambda: 0, lambda: done.append("committed"))
    nothing = Answer(None, pa.table({"n": [0]}))

    def work(_epoch: int = 0) -> Answer:
        done.append("computed")
        return nothing

    answers.get("q", work)
    answers.computed(work)
    answers.once(None, lambda _: answers.step(work))
    assert done == ["committed", "computed"] * 3
    answers.get("q", work)
    assert len(done) == 6, "what is ready is given at once"
