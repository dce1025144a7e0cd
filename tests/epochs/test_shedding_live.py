"""Drop boxes that a background run sets by itself, and that a run over what sources hold lifts."""

from __future__ import annotations

import threading

import numpy as np
import pyarrow as pa

import panes
from panes.testing import local

STREAM = """CREATE STREAM packets (ts BIGINT, src BIGINT, bytes BIGINT)
            TIMESTAMP BY ts MILLISECONDS RETAIN INTERVAL 1 HOUR"""
COUNTS = "SELECT src, count(*) AS n FROM packets [RANGE 5 SECONDS] GROUP BY src"
MOST = 30
"""The number of epochs within which boxes must be set."""


PATIENCE_S = 120


class Epochs:
    """Counts the epochs that bring rows."""

    def __init__(self) -> None:
        self.committed = threading.Semaphore(0)

    def note(self, epoch: panes.Epoch) -> None:
        if epoch.rows:
            self.committed.release()


def second(number: int) -> pa.Table:
    ts = np.arange(number * 1000, (number + 1) * 1000)
    return pa.table({"ts": ts, "src": ts % 3, "bytes": ts % 700})


def taken_in(db: panes.Database, epochs: Epochs, number: int) -> None:
    """Pushes the rows of a second, and waits for the epoch that takes them in."""
    db.push("packets", second(number))
    assert epochs.committed.acquire(timeout=PATIENCE_S), "no epoch came"


def test_boxes_are_set_while_it_runs_and_lifted_by_a_run_that_may_take_its_time(tmp_path):
    with local(tmp_path / "db") as db:
        # Whatever the machine, a hundredth of it is too little.
        db.sql(f"{STREAM}; SET capacity = 0.01; CREATE QUERY counts WITH (shed = 'auto') AS {COUNTS}")
        db.sql(f"CREATE QUERY all_counts AS {COUNTS}")
        epochs = Epochs()
        db.start(on_epoch=epochs.note)
        number = 0
        while not db.status().kept and number < MOST:
            taken_in(db, epochs, number)
            number += 1
        kept = db.status().kept
        assert list(kept) == ["counts"]
        for _ in range(8):
            taken_in(db, epochs, number)
            number += 1
        assert db.query("counts").invoke().is_partial
        assert not db.query("all_counts").invoke().is_partial
        db.stop()
        assert db.status().shed["counts"]["packets"] > 0

        for _ in range(7):
            db.push("packets", second(number))
            number += 1
        db.run()
        assert db.status().kept == {}
        exact, answer = db.query("all_counts").invoke(), db.query("counts").invoke()
        assert not answer.is_partial
        assert sorted(answer.to_pylist(), key=str) == sorted(exact.to_pylist(), key=str)
