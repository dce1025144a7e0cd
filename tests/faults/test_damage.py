"""Files of a database that are damaged or gone: the error names the file, and no answer is ever wrong."""

from __future__ import annotations

import os
import re
import shutil
from itertools import islice
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from panes import errors
from panes.answers.forget_readers import forget_readers
from panes.check import check_database
from panes.testing import local
from tests.faults.damaged import QUESTIONS, Bench, Damage, Small, concerned, damages, look, make
from tests.faults.standing import EPOCHS, ROWS, add_file, answers
from tests.kept_states import last_states, overwrite, places_in

GROUPED = 2
"""The number of the query that the damage is done to."""


@pytest.fixture
def copy(undisturbed, tmp_path) -> Path:
    """A database that has taken in all its files."""
    return shutil.copytree(undisturbed.database, tmp_path / "db")


class Piece(NamedTuple):
    """A part of a file."""

    path: Path
    offset: int
    size: int


def segment_of(database: Path, *, is_answer: bool) -> Piece:
    """A segment of the last epoch."""
    entry = next(
        entry
        for _, manifest in places_in(last_states(database), GROUPED)
        for name, entries in manifest.buffers.items()
        if (name == "answer") == is_answer and name != "changes"
        for entry in entries
    )
    return Piece(database / "states" / entry.object, entry.offset, entry.bytes)


def manifest_of(database: Path) -> Piece:
    """A manifest of the last epoch with rows in its answer."""
    for _, manifest in places_in(last_states(database), GROUPED):
        if manifest.buffers["answer"]:
            assert manifest.ref is not None
            return Piece(database / "states" / manifest.ref.object, manifest.ref.offset, manifest.ref.bytes)
    raise AssertionError("no shard has an answer")


