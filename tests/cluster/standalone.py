"""A standalone cluster of Spark: a master, and workers on machines of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from random import Random
from types import TracebackType

import pyspark

import panes
from panes.java import find_java
from tests.cluster.driver import Driver
from tests.cluster.machine import Machine
from tests.cluster.network import HUB, Network, end
from tests.java_classes import java_options

MASTER = f"spark://{HUB}:7077"
_PACKAGE = "/opt/panes"
"""Where the workers have the package: a real cluster has it installed."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
_EXECUTOR = "CoarseGrainedExecutorBackend"
_PYTHON = "panes.spark.daemon"
"""What their command lines have in common."""
_LOOK_S, _LOOKS = 0.05, 4_000
"""How often it is looked whether a program is up, and how many times."""

CONF = {
    "spark.master": MASTER,
    "spark.driver.host": HUB,
    "spark.driver.bindAddress": HUB,
    "spark.driver.memory": "1g",
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.cores.max": "3",
    # A second attempt of every task that takes a little longer than the others.
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.interval": "50ms",
    "spark.speculation.minTaskRuntime": "50ms",
    # Executors are killed more often than Spark expects of a cluster that can be mended.
    "spark.task.maxFailures": "50",
    "spark.stage.maxConsecutiveAttempts": "50",
}


class Cluster:
    """The master and the workers, each with one executor per driver.

    A worker sees Python, Java and the package, its own /tmp, and the folders of `mounted`, which it can write to.
    """

    def __init__(
        self, folder: Path, *, workers: int = 3, mounted: Sequence[Path] = (), environ: Mapping[str, str]
    ) -> None:
        """`environ` is what all machines have in their environment, beside what Spark needs."""
        self._folder = folder
        self._environ = _environ() | environ
        self._mounted = mounted
        self._opened = ExitStack()
        self._workers: list[Machine] = []
        self._programs = 0
        try:
            self.network = Network()
            self._opened.callback(self.network.close)
            self._opened.callback(self._off)
            master = _spark_class("deploy.master.Master", "--host", HUB, "--port", "7077")
            self.start(
                *master, until="elected leader", SPARK_MASTER_OPTS="-Dspark.deploy.maxExecutorRetries=-1"
            )
            for number in range(workers):
                self._workers.append(self._new_worker(number))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def driver(self, name: str, state: Path | str, **environ: str) -> Driver:
        """A new driver, with an empty folder of its own."""
        driver = Driver(
            self.network,
            self._folder / name,
            state,
            CONF,
            self._environ | environ,
            self._folder / f"{name}.log",
        )
        self._opened.callback(driver.kill)
        return driver

    def start(self, *command: str, until: str, **environ: str) -> None:
        """Starts a program that runs in the network as long as the cluster does.

        It is up when it has printed the words of `until`.
        """
        log = self._folder / f"{self._programs}.log"
        self._programs += 1
        with log.open("ab") as told:
            process = subprocess.Popen(
                self.network.inside(*command),
                env=self._environ | environ,
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=told,
            )
        self._opened.callback(end, process)
        for _ in range(_LOOKS):
            if until in log.read_text():
                return
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
                break
        raise OSError(f"{command} did not start: {log.read_text()[-3000:]}")

    def disturb(self, random: Random) -> bool:
        """Kills an executor, the Python processes of one, or a whole worker, which is started again.

        Only executors that have begun to work are disturbed, and one of them is left alone, so that something is
        done between two kills, however slow the machine is. Gives whether something was killed.
        """
        working = [number for number, worker in enumerate(self._workers) if worker.processes(_PYTHON)]
        if len(working) < 2:
            return False
        number = random.choice(working)
        worker = self._workers[number]
        what = random.choices([_EXECUTOR, _PYTHON, "worker"], [4, 5, 1])[0]
        if what == "worker":
            worker.off()
            self._workers[number] = self._new_worker(number)
            return True
        return _kill(worker.processes(what))

    def close(self) -> None:
        self._opened.close()

    def _off(self) -> None:
        for worker in self._workers:
            worker.off()

    def _new_worker(self, number: int) -> Machine:
        address = f"10.77.0.{11 + number}"
        place = ["--host", address, "--port", "7078", "--work-dir", "/tmp/work"]
        size = ["--cores", "2", "--memory", "2g"]
        return Machine(
            self.network,
            f"worker{number}",
            address,
            [*_installed(), *(f"{folder}={folder}:rw" for folder in self._mounted)],
            _spark_class("deploy.worker.Worker", *place, *size, MASTER),
            environ=self._environ | {"PYTHONPATH": _PACKAGE, "SPARK_LOCAL_IP": address},
            root=self._folder / f"worker{number}",
            log=self._folder / f"worker{number}.log",
        )


def _kill(processes: Sequence[int]) -> bool:
    for pid in processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return bool(processes)


def _spark_class(name: str, *options: str) -> list[str]:
    return [str(_spark_home() / "bin" / "spark-class"), f"org.apache.spark.{name}", *options]


def _spark_home() -> Path:
    return Path(pyspark.__file__).parent


def _installed() -> list[str]:
    """What a machine has before Panes comes: its system, Java, Python with the packages, and `panes`."""
    system = [
        str(path) for path in map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")) if path.exists()
    ]
    found = [*system, str(find_java().home), sys.base_prefix, sys.prefix]
    beyond = [place for place in dict.fromkeys(found) if place in system or not place.startswith("/usr/")]
    return [*beyond, f"{Path(panes.__file__).parent}={_PACKAGE}/panes"]


def _environ() -> dict[str, str]:
    """What every process of the cluster is told; nothing else of this environment reaches it."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": "/tmp",
        "JAVA_HOME": str(find_java().home),
        "JDK_JAVA_OPTIONS": f"{java_options()} -XX:-UsePerfData",
        "SPARK_HOME": str(_spark_home()),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_LOCAL_IP": HUB,
        "PYSPARK_PYTHON": sys.executable,
    }
