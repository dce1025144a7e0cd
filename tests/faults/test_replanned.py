"""Epochs that fail while plans are switched are done again, and readers see nothing of either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from panes.crash_points import STEPS, Crash, arm, was_reached
from panes.errors import StateError
from tests.faults.standing import Replanned, answers, found_in, prepare

FAILURES = [*((step, "raise") for step in STEPS), ("during a write", "full")]


@pytest.fixture
def replanned() -> Iterator[Replanned]:
    replanned = Replanned()
    yield replanned
    replanned.close()


def test_epochs_that_fail_while_plans_are_switched_are_done_again(
    crash_points, tmp_path, undisturbed, replanned
):
    seen = {}
    for epoch_before, (step, how) in enumerate(FAILURES):
        with prepare(tmp_path / "db", undisturbed.folder) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step, how=how):
                seen[epoch.number] = answers(db)
                # Every epoch ends the plans of the one before, and begins others.
                replanned.after(db, epoch.number)
                if epoch.number == armed_after:
                    arm(crash_points, step, how)

            with pytest.raises((StateError, Crash)):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
    with prepare(tmp_path / "db", undisturbed.folder) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        assert seen == undisturbed.seen
        assert found_in(db) == undisturbed.found
        plans = {query.name: db.sql(f"SHOW PLANS {query.name}").to_pylist() for query in db.queries()}
        for shown in plans.values():
            epochs = [row["first_epoch"] for row in shown if row["state"] in ("ended", "runs")]
            assert epochs == list(range(len(epochs)))
            assert len(epochs) == len(FAILURES) + 1
