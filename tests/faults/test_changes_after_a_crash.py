"""A reader of changes that comes after every epoch misses nothing and gets nothing twice when epochs fail."""

from __future__ import annotations

import pytest

from panes.crash_points import Crash, arm, was_reached
from panes.errors import PipelineError
from tests.faults.standing import add_file, changes, multiset, prepare

ROWS = [{"ts": row, "k": row * 7 % 5, "x": row % 11} for row in range(24)]
FAILURES = ("after manifest", "after commit")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for number in range(len(FAILURES) + 1):
        add_file(folder, number, ROWS[number * 8 : (number + 1) * 8])
    return folder


def read(db, seen: dict[str, list]) -> None:
    """Takes what a reader has not seen yet of every query."""
    for query in db.queries():
        for change in query.changes(reader="phone"):
            seen.setdefault(query.name, []).append((change.epoch, str(change.as_of), multiset(change.table)))


def test_a_reader_that_comes_again_and_again_sees_every_change_once(crash_points, tmp_path, files):
    seen: dict[str, list] = {}
    for epoch_before, step in enumerate(FAILURES):
        with prepare(tmp_path / "db", files) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step):
                read(db, seen)
                if epoch.number == armed_after:
                    arm(crash_points, step, "raise")

            with pytest.raises((PipelineError, Crash), match=step):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
            if epoch_before % 2:
                read(db, seen)
    with prepare(tmp_path / "db", files) as db:
        db.run()
        read(db, seen)
        # One who comes only now sees what an undisturbed run has: other tests show that.
        assert seen == changes(db)
