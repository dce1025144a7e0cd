"""A catalog of its own for each test."""

import pytest

from panes.catalog import Catalog


@pytest.fixture
def catalog(tmp_path):
    catalog = Catalog(tmp_path / "catalog.sqlite")
    yield catalog
    catalog.close()
