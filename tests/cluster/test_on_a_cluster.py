"""Databases on a standalone cluster whose machines have nothing in common but the network and the state location.

Executors, Python workers and machines are killed at random throughout, tasks run twice.
PANES_CLUSTER_KILLS=500 kills more often, and PANES_SEED draws other rows and other moments.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.cluster import asked
from tests.cluster.disturbing import Disturbing
from tests.cluster.driver import Driver
from tests.cluster.standalone import Cluster
from tests.cluster.workload import LATER, Workload

pytestmark = pytest.mark.spark

KILLS = int(os.environ.get("PANES_CLUSTER_KILLS", "20"))
SEED = int(os.environ.get("PANES_SEED", "1"))


def test_with_a_folder_that_all_machines_mount(tmp_path: Path) -> None:
    mounted = tmp_path / "mounted"
    mounted.mkdir()
    workload, random = Workload(Random(SEED), mounted / "in"), Random(SEED)
    with Cluster(tmp_path, mounted=[mounted], environ={}) as cluster:
        driver = cluster.driver("mounted/database", mounted / "state")
        workload.create(driver)
        kills = 0
        while kills < KILLS:
            workload.bring(driver)
            kills += run(cluster, driver, random)
            workload.check(driver)
        workload.register(driver, LATER)
        workload.check(driver)


def run(cluster: Cluster, driver: Driver, random: Random) -> int:
    """Takes in what there is while things are killed; gives how many."""
    with Disturbing(cluster, random) as disturbing:
        driver.do(asked.run)
    return disturbing.kills
