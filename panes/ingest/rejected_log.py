"""Which rows and files of a stream were rejected or late: a chain of records per stream.

An epoch that has any writes a record before it is committed, which names the files that its tasks told of and the
one before it; the record of the epoch pins the last one. So what two attempts of a task have written counts once,
and what is missing is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from panes.history.parts import stream_folder
from panes.ingest.bad_files import BadFile
from panes.ingest.rejected_rows import BAD, RejectedPart, attempt_folder, read_rejected_rows
from panes.plan.stream import Stream
from panes.state.storage.files import make_folder
from panes.state.storage.heads import NO_HEAD, Head, numbered
from panes.state.storage.locations import Location, names_in, remove_tree
from panes.state.storage.records import damaged, read_record, write_record

_BAD_FILES = pa.schema([("path", pa.string()), ("reason", pa.string()), ("epoch", pa.int64())])
_OF_AN_EPOCH = re.compile(r"epoch-(\d{10})(?:-[\w-]+)?(?:\.json)?")


@dataclass(frozen=True)
class _Noted:
    """What was rejected in an epoch."""

    epoch: int
    parts: tuple[RejectedPart, ...]
    bad_files: tuple[BadFile, ...]


class RejectedLog:
    """The folder `aside` of a database."""

    def __init__(self, folder: Location) -> None:
        self._folder = folder

    def note(
        self,
        epoch: int,
        token: str,
        parts: Iterable[RejectedPart],
        bad_files: Iterable[BadFile],
        pins: Mapping[str, str],
    ) -> dict[str, str]:
        """Keeps what was rejected in an epoch; gives what to pin. `pins` are those of the epoch before, `token` is
        that of the attempt."""
        found: dict[int, dict[str, list[list[Any]]]] = {}
        for part in sorted(parts, key=lambda part: part.file):
            row = [part.kind, part.file, part.bytes, part.crc32]
            found.setdefault(part.stream, {}).setdefault("parts", []).append(row)
        for bad in bad_files:
            found.setdefault(bad.stream, {}).setdefault("bad_files", []).append([bad.path, bad.reason])
        heads = {}
        for stream, content in found.items():
            before = Head.of(pins.get(pin_of_rejected(stream)))
            make_folder(stream_folder(self._folder, stream))
            checksum = write_record(
                self._path(stream, epoch, token),
                _record_name(stream, epoch),
                content | {"after": before.epoch, "after_writer": before.writer},
                before.checksum,
            )
            heads[pin_of_rejected(stream)] = str(Head(epoch, checksum, token))
        return heads

    def rows(self, stream: Stream, kind: Literal["late", "bad"], pins: Mapping[str, str]) -> pa.Table:
        """All late or bad rows of a stream as of the epoch with these pins: its columns, and `_bad`, the reason,
        where there is one."""
        columns = [*stream.columns.arrow, *([pa.field(BAD, pa.string())] if kind == "bad" else [])]
        schema = pa.schema(columns)
        parts = [part for noted in self._noted(stream.number, pins) for part in noted.parts]
        tables = [
            _with_all(read_rejected_rows(self._folder, part), schema) for part in parts if part.kind == kind
        ]
        return pa.concat_tables([schema.empty_table(), *tables])

    def bad_files(self, stream: Stream, pins: Mapping[str, str]) -> pa.Table:
        """The bad files of a stream as of the epoch with these pins: `path`, `reason` and `epoch`, in order."""
        rows = [
            {"path": bad.path, "reason": bad.reason, "epoch": noted.epoch}
            for noted in self._noted(stream.number, pins)
            for bad in noted.bad_files
        ]
        return pa.Table.from_pylist(rows, _BAD_FILES)

    def forget_attempt(self, streams: Iterable[Stream], epoch: int, token: str) -> None:
        """Removes what an attempt that failed has left of streams."""
        for stream in streams:
            folder = stream_folder(self._folder, stream.number)
            remove_tree(folder / attempt_folder(epoch, token))
            self._path(stream.number, epoch, token).unlink(missing_ok=True)

    def forget_after(self, epoch: int) -> None:
        """Removes what epochs after one have left: they were never committed."""
        for stream in names_in(self._folder):
            folder = self._folder / stream
            for name in names_in(folder):
                found = _OF_AN_EPOCH.fullmatch(name)
                if found and int(found[1]) > epoch:
                    if name.endswith(".json"):
                        (folder / name).unlink(missing_ok=True)
                    else:
                        remove_tree(folder / name)

    def _noted(self, stream: int, pins: Mapping[str, str]) -> list[_Noted]:
        """The first epoch first."""
        return list(self._back_from(stream, Head.of(pins.get(pin_of_rejected(stream)))))[::-1]

    def _back_from(self, stream: int, head: Head) -> Iterator[_Noted]:
        while head != NO_HEAD:
            path = self._path(stream, head.epoch, head.writer)
            record = read_record(path, _record_name(stream, head.epoch), head.checksum)
            content = record.content
            try:
                yield _Noted(
                    head.epoch,
                    tuple(RejectedPart(stream, *row) for row in content.get("parts", ())),
                    tuple(BadFile(stream, *row) for row in content.get("bad_files", ())),
                )
                before = Head(int(content["after"]), record.before, str(content["after_writer"]))
            except (KeyError, TypeError, ValueError) as error:
                raise damaged(path, f"not a record of rejected rows: {error}") from error
            if before.epoch >= head.epoch:
                raise damaged(path, "it names no earlier one before it")
            head = before

    def _path(self, stream: int, epoch: int, token: str) -> Location:
        return stream_folder(self._folder, stream) / f"{numbered('epoch', epoch, token)}.json"


def pin_of_rejected(stream: int) -> str:
    """Under which name the record of an epoch holds where the chain of a stream ends."""
    return f"rejected/{stream:06d}"


def _record_name(stream: int, epoch: int) -> str:
    return f"rejected in epoch {epoch} of stream {stream}"


def _with_all(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with all columns; those that were added to the stream later are NULL."""
    columns = [
        rows.column(field.name).cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
