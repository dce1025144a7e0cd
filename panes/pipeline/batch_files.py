"""Which files a micro-batch holds, as Spark's checkpoint has it.

Spark decides what an epoch contains and writes it down before the epoch begins: `offsets/N` says for each source
up to which entry of its log the micro-batch N goes, and `sources/NAME` is that log. So the files can be read by
whoever reads them best, and an epoch that is done again has the same ones again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from panes.errors import PipelineError
from panes.plan.stream import Stream


def source_name(stream: Stream) -> str:
    """The name of a stream's source in the checkpoint."""
    return f"stream{stream.number}"


def files_of_batch(checkpoint: Path, stream: Stream, batch: int) -> list[str]:
    """The URIs of the files of a stream's source in a micro-batch, in the order in which Spark found them."""
    source = source_name(stream)
    last = _log_offset(checkpoint, source, batch)
    first = _log_offset(checkpoint, source, batch - 1) if batch > 0 else -1
    entries = _entries(checkpoint / "sources" / source, first, last)
    return [entry["path"] for entry in entries]


def local_path(uri: str) -> Path | None:
    """The path that a URI of Spark's stands for; None when it is on another file system."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None


def batch_time_us(checkpoint: Path, batch: int) -> int:
    """When Spark planned a micro-batch: the time of arrival of its rows, the same when it is done again."""
    metadata = _offsets(checkpoint, batch)[1]
    return int(json.loads(metadata)["batchTimestampMs"]) * 1_000


def _log_offset(checkpoint: Path, source: str, batch: int) -> int:
    """The last entry of the source's log that is in by the end of a micro-batch; -1 when there is none."""
    for line in _offsets(checkpoint, batch):
        name, _, offset = line.partition(":")
        if name == source and offset.startswith("{"):
            return int(json.loads(offset)["logOffset"])
    return -1


def _offsets(checkpoint: Path, batch: int) -> list[str]:
    path = checkpoint / "offsets" / str(batch)
    try:
        return path.read_text().splitlines()
    except FileNotFoundError as error:
        raise PipelineError(
            f"{path} is missing: the checkpoint is damaged; restore it from a copy"
        ) from error


def _entries(log: Path, first: int, last: int) -> Iterator[dict[str, str]]:
    """The entries after the first up to the last; Spark now and then compacts all so far into one file."""
    for number in range(first + 1, last + 1):
        path = log / str(number)
        if not path.exists():
            path = log / f"{number}.compact"
        try:
            version, *lines = path.read_text().splitlines()
        except FileNotFoundError as error:
            raise PipelineError(
                f"{path} is missing: the checkpoint is damaged; restore it from a copy"
            ) from error
        if version != "v1":
            raise PipelineError(f"{path}: this version of Spark's log ({version}) is not known")
        for line in lines:
            entry = json.loads(line)
            if entry["batchId"] == number:
                yield entry
