"""The plans of registered queries, without epochs."""

from __future__ import annotations

import panes
from panes.sharing.group import Group
from panes.state.storage.epoch_log import EpochRecord
from panes.synopses.definition import panes_of

STREAM = "CREATE STREAM packets (ts BIGINT, src INT, bytes INT) TIMESTAMP BY ts SECONDS"
BEFORE = EpochRecord(epoch=-1, batch=-1, rows=0, seconds=0.0, finished_us=0)


def test_the_plan_of_a_synopsis_is_put_together_when_it_begins_and_when_it_grows_and_at_no_other_time(
    monkeypatch,
):
    made = []
    plan_of = Group.plan
    monkeypatch.setattr(Group, "plan", lambda group, form: made.append(form) or plan_of(group, form))
    with panes.connect() as db:
        db.sql(f"SET share_from = 1; {STREAM}")
        for seconds in range(1, 21):
            window = f"[RANGE {seconds} SECONDS SLIDE 1 SECOND]"
            db.register(f"SELECT src, count(*) AS n FROM packets {window} GROUP BY src")
        assert len(made) == 1, "registering asks for the plan of the first query alone"
        for _ in range(3):
            (running,) = db._running.workload(BEFORE, cores=2).queries
            assert panes_of(running.plan.plan) == 20
        assert len(made) == 2, "the first epoch lets the synopsis grow for all of them"
