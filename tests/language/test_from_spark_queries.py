"""The section "Queries and statements" of docs/from-spark.md: what it calls the same is taken in.

What is written in another way is refused with a hint that names what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.errors import SqlError
from tests.language.corpus import outcome, parsed, read_catalog

PAGE = Path(__file__).parents[2] / "docs" / "from-spark.md"
CATALOG = read_catalog()
OF = "FROM packets [RANGE 1 MINUTE]"

SAME = {
    "``SELECT `src` FROM `packets` ``": ["SELECT `src` FROM `packets`"],
    "`GROUP BY ALL`": [f"SELECT src, count(*) AS n {OF} GROUP BY ALL", f"SELECT 1, count(*) {OF} GROUP BY 1"],
    "`ORDER BY ALL`": [f"SELECT src, dst {OF} ORDER BY ALL"],
    "`SELECT * EXCEPT (ts)`": [
        f"SELECT * EXCEPT (ts) {OF}", f"SELECT * EXCLUDE (ts) REPLACE (1 AS src) {OF}"
    ],
    "`WHERE a OR EXISTS (…)`": [
        f"SELECT src {OF} p WHERE bytes > 1 OR EXISTS (SELECT * FROM hosts h WHERE h.src = p.src)",
        f"SELECT src {OF} WHERE bytes > 1 OR src NOT IN (SELECT src FROM hosts)",
    ],
    "`INTERVAL 10 MINUTES`": [
        f"SELECT at + INTERVAL {length} AS later FROM readings [RANGE 1 HOUR]"
        for length in ("10 MINUTES", "'10' MINUTES", "'10 minutes'")
    ],
    "`LEFT SEMI JOIN`": [
        f"SELECT p.src {OF} p LEFT SEMI JOIN hosts h ON p.src = h.src",
        f"SELECT p.src {OF} p LEFT ANTI JOIN hosts h ON p.src = h.src",
        f"SELECT src, owner {OF} NATURAL JOIN hosts",
        f"SELECT src, owner {OF} JOIN hosts USING (src)",
    ],
    "`QUALIFY …`": [
        f"SELECT src {OF} QUALIFY row_number() OVER (PARTITION BY src ORDER BY ts) = 1",
        f"SELECT DISTINCT ON (src) src, dst {OF}",
    ],
    "`LIMIT 10`": [f"SELECT src {OF} LIMIT 10"],
    "`SHOW TABLES`": [
        "SHOW TABLES", "DESCRIBE TABLE EXTENDED hosts", "SHOW STREAMS", "SHOW QUERIES", "DESCRIBE EXTENDED hosts"
    ],
}  # fmt: skip
"""Statements that are taken in, by how a row begins."""

OTHER = {
    '`WHERE proto = "ftp"`': (f'SELECT src {OF} WHERE proto = "ftp"', "'ftp'"),
    "`WHERE bytes = '10'`": (f"SELECT src {OF} WHERE bytes = '10'", "CAST('10' AS BIGINT)"),
    "`LATERAL VIEW": (
        "SELECT tag FROM posts [RANGE 1 HOUR] LATERAL VIEW explode(tags) t AS tag",
        "CROSS JOIN UNNEST(tags) AS t(tag)",
    ),
    "`GROUP BY window": (
        "SELECT count(*) FROM readings GROUP BY window(at, '10 minutes')",
        "[RANGE 10 MINUTES SLIDE 10 MINUTES]",
    ),
    "`WATERMARK FOR": (
        "CREATE STREAM x (at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS)",
        "TIMESTAMP BY at SLACK INTERVAL 5 SECONDS",
    ),
    "`CREATE OR REPLACE TEMP VIEW": ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", "QUERY"),
    "`CREATE TABLE t (…) USING": ("CREATE TABLE t (a INT) USING parquet", "COPY t FROM 'file'"),
    "`SET TIME ZONE": ("SET TIME ZONE 'Europe/Berlin'", "AT TIME ZONE 'Europe/Berlin'"),
}
"""Statements that are refused, and what both the hint and the row name."""

ELSEWHERE = "`df.writeTo"
"""The row that is no SQL: tests/ingest/test_push.py and tests/spark/test_sources.py."""


def rows() -> list[str]:
    section = PAGE.read_text(encoding="utf-8").partition("## Queries and statements")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [line.removeprefix("| ") for line in lines[2:]]


def row(begin: str) -> str:
    (found,) = [row for row in rows() if row.startswith(begin)]
    return found


@pytest.mark.parametrize(("begin", "sql"), [(begin, sql) for begin, all_ in SAME.items() for sql in all_])
def test_what_is_the_same_is_taken_in(begin: str, sql: str) -> None:
    assert "the same" in row(begin)
    assert not outcome(sql, CATALOG).startswith("refused")


@pytest.mark.parametrize("begin", OTHER)
def test_what_is_written_in_another_way_is_refused_with_what_to_write(begin: str) -> None:
    sql, written = OTHER[begin]
    assert written in row(begin)
    refused = outcome(sql, CATALOG)
    assert refused.startswith("refused\nline 1, column ")
    assert written in refused


def test_every_row_is_tried() -> None:
    begins = [*SAME, *OTHER, ELSEWHERE]
    assert [row for row in rows() if not any(row.startswith(begin) for begin in begins)] == []


def test_a_name_in_backticks_that_is_open_is_pointed_at() -> None:
    with pytest.raises(SqlError, match="this ` is never closed"):
        parsed("SELECT `src FROM packets")
