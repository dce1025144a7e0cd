"""What the tasks of an epoch hand to each other: Arrow tables, and messages that say what there is.

Messages are rows that go through Spark's shuffle. A table goes with them in one of two ways:

    blocks  the table itself is in the message, as an Arrow IPC stream of some megabytes, or in several messages
    files   the table lies in a file, and the message says where

Files are faster, because nothing is copied: tasks map them. They need a folder that all tasks see, which is there
when all executors run on the driver's machine. It is removed when the epoch is committed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from panes.errors import StateError

MESSAGES = "shard int, kind string, content string, block binary"
"""The rows that pass between tasks, as Spark has it."""
BEGIN = "begin"
"""The kind of a message that says nothing: in an epoch without rows it brings the tasks about."""
PART = "part"
"""The kind of a message with a table, or with the place of one."""
FAILED_INPUT, FAILED_QUERY = "failed input", "failed query"
"""Kinds of messages that say that an input could not be computed, or a query not go on, and why."""
INPUT_STEPS = "steps of an input"
"""The kind of a message to the driver with what the steps before the shuffle did."""
BESIDE = "beside"
"""The kind of a message to the driver with what a task did beside the steps of inputs."""
SKETCH = "sketch"
"""The kind of a message to the driver with the sketch of the keys of an input."""
STATES = "states"
"""The kind of a message to the driver with where the index of a task is."""

_ALIGNED = 64
_BLOCK_BYTES = 4 << 20
"""About how many bytes of a table are in one block: a row of Spark's is held in memory several times."""
_BATCH_BYTES = 32 << 20
"""About how many bytes of blocks go to Spark at once; Arrow can count 2 GB in one batch."""
_COMPRESSED_FROM = 64 << 10
"""Bytes of a table from which on compression saves more copying than it costs."""
_PLAIN = pa.ipc.IpcWriteOptions(use_threads=False)
_COMPRESSED = pa.ipc.IpcWriteOptions(use_threads=False, compression="zstd")
_READING = pa.ipc.IpcReadOptions(use_threads=False)
_SCHEMA = pa.schema(
    [("shard", pa.int32()), ("kind", pa.string()), ("content", pa.string()), ("block", pa.binary())]
)


@dataclass(frozen=True)
class Part:
    """Rows of the input of that number, from a task for a later one."""

    input: int
    sender: str
    """The name of the task. It decides the order in which later tasks see the rows of several."""
    place: int
    """Rows that a task sends later have a higher one."""
    file: str | None = None
    """The file in which they lie; None when they are in the message."""
    offset: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Message:
    """A row for the task of a shard of the next level."""

    shard: int
    kind: str
    content: dict[str, Any]
    block: pa.Buffer | None = None
    """The rows of a part that lies in no file, as an Arrow IPC stream."""


class Exchange:
    """What one task sends: into a file of its own in a folder, or, without a folder, as blocks.

    The name of the file has that of the writer, which is another one for every attempt of a task, so two attempts
    do not disturb each other. Only what the messages of the attempt that counts say is read.
    """

    def __init__(self, folder: Path | None, sender: str, writer: str) -> None:
        self._sender = sender
        self._file = None if folder is None else folder / f"{sender}-{writer}.arrow"
        self._rows: dict[tuple[int, int], list[pa.Table]] = {}
        """By input and shard."""

    def add(self, input_: int, shard: int, rows: pa.Table) -> None:
        """Rows of an input for a shard; those of later calls come after those of earlier ones."""
        if rows.num_rows:
            self._rows.setdefault((input_, shard), []).append(rows)

    def send(self) -> Iterator[Message]:
        """Gives the messages for the shards and inputs that have rows; writes the file, if it is to be one."""
        if not self._rows:
            return
        if self._file is None:
            yield from self._blocks()
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        try:
            sent = self._write(self._file)
        except OSError as error:
            self._file.unlink(missing_ok=True)
            raise StateError(f"cannot write {self._file}: {error}; is the disk full?") from error
        yield from sent

    def _write(self, path: Path) -> list[Message]:
        sent = []
        with pa.OSFile(str(path), "wb") as file:
            for place, ((input_, shard), tables) in enumerate(self._rows.items()):
                begin = file.tell()
                _write_stream(file, pa.concat_tables(tables), _PLAIN)
                part = Part(input_, self._sender, place, str(path), begin, file.tell() - begin)
                sent.append(Message(shard, PART, asdict(part)))
        return sent

    def _blocks(self) -> Iterator[Message]:
        place = 0
        for (input_, shard), tables in self._rows.items():
            for block in _blocks_of(pa.concat_tables(tables)):
                part = Part(input_, self._sender, place)
                yield Message(shard, PART, asdict(part), block)
                place += 1


