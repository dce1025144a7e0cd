"""Files that the engine reads, and not tasks: CSV, JSON, and Parquet on other file systems."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import unquote

from panes.ingest.arrived_file import columns_in_folders
from panes.ingest.csv_header import column_places, read_csv_header
from panes.ingest.file_location import FileLocation
from panes.ingest.file_sources import format_of, has_header
from panes.ingest.torn_line import torn_line
from panes.plan.stream import Stream
from panes.runtime.batch_files import local_path


@dataclass(frozen=True)
class EngineFile:
    """A file, and what must be known to read it."""

    uri: str
    header: tuple[str, ...] = ()
    """The names of its columns when it is CSV with a header."""
    base: str | None = None
    """The folder below which the names of folders hold columns."""
    torn: str | None = None
    """Its last line, when it is CSV and that was cut off."""

    @property
    def path(self) -> str:
        """What Spark and people call it."""
        local = local_path(self.uri)
        return unquote(self.uri) if local is None else str(local)

    @property
    def is_seen(self) -> bool:
        """Whether it lies on a file system of the driver's machine, and is there."""
        local = local_path(self.uri)
        return local is not None and local.exists()


def checked_file(stream: Stream, uri: str) -> EngineFile:
    """The file, as far as a short look tells; raises OSError or SourceError when it cannot be read."""
    path = local_path(uri)
    location = FileLocation.of(str(stream.source.location))
    if path is None:
        place = location.text.rstrip("/")
        inside = unquote(uri).removeprefix(f"{place}/")
        return EngineFile(uri, base=place if "=" in inside.rpartition("/")[0] else None)
    path.stat()
    if not os.access(path, os.R_OK):
        raise PermissionError(f"{path} must not be read")
    header = read_csv_header(path) if has_header(stream) else ()
    if header:
        column_places(stream, header, columns_in_folders(path))
    base = location.base_of(path)
    return EngineFile(uri, header, base, torn_line(path) if format_of(stream) == "csv" else None)
