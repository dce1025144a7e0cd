"""The one Spark streaming query of a database: starting it, stopping it, and what went wrong in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from panes.clock import Clock
from panes.history.parts import stream_folder
from panes.history.store import History
from panes.pipeline.batch import union_streams
from panes.pipeline.epoch import EpochRunner, Workload
from panes.pipeline.failures import explained
from panes.pipeline.heartbeat import Heartbeat
from panes.pipeline.session import epoch_session, local_session
from panes.pipeline.sources import is_read_by_tasks, read_source
from panes.plan.stream import Stream
from panes.state.epochs import EpochLog, EpochRecord
from panes.state.locations import remove_tree

_COMMIT_POLL_S = 0.02
_COMMIT_POLLS = 500


class _Stopping(Exception):
    """Tells Spark that an epoch was not done, because the database is being stopped."""


class Engine:
    """Runs the epochs of a database directory. It starts Spark when it is first needed."""

    def __init__(self, folder: Path, log: EpochLog, clock: Clock, session: SparkSession | None) -> None:
        self._folder = folder
        self._log = log
        self._clock = clock
        self._callers_session = session
        self._session: SparkSession | None = None
        self._query: StreamingQuery | None = None
        self._runner: EpochRunner | None = None
        self._failure: BaseException | None = None
        self._epoch = threading.Lock()
        """Held while an epoch is under way, so that stop() leaves none half done."""
        self._is_stopping = False
        self._heartbeat: Heartbeat | None = None
        self._heartbeat_us = 0
        self.history = History(folder / "history", log)

    @property
    def is_running(self) -> bool:
        return self._query is not None and self._query.isActive

    def start(
        self,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord], Workload],
        after_commit: Callable[[EpochRecord], None],
        *,
        suspend: Callable[[Mapping[int, str]], None],
        heartbeat_s: float | None,
        epoch_bytes: int = 128_000_000,
    ) -> None:
        """Starts the streaming query over the base streams.

        With a heartbeat it runs until it is stopped; without one until the sources have nothing more to bring.
        An epoch takes in at most `epoch_bytes` of each source. `suspend` is told which queries failed, and why.
        """
        if self._session is None:
            self._session = epoch_session(self._callers_session or local_session())
        pushed = self._folder / "pushed"
        # Once for the whole run: what Spark reads and what tasks read must fit together.
        by_tasks = {stream.number for stream in streams if is_read_by_tasks(stream)}
        frames = [
            read_source(self._session, stream, pushed, epoch_bytes, by_tasks=stream.number in by_tasks)
            for stream in streams
        ]
        runner = self._runner = EpochRunner(
            self._folder,
            streams,
            by_tasks,
            workload,
            self._log,
            self.history,
            self._clock,
            after_commit,
            suspend,
        )
        self._failure = None
        self._is_stopping = False

        def run(batch: DataFrame, epoch: int) -> None:
            with self._epoch:
                if self._is_stopping:
                    raise _Stopping
                try:
                    runner.run(batch, epoch)
                except BaseException as error:
                    # Spark passes on only the text of what happens in here; keep the error itself.
                    self._failure = error
                    raise

        writer = (
            union_streams(frames)
            .writeStream.foreachBatch(run)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
        )
        if heartbeat_s is None:
            writer = writer.trigger(availableNow=True)
        self._query = writer.start()
        if heartbeat_s is not None:
            self._heartbeat_us = int(heartbeat_s * 1_000_000)
            self._heartbeat = Heartbeat(heartbeat_s, self.beat)

    def beat(self) -> None:
        """Moves the clock by an epoch of its own, if there was none for a heartbeat's time."""
        if not self._epoch.acquire(blocking=False):
            return
        try:
            last = self._log.latest()
            is_silent = last is not None and self._clock.now_us() - last.finished_us >= self._heartbeat_us
            if is_silent and not self._is_stopping and self._failure is None:
                assert self._runner is not None
                assert self._session is not None
                self._runner.beat(self._session)
        except BaseException as error:
            self._failure = error
        finally:
            self._epoch.release()

    def forget(self, stream: Stream) -> None:
        """Removes everything that a stream has left here: it was dropped."""
        self.history.forget(stream.number)
        for kept in ("pushed", "aside"):
            remove_tree(stream_folder(self._folder / kept, stream.number))

    def wait(self) -> None:
        """Returns when the streaming query has ended; raises what ended it."""
        if self._query is None:
            return
        try:
            self._query.awaitTermination()
        except PySparkException as error:
            raise self._explained(error) from error
        finally:
            self._query = None

    def catch_up(self) -> None:
        """After the streaming query has ended by itself: moves the clock to the last tuple's time."""
        assert self._runner is not None
        assert self._session is not None
        self._runner.catch_up(self._session)

    def stop(self) -> None:
        """Ends the streaming query after the epoch that is under way; raises what ended it before."""
        if self._query is None:
            return
        query, self._query = self._query, None
        self._is_stopping = True
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None
        with self._epoch:
            if self._failure is None:
                self._wait_for_commit(query)
        # Not under the lock: an epoch that is about to begin must be let in to be turned away.
        query.stop()
        if self._failure is not None:
            raise self._explained(self._failure) from self._failure

    def _wait_for_commit(self, query: StreamingQuery) -> None:
        """Lets Spark commit the epoch that has just ended; else it would do it again, to no harm and no use."""
        last = self._log.latest()
        if last is None or last.batch < 0:
            return
        committed = self._folder / "checkpoint" / "commits" / str(last.batch)
        for _ in range(_COMMIT_POLLS):
            if committed.exists() or not query.isActive:
                return
            time.sleep(_COMMIT_POLL_S)

    def check(self) -> None:
        """Raises what ended the streaming query, if something did."""
        if self._query is not None and not self._query.isActive:
            self.wait()
        if self._failure is not None and self._heartbeat is not None:
            self.stop()

    def _explained(self, error: BaseException) -> BaseException:
        last = self._log.latest()
        where = f"epoch {last.epoch} was the last that succeeded" if last else "none has succeeded yet"
        return explained(self._failure or error, where)
