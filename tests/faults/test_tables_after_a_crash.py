"""Transactions on tables and epochs that fail: each is applied once, wholly, also from empty folders."""

from __future__ import annotations

import shutil

import pytest

from panes.crash_points import STEPS, Crash, arm, was_reached
from panes.errors import PipelineError
from tests.faults.standing import CHANGES, answers, change_tables, found_in, prepare_with_tables, tables


def test_epochs_that_fail_at_every_step_apply_each_transaction_once(
    crash_points, tmp_path, undisturbed_with_tables
):
    assert len(STEPS) < CHANGES
    expected, state = undisturbed_with_tables, tmp_path / "home"
    seen = {}
    for epoch_before, step in enumerate(STEPS):
        folder = tmp_path / f"db{epoch_before}"
        with prepare_with_tables(folder, expected.folder, state=state) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step):
                seen[epoch.number] = answers(db)
                change_tables(db, epoch.number)
                if epoch.number == armed_after:
                    arm(crash_points, step, "raise")

            with pytest.raises((PipelineError, Crash), match=step):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
            # What was accepted shows, whatever became of its epoch.
            accepted = tables(db)
        shutil.rmtree(folder)
        with prepare_with_tables(folder, expected.folder, state=state) as db:
            assert tables(db) == accepted
    with prepare_with_tables(None, expected.folder, state=state) as db:

        def after_each(epoch):
            seen[epoch.number] = answers(db)
            change_tables(db, epoch.number)

        # The last one that failed was committed before, and is told of now.
        db.run(on_epoch=after_each)
        assert seen == expected.seen
        assert found_in(db) == expected.found
