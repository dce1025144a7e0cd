"""Databases on a standalone cluster whose machines have nothing in common but the network and the state location.

Executors, Python workers and machines are killed at random throughout, tasks run twice, and drivers come and go.
PANES_CLUSTER_KILLS=50 kills more often, and PANES_SEED draws other rows and other moments.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from random import Random
from threading import Event

import pytest

from panes.crash_points import arm, release, was_reached
from panes.errors import DriverReplaced, StateError
from tests.cluster import asked
from tests.cluster.disturbing import Disturbing
from tests.cluster.driver import Driver
from tests.cluster.network import HUB
from tests.cluster.object_store import ENVIRON, READY, uri
from tests.cluster.standalone import Cluster
from tests.cluster.workload import LATER, Workload

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("PANES_CLUSTER_KILLS", "4")) // 2
"""For each state location."""
KILLS_PER_RUN = max(1, KILLS // 6)
"""Each run may be disturbed so often: a killed executor costs a start of Java, and its tasks are done again."""
SEED = int(os.environ.get("PANES_SEED", "1"))
PORT = 5000
PATIENCE = 12_000
"""How many times it is looked whether something has happened."""


def test_with_a_state_location_that_all_machines_mount(tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    with Cluster(tmp_path, mounted=[mounted], environ={}) as cluster:
        live_through_it_all(cluster, mounted / "state", Workload(Random(SEED), mounted / "in"), tmp_path)


def test_with_an_object_store_and_nothing_mounted(tmp_path: Path) -> None:
    with Cluster(tmp_path, environ=ENVIRON) as cluster:
        cluster.start(
            sys.executable, "-m", "tests.cluster.object_store", HUB, str(PORT), "panes", until=READY
        )
        workload = Workload(Random(SEED + 1), files=None)
        live_through_it_all(cluster, uri(HUB, PORT, "panes", "state"), workload, tmp_path)
        # A folder that only the driver sees is found out before the first epoch.
        driver = cluster.driver("alone", tmp_path / "state of the driver")
        driver.do(asked.sql, "CREATE STREAM s (x BIGINT)")
        with pytest.raises(StateError, match=r"executor on worker.* cannot use the state location"):
            driver.do(asked.run)


def live_through_it_all(cluster: Cluster, state: Path | str, workload: Workload, folder: Path) -> None:
    random = Random(SEED)
    points = folder / "points"
    points.mkdir()
    first = cluster.driver("first", state)
    workload.create(first)
    kills = 0
    for _ in range(2):
        workload.bring(first)
        kills += run(cluster, first, random)
        workload.check(first)
    # The machine of the driver fails in the middle of an epoch. Another one has nothing but the state location.
    workload.bring(first)
    first.ask(asked.run)
    Event().wait(random.uniform(0.2, 1.5))
    first.kill()
    second = cluster.driver("second", state, PANES_CRASH_POINTS=str(points))
    kills += run(cluster, second, random)
    workload.check(second)
    # A driver that only seems to be gone comes back when another one has taken over, and was about to commit.
    workload.bring(second)
    arm(points, "before commit", "hold")
    second.ask(asked.run)
    wait_for(points, "before commit")
    second.pause()
    third = cluster.driver("third", state)
    kills += run(cluster, third, random)
    workload.check(third)
    second.go_on()
    release(points, "before commit")
    with pytest.raises(DriverReplaced, match="another driver"):
        second.answer()
    second.kill()
    workload.check(third)
    while kills < KILLS:
        workload.bring(third)
        kills += run(cluster, third, random)
        workload.check(third)
    workload.register(third, LATER)
    workload.check(third)
    third.kill()


def run(cluster: Cluster, driver: Driver, random: Random) -> int:
    """Takes in what there is while things are killed; gives how many."""
    with Disturbing(cluster, random, KILLS_PER_RUN) as disturbing:
        driver.do(asked.run)
    return disturbing.kills


def wait_for(points: Path, step: str) -> None:
    for _ in range(PATIENCE):
        if was_reached(points, step):
            return
        Event().wait(0.05)
    pytest.fail(f"{step!r} was never reached")
