"""All buffers against the obvious one: a list of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta import keys as keys_module
from panes.delta.delta import EXP, FOREVER, WEIGHT
from panes.delta.rows import int64
from panes.plan.patterns import Pattern
from panes.state.buffers import calendar, chunked, expiry_order
from panes.state.buffers.calendar import Calendar
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunk import Chunk
from panes.state.buffers.chunked import ChunkedBuffer
from panes.state.buffers.fifo import Fifo
from panes.state.buffers.keyed import Keyed
from panes.state.buffers.scan import Scan

Row = tuple[Any, ...]
BUFFERS: dict[str, Callable[[], ChunkedBuffer]] = {
    "fifo": lambda: Fifo(["k"]),
    "calendar": lambda: Calendar(["k"], calendar_days=4),
    "calendar of a single day": lambda: Calendar(["k"], calendar_days=1),
    "keyed": lambda: Keyed(["k"]),
    "scan": lambda: Scan(["k"]),
    "strict calendar": lambda: choose_buffer(Pattern.STRICT, "upa", ["k"], leaves_early=False),
}
SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), (EXP, pa.int64()), (WEIGHT, pa.int64())])


def table_of(rows: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, (*row, 1), strict=True)) for row in rows], SCHEMA)


def counted(table: pa.Table) -> Counter[Row]:
    held: Counter[Row] = Counter()
    for row in table.to_pylist():
        held[row["k"], row["v"], row[EXP]] += row[WEIGHT]
    return Counter({row: count for row, count in held.items() if count})


@dataclass
class Model:
    """A list of rows, and the time up to which it has been cleaned."""

    rows: list[Row] = field(default_factory=list)

    def expire(self, now: int) -> Counter[Row]:
        gone = Counter(row for row in self.rows if row[2] <= now)
        self.rows = [row for row in self.rows if row[2] > now]
        return gone

    def matches(self, keys: list[int | None]) -> Counter[tuple[int, Row]]:
        return Counter(
            (i, row) for i, key in enumerate(keys) for row in self.rows if key is not None and row[0] == key
        )


def probed(buffer: ChunkedBuffer, keys: list[int | None], now: int) -> Counter[tuple[int, Row]]:
    at, table = buffer.probe(pa.table({"k": pa.array(keys, pa.int64())}))
    found: Counter[tuple[int, Row]] = Counter()
    for i, row in zip(at.tolist(), table.to_pylist(), strict=True):
        if row[EXP] > now:
            found[i, (row["k"], row["v"], row[EXP])] += row[WEIGHT]
    return Counter({pair: count for pair, count in found.items() if count})


values = st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from(["p", "q", None]))


@pytest.mark.parametrize("kind", BUFFERS)
@pytest.mark.parametrize("hash_bits", [64, 1], ids=["", "all hashes collide"])
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_every_buffer_does_what_a_list_does(data: st.DataObject, kind: str, hash_bits: int):
    with pytest.MonkeyPatch.context() as patch:
        if hash_bits < 64:
            collide(patch, hash_bits)
        patch.setattr(calendar, "_FEWEST_TO_DIVIDE", 6)
        patch.setattr(expiry_order, "_FEWEST_ROWS", 1)
        patch.setattr(expiry_order, "_FEW_SPANS", data.draw(st.sampled_from([0, 2, 1000])))
        buffer, model, now = with_small_levels(BUFFERS[kind]()), Model(), 0
        for _ in range(data.draw(st.integers(1, 12))):
            step = data.draw(st.sampled_from(["insert", "insert", "expire", "forget", "remove", "restore"]))
            if step == "insert":
                drawn = data.draw(st.lists(st.tuples(values, st.integers(1, 20)), max_size=8))
                rows = [(*value, now + life if life < 20 else FOREVER) for value, life in drawn]
                buffer.insert(table_of(rows))
                model.rows += rows
            elif step == "expire":
                before, now = now, now + data.draw(st.integers(0, 6))
                gone = buffer.expire(now, before)
                assert (counted(gone) if gone.num_rows else Counter()) == model.expire(now)
            elif step == "forget":
                before, now = now, now + data.draw(st.integers(0, 6))
                buffer.forget(now, before)
                model.expire(now)
            elif step == "remove" and model.rows:
                rows = data.draw(st.permutations(model.rows))[: data.draw(st.integers(1, 3))]
                assert counted(buffer.remove(table_of(rows))) == Counter(rows)
                for row in rows:
                    model.rows.remove(row)
            elif step == "restore":
                buffer, old = with_small_levels(BUFFERS[kind]()), buffer
                buffer.restore(old.chunks)
            live = buffer.live(now)
            assert (counted(live) if live.num_rows else Counter()) == Counter(model.rows)
            keys = data.draw(st.lists(st.sampled_from([1, 2, 9, None]), max_size=4))
            assert probed(buffer, keys, now) == model.matches(keys)


def with_small_levels(buffer: ChunkedBuffer) -> ChunkedBuffer:
    """Lets few rows make chunks of several levels."""
    buffer._log.policy = replace(buffer._log.policy, smallest=2)
    return buffer


def collide(patch: pytest.MonkeyPatch, bits: int) -> None:
    """Lets all hashes be one of a few, so that only the comparison of values tells keys apart."""
    original = keys_module.hash_rows

    def few(table: pa.Table, columns: list[str]) -> Any:
        return original(table, columns) >> np.uint64(64 - bits) << np.uint64(64 - bits)

    for module in (keys_module, chunked):
        patch.setattr(module, "hash_rows", few)
        patch.setattr(module, "is_hash_exact", lambda *_: False)


def chunks_of_large_buffer(buffer: ChunkedBuffer, spans: int = 40) -> ChunkedBuffer:
    for span in range(spans):
        exp = np.arange(span * 1000, span * 1000 + 1000) + 20_000
        buffer.insert(
            pa.table({"k": exp, "v": ["p"] * 1000, EXP: exp, WEIGHT: np.ones(1000, dtype=np.int64)})
        )
    return buffer


@pytest.mark.parametrize("kind", ["fifo", "calendar"])
def test_expiry_reads_only_chunks_that_hold_something_expired(kind: str):
    buffer = chunks_of_large_buffer(BUFFERS[kind]())
    reached = sum(chunk.rows for chunk in buffer.chunks if chunk.low <= 20_500)
    before = buffer.touched
    assert buffer.expire(20_500).num_rows == 501
    assert buffer.touched - before == reached < buffer.rows // 2


def test_the_scan_reads_everything_at_every_expiry_and_probe():
    buffer = chunks_of_large_buffer(Scan(["k"]))
    before = buffer.touched
    buffer.expire(20_000)
    assert buffer.touched - before == 40_000
    before = buffer.touched
    buffer.probe(pa.table({"k": [25_000]}))
    assert buffer.touched - before == buffer.rows


@pytest.mark.parametrize("kind", ["fifo", "calendar", "keyed", "scan"])
def test_chunks_stay_few_and_merging_moves_each_row_seldom(kind: str):
    buffer = chunks_of_large_buffer(BUFFERS[kind](), spans=200)
    assert len(buffer.chunks) < 60
    assert buffer.touched < 6 * 200_000


def test_a_chunk_that_nothing_happens_to_stays_the_same_object():
    buffer = chunks_of_large_buffer(Calendar(["k"]))
    old = {id(chunk) for chunk in buffer.chunks if chunk.low > 21_000}
    buffer.expire(21_000)
    buffer.probe(pa.table({"k": [25_000]}))
    buffer.live(21_000)
    assert old <= {id(chunk) for chunk in buffer.chunks}


def test_a_straddling_chunk_is_rewritten_only_when_half_of_it_is_dead():
    buffer = Fifo(["k"])
    buffer.insert(table_of([(1, "p", exp) for exp in range(1, 11)]))
    (chunk,) = buffer.chunks
    buffer.expire(4)
    assert buffer.chunks == (chunk,)
    buffer.expire(5)
    (smaller,) = buffer.chunks
    assert smaller is not chunk
    assert smaller.rows == 5


def test_keyed_rows_that_cancel_out_disappear_when_chunks_merge():
    buffer = Keyed(["k"])
    for _ in range(8):
        rows = table_of([(1, "p", FOREVER)])
        buffer.insert(rows)
        buffer.remove(rows)
    assert buffer.rows < 8
    assert buffer.live(0).num_rows == 0


def test_rows_of_a_buffer_without_keys_stay_in_the_order_of_insertion():
    buffer = Fifo()
    for start in range(0, 30, 3):
        buffer.insert(pa.table({"v": [start, start + 1, start + 2], EXP: [99, 99, 99]}))
    assert int64(buffer.live(0), "v").tolist() == list(range(30))


def test_a_restored_buffer_does_not_return_again_what_had_expired():
    buffer = Fifo(["k"])
    buffer.insert(table_of([(1, "p", exp) for exp in range(1, 11)]))
    buffer.expire(3)
    again = Fifo(["k"])
    again.restore([_loaded(chunk) for chunk in buffer.chunks])
    assert sorted(int64(again.expire(4, since=3), EXP).tolist()) == [4]


def _loaded(chunk: Chunk) -> Chunk:
    return Chunk(
        lambda: chunk.table,
        rows=chunk.rows,
        sort_key=chunk.sort_key,
        low=chunk.low,
        high=chunk.high,
        labels=chunk.labels,
    )


def test_removing_one_of_several_equal_rows_leaves_the_others():
    buffer = choose_buffer(Pattern.STRICT, "upa", ["k"], leaves_early=False)
    for _ in range(4):
        buffer.insert(table_of([(1, "p", 10)]))
    assert len(buffer.chunks) == 1
    assert counted(buffer.remove(table_of([(1, "p", 10)]))) == Counter([(1, "p", 10)])
    assert counted(buffer.live(5)) == Counter([(1, "p", 10)] * 3)


@pytest.mark.parametrize("name", BUFFERS)
def test_chunks_of_several_buffers_are_those_of_one_and_few(name: str) -> None:
    buffers = [BUFFERS[name]() for _ in range(3)]
    rows: list[Row] = []
    for number, buffer in enumerate(buffers):
        for part in range(9):
            # Times of different length, so that the days of calendars differ in width.
            some = [(k, f"{number}{part}", 2 + (part * 10**number) + k) for k in range(40)]
            buffer.insert(table_of(some))
            rows += some
    together = BUFFERS[name]()
    together.restore([chunk for buffer in buffers for chunk in buffer.chunks])
    together.compact()
    assert len(together.chunks) <= (12 if isinstance(together, Calendar) else 1)
    assert counted(together.live(0)) == Counter(rows)
    _, found = together.probe(pa.table({"k": pa.array([7], pa.int64())}))
    assert counted(found) == Counter(row for row in rows if row[0] == 7)
    assert counted(together.expire(100)) == Counter(row for row in rows if row[2] <= 100)
    together.insert(table_of([(7, "new", 500)]))
    assert counted(together.live(100)) == Counter([row for row in rows if row[2] > 100] + [(7, "new", 500)])
