"""Epochs that fail while they redistribute states are done again, from the same old shards."""

from __future__ import annotations

import pytest

from panes.crash_points import STEPS, Crash, arm, was_reached
from panes.errors import StateError
from tests.faults.standing import answers, found_in, prepare

FAILURES = [*((step, "raise") for step in STEPS), ("during a write", "full")]
NUMBERS = [5, 2, 3, 1, 4, 2, 5, 3]
"""The shards after each epoch."""


def test_epochs_that_fail_while_states_are_redistributed_are_done_again(crash_points, tmp_path, undisturbed):
    assert len(NUMBERS) == len(FAILURES)
    seen = {}
    for epoch_before, (step, how) in enumerate(FAILURES):
        with prepare(tmp_path / "db", undisturbed.folder) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step, how=how):
                seen[epoch.number] = answers(db)
                if epoch.number == armed_after:
                    spread(db, NUMBERS[armed_after])
                    arm(crash_points, step, how)

            with pytest.raises((StateError, Crash)):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
            # Another number before the epoch is done again: the state is still that of the epoch before it.
            if epoch_before % 2:
                spread(db, NUMBERS[epoch_before] + 1)
    with prepare(tmp_path / "db", undisturbed.folder) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        assert seen == undisturbed.seen
        assert found_in(db) == undisturbed.found


def spread(db, shards):
    for query in db.queries():
        db.sql(f"ALTER QUERY {query.name} SET shards = {shards}")
