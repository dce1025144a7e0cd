"""A catalog that another connection writes, read without leaving a trace."""

from __future__ import annotations

import pytest

from panes.catalog import Catalog
from panes.errors import CatalogError
from panes.followed_catalog import FollowedCatalog
from panes.language import parse


def test_every_change_is_seen_and_no_file_is_touched(tmp_path):
    written = Catalog(tmp_path / "catalog.sqlite")
    followed = FollowedCatalog(tmp_path / "catalog.sqlite")
    for number in range(20):
        (stream,) = parse(f"CREATE STREAM s{number} (x INT)")
        written.create(stream)
        before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
        assert followed.base_streams() == written.base_streams()
        assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    written.close()
    assert [path.name for path in tmp_path.iterdir()] == ["catalog.sqlite"]
    assert len(followed.base_streams()) == 20
    followed.close()
    assert [path.name for path in tmp_path.iterdir()] == ["catalog.sqlite"]


def test_where_there_is_no_database_none_is_made(tmp_path):
    with pytest.raises(CatalogError, match=f"there is no database in {tmp_path}"):
        FollowedCatalog(tmp_path / "catalog.sqlite")
    assert list(tmp_path.iterdir()) == []
