"""Files of a database that are damaged or gone: the error names the file, and no answer is ever wrong."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import panes
from panes import errors
from tests.faults.standing import EPOCHS, ROWS, add_file, answers

GROUPED = "000002"
"""The folder of the query that the damage is done to."""


@pytest.fixture
def copy(undisturbed, tmp_path) -> Path:
    """A database that has taken in all its files."""
    return shutil.copytree(undisturbed.database, tmp_path / "db")


def last_manifest(database: Path) -> Path:
    """The last manifest of a shard that has rows in its answer."""
    manifests = sorted((database / "queries" / GROUPED).glob("shard-*/manifest-*.json"), key=lambda p: p.name)
    return [path for path in manifests if json.loads(path.read_text())["buffers"]["answer"]][-1]


def segment_of(manifest: Path, *, is_answer: bool) -> Path:
    buffers = json.loads(manifest.read_text())["buffers"]
    entries = [
        entry
        for name, entries in buffers.items()
        for entry in entries
        if (name == "answer") == is_answer and name != "changes"
    ]
    return manifest.parent / entries[0]["segment"]


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES = {"truncated": truncate, "one bit flipped": flip_a_bit, "empty": empty, "gone": Path.unlink}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_answer_is_named_and_the_others_are_right(spark, undisturbed, copy, damage):
    segment = segment_of(last_manifest(copy), is_answer=True)
    DAMAGES[damage](segment)
    check_only_the_damaged_query_fails(spark, undisturbed, copy, segment)


@pytest.mark.parametrize("damage", ["truncated", "empty", "gone"])
def test_a_damaged_manifest_is_named_and_the_others_are_right(spark, undisturbed, copy, damage):
    manifest = last_manifest(copy)
    DAMAGES[damage](manifest)
    check_only_the_damaged_query_fails(spark, undisturbed, copy, manifest)


def check_only_the_damaged_query_fails(spark, undisturbed, database: Path, damaged: Path) -> None:
    with panes.connect(database, spark=spark) as db:
        with pytest.raises(errors.StateError, match=re.escape(str(damaged))):
            db.query("grouped").invoke()
        db.query("grouped").drop()
        assert answers(db) == {
            name: rows for name, rows in undisturbed.found.answers.items() if name != "grouped"
        }


@pytest.mark.parametrize("damage", ["one bit flipped", "gone"])
def test_an_epoch_over_a_damaged_state_fails_and_changes_nothing(spark, undisturbed, copy, damage):
    segment = segment_of(last_manifest(copy), is_answer=False)
    DAMAGES[damage](segment)
    later = [{**row, "ts": row["ts"] + 45} for row in ROWS[:20]]
    added = add_file(undisturbed.folder, EPOCHS, later)
    try:
        with panes.connect(copy, spark=spark) as db:
            with pytest.raises(errors.StateError, match=re.escape(str(segment))):
                db.run()
            assert db.status().epoch == undisturbed.found.epoch
            assert answers(db) == undisturbed.found.answers
    finally:
        added.unlink()


def test_a_damaged_record_of_an_epoch_is_named(spark, copy):
    record = max((copy / "epochs").glob("epoch-*.json"))
    truncate(record)
    with (
        panes.connect(copy, spark=spark) as db,
        pytest.raises(errors.StateError, match=re.escape(str(record))),
    ):
        db.query("grouped").invoke()
