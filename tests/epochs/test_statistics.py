"""Statistics: measured by epochs, kept over restarts and after queries are gone, and read by others."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import panes
from panes.stages.measure_log import PIN
from panes.testing import local

STREAMS = """
CREATE STREAM s (at BIGINT, k BIGINT, v BIGINT) TIMESTAMP BY at MILLISECONDS;
CREATE STREAM r (at BIGINT, k BIGINT) TIMESTAMP BY at MILLISECONDS;
CREATE STREAM silent (at BIGINT) TIMESTAMP BY at MILLISECONDS;
CREATE TABLE hosts (k BIGINT)
"""
PAIRS = "SELECT x.k FROM s [RANGE 5 SECONDS] x, r [RANGE 5 SECONDS] y WHERE x.k = y.k AND x.v > 75"


def push(db: panes.Database, second: int) -> None:
    """Ten seconds: 100 rows a second of one stream, and 20 of the other."""
    draw, first = Random(second), second * 1000
    values = [(draw.randrange(50), draw.randrange(100)) for _ in range(1000)]
    db.push("s", [{"at": first + 10 * n, "k": k, "v": v} for n, (k, v) in enumerate(values)])
    db.push("r", [{"at": first + 50 * n, "k": draw.randrange(50)} for n in range(200)])


def facts(db: panes.Database) -> dict[tuple[str, str], float]:
    rows = db.sql("SHOW STATISTICS").to_pylist()
    return {(row["kind"], row["name"]): row["value"] for row in rows if row["source"] == "measured"}


def test_facts_outlive_restarts_and_the_query_that_measured_them(tmp_path: Path) -> None:
    with local(tmp_path / "db") as db:
        db.sql(STREAMS)
        db.register(PAIRS, name="pairs")
        assert facts(db) == {}
        for second in (0, 10, 20):
            push(db, second)
            db.run()
        known = facts(db)
        assert known["rate", "s"] == pytest.approx(100, rel=0.02)
        assert known["rate", "r"] == pytest.approx(20, rel=0.02)
        assert ("rate", "silent") not in known
        assert known["span", "epoch"] == pytest.approx(10, rel=0.05)
        assert known["selectivity", "s.v > 75"] == pytest.approx(0.24, rel=0.15)
        assert known["join", "r.k = s.k of (s.v > 75)"] == pytest.approx(1 / 50, rel=0.15)
        assert known["distinct", "r.k"] == pytest.approx(50, rel=0.1)
        assert known["distinct", "s.k of (s.v > 75)"] == pytest.approx(50, rel=0.1)
        costs = {name for kind, name in known if kind == "cost"}
        assert {"Join probe", "Join fixed", "Select row", "ingest row", "shuffle row", "store fixed"} <= costs
        assert {"answer row", "epoch fixed"} <= costs
        assert db.status().rates == {name: known["rate", name] for name in ("s", "r")}
    with panes.connect(tmp_path / "db", read_only=True) as db:
        assert facts(db) == known
        assert db.status().rates["s"] == known["rate", "s"]
    with local(tmp_path / "db") as db:
        assert facts(db) == known
        db.sql("DROP QUERY pairs")
        push(db, 30)
        db.run()
        after = facts(db)
        assert after.keys() >= known.keys()
        name = "join", "r.k = s.k of (s.v > 75)"
        assert after[name] == known[name]


def test_facts_begin_anew_when_their_file_is_damaged(tmp_path: Path) -> None:
    with local(tmp_path / "db") as db:
        db.sql(STREAMS)
        push(db, 0)
        db.run()
        assert ("rate", "s") in facts(db)
        latest = db._log.latest()
        assert latest is not None
        epoch = latest.pins[PIN].partition(":")[0]
    (file,) = (tmp_path / "db" / "measures").glob(f"*/epoch-{int(epoch):010d}*")
    file.write_bytes(file.read_bytes()[:-7])
    with local(tmp_path / "db") as db:
        assert facts(db) == {}
        push(db, 10)
        db.run()
        assert facts(db)["rate", "s"] == pytest.approx(100, rel=0.02)
