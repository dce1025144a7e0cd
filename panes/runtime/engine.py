"""What a database needs of the engine that runs its epochs, and epochs of the place where their tasks run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from panes.plan.stream import Stream
from panes.runtime.arrivals import Arrivals
from panes.runtime.epoch_job import EpochJob
from panes.runtime.epoch_stores import EpochStores
from panes.runtime.task_plans import SentPlans, TaskPlans
from panes.runtime.workload import Workload
from panes.stages.exchange import Message
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord


class Cluster(Protocol):
    """Where the tasks of an epoch run."""

    @property
    def cores(self) -> int:
        """The number of tasks that can run at the same time."""
        ...

    @property
    def is_one_machine(self) -> bool:
        """Whether all tasks see the files of the driver's machine."""
        ...

    def with_indexes(self, queries: Sequence[RunningQuery]) -> list[RunningQuery]:
        """Returns the queries with their indexes in the form in which tasks get them."""
        ...

    def sent(self, plans: TaskPlans) -> SentPlans:
        """Returns the plans in the form in which tasks get them."""
        ...

    def run(self, job: EpochJob) -> list[Message]:
        """Runs all tasks of an epoch and returns the messages of the last level."""
        ...


class Batch(Protocol):
    """The rows that the sources gave to one epoch. An epoch that is done again gets the same rows."""

    @property
    def number(self) -> int: ...

    @property
    def is_last(self) -> bool:
        """Whether nothing of what the sources planned together is left for another epoch."""
        ...

    @property
    def begun(self) -> Mapping[int, int]:
        """Of streams whose files are taken in by name: how many of them are in after this epoch."""
        ...

    def arrivals(self, streams: Sequence[Stream], *, keeps_files: bool) -> Arrivals:
        """Returns the rows by stream. With `keeps_files` a file of a source may serve as its history."""
        ...

    def without_unreadable(self, streams: Sequence[Stream], error: Exception) -> Batch | None:
        """Returns the batch without the files that made the epoch fail; None if no file was the reason."""
        ...


class Engine(Protocol):
    """Brings the rows of the sources to epochs, one epoch after another."""

    @property
    def stores(self) -> EpochStores: ...

    @property
    def is_running(self) -> bool: ...

    def start(
        self,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord, int], Workload],
        after_commit: Callable[[EpochRecord], None],
        *,
        suspend: Callable[[Mapping[int, str]], None],
        heartbeat_s: float | None,
        epoch_bytes: int = ...,
    ) -> None:
        """Starts to run epochs over the base streams.

        With a heartbeat it runs until it is stopped; without one until the sources have nothing more to bring.
        An epoch takes in at most `epoch_bytes` of each source. `workload` is given the record of the epoch before
        and the number of cores. `suspend` is told which queries failed, and why.
        """
        ...

    def wait(self) -> None:
        """Returns when the run has ended; raises what ended it."""
        ...

    def catch_up(self) -> None:
        """Moves the clocks to the time of the last tuple, after a run that has ended because nothing was left."""
        ...

    def stop(self, *, cut: bool = False) -> None:
        """Ends the run after the epoch under way; raises what ended it before.

        With `cut` the epoch under way may be given up, and nothing is raised.
        """
        ...

    def check(self) -> None:
        """Raises what ended the background run, if something did, until it is stopped or started again."""
        ...

    def close(self) -> None:
        """Stops, and releases what the engine holds."""
        ...
