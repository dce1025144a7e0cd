"""SQLite files that notice when they are damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import pytest

from panes import sqlite_file
from panes.errors import StateError
from panes.sqlite_file import SqliteFile

SCHEMA = """
CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, size REAL);
CREATE TABLE plain (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


def opened(path, **how) -> SqliteFile:
    return SqliteFile(path, SCHEMA, database="this one", **how)


@pytest.fixture
def path(tmp_path):
    with closing(opened(tmp_path / "file.sqlite")) as file:
        for number in range(40):
            file.execute("INSERT INTO numbered (name, size) VALUES (?, ?)", f"name {number}", number / 3)
        file.execute("DELETE FROM numbered WHERE id > 30")
        file.execute("UPDATE numbered SET size = NULL WHERE id = 7")
        file.execute("INSERT INTO plain VALUES ('a', 1)")
        file.execute("INSERT INTO plain VALUES ('a', 2) ON CONFLICT DO UPDATE SET value = excluded.value")
    return tmp_path / "file.sqlite"


def rows(path) -> list[list[tuple]]:
    with closing(opened(path)) as file:
        return [file.select(f"SELECT * FROM {table} ORDER BY 1") for table in ("numbered", "plain")]


def test_what_was_changed_is_there_when_the_file_is_opened_again(path):
    numbered, plain = rows(path)
    assert [row[0] for row in numbered] == list(range(1, 31))
    assert plain == [("a", 2)]
    with closing(opened(path)) as file:
        assert file.database == "this one"


def test_a_transaction_counts_wholly_or_not(path):
    with closing(opened(path)) as file:
        with pytest.raises(StateError), file.transaction():
            _ = file.execute("DELETE FROM numbered"), file.execute("DELETE FROM nowhere")
        assert len(file.select("SELECT * FROM numbered")) == 30


def change_and_fail(file: SqliteFile, seen: list[tuple[int, ...]]) -> None:
    with file.transaction():
        file.execute("UPDATE numbered SET size = 2 WHERE id = 2")
        seen.append(file.version("numbered"))
        file.execute("DELETE FROM nowhere")


def test_the_version_of_tables_tells_of_every_change_of_them_and_of_no_other(path):
    with closing(opened(path)) as file, closing(opened(path)) as other:
        before = file.version("numbered")
        file.execute("UPDATE plain SET value = 3")
        file.execute("DELETE FROM numbered WHERE id > 1000")
        assert file.version("numbered") == before
        seen = [before]
        for sql in ("UPDATE numbered SET size = 1 WHERE id = 2", "DELETE FROM numbered WHERE id = 3"):
            file.execute(sql)
            seen.append(file.version("numbered"))
        with pytest.raises(StateError):
            change_and_fail(file, seen)
        seen.append(file.version("numbered"))
        other.execute("UPDATE numbered SET size = 3 WHERE id = 2")
        seen.append(file.version("numbered"))
        assert len(set(seen)) == len(seen)


def test_a_bit_anywhere_gives_the_same_rows_or_a_named_error(path):
    right, content, random = rows(path), path.read_bytes(), Random(1)
    noticed = 0
    for place in range(0, len(content), 37):
        changed = bytearray(content)
        changed[place] ^= 1 << random.randrange(8)
        path.write_bytes(changed)
        try:
            assert rows(path) == right
        except StateError:
            noticed += 1
        for more in ("-wal", "-shm"):
            path.with_name(f"{path.name}{more}").unlink(missing_ok=True)
    assert noticed > 20


@pytest.mark.parametrize("size", [0, 1, 100, 5000])
def test_a_truncated_file_is_damaged(path, size):
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(StateError, match=r"file\.sqlite is damaged"):
        opened(path)


def test_a_value_that_another_program_changed_is_noticed(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("row_checksum", -1, lambda *_: 0)
        connection.execute("UPDATE numbered SET name = 'other' WHERE id = 3")
        connection.commit()
    with pytest.raises(StateError, match="its checksum does not fit its rows"):
        opened(path)


def test_a_file_of_another_layout_is_refused(tmp_path):
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as connection:
        connection.execute("CREATE TABLE numbered (id INTEGER PRIMARY KEY)")
    with pytest.raises(
        StateError, match=r"old\.sqlite is of layout 0, and this version of Panes reads layout 9"
    ):
        opened(tmp_path / "old.sqlite")


def test_a_file_of_an_older_layout_with_the_same_tables_is_not_taken_for_a_damaged_one(tmp_path):
    path = tmp_path / "file.sqlite"
    seal = "CREATE TABLE seal (id INTEGER PRIMARY KEY, database TEXT NOT NULL, checksum INTEGER NOT NULL);"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"{seal} {SCHEMA} {sqlite_file._triggers(SCHEMA)} PRAGMA user_version = 2;")
    with pytest.raises(
        StateError, match=r"is of layout 2, .* layout 9: open the database with the version that made"
    ):
        opened(path)


def test_a_missing_file_is_made_only_if_it_may_be(tmp_path):
    with pytest.raises(StateError, match=r"file\.sqlite is missing"):
        opened(tmp_path / "file.sqlite", must_exist=True)
    assert list(tmp_path.iterdir()) == []


class Kept:
    """A copy that keeps what it is told, and may refuse."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.refuses = False

    def prepare(self, content) -> None:
        assert content().startswith(b"SQLite format 3")

    def add(self, changes) -> None:
        self.told.append([sql.split()[0] for sql, _ in changes])
        if self.refuses:
            raise StateError("the network is gone")

    def doubt(self) -> None:
        self.told.append("doubt")

    def settle(self, content) -> None:
        assert content().startswith(b"SQLite format 3")


INSERT = "INSERT INTO plain VALUES (?, ?) ON CONFLICT DO NOTHING"


def test_a_copy_is_told_of_what_a_transaction_changes_before_it_counts(tmp_path):
    copy = Kept()
    with closing(opened(tmp_path / "file.sqlite")) as file:
        file.execute(INSERT, "before", 1)
        file.copied_to(copy)
        file.execute(INSERT, "a", 1)
        file.execute(INSERT, "a", 1)  # nothing changes
        with file.transaction():
            file.execute(INSERT, "b", 1)
            file.execute("DELETE FROM plain WHERE name = 'nobody'")
            with file.transaction():
                file.execute("UPDATE plain SET value = 2")
            file.execute(INSERT, "found again", 1, is_copied=False)
        file.execute(INSERT, "found again too", 1, is_copied=False)
        assert copy.told == [["INSERT"], ["INSERT", "UPDATE"]]


def test_what_the_copy_refuses_does_not_count(tmp_path):
    copy = Kept()
    copy.refuses = True
    with closing(opened(tmp_path / "file.sqlite")) as file:
        file.copied_to(copy)
        with pytest.raises(StateError, match="the network is gone"):
            file.execute(INSERT, "a", 1)
        with pytest.raises(ZeroDivisionError), file.transaction():
            file.execute(INSERT, "b", 1 / 0)
        assert copy.told == [["INSERT"], "doubt"]
        assert file.select("SELECT * FROM plain") == []


def test_the_content_is_the_file(tmp_path):
    with closing(opened(tmp_path / "file.sqlite")) as file:
        file.execute(INSERT, "a", 1)
        (tmp_path / "copy.sqlite").write_bytes(file.content())
    assert rows(tmp_path / "copy.sqlite") == rows(tmp_path / "file.sqlite")
