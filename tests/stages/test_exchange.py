"""Tables that tasks leave for each other."""

import pyarrow as pa

from panes.stages.exchange import Exchange, Message, Part, decoded, encoded, read_parts


def parts_for(shard, messages):
    return [Part(**message.content) for message in messages if message.shard == shard]


def test_each_shard_reads_what_was_left_for_it(tmp_path):
    exchange = Exchange(tmp_path, "0-files-000000")
    exchange.add(0, 0, pa.table({"a": [1, 2]}))
    exchange.add(0, 1, pa.table({"a": [3]}))
    exchange.add(7, 1, pa.table({"b": ["x"]}))
    messages = list(exchange.send())
    first = read_parts(parts_for(0, messages))
    second = read_parts(parts_for(1, messages))
    assert {number: table.to_pydict() for number, table in first.items()} == {0: {"a": [1, 2]}}
    assert {n: t.to_pydict() for n, t in second.items()} == {0: {"a": [3]}, 7: {"b": ["x"]}}


def test_rows_stay_in_the_order_of_tasks_and_of_what_each_added(tmp_path):
    messages = []
    for task in (1, 0):  # messages come through the shuffle in any order
        exchange = Exchange(tmp_path, f"0-files-{task:06d}")
        for step in range(2):
            exchange.add(0, 0, pa.table({"a": [10 * task + step]}))
        messages += exchange.send()
    assert read_parts(parts_for(0, messages))[0].to_pydict() == {"a": [0, 1, 10, 11]}


def test_nothing_is_written_for_nothing(tmp_path):
    exchange = Exchange(tmp_path / "exchange", "0-batch-000000")
    exchange.add(0, 0, pa.table({"a": pa.array([], pa.int64())}))
    assert list(exchange.send()) == []
    assert not (tmp_path / "exchange").exists()


def test_messages_pass_through_rows():
    messages = [Message(3, "measured", {"stream": "s", "min_ts": None}), Message(0, "report", {"query": 1})]
    assert decoded([encoded(messages)]) == messages
