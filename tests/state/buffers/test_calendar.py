from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.delta import EXP, FOREVER, WEIGHT
from panes.delta.rows import int64
from panes.state.buffers import calendar
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import sum_weights


def rows_of(exp: Any) -> pa.Table:
    return pa.table({"k": np.arange(len(exp)) * 7919 % 1000, EXP: np.asarray(exp)})


def is_young(chunk: Chunk) -> bool:
    return chunk.labels["width"] == 0


def test_a_calendar_never_has_more_days_than_partitions(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calendar, "_FEWEST_TO_DIVIDE", 300)
    buffer = Calendar(["k"], calendar_days=5)
    for span in range(50):
        buffer.insert(rows_of(np.arange(span * 7 + 1, span * 7 + 401)))
        buffer.expire(span * 7)
        divided = [chunk for chunk in buffer.chunks if not is_young(chunk)]
        assert divided
        width = divided[0].labels["width"]
        assert len({chunk.low // width for chunk in divided}) <= 6  # five days may begin within a day


def test_rows_that_never_leave_do_not_widen_the_days_of_those_that_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calendar, "_FEWEST_TO_DIVIDE", 1)
    monkeypatch.setattr(calendar, "_SHARE_TO_DIVIDE", 100)
    buffer = Calendar(["k"], calendar_days=4)
    for row in [(1, "p", 10**15), (2, "p", FOREVER), (3, "p", 10**15 + 1)]:
        buffer.insert(pa.table({"k": [row[0]], EXP: [row[2]]}))
    assert len(buffer.chunks) == 3


@pytest.mark.parametrize("keys", [["k"], None], ids=["with keys", "without"])
def test_a_small_insertion_makes_one_chunk_whatever_the_number_of_days(keys: list[str] | None):
    buffer = Calendar(keys, calendar_days=50)
    buffer.insert(rows_of(np.arange(1, 100_001)))
    days = len(buffer.chunks)
    assert days >= 25
    buffer.insert(rows_of(np.arange(1, 100_001, 100)))
    assert len(buffer.chunks) == days + 1


def test_young_rows_are_divided_into_days_when_they_are_many():
    buffer = Calendar(["k"])
    for _ in range(7):
        buffer.insert(rows_of(np.arange(1, 1_001)))
    assert all(map(is_young, buffer.chunks))
    for _ in range(3):
        buffer.insert(rows_of(np.arange(1, 1_001)))
    assert sum(chunk.rows for chunk in buffer.chunks if is_young(chunk)) == 1_000
    assert buffer.rows == 10_000


@pytest.mark.parametrize("keys", [["k"], None], ids=["with keys", "without"])
def test_a_span_reads_the_rows_that_leave_in_it_and_not_their_day(keys: list[str] | None):
    buffer = Calendar(keys)
    buffer.insert(rows_of(np.random.default_rng(3).permutation(np.arange(1, 100_001))))
    buffer.expire(1_000, 0)
    for clock in range(1_020, 3_000, 20):
        before = buffer.touched
        assert buffer.expire(clock, clock - 20).num_rows == 20
        assert buffer.touched - before == 20


def test_rows_without_keys_lie_in_the_order_of_leaving():
    buffer = Calendar(calendar_days=3)
    random = np.random.default_rng(4)
    for span in range(30):
        exp = random.integers(span * 100 + 1, span * 100 + 5_000, 900)
        buffer.insert(rows_of(np.append(exp, FOREVER)))
        buffer.forget(span * 100, span * 100 - 100)
        for chunk in buffer.chunks:
            assert (np.diff(int64(chunk.table, EXP)) >= 0).all()
            assert (chunk.low, chunk.high) == tuple(int64(chunk.table, EXP)[[0, -1]])


def test_a_retraction_before_its_time_cancels_out_among_what_leaves_with_it():
    buffer = Calendar(combine=sum_weights)
    came = pa.table({"k": [1, 2, 2], EXP: [5, 5, 7], WEIGHT: [1, 1, 1]})
    buffer.insert(came)
    buffer.insert(pa.table({"k": [2], EXP: [5], WEIGHT: [-1]}))
    assert buffer.expire(5, 0).to_pylist() == [{"k": 1, EXP: 5, WEIGHT: 1}]
    assert buffer.expire(7, 5).to_pylist() == [{"k": 2, EXP: 7, WEIGHT: 1}]


@settings(max_examples=60)
@given(st.data())
def test_without_keys_it_does_what_a_list_does(data: st.DataObject):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calendar, "_FEWEST_TO_DIVIDE", 6)
        check(data, is_weighted=data.draw(st.booleans()))


