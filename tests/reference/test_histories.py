"""Theorems 7.1, 7.2 and 7.5: serialization graphs tell which histories read true windows, and the latest ones."""

from __future__ import annotations

from random import Random

import pytest

from tests.reference.histories import History, Operation, RecordedRead, parse_history, recorded_history

N = 5
H = {
    "a": "rQ1[0] w5[0] c5 w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1",
    "b": "rQ1[0] w5[0] c5 rQ1[1] w6[1] c6 rQ1[2] rQ1[3] rQ1[4] cQ1",
    "c": "w5[0] c5 rQ1[0] rQ1[1] rQ1[2] rQ1[3] w6[1] c6 rQ1[4] cQ1",
    "d": "w5[0] c5 rQ1[0] w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1",
    "e": "rQ1[4] w5[0] c5 rQ1[0] rQ1[3] rQ1[2] w6[1] c6 rQ1[1] cQ1",
    "f": "rQ1[0] w5[0] c5 rQ1[1] rQ1[2] rQ1[3] w6[1] c6 rQ1[4] cQ1",
    "g": "rQ1[0] w5[0] w6[1] c6 rQ1[1] rQ1[2] rQ1[3] rQ1[4] cQ1 c5",
    "h": "rQ1[0] rQ1[1] rQ1[2] rQ1[3] w9[4] rQ1[4] cQ1 c9",
}


@pytest.mark.parametrize(
    ("name", "ws", "lws", "cps"),
    [
        ("a", False, False, False),
        ("b", True, False, False),
        ("c", True, False, False),
        ("d", True, True, True),
        ("e", True, True, True),
        ("f", True, False, False),
        ("g", False, False, True),
        ("h", True, True, False),
    ],
)
def test_histories_of_the_thesis(name: str, ws: bool, lws: bool, cps: bool) -> None:
    history = parse_history(H[name], N)
    assert history.is_window_serializable() is history.reads_a_window() is ws
    assert history.is_latest_window_serializable() is history.reads_the_latest_window() is lws
    assert history.is_commit_order_preserving() is cps


def test_the_graphs_of_figure_7_4() -> None:
    graphs = {name: parse_history(H[name], N).edges() for name in "abcd"}
    assert graphs == {
        "a": {("Q1", 5), (6, "Q1")},
        "b": {("Q1", 5), ("Q1", 6)},
        "c": {(5, "Q1"), ("Q1", 6)},
        "d": {(5, "Q1"), (6, "Q1")},
    }


def drawn(random: Random) -> History:
    """A query that reads all sub-windows in some order, and updates that come at any time and commit at once."""
    n = random.randint(1, 5)
    first = random.randint(n, 2 * n)
    reads = [Operation("r", "Q1", place) for place in random.sample(range(n), n)]
    operations: list[Operation] = [*reads, Operation("c", "Q1")]
    # A window that moves on by more than its length says no more.
    for update in reversed(range(first, first + random.randint(0, n))):
        place = random.randint(0, _place_of(operations, update + 1))
        operations[place:place] = [Operation("w", update, update % n), Operation("c", update)]
    return History(n, tuple(operations))


def _place_of(operations: list[Operation], update: int) -> int:
    places = (place for place, op in enumerate(operations) if op.kind == "w" and op.by == update)
    return next(places, len(operations))


def test_the_theorems_say_what_the_definitions_say() -> None:
    random, kinds = Random(7), set()
    for _ in range(2_000):
        history = drawn(random)
        assert history.is_window_serializable() == history.reads_a_window(), history
        assert history.is_latest_window_serializable() == history.reads_the_latest_window(), history
        kinds.add((history.reads_a_window(), history.reads_the_latest_window()))
    assert kinds == {(False, False), (True, False), (True, True)}


def test_where_updates_commit_at_once_the_latest_window_and_the_order_of_commits_are_the_same() -> None:
    random = Random(8)
    for _ in range(2_000):
        history = drawn(random)
        assert history.is_commit_order_preserving() == history.is_latest_window_serializable(), history


@pytest.mark.parametrize(
    ("reads", "ws", "lws"),
    [
        ([RecordedRead(3, 3, 3)], True, True),
        ([RecordedRead(3, 5, 5)], True, True),
        ([RecordedRead(3, 5, 4)], True, False),
        ([RecordedRead(3, 5, 3)], True, False),
        ([RecordedRead(3, 4, 4), RecordedRead(4, 6, 6), RecordedRead(3, 6, 6)], True, True),
        ([RecordedRead(3, 4, 4), RecordedRead(4, 6, 5)], True, False),
        # An answer of an epoch that was committed before the read began, and was not the last one.
        ([RecordedRead(3, 3, 3), RecordedRead(5, 5, 4)], True, False),
    ],
)
def test_recorded_reads_are_the_latest_when_they_are_of_the_last_epoch_at_their_end(
    reads: list[RecordedRead], ws: bool, lws: bool
) -> None:
    history = recorded_history(reads)
    assert history.reads_a_window() is ws
    assert history.reads_the_latest_window() is lws
    assert history.is_window_serializable() is ws
