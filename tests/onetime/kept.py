"""Drawn arrivals as a history: epoch by epoch, in files of every kind, merged and let go of on the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from panes.delta.delta import BEGINNING, EXP, FOREVER, TS
from panes.delta.rows import int64
from panes.history.history_file import CAME
from panes.history.history_store import History, write_part
from panes.history.query_clocks import QueryClocks
from panes.language.statements import CreateStream, Statement
from panes.plan.schema import Schema
from panes.plan.stream import Stream, TimestampBy
from panes.plan.types import BIGINT
from panes.state.storage.epoch_log import EpochRecord, StreamProgress
from tests.properties.streams import COLUMNS, STREAMS, Arrivals

DECLARED: Mapping[str, Stream] = {
    name: Stream(
        name, COLUMNS + Schema.of([("at", BIGINT)]), TimestampBy("at", "MICROSECONDS"), number=number
    )
    for number, name in enumerate(STREAMS, 1)
}


def numbered(statements: Iterable[Statement]) -> dict[str, Stream]:
    """The base streams that statements make, with the numbers that a catalog would give them."""
    found = [s.stream for s in statements if isinstance(s, CreateStream)]
    return {stream.name: replace(stream, number=number) for number, stream in enumerate(found, 1)}


def record(epoch: int, clock: int) -> EpochRecord:
    """An epoch that took all streams to one clock."""
    streams = {stream.number: StreamProgress(clock=clock) for stream in DECLARED.values()}
    return EpochRecord(epoch=epoch, batch=epoch, rows=0, seconds=0.0, finished_us=0, streams=streams)


def clocks_of(records: Sequence[EpochRecord]) -> QueryClocks:
    """The clocks of a query over all streams."""
    return QueryClocks({record.epoch: record.clock for record in records})


def arrived(arrivals: Arrivals) -> dict[str, pa.Table]:
    """All that came, with the first instant of the span that it came in, and the rows of tables."""
    tables: dict[str, list[pa.Table]] = {name: [] for name in STREAMS}
    for came, since, _ in arrivals.spans():
        for name, parts in tables.items():
            rows = came[name]
            parts.append(rows.append_column(CAME, pa.array(np.full(rows.num_rows, since + 1))))
    return {**{name: pa.concat_tables(parts) for name, parts in tables.items()}, **arrivals.relations}


@dataclass(frozen=True)
class DrawnTables:
    """Drawn tables, of which all streams see a change at the same instant."""

    arrivals: Arrivals

    def rows_at(self, name: str, streams: Set[int], epoch: int, now: int) -> pa.Table:
        del streams, epoch
        rows = self.arrivals.relations[name]
        is_there = (int64(rows, TS) <= now) & (now < int64(rows, EXP))
        return rows.filter(pa.array(is_there)).select(COLUMNS.names)

    def intervals(self, name: str, streams: Set[int], epoch: int) -> pa.Table:
        del streams, epoch
        return self.arrivals.relations[name].select([*COLUMNS.names, TS, EXP])

    def versions(self, name: str, streams: Set[int], epoch: int) -> pa.Table:
        del streams, epoch
        [(came, _, _)] = self.arrivals.with_clocks([FOREVER]).spans()
        return came[name].drop_columns([EXP])


class Keeper:
    """Puts what comes in each epoch into a history."""

    def __init__(self, folder: Path, random: Random, *, epochs_per_base: int = 1) -> None:
        self.history = History(folder / "history", epochs_per_base=epochs_per_base)
        self._folder = folder
        self._random = random

    def keep_all(self, arrivals: Arrivals) -> list[EpochRecord]:
        """All spans, as epochs; nothing is too old."""
        records = []
        for epoch, (came, since, clock) in enumerate(arrivals.spans()):
            self.keep(epoch, came, since)
            for stream in DECLARED.values():
                self.history.collect(stream, epoch, oldest_ts=BEGINNING, retain_epochs=len(arrivals.clocks))
            records.append(record(epoch, clock))
        return records

    def keep(self, epoch: int, came: Mapping[str, pa.Table], since: int) -> None:
        for name in STREAMS:
            rows = came[name]
            if rows.num_rows:
                rows = rows.append_column("at", rows.column(TS))
                keep = self._as_files if self._random.randrange(2) else self._as_parts
                keep(DECLARED[name], epoch, rows, since)

    def _as_files(self, stream: Stream, epoch: int, rows: pa.Table, since: int) -> None:
        """Files of a source, with a row that has no time."""
        files = []
        for number, piece in enumerate(self._pieces(rows)):
            nothing = pa.table({f.name: pa.nulls(1, f.type) for f in piece.schema}, schema=piece.schema)
            path = self._folder / f"{stream.name}-{epoch}-{number}.parquet"
            pq.write_table(pa.concat_tables([nothing, piece]).drop_columns([TS]), path)
            files.append(path)
        self.history.adopt(stream, epoch, files, **_bounds(rows), since=since)

    def _as_parts(self, stream: Stream, epoch: int, rows: pa.Table, since: int) -> None:
        names = [
            write_part(self.history.folder, stream.number, epoch, number, piece)
            for number, piece in enumerate(self._pieces(rows))
            if piece.num_rows
        ]
        self.history.note(
            stream, epoch, names, rows=rows.num_rows, max_ts=_bounds(rows)["max_ts"], since=since
        )

    def _pieces(self, rows: pa.Table) -> list[pa.Table]:
        cut = self._random.randint(0, rows.num_rows)
        return [piece for piece in (rows.slice(0, cut), rows.slice(cut)) if piece.num_rows]


def _bounds(rows: pa.Table) -> dict[str, int]:
    ts = np.asarray(rows.column(TS))
    return {"rows": rows.num_rows, "min_ts": int(ts.min()), "max_ts": int(ts.max())}
