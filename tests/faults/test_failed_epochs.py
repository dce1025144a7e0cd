"""An epoch that fails at any step leaves no trace: done again, it gives what an undisturbed run gives."""

from __future__ import annotations

import threading

import pytest

from panes.crash_points import STEPS, Crash, arm, release, was_reached
from panes.errors import PipelineError, StateError
from tests.faults.standing import EPOCHS, answers, found_in, prepare

PATIENCE_S = 120
"""How long to wait for what must come: far longer than it takes."""

FULL_DISK = (
    "during a write",
    "full",
    StateError,
    r"cannot write .*/db/\S+: No space left on device; .*run again",
)
FAILURES = [*((step, "raise", Crash, step) for step in STEPS), FULL_DISK]
"""What happens at which step, and what the user is told."""
SPARKS_FAILURES = [
    ("after segment", "raise", PipelineError, "after segment"),
    ("after segment", "kill", PipelineError, "a Python worker of Spark .* ended in the midst of an epoch"),
    ("before commit", "raise", Crash, "before commit"),
    FULL_DISK,
]
"""The same on Spark: in a task, in a worker that is killed, and in the driver."""


def test_epochs_that_fail_at_every_step_in_turn_are_done_again(crash_points, tmp_path, undisturbed):
    check_failures_leave_no_trace(FAILURES, None, crash_points, tmp_path, undisturbed)


def test_epochs_that_fail_on_spark_are_done_again(spark, crash_points, tmp_path, undisturbed):
    check_failures_leave_no_trace(SPARKS_FAILURES, spark, crash_points, tmp_path, undisturbed)


def check_failures_leave_no_trace(failures, spark, crash_points, tmp_path, undisturbed) -> None:
    expected, folder = undisturbed.seen, undisturbed.folder
    assert len(failures) < EPOCHS
    seen = {}
    # In every epoch but the first something happens, and the database is opened anew after it.
    for epoch_before, (step, how, error, told) in enumerate(failures):
        with prepare(tmp_path / "db", folder, spark) as db:

            def after_epoch(epoch, db=db, armed_after=epoch_before, step=step, how=how):
                seen[epoch.number] = answers(db)
                if epoch.number == armed_after:
                    arm(crash_points, step, how)

            with pytest.raises(error, match=told):
                db.run(on_epoch=after_epoch)
            assert was_reached(crash_points, step)
            # Until the epoch is done again, the one before it stands, or the whole of it.
            assert answers(db) in (expected[epoch_before], expected[epoch_before + 1]), (step, how)
    with prepare(tmp_path / "db", folder, spark) as db:
        db.run(on_epoch=lambda epoch: seen.update({epoch.number: answers(db)}))
        assert seen == expected
        assert found_in(db) == undisturbed.found


def test_stop_in_the_middle_of_an_epoch_lets_it_end(crash_points, tmp_path, undisturbed):
    expected = undisturbed.seen
    seen = {}
    with prepare(tmp_path / "db", undisturbed.folder) as db:

        def after_epoch(epoch):
            seen[epoch.number] = answers(db)
            if epoch.number == 0:
                arm(crash_points, "before manifest", "hold")

        db.start(on_epoch=after_epoch)
        wait_until(lambda: 0 in seen and was_reached(crash_points, "before manifest"))
        stopping = threading.Thread(target=db.stop)
        stopping.start()
        wait_until(lambda: not db.status().is_running)
        assert stopping.is_alive()
        assert seen.keys() == {0}
        release(crash_points, "before manifest")
        stopping.join(PATIENCE_S)
        assert not stopping.is_alive()
        # The epoch that was under way is in, and the next has not begun.
        assert seen == {0: expected[0], 1: expected[1]}
        assert answers(db) == expected[1]
        db.run(on_epoch=after_epoch)
        assert seen == expected
        assert found_in(db) == undisturbed.found


def test_states_behind_a_uri_give_the_same_answers_and_changes(tmp_path, undisturbed):
    with prepare(tmp_path / "db", undisturbed.folder, state=f"file://{tmp_path}/states") as db:
        db.run()
    with prepare(tmp_path / "db", undisturbed.folder) as db:
        assert found_in(db) == undisturbed.found
        assert not (db.path / "states").exists()


def wait_until(is_so) -> None:
    for _ in range(PATIENCE_S * 50):
        if is_so():
            return
        threading.Event().wait(0.02)
    pytest.fail("it never came to that")
