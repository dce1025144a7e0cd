"""A batch of the local engine: the files that its sources gave to one epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from panes.errors import SourceError
from panes.ingest.bad_files import BadFile, set_aside
from panes.local.text_files import read_text_file
from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals
from panes.runtime.epoch_files import EpochFiles


@dataclass(frozen=True)
class LocalBatch:
    """Files of Parquet, which tasks read, and files of text, which are read here."""

    number: int
    files: EpochFiles

    @property
    def is_last(self) -> bool:
        return self.files.is_last

    @property
    def begun(self) -> Mapping[int, int]:
        return self.files.begun

    def arrivals(self, streams: Sequence[Stream], *, keeps_files: bool) -> Arrivals:
        batches: list[list[pa.RecordBatch]] = []
        bad: list[BadFile] = []
        for place, stream in enumerate(streams):
            for file in self.files.by_engine.get(stream.number, ()):
                try:
                    batches.append([read_text_file(stream, place, file, self.files.arrival_us)])
                except (OSError, SourceError) as error:
                    bad.append(set_aside(stream, file.path, error))
        return Arrivals(
            streams,
            self.files.by_tasks,
            self.files.arrival_us,
            batches,
            are_history=frozenset(s.number for s in streams if keeps_files and self.files.can_be_history(s)),
            bad_files=(*self.files.bad, *bad),
        )

    def without_unreadable(self, streams: Sequence[Stream], error: Exception) -> None:  # noqa: ARG002
        """Returns None: files that cannot be read are left out when arrivals are read."""
        return
