"""What the tasks of an epoch hand to each other: Arrow tables in files, and through Spark where they lie.

A table that went through the shuffle itself would be turned into rows and back twice. The folder must be one
that all tasks see, as that of the states is. It is removed when the epoch is committed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from panes.errors import StateError

_ALIGNED = 64
MESSAGES = "shard int, kind string, content string"
"""The rows that pass between tasks, as Spark has it."""
BEGIN = "begin"
"""The kind of a message that says nothing: in an epoch without rows it brings the tasks about."""
FAILED_INPUT, FAILED_QUERY = "failed input", "failed query"
INPUT_STEPS = "steps of an input"
"""The kind of a message to the driver with what the steps before the shuffle did."""
"""Kinds of messages that say that an input could not be computed, or a query not go on, and why."""
STATES = "states"
"""The kind of a message to the driver with where the index of a task is."""
_SCHEMA = pa.schema([("shard", pa.int32()), ("kind", pa.string()), ("content", pa.string())])


@dataclass(frozen=True)
class Part:
    """A table that a task wrote for a later one: rows of the input of that number."""

    input: int
    file: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class Message:
    """A row for the task of a shard of the next level."""

    shard: int
    kind: str
    content: dict[str, Any]


class Exchange:
    """The files of one task. Its name decides the order in which later tasks see the rows of several."""

    def __init__(self, folder: Path, name: str) -> None:
        self._path = folder / f"{name}.arrow"
        self._parts: list[tuple[int, int, pa.Table]] = []

    def add(self, input_: int, shard: int, rows: pa.Table) -> None:
        """Rows of an input for a shard; those of later calls come after those of earlier ones."""
        if rows.num_rows:
            self._parts.append((input_, shard, rows))

    def send(self) -> Iterator[Message]:
        """Writes everything; gives a message for each shard and input that has rows."""
        if not self._parts:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Under another name first: a task that is done again must not pull the file from under a reader.
        unfinished = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        try:
            sent = self._write(unfinished)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise StateError(f"cannot write {self._path}: {error}; is the disk full?") from error
        unfinished.replace(self._path)
        yield from sent

    def _write(self, path: Path) -> list[Message]:
        sent = []
        with pa.OSFile(str(path), "wb") as file:
            for input_, shard, rows in self._parts:
                file.write(b"\0" * (-file.tell() % _ALIGNED))
                begin = file.tell()
                with pa.ipc.new_stream(file, rows.schema) as writer:
                    writer.write_table(rows)
                part = Part(input_, str(self._path), begin, file.tell() - begin)
                sent.append(Message(shard, "part", asdict(part)))
        return sent


def read_parts(parts: Iterable[Part]) -> dict[int, pa.Table]:
    """The rows of each input that has any, mapped and not copied, in the order of tasks and of their calls."""
    tables: dict[int, list[pa.Table]] = {}
    files: dict[str, pa.MemoryMappedFile] = {}
    for part in sorted(parts, key=lambda part: (part.file, part.offset)):
        if part.file not in files:
            files[part.file] = pa.memory_map(part.file)
        files[part.file].seek(part.offset)
        content = files[part.file].read_buffer(part.bytes)
        tables.setdefault(part.input, []).append(pa.ipc.open_stream(content).read_all())
    return {number: pa.concat_tables(found).combine_chunks() for number, found in tables.items()}


def encoded(messages: Sequence[Message]) -> pa.RecordBatch:
    """The messages as rows for Spark."""
    columns = [
        pa.array([message.shard for message in messages], pa.int32()),
        pa.array([message.kind for message in messages], pa.string()),
        pa.array([json.dumps(message.content) for message in messages], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def decoded(batches: Iterable[pa.RecordBatch | pa.Table]) -> list[Message]:
    """The messages in rows that came from Spark."""
    return [
        Message(row["shard"], row["kind"], json.loads(row["content"]))
        for batch in batches
        for row in batch.to_pylist()
    ]
