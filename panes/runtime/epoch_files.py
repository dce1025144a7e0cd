"""The files of an epoch: those that tasks read, those that the engine reads, and those that cannot be read.

Spark's streaming sources only say which files belong to an epoch. Nobody reads a file through the streaming query:
there, one that cannot be read would end it, and would still be in the checkpoint when it is started again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from panes.errors import SourceError, StateError
from panes.ingest.arrived_file import ArrivedFile, arrived
from panes.ingest.bad_files import BadFile, set_aside
from panes.ingest.check_regular import check_regular
from panes.ingest.file_location import FileLocation
from panes.ingest.file_sources import brings_files, is_ordered_by_name, is_read_by_tasks
from panes.ingest.guess_format import clause_for
from panes.ingest.pushed_files import PushedFiles
from panes.plan.stream import Stream
from panes.runtime.batch_files import files_of_batch, local_path
from panes.runtime.engine_file import EngineFile, checked_file
from panes.state.storage.checkpoint import Checkpoint


@dataclass(frozen=True)
class EpochFiles:
    """By the numbers of the streams."""

    arrival_us: int
    by_tasks: Mapping[int, tuple[ArrivedFile, ...]] = field(default_factory=dict)
    by_engine: Mapping[int, tuple[EngineFile, ...]] = field(default_factory=dict)
    bad: tuple[BadFile, ...] = ()
    begun: Mapping[int, int] = field(default_factory=dict)
    """Of streams whose files are taken in by name: how many of the micro-batch are in after this epoch."""
    is_last: bool = True
    """Whether nothing of the micro-batch is left for another epoch."""
    has_rest: bool = True
    """Whether the epoch takes in what the micro-batch has beside files that are taken in by name."""

    def can_be_history(self, stream: Stream) -> bool:
        """Whether the stream can keep the files as its history, as they are."""
        files = self.by_tasks.get(stream.number)
        return bool(files) and all(file.can_be_history(stream) for file in files or ())


def files_of_epoch(
    checkpoint: Path,
    pushed: PushedFiles,
    streams: Sequence[Stream],
    batch: int,
    now_us: int,
    begun: Mapping[int, int] | None = None,
    epoch_bytes: int | None = None,
) -> EpochFiles:
    """The files that an epoch takes in of a micro-batch. Raises SourceError where a stream stops at a bad one.

    Mostly these are all files that Spark gave to it. Of a stream whose files are taken in by name, they are as
    many as an epoch may take; `begun` says how many are in already, and is None where nothing of the micro-batch
    is.
    """
    by_tasks: dict[int, tuple[ArrivedFile, ...]] = {}
    by_engine: dict[int, tuple[EngineFile, ...]] = {}
    bad: list[BadFile] = []
    after: dict[int, int] = {}
    is_last = True
    for stream in filter(brings_files, streams):
        uris = [uri for uri in files_of_batch(checkpoint, stream, batch) if _belongs(stream, uri)]
        if is_ordered_by_name(stream):
            first = 0 if begun is None else begun.get(stream.number, 0)
            left = sorted(uris, key=_name)[first:]
            uris = left[: _fitting(stream, left, epoch_bytes)]
            after[stream.number] = first + len(uris)
            is_last &= len(uris) == len(left)
        elif begun is not None:
            uris = []
        arrived_files, engine_files = [], []
        for uri in uris:
            path = local_path(uri)
            try:
                if path is not None and stream.source.kind == "FILES":
                    check_regular(path)
                if is_read_by_tasks(stream) and path is not None:
                    is_pushed = stream.source.kind == "PUSH"
                    location = pushed.location(stream.number, path.name) if is_pushed else path
                    arrived_files.append(arrived(stream, location, now_us))
                else:
                    engine_files.append(checked_file(stream, uri))
            except (OSError, SourceError, StateError, pa.ArrowException) as error:
                bad.append(set_aside(stream, str(path or uri), _with_format(stream, path, error)))
        if is_read_by_tasks(stream):
            by_tasks[stream.number] = tuple(arrived_files)
        else:
            by_engine[stream.number] = tuple(engine_files)
    planned_us = Checkpoint(checkpoint).planned_us(batch)
    return EpochFiles(
        planned_us, by_tasks, by_engine, tuple(bad), after, is_last=is_last, has_rest=begun is None
    )


def _name(uri: str) -> tuple[str, str]:
    """What files are sorted by: the name, then the folders."""
    folder, _, name = unquote(uri).rpartition("/")
    return name, folder


def _fitting(stream: Stream, uris: Sequence[str], epoch_bytes: int | None) -> int:
    """How many of some files, from the first on, an epoch takes: at least one."""
    if "files_per_epoch" in stream.source.options:
        return int(stream.source.options["files_per_epoch"])
    total = 0
    for place, uri in enumerate(uris):
        path = local_path(uri)
        with suppress(OSError):
            total += path.stat().st_size if path is not None else 0
        if place > 0 and epoch_bytes is not None and total > epoch_bytes:
            return place
    return len(uris)


def _belongs(stream: Stream, uri: str) -> bool:
    """Whether a file that Spark has listed, which looks into all folders, is one of the stream's."""
    path = local_path(uri)
    if stream.source.kind == "PUSH" or path is None:
        return True
    return FileLocation.of(str(stream.source.location)).has(path)


def _with_format(stream: Stream, path: Path | None, error: Exception) -> Exception:
    """The error, or, where no format was declared and the file has another than Parquet, one that says so."""
    if path is None or stream.source.kind != "FILES" or "format" in stream.source.options:
        return error
    if isinstance(error, FileNotFoundError) or (found := clause_for(stream, [path])) is None:
        return error
    return SourceError(f"it is not Parquet; create the stream again {found[1]}")
