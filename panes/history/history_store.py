"""The history of streams: the rows that each has brought lately, for queries that come later.

A stream has a folder of Parquet files. `epoch-N.json` names the files that epoch N brought, `base-N.json` all
that are kept of the epochs up to N: what grew too old is not in it, and many small files are one. A reader of
epoch e takes the last base that is not after e, and the epochs from there to e, so that what it sees does not
change while later epochs come and files are merged. Files go when no epoch that is still retained names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from panes.clock import LAST_US
from panes.delta.delta import BEGINNING, FOREVER, TS
from panes.history.adopt import adopt_file
from panes.history.file_checksums import sealed
from panes.history.history_file import CAME, EPOCH, FileKind, HistoryFile
from panes.history.manifests import Manifest, Manifests
from panes.history.measure import has_times_beyond, measured_raw
from panes.history.merge_files import merge
from panes.history.parts import Part, part_name, read_rows, stream_folder, write_part
from panes.plan.stream import Stream
from panes.state.storage.epoch_log import EpochLog
from panes.state.storage.files import make_folder
from panes.state.storage.heads import NO_HEAD, Head
from panes.state.storage.locations import Location, remove_tree

__all__ = ["History", "HistoryFile", "write_part"]

_EPOCHS_PER_BASE = 8


class History:
    """What all streams keep, under one folder.

    One thread writes, the one that runs epochs; any number may read. The records of epochs in the log say where
    the history of each stream ends; without a log the last manifest that is there is taken for its end.
    """

    def __init__(
        self,
        folder: Location,
        log: EpochLog | None = None,
        *,
        epochs_per_base: int = _EPOCHS_PER_BASE,
        is_ours: bool = False,
    ) -> None:
        """`is_ours` says that no other process writes there."""
        self.folder = folder
        self._log = log
        self._is_ours = is_ours
        self._epochs_per_base = epochs_per_base
        self._streams: dict[int, Manifests] = {}

    # Writing, by the driver, before the commit of the epoch.

    def adopt(
        self,
        stream: Stream,
        epoch: int,
        files: Sequence[Location],
        *,
        rows: int,
        min_ts: int,
        max_ts: int,
        since: int = BEGINNING,
        latest: int = LAST_US,
        writer: str = "",
    ) -> dict[str, str]:
        """Keeps the files that a source had for an epoch, as they are; gives what to pin in the epoch's record.

        They are Parquet with the columns of the stream, whose event time is one of them. `since` is the clock
        before the epoch, as in its record. An epoch that is done again replaces what it had. `latest` is the last
        event time that the epoch accepted: a file with times beyond it is kept as a file of our own with the other
        rows, so that no reader meets what was rejected. `writer` tells the attempts at an epoch apart. Files can
        only be adopted where the history is a local folder.
        """
        folder = self._stream_folder(stream.number)
        kept = []
        for number, source in enumerate(files if rows else ()):
            target = folder / part_name("raw", epoch, number, writer)
            assert isinstance(source, Path)
            assert isinstance(target, Path)
            adopt_file(source, target)
            file = _file(target, "raw", epoch, since, rows=rows, min_ts=min_ts, max_ts=max_ts)
            found = measured_raw(file, stream, latest)
            if found.rows and has_times_beyond(found, stream):
                accepted = read_rows(found, stream, stream.columns.names, latest).drop_columns([CAME, EPOCH])
                part = write_part(self.folder, stream.number, epoch, number, accepted, writer)
                found = replace(found, path=folder / part.name, kind="written", stored={}, layout="")
            if found.rows:
                kept.append(found)
        return self._put(stream.number, epoch, Manifest(tuple(sealed(kept))), writer)

    def note(
        self,
        stream: Stream,
        epoch: int,
        parts: Sequence[Part],
        *,
        rows: int,
        max_ts: int,
        since: int = BEGINNING,
        writer: str = "",
    ) -> dict[str, str]:
        """Keeps the files that tasks wrote by `write_part` in an epoch, in that order; gives what to pin.

        Rows without files are rows that came and are not kept.
        """
        folder = self._stream_folder(stream.number)
        if not parts and rows:
            return self._put(stream.number, epoch, Manifest((), dropped=rows, dropped_to=max_ts), writer)
        written = []
        for part in (part for part in parts if part.rows):
            size = {"rows": part.rows, "min_ts": part.min_ts, "max_ts": part.max_ts}
            file = _file(folder / part.name, "written", epoch, since, **size)
            written.append(replace(file, bytes=part.bytes, crc32=part.crc32))
        return self._put(stream.number, epoch, Manifest(tuple(written)), writer)

    def collect(
        self,
        stream: Stream,
        epoch: int,
        *,
        oldest_ts: int,
        retain_epochs: int,
        keep_rows: int = 0,
        clock: int = FOREVER,
        writer: str = "",
    ) -> None:
        """Lets go of the files that end before `oldest_ts`, and merges small ones. To be called between epochs.

        The youngest `keep_rows` rows at the clock stay, however old. Readers of the last `retain_epochs`
        epochs find everything as it was.
        """
        manifests = self._manifests(stream.number)
        head = self._head(stream.number, epoch)
        if manifests.since_base(epoch, head) >= self._epochs_per_base:
            view = manifests.at(epoch, head)
            young = {file.path for file in view.youngest(keep_rows, clock)}
            stays = [file for file in view.files if file.max_ts >= oldest_ts or file.path in young]
            gone = [file for file in view.files if file.max_ts < oldest_ts and file.path not in young]
            manifests.put_base(
                epoch,
                Manifest(
                    tuple(merge(stays, stream, self._stream_folder(stream.number), epoch, writer)),
                    dropped=view.dropped + sum(file.rows for file in gone),
                    dropped_to=max((view.dropped_to, *(file.max_ts for file in gone))),
                ),
                head,
                writer,
            )
        manifests.collect(epoch, retain_epochs)

    def forget(self, stream: int) -> None:
        """Removes everything that a stream kept: it was dropped."""
        self._streams.pop(stream, None)
        remove_tree(stream_folder(self.folder, stream))

    # Reading.

    def at(self, stream: int, epoch: int) -> Manifest:
        """What is kept of the epochs up to one: the files in order of arrival, and what is known of the rest."""
        return self._manifests(stream).at(epoch, self._head(stream, epoch))

    def files(self, stream: int, epoch: int, *, since: int = BEGINNING) -> list[HistoryFile]:
        """The files with rows of epochs up to one, that have times from `since` on, in order of arrival."""
        return [file for file in self.at(stream, epoch).files if file.max_ts >= since]

    def brought(self, stream: int, after: int, epoch: int) -> list[HistoryFile]:
        """The files of the epochs after one and up to another, in order of arrival. Whoever reads them holds the
        first of the two."""
        return self._manifests(stream).brought(after, self._head(stream, epoch))

    def arrivals(
        self,
        stream: Stream,
        epoch: int,
        *,
        since: int = BEGINNING,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """The columns, `_ts`, `_came` and `_epoch` of the rows of epochs up to one, from `since` on, in order of
        arrival."""
        names = stream.columns.names if columns is None else tuple(columns)
        fields = [pa.field(name, stream.columns[name].type.arrow) for name in names]
        nothing = pa.schema(
            [*fields, *(pa.field(name, pa.int64()) for name in (TS, CAME, EPOCH))]
        ).empty_table()
        tables = [read_rows(file, stream, names) for file in self.files(stream.number, epoch, since=since)]
        table = pa.concat_tables([nothing, *tables])
        return table if since == BEGINNING else table.filter(pa.array(table.column(TS).to_numpy() >= since))

    def _put(self, stream: int, epoch: int, manifest: Manifest, writer: str) -> dict[str, str]:
        head = self._manifests(stream).put(epoch, manifest, self._head(stream, epoch - 1), writer)
        return {} if head == NO_HEAD else {pin_of(stream): str(head)}

    def _head(self, stream: int, epoch: int) -> Head:
        """Where the history of a stream ends at an epoch."""
        if self._log is None:
            return self._manifests(stream).last(epoch)
        return Head.of(self._log.record(epoch).pins.get(pin_of(stream)) if epoch >= 0 else None)

    def _stream_folder(self, stream: int) -> Location:
        folder = stream_folder(self.folder, stream)
        make_folder(folder)
        return folder

    def _manifests(self, stream: int) -> Manifests:
        if stream not in self._streams:
            self._streams[stream] = Manifests(stream_folder(self.folder, stream), is_ours=self._is_ours)
        return self._streams[stream]


def pin_of(stream: int) -> str:
    """Under which name the record of an epoch holds where the history of a stream ends."""
    return f"history/{stream:06d}"


def _file(
    path: Location, kind: FileKind, epoch: int, since: int, *, rows: int, min_ts: int, max_ts: int
) -> HistoryFile:
    came = since if since == BEGINNING else since + 1
    return HistoryFile(path, kind, rows, min_ts, max_ts, epoch, came, came)
