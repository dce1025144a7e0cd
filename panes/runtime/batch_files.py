"""Which files a micro-batch holds, as Spark's checkpoint has it.

Spark decides what an epoch contains and writes it down before the epoch begins: `offsets/N` says for each source
up to which entry of its log the micro-batch N goes, and `sources/NAME` is that log. So the files can be read by
whoever reads them best, and an epoch that is done again has the same ones again.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from panes.plan.stream import Stream
from panes.state.storage.checkpoint import Checkpoint


def source_name(stream: Stream) -> str:
    """The name of a stream's source in the checkpoint."""
    return f"stream{stream.number}"


def files_of_batch(checkpoint: Path, stream: Stream, batch: int) -> list[str]:
    """The URIs of the files of a stream's source in a micro-batch, in the order in which Spark found them."""
    source = source_name(stream)
    log = Checkpoint(checkpoint)
    last = log.log_offset(source, batch)
    first = log.log_offset(source, batch - 1) if batch > 0 else -1
    return [str(entry["path"]) for entry in log.entries(source, first, last)]


def local_path(uri: str) -> Path | None:
    """The path that a URI of Spark's stands for; None when it is on another file system."""
    parts = urlsplit(uri)
    return Path(unquote(parts.path)) if parts.scheme in ("", "file") else None
