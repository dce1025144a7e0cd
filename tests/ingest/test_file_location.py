"""Places of files: paths, patterns and URIs."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.ingest.file_location import FileLocation, escaped


@pytest.fixture
def folder(tmp_path):
    for name in ("a1", "a2", "b1", "[ab]1", "a{1,2}", "a*", "c\\d"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a1", ["a1"]),
        ("a?", ["a*", "a1", "a2"]),
        ("[ab]1", ["[ab]1"]),  # a folder of this name is there
        ("[ab]2", ["a2"]),
        ("[^a]1", ["b1"]),
        ("{a,b}1", ["a1", "b1"]),
        ("{a{1,2},b1}", ["a1", "a2", "b1"]),
        ("a{1,2}", ["a{1,2}"]),
        ("a\\*", ["a*"]),
        ("a\\{1,?\\}", ["a{1,2}"]),
        ("a{1", []),
        ("none", []),
    ],
)
def test_what_is_there_is_taken_literally_and_anything_else_is_a_pattern(folder, text, names):
    assert FileLocation.of(f"{folder}/{text}").matches() == [folder / name for name in names]


def test_only_what_is_there_is_escaped_for_spark(folder):
    there = FileLocation.of(f"{folder}/a{{1,2}}")
    assert there.for_spark() == f"{folder}/a\\{{1,2\\}}/[^.]*"
    assert FileLocation.of(f"{folder}/[ab]?").for_spark() == f"{folder}/[ab]?"
    assert escaped("c\\d [e]*?") == "c\\\\d \\[e\\]\\*\\?"


@pytest.mark.parametrize("uri", ["file:///data/a%20b%3F", "file:/data/a b?", "FILE://localhost/data/a%20b?"])
def test_a_file_uri_is_a_path(uri):
    assert FileLocation.of(uri) == FileLocation("/data/a b?")


def test_other_uris_belong_to_spark():
    location = FileLocation.of("S3A://bucket/a%20b")
    assert (location.scheme, location.is_local, location.for_spark()) == ("s3a", False, "S3A://bucket/a%20b")


def test_a_relative_path_is_seen_from_the_working_directory(monkeypatch, folder):
    monkeypatch.chdir(folder)
    assert FileLocation.of("a1").text == str(folder / "a1")
    assert FileLocation.of("a:b").is_local


def test_files_lie_in_the_folder_or_in_folders_that_are_named_after_columns(folder):
    for name in ("0", "day=1/0", "day=1/hour=2/0", "old/0", "day=1/old/0", "_SUCCESS", "_tmp/0", ".hidden"):
        path = folder / "a1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found = FileLocation.of(f"{folder}/a1").files()
    assert sorted(path.relative_to(folder / "a1") for path in found) == [
        Path("0"),
        Path("day=1/0"),
        Path("day=1/hour=2/0"),
    ]
