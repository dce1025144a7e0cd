"""Readers and epochs at once: every answer is of one epoch, entirely, and no file goes while it is read."""

from __future__ import annotations

import threading
from pathlib import Path

import pyarrow as pa

from panes.history.history_store import History, write_part
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.onetime.one_time import OneTime
from panes.optimizer.optimizer import optimize
from panes.state.storage.epoch_log import EpochLog, EpochRecord, StreamProgress
from tests.history.test_retention import Streams
from tests.onetime.kept import numbered

EPOCHS, ROWS, READERS = 60, 5, 4
RANGE = 40
DEFINED = [f"CREATE STREAM {name} (ts BIGINT) TIMESTAMP BY ts MICROSECONDS" for name in ("left_", "right_")]
DIFFERENCE = f"""
    SELECT sum(side) AS difference, count(*) AS rows FROM (
      SELECT 1 AS side FROM left_ [RANGE {RANGE} MICROSECONDS]
      UNION ALL SELECT -1 AS side FROM right_ [RANGE {RANGE} MICROSECONDS])
"""


def test_an_answer_never_mixes_two_epochs(tmp_path: Path) -> None:
    catalog = Streams(*DEFINED)
    streams = numbered(s for text in DEFINED for s in parse(text))
    (query,) = parse(DIFFERENCE)
    assert isinstance(query, SelectQuery)
    plan = optimize(bind(query, catalog))
    log, history = EpochLog(tmp_path / "epochs"), History(tmp_path / "history", epochs_per_base=2)
    one_time = OneTime(log, history, lambda: streams)
    is_over = threading.Event()
    seen: list[tuple[int, int]] = []
    failures: list[Exception] = []

    def read() -> None:
        try:
            while not is_over.is_set():
                row = one_time.answer(plan).to_pylist()
                if row and row[0]["rows"]:
                    seen.append((row[0]["difference"], row[0]["rows"]))
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for epoch in range(EPOCHS):
        times = list(range(epoch * ROWS, (epoch + 1) * ROWS))
        for stream in streams.values():
            name = write_part(history.folder, stream.number, epoch, 0, pa.table({"ts": times, "_ts": times}))
            history.note(stream, epoch, [name], rows=ROWS, max_ts=times[-1])
        progress = {stream.number: StreamProgress(clock=times[-1]) for stream in streams.values()}
        log.commit(EpochRecord(epoch, epoch, ROWS, 0.0, 0, streams=progress))
        oldest = log.holds.release_before(epoch - 1)
        for stream in streams.values():
            history.collect(stream, epoch, oldest_ts=times[-1] - RANGE + 1, retain_epochs=epoch - oldest)
        log.collect(oldest)
    is_over.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert {difference for difference, _ in seen} == {0}
    assert max(rows for _, rows in seen) == 2 * RANGE
    kept = sum(1 for _ in history.folder.rglob("*.parquet"))
    assert kept < 2 * EPOCHS / 2