def check(data: st.DataObject, *, is_weighted: bool) -> None:
    """A calendar without keys against a list of (key, exp), through restores at any time."""

    def made() -> Calendar:
        return Calendar(calendar_days=3, combine=sum_weights if is_weighted else None)

    buffer, held, now = made(), Counter[tuple[int, int]](), 0
    for _ in range(data.draw(st.integers(1, 12))):
        step = data.draw(st.sampled_from(["insert", "insert", "expire", "forget", "restore", "compact"]))
        if step == "insert":
            drawn = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 20)), max_size=8))
            rows = [(k, now + life if life < 20 else FOREVER, 1) for k, life in drawn]
            if is_weighted and held:
                rows += [(*data.draw(st.sampled_from(sorted(held))), -1)]
            for k, exp, weight in rows:
                held[k, exp] += weight
            columns = dict(zip(["k", EXP, WEIGHT], zip(*rows, strict=True), strict=True)) if rows else {}
            if rows:
                buffer.insert(pa.table({name: pa.array(column) for name, column in columns.items()}))
        elif step in ("expire", "forget"):
            before, now = now, now + data.draw(st.integers(0, 6))
            gone = Counter({row: held.pop(row) for row in sorted(held) if row[1] <= now})
            if step == "expire":
                assert counted(buffer.expire(now, before)) == +gone
            else:
                buffer.forget(now, before)
        elif step == "restore":
            chunks = buffer.chunks
            buffer = made()
            buffer.restore(chunks)
        else:
            buffer.compact()
        held = Counter({row: number for row, number in held.items() if number})
        assert counted(buffer.live(now)) == held


def counted(table: pa.Table) -> Counter[tuple[int, int]]:
    rows = Counter[tuple[int, int]]()
    for row in table.to_pylist():
        rows[row["k"], row[EXP]] += row[WEIGHT]
    return Counter({row: number for row, number in rows.items() if number})


@pytest.mark.parametrize(
    ("bug", "owner", "name", "replacement"),
    [
        ("rows are lost when they are divided", Calendar, "_by_day", lambda _, rows, __: [rows.slice(1)]),
        (
            "an instant too many leaves",
            Calendar,
            "_due",
            lambda self, chunk, a, now: _late(self, chunk, a, now),
        ),
        ("chunks are not sorted", np, "argsort", lambda values, **_: np.arange(len(values))),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_planted_bug_is_found(
    bug: str,  # noqa: ARG001
    owner: Any,
    name: str,
    replacement: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(owner, name, replacement)
    monkeypatch.setattr(calendar, "_FEWEST_TO_DIVIDE", 6)

    @settings(max_examples=300, derandomize=True, database=None, report_multiple_bugs=False)
    @given(st.data())
    def run(data: st.DataObject) -> None:
        check(data, is_weighted=False)

    with pytest.raises(AssertionError):
        run()


def _late(buffer: Calendar, chunk: Chunk, already: int, now: int) -> tuple[pa.Table, int]:
    exp = int64(chunk.table, EXP)
    begin, end = np.searchsorted(exp, [already, now + 1], side="right")
    buffer.touched += end - begin
    return chunk.table.slice(begin, end - begin), int(end)
