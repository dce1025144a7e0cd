"""The epochs of a database run in this process, without Spark and without Java."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from panes.clock import Clock
from panes.local.local_batch import LocalBatch
from panes.local.local_cluster import LocalCluster
from panes.local.local_sources import LocalSources
from panes.plan.stream import Stream
from panes.runtime.epoch_files import files_of_epoch
from panes.runtime.epoch_runner import EpochRunner
from panes.runtime.epoch_stores import EpochStores
from panes.runtime.explained_failure import explained_failure, last_success
from panes.runtime.uninterrupted import wait_for
from panes.runtime.workload import Workload
from panes.state.storage.epoch_log import EpochRecord

_POLL_S = 0.01
"""How long a background run waits before it looks for new files."""


class LocalEngine:
    """Runs epochs in a thread, over files and pushed rows.

    An epoch takes milliseconds and cannot be cut short: `stop` always waits for the one under way.
    """

    def __init__(self, stores: EpochStores, clock: Clock, cores: int = 2) -> None:
        self.stores = stores
        self._folder = stores.folder
        self._log = stores.log
        self._clock = clock
        self._cluster = LocalCluster(cores)
        self._runner: EpochRunner | None = None
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()
        self._stopping = threading.Event()
        self._failure: BaseException | None = None
        self._callers_failure: BaseException | None = None

    @property
    def is_running(self) -> bool:
        is_over = self._stopping.is_set() or self._ended.is_set() or self._failure is not None
        return self._thread is not None and not is_over

    def start(
        self,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord, int], Workload],
        after_commit: Callable[[EpochRecord], None],
        *,
        suspend: Callable[[Mapping[int, str]], None],
        heartbeat_s: float | None,
        epoch_bytes: int = 128_000_000,
    ) -> None:
        """Starts a thread that runs epochs: until it is stopped, or without a heartbeat until no file is left."""
        if self._thread is not None:
            self.stop(cut=True)
        sources = LocalSources(
            self._folder / "checkpoint", self.stores.pushed.listed, streams, epoch_bytes, self._clock
        )

        def told(record: EpochRecord) -> None:
            try:
                after_commit(record)
            except BaseException as error:
                error.add_note(
                    f"on_epoch raised this after epoch {record.epoch}, which is committed; the run ended with it"
                )
                self._failure = self._callers_failure = error
                self._stopping.set()

        runner = self._runner = EpochRunner(
            self.stores,
            streams,
            lambda before: workload(before, self._cluster.cores),
            self._clock,
            told,
            suspend,
        )
        self._failure = self._callers_failure = None
        self._ended, self._stopping = threading.Event(), threading.Event()
        self._thread = threading.Thread(
            target=self._run,
            args=[runner, sources, heartbeat_s, epoch_bytes],
            name="panes-epochs",
            daemon=True,
        )
        self._thread.start()

    def _run(
        self, runner: EpochRunner, sources: LocalSources, heartbeat_s: float | None, epoch_bytes: int
    ) -> None:
        try:
            while not self._stopping.is_set():
                number = sources.next_batch()
                if number is not None:
                    if self._run_epoch(runner, number, epoch_bytes):
                        sources.done(number)
                elif heartbeat_s is None:
                    return
                else:
                    self._beat(runner, heartbeat_s)
                    self._stopping.wait(_POLL_S)
        except BaseException as error:
            self._failure = error
        finally:
            self._ended.set()

    def _run_epoch(self, runner: EpochRunner, number: int, epoch_bytes: int) -> bool:
        """Runs one epoch; returns whether all of the batch is in."""

        def read(now_us: int, begun: Mapping[int, int] | None) -> LocalBatch:
            files = files_of_epoch(
                self._folder / "checkpoint",
                self.stores.pushed,
                runner.streams,
                number,
                now_us,
                begun,
                epoch_bytes,
            )
            return LocalBatch(number, files)

        return runner.run(self._cluster, number, read)

    def _beat(self, runner: EpochRunner, heartbeat_s: float) -> None:
        """Runs an epoch without rows where none was committed for a heartbeat, or where changes of tables wait."""
        last = self._log.latest()
        is_silent = last is not None and self._clock.now_us() - last.finished_us >= heartbeat_s * 1_000_000
        if is_silent or self.stores.has_changes:
            runner.beat(self._cluster)

    def wait(self) -> None:
        """Returns when the run has ended; raises what ended it."""
        if self._thread is None:
            return
        wait_for(self._ended)
        self._thread = None
        if self._failure is not None:
            raise self._explained(self._failure)

    def catch_up(self) -> None:
        """Moves the clocks to the time of the last tuple, after all files were taken in."""
        assert self._runner is not None
        try:
            self._runner.catch_up(self._cluster)
        except OSError as error:
            raise self._explained(error) from error
        if self._callers_failure is not None:
            raise self._callers_failure

    def stop(self, *, cut: bool = False) -> None:
        """Ends the run after the epoch under way; raises what ended it before, unless it is `cut`."""
        if self._thread is None:
            return
        self._stopping.set()
        wait_for(self._ended)
        self._thread = None
        if self._failure is not None and not cut:
            raise self._explained(self._failure)

    def check(self) -> None:
        """Raises what ended the background run, if something did, until it is stopped or started again."""
        if self._thread is not None and self._failure is not None:
            raise self._explained(self._failure)

    def _explained(self, error: BaseException) -> BaseException:
        is_callers = error is self._callers_failure
        return error if is_callers else explained_failure(error, last_success(self._log.latest()))

    def close(self) -> None:
        """Stops the run."""
        self.stop()
