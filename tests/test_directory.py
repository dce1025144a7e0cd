"""Who holds the directory of a database."""

import pytest

from panes.directory import is_in_use, lock_directory
from panes.errors import DatabaseInUse, StateError


def test_a_directory_is_held_until_the_lock_is_closed(tmp_path):
    assert not is_in_use(tmp_path / "db")
    with lock_directory(tmp_path / "db"):
        assert is_in_use(tmp_path / "db")
        with pytest.raises(DatabaseInUse, match=f"{tmp_path}/db is in use by another connection"):
            lock_directory(tmp_path / "db")
    assert not is_in_use(tmp_path / "db")
    lock_directory(tmp_path / "db").close()


def test_to_look_makes_nothing(tmp_path):
    is_in_use(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_no_directory(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StateError, match=f"{tmp_path}/file cannot hold a database: File exists; choose"):
        lock_directory(tmp_path / "file")
