"""The tests that ask the oracle share one connection to DuckDB."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.properties.running import connection


@pytest.fixture(scope="session", autouse=True)
def _close_connection() -> Iterator[None]:
    yield
    connection().close()
    connection.cache_clear()