def flip_a_bit(piece: Piece) -> None:
    overwrite(piece.path, piece.offset + piece.size // 2, 1)


def wipe(piece: Piece) -> None:
    overwrite(piece.path, piece.offset, piece.size)


DAMAGES = {"flipped": flip_a_bit, "wiped": wipe}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_answer_is_named_and_the_others_are_right(undisturbed, copy, damage):
    segment = segment_of(copy, is_answer=True)
    DAMAGES[damage](segment)
    check_only_the_damaged_query_fails(undisturbed, copy, segment.path)


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_manifest_is_named_and_the_others_are_right(undisturbed, copy, damage):
    manifest = manifest_of(copy)
    DAMAGES[damage](manifest)
    check_only_the_damaged_query_fails(undisturbed, copy, manifest.path)


def check_only_the_damaged_query_fails(undisturbed, database: Path, damaged: Path) -> None:
    with local(database) as db:
        with pytest.raises(errors.StateError, match=re.escape(str(damaged))):
            db.query("grouped").invoke()
        db.query("grouped").drop()
        assert answers(db) == {
            name: rows for name, rows in undisturbed.found.answers.items() if name != "grouped"
        }


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_query_over_a_damaged_state_is_suspended_and_the_others_go_on(undisturbed, copy, tmp_path, damage):
    whole = shutil.copytree(copy, tmp_path / "whole")
    segment = segment_of(copy, is_answer=False)
    DAMAGES[damage](segment)
    later = [{**row, "ts": row["ts"] + 45} for row in ROWS[:20]]
    added = add_file(undisturbed.folder, EPOCHS, later)
    try:
        with local(whole) as db:
            db.run()
            expected = answers(db)
        with local(copy) as db:
            db.run()
            with pytest.raises(errors.QueryFailed, match=re.escape(str(segment.path))):
                db.query("grouped").invoke()
            db.query("grouped").drop()
            assert answers(db) == {name: rows for name, rows in expected.items() if name != "grouped"}
    finally:
        added.unlink()


def test_a_damaged_record_of_the_last_epoch_is_named(copy):
    record = max((copy / "epochs").glob("epoch-*.json"))
    truncate(record)
    with pytest.raises(errors.StateError, match=re.escape(str(record))):
        local(copy)


def test_changes_do_not_end_at_a_record_that_is_lost(copy):
    (record,) = (copy / "epochs").glob("epoch-0000000004-*.json")
    record.unlink()
    with local(copy) as db:
        with pytest.raises(errors.StateError, match=re.escape(f"{record} is missing")):
            list(db.query("grouped").changes(reader="another"))
        assert db.query("grouped").invoke().table.num_rows > 0


def test_epochs_that_were_lost_are_not_passed_over(copy):
    for record in sorted((copy / "epochs").glob("epoch-*.json"))[-3:]:
        record.unlink()
    told = r"the epochs end at 7, and the catalog knows that epoch 10 was committed: .* restore"
    with pytest.raises(errors.StateError, match=told):
        local(copy)
    shutil.rmtree(copy / "epochs")
    with pytest.raises(errors.StateError, match="the epochs end at -1"):
        local(copy)


def test_a_database_without_its_checkpoint_takes_in_nothing(copy):
    shutil.rmtree(copy / "checkpoint")
    with pytest.raises(errors.StateError, match="Spark's checkpoint is missing or empty"):
        local(copy)


def test_readers_that_are_lost_begin_anew_only_when_that_is_asked_for(copy):
    (copy / "readers.sqlite").unlink()
    with pytest.raises(
        errors.StateError, match=r"readers\.sqlite is missing: .* panes check --forget-readers"
    ):
        local(copy)
    forget_readers(copy)
    with local(copy) as db:
        assert next(iter(db.query("grouped").changes(reader="r"))).is_whole


def test_a_file_of_the_source_that_was_changed_after_it_was_taken_in_is_named(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    source = add_file(folder, 0, ROWS[:20])
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR "
            f"FROM FILES '{folder}'"
        )
        db.run()
        assert db.sql("SELECT count(*) AS n FROM s [RANGE 1 HOUR]").table.to_pylist() == [{"n": 20}]
        pq.write_table(pa.Table.from_pylist(ROWS[:19]), source)  # in place: the history has the same file
        with pytest.raises(
            errors.StateError, match=r"raw-.*\.parquet is damaged or was changed after it was taken"
        ):
            # Another query: the answer of the first is kept until the next epoch.
            db.sql("SELECT max(x) AS most FROM s [RANGE 1 HOUR]")


# All damage.


ONE_IN = int(os.environ.get("PANES_DAMAGES_ONE_IN", "6"))
"""Which part of all damages is done: 1 takes a few minutes."""


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> Small:
    return make(tmp_path_factory.mktemp("small"))


def test_no_damage_gives_a_wrong_answer_or_a_raw_exception(small, capsys):
    bench = Bench(small)
    expected = look(small.database)
    bench.undo(Damage("", "", {}))
    assert [answer for answer in expected.values() if isinstance(answer, errors.PanesError)] == []
    done, noticed = 0, 0
    for damage in islice(damages(small, Random(11), regions), 0, None, ONE_IN):
        done += 1
        bench.do(damage)
        try:
            # What other files hold is asked now and then: it is not concerned.
            seen = look(small.database, list(QUESTIONS) if done % 20 == 0 else concerned(damage.place))
            is_noticed = any(isinstance(answer, errors.PanesError) for answer in seen.values())
            noticed += is_noticed
            for question, answer in seen.items():
                is_right = isinstance(answer, errors.PanesError) or answer == expected[question]
                if damage.place == "readers.sqlite" and question.startswith("changes"):
                    # An older copy is taken: readers see some changes again.
                    is_right = is_right or answer[-len(expected[question]) :] == expected[question]
                assert is_right, f"{damage}: {question}: {answer}, and not {expected[question]}"
            if done % 20 == 0:
                assert_check_finds_it(small.database, damage, is_noticed=is_noticed)
        except Exception as error:
            error.add_note(f"after this damage: {damage}")
            raise
        finally:
            bench.undo(damage)
    assert look(small.database) == expected
    with capsys.disabled():
        print(f" {done} damages, {noticed} noticed ", end="")
    assert done >= 2000 // ONE_IN


def regions(path: Path) -> int:
    """In how many places to flip a bit: many where a file holds many things."""
    return 14 if path.suffix in (".sqlite", ".arrow") else 3


def assert_check_finds_it(database: Path, damage: Damage, *, is_noticed: bool) -> None:
    try:
        found = check_database(database)
    except errors.PanesError:
        return
    assert found.problems or not is_noticed, f"panes check finds nothing: {damage}"


@pytest.mark.parametrize("place", ["history/000001", "checkpoint/sources", "epochs"])
def test_an_epoch_over_what_is_lost_fails_with_a_named_error_and_changes_nothing(small, tmp_path, place):
    database = shutil.copytree(small.database, tmp_path / "db")
    shutil.rmtree(database / place)
    epochs = sorted((database / "epochs").glob("*"))
    added = add_file(small.folder / "s", 99, [{"ts": 60, "k": 1, "x": 1}])
    try:
        with pytest.raises(errors.StateError, match=re.escape(place)):
            take_in_with_a_query_that_reads_the_history(database)
        assert sorted((database / "epochs").glob("*")) == epochs
    finally:
        added.unlink()


def take_in_with_a_query_that_reads_the_history(database: Path) -> None:
    with local(database) as db:
        db.register("SELECT k, max(x) AS most FROM s [RANGE 1 HOUR] GROUP BY k", name="later")
        db.run()
