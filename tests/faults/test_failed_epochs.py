"""An epoch that fails at any step leaves no trace: done again, it gives what an undisturbed run gives."""

from __future__ import annotations

import json
import os
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panes
from panes import crash_points, errors

QUERIES = {
    "selected": "SELECT k, x FROM s [RANGE 20 SECONDS] WHERE x <> 3",
    "grouped": "SELECT k, count(*) AS n, sum(x) AS total FROM s [RANGE 20 SECONDS SLIDE 5 SECONDS] GROUP BY k",
    "paired": "SELECT a.k, a.x, b.x AS y FROM s [RANGE 7 SECONDS] AS a, s [RANGE 9 SECONDS] AS b WHERE a.k = b.k",
    "alone": "SELECT k FROM s [RANGE 9 SECONDS] EXCEPT ALL SELECT x FROM s [RANGE 3 SECONDS]",
    "last": "SELECT k, x FROM s [ROWS 4]",
}
ROWS = [{"ts": second // 2, "k": second * 7 % 5, "x": second % 11} for second in range(90)]
EPOCHS = 3


def answers(db) -> dict[str, Counter]:
    found = {}
    for query in db.queries():
        table = query.invoke().table
        found[query.name] = Counter(zip(*[column.to_pylist() for column in table.columns], strict=True))
    return found


def prepare(path, spark, folder) -> panes.Database:
    db = panes.connect(path, spark=spark)
    db.sql(
        "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS "
        f"FROM FILES '{folder}' WITH (files_per_epoch = 1)"
    )
    for name, sql in QUERIES.items():
        db.register(sql, name=name)
    return db


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("in")
    size = len(ROWS) // EPOCHS
    for epoch in range(EPOCHS):
        path = folder / f"{epoch}.parquet"
        pq.write_table(pa.Table.from_pylist(ROWS[epoch * size : (epoch + 1) * size]), path)
        os.utime(path, (epoch, epoch))
    return folder


@pytest.fixture(scope="module")
def undisturbed(spark, tmp_path_factory, folder):
    """The answers after every epoch of a run in which nothing happens."""
    with prepare(tmp_path_factory.mktemp("undisturbed") / "db", spark, folder) as db:
        seen = {}
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        return seen


@pytest.mark.parametrize("step", crash_points.STEPS)
def test_a_failed_epoch_is_done_again(spark, crash_points, tmp_path, folder, undisturbed, step):
    from panes.crash_points import arm, was_reached

    seen = {}
    with prepare(tmp_path / "db", spark, folder) as db:

        def after_epoch(epoch):
            seen[epoch.number] = answers(db)
            if epoch.number == 0:
                arm(crash_points, step, "raise")

        with pytest.raises((errors.PipelineError, panes.crash_points.Crash), match=step):
            db.run(on_epoch=after_epoch)
        assert was_reached(crash_points, step)
        # Until the epoch is done again, the one before it stands, or the whole of it.
        assert answers(db) in (undisturbed[0], undisturbed[1])
    with panes.connect(tmp_path / "db", spark=spark) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        assert seen == undisturbed
        assert answers(db) == undisturbed[max(undisturbed)]


def test_a_killed_worker_costs_nothing_but_time(spark, crash_points, tmp_path, folder, undisturbed):
    from panes.crash_points import arm

    with prepare(tmp_path / "db", spark, folder) as db:
        arm(crash_points, "after segment", "kill")
        with pytest.raises(errors.PipelineError, match="an epoch failed in"):
            db.run()
        db.run()
        assert answers(db) == undisturbed[max(undisturbed)]


@pytest.mark.parametrize("damage", ["truncated", "missing", "altered"])
def test_a_damaged_segment_is_named_and_no_answer_is_wrong(spark, tmp_path, folder, damage):
    with prepare(tmp_path / "db", spark, folder) as db:
        db.run()
        manifests = sorted((db.path / "queries" / "000002").rglob("manifest-*.json"))
        content = json.loads(manifests[-1].read_text())
        (name,) = {entry["segment"] for entry in content["buffers"]["answer"]}
        segment = manifests[-1].parent / name
        if damage == "truncated":
            segment.write_bytes(segment.read_bytes()[:-20])
        elif damage == "missing":
            segment.unlink()
        else:
            segment.write_bytes(segment.read_bytes().replace(segment.read_bytes()[200:208], b"\xff" * 8, 1))
        with pytest.raises(errors.StateError, match=name):
            db.query("grouped").invoke()
        assert len(db.query("selected").invoke()) > 0
