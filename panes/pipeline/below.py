"""Below the first shuffle: the rows of streams become the inputs of the stages, each dealt out to its shards.

A task reads rows once, whatever the number of queries: it counts them, puts aside those that cannot be used or
came late, keeps the history of streams whose source does not, and computes every input of every query from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from panes.delta.delta import BEGINNING, TS
from panes.delta.rows import int64
from panes.history.file import CAME, EPOCH, HistoryFile
from panes.history.parts import read_rows, write_part
from panes.pipeline.aside import put_aside
from panes.pipeline.batch import BAD, STREAM
from panes.pipeline.chains import Chains, columns_read
from panes.pipeline.clock_rule import Measured
from panes.pipeline.dealt import Dealt
from panes.pipeline.exchange import FAILED_INPUT, Exchange, Message, encoded
from panes.pipeline.query_failure import QueryFailure, blamed_on_the_query
from panes.pipeline.unusable import unusable_rows
from panes.plan.stream import Stream


@dataclass(frozen=True)
class Feed:
    """Where the rows of a stream go: the inputs that are computed from them, by number."""

    stream: Stream
    inputs: tuple[int, ...]
    is_history: bool = False
    """Whether they came in earlier epochs, and are for queries that come later."""
    writes_history: bool = False
    since: int = BEGINNING
    """The clock of the stream before the epoch: rows that are not after it come late."""


@dataclass(frozen=True)
class Below:
    """What all tasks below the shuffle have in common; it is shipped to the workers."""

    epoch: int
    tasks: int
    """How many tasks there are on the next level."""
    inputs: tuple[Dealt, ...]
    exchange: Path
    aside: Path
    history: Path


@dataclass(frozen=True)
class FilesTask:
    """Reads Parquet files into Arrow, without a detour through Java's rows."""

    below: Below
    feeds: tuple[Feed, ...]
    files: tuple[tuple[tuple[int, HistoryFile], ...], ...]
    """For each task the files that it reads, each with the number of its feed."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Each row is the number of a task; there is one in every partition."""
        for number in [number for batch in batches for number in batch.column(0).to_pylist()]:
            work = _Work(self.below, f"0-files-{number:06d}", number)
            for place, file in self.files[number]:
                feed = self.feeds[place]
                work.take(feed, self._rows(feed, file), unusable=unusable_rows(feed.stream, file))
            yield encoded(list(work.messages()))

    def _rows(self, feed: Feed, file: HistoryFile) -> pa.Table:
        if not feed.is_history and file.min_ts <= feed.since:
            needed = list(feed.stream.columns.names)  # late rows are put aside whole
        else:
            needed = columns_read(feed.stream, [self.below.inputs[number].source for number in feed.inputs])
        return read_rows(file, feed.stream, needed).drop_columns([CAME, EPOCH])


@dataclass(frozen=True)
class BatchTask:
    """Takes the rows that Spark has read, of all streams that it reads itself."""

    below: Below
    feeds: Mapping[int, Feed]
    """By the number of the stream in the batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        number = context.partitionId()
        # Files, which may hold what came before, are first in the order of names.
        work = _Work(self.below, f"0-read-{number:06d}", number)
        for batch in batches:
            streams = batch.column(STREAM).to_numpy()
            # The batch also has rows, without columns, of the streams whose files tasks read.
            for place, feed in self.feeds.items():
                is_mine = streams == place
                if is_mine.any():
                    self._take(work, feed, batch if is_mine.all() else batch.filter(pa.array(is_mine)), place)
        yield encoded(list(work.messages()))

    def _take(self, work: _Work, feed: Feed, batch: pa.RecordBatch, place: int) -> None:
        columns = batch.column(f"_{place}").flatten()
        schema = feed.stream.columns.arrow
        rows = pa.table([c.cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
        bad = batch.column(BAD)
        unusable = None
        ts = batch.column(TS)
        if bad.null_count < len(bad):
            usable = pc.is_null(bad)
            unusable = rows.append_column(BAD, bad).filter(pc.invert(usable))
            rows, ts = rows.filter(usable), ts.filter(usable)
        if feed.stream.timestamp is None:
            # A row cannot have arrived before the epoch before this one.
            ts = pa.array(np.maximum(ts.to_numpy(), feed.since + 1))
        work.take(feed, rows.append_column(TS, ts), unusable)


class _Work:
    """What one task has done so far."""

    def __init__(self, below: Below, name: str, number: int) -> None:
        self._below = below
        self._number = number
        self._exchange = Exchange(below.exchange, name)
        self._measured: dict[int, Measured] = {}
        self._kept: dict[int, list[pa.Table]] = {}
        self._failed: dict[int, str] = {}
        """Why inputs could not be computed."""
        self._aside: dict[tuple[int, str], list[pa.Table]] = {}

    def take(self, feed: Feed, rows: pa.Table, unusable: pa.Table | None = None) -> None:
        """Rows of a stream: its columns (or those that are needed) and `_ts`."""
        if not feed.is_history:
            self._measure(feed, rows, unusable)
            if feed.writes_history and rows.num_rows:
                self._kept.setdefault(feed.stream.number, []).append(rows)
        if not rows.num_rows:
            return
        chains = Chains(rows)
        for number in feed.inputs:
            try:
                with blamed_on_the_query():
                    self._compute(number, chains, is_history=feed.is_history)
            except QueryFailure as failure:
                self._failed[number] = str(failure)

    def _compute(self, number: int, chains: Chains, *, is_history: bool) -> None:
        dealt = self._below.inputs[number]
        computed = chains.input(dealt.source, dealt.members_for(is_history))
        if computed.num_rows:
            for shard, mine in dealt.deal(computed):
                self._exchange.add(number, shard, mine)

    def messages(self) -> Iterator[Message]:
        """Writes what is to be written, and says to the next level what there is."""
        for (stream, kind), tables in self._aside.items():
            put_aside(
                self._below.aside, stream, kind, self._below.epoch, self._number, pa.concat_tables(tables)
            )
        for stream, tables in self._kept.items():
            rows = pa.concat_tables(tables)
            name = write_part(self._below.history, stream, self._below.epoch, self._number, rows)
            yield Message(0, "kept", {"stream": stream, "file": name})
        for measured in self._measured.values():
            for task in range(self._below.tasks):
                yield Message(task, "measured", asdict(measured))
        for number, error in self._failed.items():
            for task in range(self._below.tasks):
                yield Message(task, FAILED_INPUT, {"input": number, "error": error})
        yield from self._exchange.send()

    def _measure(self, feed: Feed, rows: pa.Table, unusable: pa.Table | None) -> None:
        number = feed.stream.number
        bad = 0 if unusable is None else unusable.num_rows
        if unusable is not None and bad:
            self._aside.setdefault((number, "bad"), []).append(unusable)
        ts = int64(rows, TS)
        late = ts <= feed.since
        late_rows = int(np.count_nonzero(late)) if feed.since != BEGINNING else 0
        if late_rows:
            put = rows.filter(pa.array(late)).select(feed.stream.columns.names)
            self._aside.setdefault((number, "late"), []).append(put)
        before = self._measured.get(number, Measured(number))
        bounds = [t for t in (before.min_ts, before.max_ts) if t is not None]
        if len(ts):
            bounds += [int(ts.min()), int(ts.max())]
        self._measured[number] = Measured(
            number,
            rows=before.rows + len(ts) + bad,
            min_ts=min(bounds, default=None),
            max_ts=max(bounds, default=None),
            late=before.late + late_rows,
            bad=before.bad + bad,
        )
