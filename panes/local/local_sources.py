"""The sources of the local engine: files and pushed rows, cut into batches.

It keeps the same checkpoint as Spark's streaming query, in the same folder: a batch is written down before it is
taken in, and marked as done when its epoch is committed. So a batch that is done again has the same files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from panes.clock import Clock
from panes.errors import SourceError
from panes.history.parts import stream_folder
from panes.ingest.file_location import FileLocation
from panes.ingest.file_sources import is_ordered_by_name, listed_place
from panes.plan.stream import Stream
from panes.runtime.batch_files import local_path, source_name
from panes.state.storage.checkpoint import Checkpoint, write_with_checksums
from panes.state.storage.files import make_folder
from panes.state.storage.move_logs import move_logs

_KEPT_BATCHES = 10
"""The number of batches of which the checkpoint says what they hold."""
_DONE = 'v1\n{"nextBatchWatermarkMs":0}'


class LocalSources:
    """The files of all streams that no batch has taken in yet."""

    def __init__(
        self, checkpoint: Path, pushed: Path, streams: Sequence[Stream], epoch_bytes: int, clock: Clock
    ) -> None:
        for stream in streams:
            _check_kind(stream)
        places = {source_name(stream): listed_place(stream, pushed) for stream in streams}
        move_logs(checkpoint, {source: place for source, place in places.items() if place is not None})
        self._folder = checkpoint
        self._checkpoint = Checkpoint(checkpoint)
        self._pushed = pushed
        self._streams = streams
        self._epoch_bytes = epoch_bytes
        self._clock = clock
        last = self._checkpoint.last_planned
        self._offsets = {} if last < 0 else self._checkpoint.log_offsets(last)
        self._seen = {stream.number: self._entries(stream) for stream in streams}

    def next_batch(self) -> int | None:
        """Returns the number of the next batch: one that was planned and not done, or one of new files.

        None when no source has a file that is not in a batch.
        """
        planned = self._checkpoint.last_planned
        if not (self._folder / "metadata").exists():
            _write(self._folder / "metadata", json.dumps({"id": str(uuid4())}))
        if planned > self._checkpoint.last_committed:
            return planned
        found = {stream.number: files for stream in self._streams if (files := self._new_files(stream))}
        if not found:
            return None
        for stream in self._streams:
            if stream.number in found:
                self._log(stream, found[stream.number])
        offsets = {source_name(s): self._offsets.get(source_name(s), -1) for s in self._streams}
        planned_ms = self._clock.now_us() // 1000
        lines = ["v2", json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": planned_ms, "conf": {}})]
        lines += [f"{name}:{json.dumps({'logOffset': last})}" for name, last in offsets.items() if last >= 0]
        _write(self._folder / "offsets" / str(planned + 1), "\n".join(lines))
        return planned + 1

    def done(self, batch: int) -> None:
        """Marks a batch as taken in, and removes its pushed files, which are in an epoch now."""
        _write(self._folder / "commits" / str(batch), _DONE)
        for folder in ("offsets", "commits"):
            for name in (str(batch - _KEPT_BATCHES), f".{batch - _KEPT_BATCHES}.crc"):
                (self._folder / folder / name).unlink(missing_ok=True)
        before = self._checkpoint.log_offsets(batch - 1) if batch > 0 else {}
        for stream in self._streams:
            if stream.source.kind == "PUSH":
                name = source_name(stream)
                last = self._checkpoint.log_offset(name, batch)
                for entry in self._checkpoint.entries(name, before.get(name, -1), last):
                    _path(entry["path"]).unlink(missing_ok=True)

    def _new_files(self, stream: Stream) -> list[Path]:
        """The files of the next batch, in their order, up to `files_per_epoch` or the bytes of an epoch."""
        seen = self._seen[stream.number]
        found = [(path, path.stat()) for path in self._location(stream).files() if path.as_uri() not in seen]
        found.sort(key=lambda one: (one[1].st_mtime_ns // 1_000_000, str(one[0])))
        if is_ordered_by_name(stream):
            return [path for path, _ in found]  # an epoch takes as many of them as it may, by name
        most = stream.source.options.get("files_per_epoch")
        if most is not None:
            return [path for path, _ in found[: int(most)]]
        taken: list[Path] = []
        size = 0
        for path, status in found:
            if taken and size + status.st_size > self._epoch_bytes:
                break
            taken.append(path)
            size += status.st_size
        return taken

    def _location(self, stream: Stream) -> FileLocation:
        if stream.source.kind == "PUSH":
            return FileLocation(str(stream_folder(self._pushed, stream.number)))
        return FileLocation.of(str(stream.source.location))

    def _log(self, stream: Stream, files: Sequence[Path]) -> None:
        name = source_name(stream)
        number = self._offsets.get(name, -1) + 1
        entries = [
            {
                "path": path.as_uri(),
                "timestamp": path.stat().st_mtime_ns // 1_000_000,
                "batchId": number,
            }
            for path in files
        ]
        text = "\n".join(["v1", *(json.dumps(entry) for entry in entries)])
        _write(self._folder / "sources" / name / str(number), text)
        self._offsets[name] = number
        self._seen[stream.number] |= {str(entry["path"]) for entry in entries}

    def _entries(self, stream: Stream) -> set[str]:
        name = source_name(stream)
        last = self._offsets.get(name, -1)
        return {str(entry["path"]) for entry in self._checkpoint.entries(name, -1, last)}


def _check_kind(stream: Stream) -> None:
    kind, location = stream.source.kind, stream.source.location
    if kind not in ("FILES", "PUSH"):
        raise SourceError(
            f"stream {stream.name!r} reads FROM {kind}, and a local database reads files and pushed rows alone; "
            "create the stream without FROM and push rows to it, or use panes.connect"
        )
    if kind == "FILES" and not FileLocation.of(str(location)).is_local:
        raise SourceError(
            f"stream {stream.name!r} reads {location}, and a local database reads files of this machine alone; "
            "use panes.connect"
        )


def _path(uri: str) -> Path:
    path = local_path(uri)
    assert path is not None
    return path


def _write(path: Path, text: str) -> None:
    make_folder(path.parent)
    write_with_checksums(path, text)