def read_parts(messages: Iterable[Message]) -> dict[int, pa.Table]:
    """The rows of each input that has any, in the order of tasks and of what each sent.

    Files are mapped, and blocks are read where they lie.
    """
    parts = sorted(
        ((Part(**message.content), message.block) for message in messages),
        key=lambda found: (found[0].sender, found[0].place),
    )
    tables: dict[int, list[pa.Table]] = {}
    files: dict[str, pa.MemoryMappedFile] = {}
    for part, block in parts:
        content = block if part.file is None else _mapped(part, part.file, files)
        rows = pa.ipc.open_stream(content, options=_READING).read_all()
        tables.setdefault(part.input, []).append(rows)
    return {number: pa.concat_tables(found).combine_chunks() for number, found in tables.items()}


def encoded(messages: Iterable[Message]) -> Iterator[pa.RecordBatch]:
    """The messages as rows for Spark, in batches that are not too large."""
    some: list[Message] = []
    size = 0
    for message in messages:
        some.append(message)
        size += 0 if message.block is None else message.block.size
        if size >= _BATCH_BYTES:
            yield _batch_of(some)
            some, size = [], 0
    if some:
        yield _batch_of(some)


def decoded(batches: Iterable[pa.RecordBatch | pa.Table]) -> list[Message]:
    """The messages in rows that came from Spark; their blocks are not copied."""
    found = []
    for batch in batches:
        shards, kinds, contents = (batch.column(name).to_pylist() for name in ("shard", "kind", "content"))
        blocks = (block.as_buffer() if block.is_valid else None for block in batch.column("block"))
        for shard, kind, content, block in zip(shards, kinds, contents, blocks, strict=True):
            found.append(Message(shard, kind, json.loads(content), block))
    return found


def _batch_of(messages: Sequence[Message]) -> pa.RecordBatch:
    columns = [
        pa.array([message.shard for message in messages], pa.int32()),
        pa.array([message.kind for message in messages], pa.string()),
        pa.array([json.dumps(message.content) for message in messages], pa.string()),
        pa.array([None if m.block is None else memoryview(m.block) for m in messages], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _blocks_of(rows: pa.Table) -> Iterator[pa.Buffer]:
    """The rows as streams, each of some of them."""
    step = max(1, rows.num_rows * _BLOCK_BYTES // max(rows.nbytes, 1))
    options = _COMPRESSED if rows.nbytes >= _COMPRESSED_FROM else _PLAIN
    for begin in range(0, rows.num_rows, step):
        sink = pa.BufferOutputStream()
        _write_stream(sink, rows.slice(begin, step), options)
        yield sink.getvalue()


def _write_stream(file: pa.NativeFile, rows: pa.Table, options: pa.ipc.IpcWriteOptions) -> None:
    """Writes a stream, filled up so that the one behind it begins where values can be read in place."""
    with pa.ipc.new_stream(file, rows.schema, options=options) as writer:
        writer.write_table(rows)
    file.write(b"\0" * (-file.tell() % _ALIGNED))


def _mapped(part: Part, path: str, files: dict[str, pa.MemoryMappedFile]) -> pa.Buffer:
    if path not in files:
        try:
            files[path] = pa.memory_map(path)
        except FileNotFoundError as error:
            raise StateError(
                f"{path}, which a task of this epoch has written, is not there for another task; when they run on "
                "several machines, SET exchange = 'auto' or 'shuffle'"
            ) from error
    files[path].seek(part.offset)
    return files[path].read_buffer(part.bytes)
