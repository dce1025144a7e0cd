"""Tables that tasks hand to each other, in files and in blocks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panes.errors import StateError
from panes.stages import exchange as module
from panes.stages.exchange import PART, Exchange, Message, decoded, encoded, read_parts
from tests.properties.streams import arrivals


@pytest.fixture(params=["files", "blocks"])
def folder(request, tmp_path) -> Path | None:
    """The folder of an exchange by files, or none for one by blocks."""
    return tmp_path / "exchange" if request.param == "files" else None


def through_spark(messages) -> list[Message]:
    """The messages as the tasks of the next level get them."""
    return decoded(list(encoded(messages)))


def read(messages, shard) -> dict[int, dict]:
    found = read_parts(m for m in through_spark(messages) if m.shard == shard)
    return {number: table.to_pydict() for number, table in found.items()}


def test_each_shard_reads_what_was_left_for_it(folder):
    exchange = Exchange(folder, "0-files-000000", "w_0")
    exchange.add(0, 0, pa.table({"a": [1, 2]}))
    exchange.add(0, 1, pa.table({"a": [3]}))
    exchange.add(7, 1, pa.table({"b": ["x"]}))
    messages = list(exchange.send())
    assert read(messages, 0) == {0: {"a": [1, 2]}}
    assert read(messages, 1) == {0: {"a": [3]}, 7: {"b": ["x"]}}


def test_rows_stay_in_the_order_of_tasks_and_of_what_each_added(folder):
    messages = []
    for task in (1, 0, 10):  # messages come through the shuffle in any order
        # The order of writers is not that of tasks.
        exchange = Exchange(folder, f"0-files-{task:06d}", f"w_{100 - task}")
        for step in range(2):
            exchange.add(0, 0, pa.table({"a": [10 * task + step]}))
            exchange.add(1, 0, pa.table({"a": [-task]}))
        messages += exchange.send()
    messages.reverse()
    assert read(messages, 0) == {0: {"a": [0, 1, 10, 11, 100, 101]}, 1: {"a": [0, 0, -1, -1, -10, -10]}}


def test_the_files_and_the_blocks_of_a_task_have_the_same_messages_but_for_the_place(tmp_path):
    sent = []
    for folder in (tmp_path, None):
        exchange = Exchange(folder, "1-000003", "w_5")
        exchange.add(2, 1, pa.table({"a": [1]}))
        exchange.add(2, 0, pa.table({"a": [2]}))
        exchange.add(2, 1, pa.table({"a": [3]}))
        sent.append(list(exchange.send()))
    in_files, in_blocks = sent
    assert [message.shard for message in in_files] == [message.shard for message in in_blocks] == [1, 0]
    assert [message.block for message in in_files] == [None, None]
    for one, other in zip(in_files, in_blocks, strict=True):
        names = ("input", "sender", "place")
        assert [one.content[name] for name in names] == [other.content[name] for name in names]


def test_two_attempts_of_a_task_write_files_of_their_own(tmp_path):
    first, second = (Exchange(tmp_path, "0-files-000000", writer) for writer in ("w_7", "w_8"))
    first.add(0, 0, pa.table({"a": [1]}))
    second.add(0, 0, pa.table({"a": [1]}))
    counts = list(first.send())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    list(second.send())
    assert len(list(tmp_path.iterdir())) == 2
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    assert read(counts, 0) == {0: {"a": [1]}}


def test_nothing_is_written_for_nothing(folder):
    exchange = Exchange(folder, "0-batch-000000", "w_0")
    exchange.add(0, 0, pa.table({"a": pa.array([], pa.int64())}))
    assert list(exchange.send()) == []
    assert folder is None or not folder.exists()


def test_a_large_table_is_several_blocks_that_the_reader_puts_together(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1000)
    rows = pa.table({"a": range(1000), "b": [f"{n} words" for n in range(1000)]})
    exchange = Exchange(None, "0-files-000000", "w_0")
    exchange.add(0, 0, rows)
    messages = list(exchange.send())
    assert len(messages) >= rows.nbytes // 1000
    assert read_parts(reversed(through_spark(messages)))[0].equals(rows)


def test_a_row_that_is_larger_than_a_block_is_a_block(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 10)
    exchange = Exchange(None, "0-files-000000", "w_0")
    exchange.add(0, 0, pa.table({"b": ["x" * 100, "y" * 100]}))
    assert len(messages := list(exchange.send())) == 2
    assert read(messages, 0) == {0: {"b": ["x" * 100, "y" * 100]}}


def test_many_blocks_go_to_spark_in_several_batches(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(module, "_BATCH_BYTES", 1 << 13)
    monkeypatch.setattr(module, "_COMPRESSED_FROM", 1 << 30)
    exchange = Exchange(None, "0-files-000000", "w_0")
    exchange.add(0, 0, pa.table({"a": range(10_000)}))
    batches = list(encoded(exchange.send()))
    assert len(batches) > 5
    assert all(batch.nbytes < 3 << 13 for batch in batches)
    assert read_parts(decoded(batches))[0].column("a").to_pylist() == list(range(10_000))


def test_blocks_are_read_where_they_lie_and_on_a_boundary(monkeypatch):
    monkeypatch.setattr(module, "_BLOCK_BYTES", 1000)
    monkeypatch.setattr(module, "_COMPRESSED_FROM", 1 << 30)
    exchange = Exchange(None, "0-files-000000", "w_0")
    for number in range(5):
        exchange.add(number, 0, pa.table({"a": range(number + 1), "b": [f"{n}" for n in range(number + 1)]}))
    messages = through_spark(exchange.send())
    places = [message.block.address for message in messages]
    for number, message in enumerate(messages):
        column = read_parts([message])[number].column("a").chunk(0)
        data = column.buffers()[1].address
        assert places[number] < data < places[number] + message.block.size
        assert data % 8 == 0


def test_a_file_that_another_machine_wrote_is_an_error_that_says_what_to_do(tmp_path):
    exchange = Exchange(tmp_path / "exchange", "0-files-000000", "w_0")
    exchange.add(0, 0, pa.table({"a": [1]}))
    messages = list(exchange.send())
    shutil.rmtree(tmp_path / "exchange")
    with pytest.raises(StateError, match="SET exchange = 'auto'"):
        read_parts(messages)


def test_messages_pass_through_rows():
    messages = [
        Message(3, "measured", {"stream": "s", "min_ts": None}),
        Message(0, PART, {"input": 1}, pa.py_buffer(b"block")),
        Message(0, "report", {"query": 1}),
    ]
    assert through_spark(messages) == messages
    assert through_spark([]) == []


@given(drawn=arrivals(), data=st.data())
def test_files_and_blocks_bring_the_same_rows_in_the_same_order(tmp_path_factory, drawn, data):
    """Drawn tables from several tasks, in blocks of any size, some compressed."""
    tables = [table for table in drawn.streams.values() for _ in range(2)]
    adds = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["0-files-000000", "0-files-000001", "0-read-000000", "1-000000"]),
                st.integers(0, 2),
                st.integers(0, 2),
                st.sampled_from(tables),
            )
        )
    )
    found = []
    folder = tmp_path_factory.mktemp("exchange")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_BLOCK_BYTES", data.draw(st.sampled_from([1, 64, 500, 1 << 20])))
        patch.setattr(module, "_BATCH_BYTES", data.draw(st.sampled_from([1, 1000, 1 << 20])))
        patch.setattr(module, "_COMPRESSED_FROM", data.draw(st.sampled_from([0, 300, 1 << 20])))
        for place in (folder, None):
            senders = {name: Exchange(place, name, "w_0") for name, *_ in adds}
            for name, input_, shard, rows in adds:
                senders[name].add(input_, shard, rows)
            messages = [message for sender in senders.values() for message in sender.send()]
            order = data.draw(st.permutations(range(len(messages))))
            messages = through_spark([messages[number] for number in order])
            found.append({s: read_parts(m for m in messages if m.shard == s) for s in range(3)})
    in_files, in_blocks = found
    expected: dict[int, dict[int, list[pa.Table]]] = {shard: {} for shard in range(3)}
    for _, input_, shard, rows in sorted(adds, key=lambda add: add[0]):
        if rows.num_rows:
            expected[shard].setdefault(input_, []).append(rows)
    for shard, by_input in expected.items():
        assert in_files[shard].keys() == in_blocks[shard].keys() == by_input.keys()
        for number, parts in by_input.items():
            rows = pa.concat_tables(parts).combine_chunks()
            # Texts, because NaN is not equal to itself.
            assert str(in_files[shard][number].to_pylist()) == str(rows.to_pylist())
            assert str(in_blocks[shard][number].to_pylist()) == str(rows.to_pylist())
