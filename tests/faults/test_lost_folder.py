"""A driver that loses its folder, or does not know that it was replaced: the home has all that was committed."""

from __future__ import annotations

import shutil

import pytest

from panes.crash_points import STEPS, Crash, arm, was_reached
from panes.errors import DriverReplaced, PipelineError
from tests.faults.standing import answers, changes, found_in, prepare


def test_epochs_that_fail_at_every_step_are_done_again_from_empty_folders(
    crash_points, tmp_path, undisturbed
):
    expected, state = undisturbed.seen, tmp_path / "home"
    seen = {}
    for epoch_before, step in enumerate(STEPS):
        folder = tmp_path / f"db{epoch_before}"
        with prepare(folder, undisturbed.folder, state=state) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step):
                seen[epoch.number] = answers(db)
                if epoch.number == armed_after:
                    arm(crash_points, step, "raise")

            with pytest.raises((PipelineError, Crash), match=step):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
        shutil.rmtree(folder)
    with prepare(None, undisturbed.folder, state=state) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        assert seen == expected
        assert found_in(db) == undisturbed.found


def test_a_driver_that_was_replaced_commits_nothing(tmp_path, undisturbed):
    state = tmp_path / "home"
    with prepare(tmp_path / "old", undisturbed.folder, state=state) as old:
        new = None

        def replace_it(epoch):
            nonlocal new
            if epoch.number == 2:
                new = prepare(tmp_path / "new", undisturbed.folder, state=state)

        with pytest.raises(DriverReplaced, match="another driver has taken over"):
            old.run(on_epoch=replace_it)
        assert new is not None
        with pytest.raises(DriverReplaced):
            old.sql("SET retain_epochs = 7")
        with new:
            new.run()
            assert found_in(new) == undisturbed.found
    with prepare(tmp_path / "third", undisturbed.folder, state=state) as db:
        assert answers(db) == undisturbed.found.answers
        assert not any(changes(db).values())  # the readers go on where they were
