"""The runs of a database: over what the sources hold now, and in the background."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

from rich.console import Console

from panes.clock import Clock
from panes.connection import Connection
from panes.errors import CatalogError, SourceError
from panes.progress_bar import progress_bar
from panes.refreshing import Refreshing
from panes.registered import Registered
from panes.run_report import RunReport, run_report
from panes.running_queries import RunningQueries
from panes.runtime.engine import Engine
from panes.runtime.files_left import files_left
from panes.runtime.workload import Workload
from panes.shedding import Shedding
from panes.standing_answers import StandingAnswers
from panes.state.storage.epoch_log import EpochRecord
from panes.status import Epoch, epoch_of
from panes.waits import waits

OnEpoch: TypeAlias = "Callable[[Epoch], None] | None"


class Runs:
    """Starts and ends the engine over the streams of the catalog, with the settings of the moment.

    At most one run is under way. While it is, readers leave room for its epochs.
    """

    def __init__(
        self,
        connection: Connection,
        engine: Engine,
        registered: Registered,
        running: RunningQueries,
        shedding: Shedding,
        refreshing: Refreshing,
        answers: StandingAnswers,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._catalog = connection.catalog
        self._engine = engine
        self._registered = registered
        self._running = running
        self._shedding = shedding
        self._refreshing = refreshing
        self._answers = answers
        self._clock = clock
        self._on_epoch: OnEpoch = None
        """What the run under way was given, for when it has to be started again."""

    def run(self, on_epoch: OnEpoch, progress: Console | bool | None) -> RunReport:
        """Takes in everything that the sources hold now; `Database.run` says what is promised."""
        self._check_stopped()
        before, failed = self._connection.log.latest(), self._failed()
        with progress_bar(progress, self._files_left, self._clock) as show:
            try:
                self._start(_each(show, on_epoch), in_background=False)
                self._engine.wait()
                self._engine.catch_up()
            except BaseException:
                self._engine.stop(cut=True)
                raise
            finally:
                self._answers.keep_pace(False)
        after = self._connection.log.latest()
        return run_report(before, after, self._catalog.base_streams(), failed, self._failed())

    async def run_async(self, on_epoch: OnEpoch, progress: Console | bool | None) -> RunReport:
        """The same as `run` in a thread. Cancelled, it ends after the epoch that is under way."""
        is_cancelled = threading.Event()

        def tell(epoch: Epoch) -> None:
            if on_epoch is not None:
                on_epoch(epoch)
            if is_cancelled.is_set():
                raise _Cancelled

        running = asyncio.ensure_future(asyncio.to_thread(self.run, tell, progress))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            is_cancelled.set()
            with suppress(_Cancelled):
                await asyncio.shield(running)
            raise

    def start(self, on_epoch: OnEpoch) -> None:
        """Starts a background run; `Database.start` says what is promised."""
        self._check_stopped()
        self._start(on_epoch, in_background=True)

    def stop(self) -> None:
        """Ends the background run after the epoch that is under way."""
        # Also when the directory is gone: a background run must end.
        self._connection.check_not_closed()
        self._connection.check_not_read_only()
        try:
            self._engine.stop()
        finally:
            self._answers.keep_pace(False)

    def change_streams(self, change: Callable[[], None]) -> None:
        """Changes the set of streams; a background run goes on with the new set, over the same checkpoint."""
        was_running = self._engine.is_running
        if was_running:
            self._engine.stop()
        try:
            change()
        finally:
            if was_running:
                self._start(self._on_epoch, in_background=True)

    def _start(self, on_epoch: OnEpoch, *, in_background: bool) -> None:
        streams = self._catalog.base_streams()
        if not streams:
            raise SourceError("there is no stream to run: CREATE STREAM … comes first")
        self._on_epoch = on_epoch

        def after_commit(record: EpochRecord) -> None:
            try:
                if on_epoch is not None:
                    on_epoch(epoch_of(record))
            finally:
                self._connection.after_epoch(record.epoch)
                if in_background:
                    self._shedding.after(record)

        self._shedding.begin(self._connection.log.latest(), is_live=in_background)
        self._refreshing.is_live = in_background
        heartbeat = waits(self._catalog.setting).heartbeat_s if in_background else None
        epoch_bytes = int(float(self._catalog.setting("epoch_megabytes")) * 1_000_000)
        self._engine.start(
            streams,
            self._workload,
            after_commit,
            suspend=self._registered.suspend,
            heartbeat_s=heartbeat,
            epoch_bytes=epoch_bytes,
        )
        self._answers.keep_pace(True)

    def _workload(self, before: EpochRecord, cores: int) -> Workload:
        """What to do in the epoch that follows."""
        self._connection.check_open()
        return self._running.workload(before, cores)

    def _failed(self) -> dict[str, str]:
        """The queries that are suspended, with the reason."""
        return {query.name: query.error for query in self._catalog.queries() if query.error is not None}

    def _files_left(self) -> int | None:
        return files_left(self._connection.path, self._catalog.base_streams())

    def _check_stopped(self) -> None:
        self._connection.check_writable()
        if self._engine.is_running:
            raise CatalogError("the database is running in the background; stop() it first")


class _Cancelled(Exception):
    """Ends a run after an epoch, because the task that waits for it was cancelled."""


def _each(*listeners: OnEpoch) -> Callable[[Epoch], None]:
    """Tells all listeners that there are."""

    def tell(epoch: Epoch) -> None:
        for listener in listeners:
            if listener is not None:
                listener(epoch)

    return tell
