"""The rows for which a condition is true: by key where it names keys, and the same rows either way."""

from __future__ import annotations

import pytest

from panes.language import bind_delete, parse
from panes.language.statements import DeleteFrom
from panes.tables.rows_where import rows_where
from panes.tables.table_contents import Contents
from tests.tables.memory_tables import MemoryTables

ROWS = ", ".join(f"({k}, '{s}', {k * 10})" for k in range(5) for s in "ab")
TABLES = MemoryTables("CREATE TABLE t (k INT, s STRING, v DOUBLE, PRIMARY KEY (k, s))")
TABLES.sql(f"INSERT INTO t VALUES {ROWS}")


class Scanned(Exception):
    """Raised in place of a scan."""


@pytest.fixture
def no_scans(monkeypatch: pytest.MonkeyPatch):
    def scan(*_):
        raise Scanned

    monkeypatch.setattr(Contents, "matching", scan)


def found(condition: str) -> list[tuple[object, ...]]:
    (statement,) = parse(f"DELETE FROM t WHERE {condition}")
    assert isinstance(statement, DeleteFrom)
    rows = rows_where(TABLES.contents("t"), bind_delete(statement, TABLES).condition)
    return sorted(tuple(row.values()) for row in rows.to_pylist())


BY_KEY = {
    "k = 2 AND s = 'a'": [(2, "a", 20.0, 1)],
    "'a' = s AND 2 = k AND v > 5": [(2, "a", 20.0, 1)],
    "k = 2 AND s = 'a' AND v > 50": [],
    "s = 'b' AND k IN (1, 3, 7)": [(1, "b", 10.0, 1), (3, "b", 30.0, 1)],
    "k IN (1, 1) AND s IN ('a', 'b')": [(1, "a", 10.0, 1), (1, "b", 10.0, 1)],
    "k = 1 AND k = 2 AND s = 'a'": [],
    "k = 9 AND s = 'a'": [],
    "k = NULL AND s = 'a'": [],
}
BY_SCAN = {
    "k = 2": [(2, "a", 20.0, 1), (2, "b", 20.0, 1)],
    "v = 20 AND s = 'a'": [(2, "a", 20.0, 1)],
    "(k = 2 AND s = 'a') OR v > 35": [(2, "a", 20.0, 1), (4, "a", 40.0, 1), (4, "b", 40.0, 1)],
    "NOT (k <> 2) AND s = 'a'": [(2, "a", 20.0, 1)],
    "k + 0 = 2 AND s = 'a'": [(2, "a", 20.0, 1)],
    "k = 3000000000 AND s = 'a'": [],
    "k IN (1, v / 10) AND s = 'a' AND v > 25": [(3, "a", 30.0, 1), (4, "a", 40.0, 1)],
}


@pytest.mark.usefixtures("no_scans")
@pytest.mark.parametrize("condition", BY_KEY)
def test_a_condition_that_names_whole_keys_needs_no_scan(condition: str):
    assert found(condition) == BY_KEY[condition]


@pytest.mark.parametrize("condition", BY_SCAN)
def test_any_other_condition_is_a_scan(condition: str):
    assert found(condition) == BY_SCAN[condition]


@pytest.mark.usefixtures("no_scans")
@pytest.mark.parametrize("condition", BY_SCAN)
def test_what_is_scanned_is_not_found_by_key(condition: str):
    with pytest.raises(Scanned):
        found(condition)
