"""The history of streams: the rows that each has brought lately, for queries that come later.

A stream has a folder of Parquet files. `epoch-N.json` names the files that epoch N brought, `base-N.json` all
that are kept of the epochs up to N: what grew too old is not in it, and many small files are one. A reader of
epoch e takes the last base that is not after e, and the epochs from there to e, so that what it sees does not
change while later epochs come and files are merged. Files go when no epoch that is still retained names them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from panes.clock import LAST_US
from panes.delta.delta import BEGINNING, FOREVER, TS
from panes.history.adopt import adopt_file
from panes.history.file_checksums import sealed
from panes.history.history_file import CAME, EPOCH, FileKind, HistoryFile
from panes.history.manifests import NO_HEAD, Head, Manifest, Manifests
from panes.history.measure import has_times_beyond, measured_part, measured_raw
from panes.history.merge_files import merge
from panes.history.parts import read_rows, stream_folder, write_part
from panes.plan.stream import Stream
from panes.state.storage.epoch_log import EpochLog

__all__ = ["History", "HistoryFile", "write_part"]

_EPOCHS_PER_BASE = 8


class History:
    """What all streams keep, under one folder.

    One thread writes, the one that runs epochs; any number may read. The records of epochs in the log say where
    the history of each stream ends; without a log the last manifest that is there is taken for its end.
    """

    def __init__(
        self, folder: Path, log: EpochLog | None = None, *, epochs_per_base: int = _EPOCHS_PER_BASE
    ) -> None:
        self.folder = folder
        self._log = log
        self._epochs_per_base = epochs_per_base
        self._streams: dict[int, Manifests] = {}

    # Writing, by the driver, before the commit of the epoch.

    def adopt(
        self,
        stream: Stream,
        epoch: int,
        files: Sequence[Path],
        *,
        rows: int,
        min_ts: int,
        max_ts: int,
        since: int = BEGINNING,
        latest: int = LAST_US,
    ) -> dict[str, str]:
        """Keeps the files that a source had for an epoch, as they are; gives what to pin in the epoch's record.

        They are Parquet with the columns of the stream, whose event time is one of them. `since` is the clock
        before the epoch, as in its record. An epoch that is done again replaces what it had. `latest` is the last
        event time that the epoch accepted: a file with times beyond it is kept as a file of our own with the other
        rows, so that no reader meets what was rejected.
        """
        folder = self._stream_folder(stream.number)
        kept = []
        for number, source in enumerate(files if rows else ()):
            target = folder / f"raw-{epoch:010d}-{number:05d}.parquet"
            adopt_file(source, target)
            file = _file(target, "raw", epoch, since, rows=rows, min_ts=min_ts, max_ts=max_ts)
            found = measured_raw(file, stream, latest)
            if found.rows and has_times_beyond(found, stream):
                accepted = read_rows(found, stream, stream.columns.names, latest).drop_columns([CAME, EPOCH])
                name = write_part(self.folder, stream.number, epoch, number, accepted)
                found = replace(found, path=folder / name, kind="written", stored={}, layout="")
            if found.rows:
                kept.append(found)
        return self._put(stream.number, epoch, Manifest(tuple(sealed(kept))))

    def note(
        self,
        stream: Stream,
        epoch: int,
        files: Sequence[str],
        *,
        rows: int,
        min_ts: int,
        max_ts: int,
        since: int = BEGINNING,
    ) -> dict[str, str]:
        """Keeps the files that tasks wrote by `write_part` in an epoch, in that order; gives what to pin.

        Rows without files are rows that came and are not kept.
        """
        folder = self._stream_folder(stream.number)
        written = []
        for name in files:
            file = _file(folder / name, "written", epoch, since, rows=rows, min_ts=min_ts, max_ts=max_ts)
            written.append(file if len(files) == 1 else measured_part(file))
        if files or not rows:
            manifest = Manifest(tuple(sealed(file for file in written if file.rows)))
        else:
            manifest = Manifest((), dropped=rows, dropped_to=max_ts)
        return self._put(stream.number, epoch, manifest)

    def collect(
        self,
        stream: Stream,
        epoch: int,
        *,
        oldest_ts: int,
        retain_epochs: int,
        keep_rows: int = 0,
        clock: int = FOREVER,
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
                    tuple(merge(stays, stream, self._stream_folder(stream.number), epoch)),
                    dropped=view.dropped + sum(file.rows for file in gone),
                    dropped_to=max((view.dropped_to, *(file.max_ts for file in gone))),
                ),
                head,
            )
        manifests.collect(epoch, retain_epochs)

    def forget(self, stream: int) -> None:
        """Removes everything that a stream kept: it was dropped."""
        self._streams.pop(stream, None)
        shutil.rmtree(stream_folder(self.folder, stream), ignore_errors=True)

    # Reading.

    def at(self, stream: int, epoch: int) -> Manifest:
        """What is kept of the epochs up to one: the files in order of arrival, and what is known of the rest."""
        return self._manifests(stream).at(epoch, self._head(stream, epoch))

    def files(self, stream: int, epoch: int, *, since: int = BEGINNING) -> list[HistoryFile]:
        """The files with rows of epochs up to one, that have times from `since` on, in order of arrival."""
        return [file for file in self.at(stream, epoch).files if file.max_ts >= since]

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

    def _put(self, stream: int, epoch: int, manifest: Manifest) -> dict[str, str]:
        head = self._manifests(stream).put(epoch, manifest, self._head(stream, epoch - 1))
        return {} if head == NO_HEAD else {pin_of(stream): str(head)}

    def _head(self, stream: int, epoch: int) -> Head:
        """Where the history of a stream ends at an epoch."""
        if self._log is None:
            return self._manifests(stream).last(epoch)
        pinned = self._log.record(epoch).pins.get(pin_of(stream)) if epoch >= 0 else None
        return NO_HEAD if pinned is None else Head.of(pinned)

    def _stream_folder(self, stream: int) -> Path:
        folder = stream_folder(self.folder, stream)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _manifests(self, stream: int) -> Manifests:
        if stream not in self._streams:
            self._streams[stream] = Manifests(stream_folder(self.folder, stream))
        return self._streams[stream]


def pin_of(stream: int) -> str:
    """Under which name the record of an epoch holds where the history of a stream ends."""
    return f"history/{stream:06d}"


def _file(
    path: Path, kind: FileKind, epoch: int, since: int, *, rows: int, min_ts: int, max_ts: int
) -> HistoryFile:
    came = since if since == BEGINNING else since + 1
    return HistoryFile(path, kind, rows, min_ts, max_ts, epoch, came, came)
