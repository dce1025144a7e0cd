"""The one Spark streaming query of a database: starting it, stopping it, and what went wrong in it."""

from __future__ import annotations

import functools
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from panes.clock import Clock
from panes.errors import PanesError, PipelineError
from panes.ingest.file_sources import listed_place
from panes.plan.stream import Stream
from panes.runtime.batch_files import source_name
from panes.runtime.epoch_files import files_of_epoch
from panes.runtime.epoch_runner import EpochRunner
from panes.runtime.epoch_stores import EpochStores
from panes.runtime.explained_failure import last_success
from panes.runtime.heartbeat import Heartbeat
from panes.runtime.uninterrupted import uninterrupted, wait_for
from panes.runtime.workload import Workload
from panes.spark.broadcasts import Broadcasts
from panes.spark.reachable import check_reachable
from panes.spark.session import (
    epoch_session,
    is_spark_lost,
    local_session,
    runs_here,
    set_epoch_conf,
    why_spark_was_lost,
)
from panes.spark.sources import read_source
from panes.spark.spark_batch import SparkBatch
from panes.spark.spark_cluster import SparkCluster
from panes.spark.spark_failures import SPARK_ERRORS, spark_failure
from panes.spark.union_streams import union_streams
from panes.state.storage.epoch_log import EpochRecord
from panes.state.storage.move_logs import move_logs

_POLL_S = 0.02
_COMMIT_POLLS = 500


class _TurnedAway(Exception):
    """Tells Spark that an epoch was not done, because the streaming query is being stopped.

    Spark reads the text: this is how an interruption of a call from Python to Java looks. In a query that was told
    to stop, Spark takes it for the end of the query, and neither commits the micro-batch nor logs an error.
    """

    def __init__(self) -> None:
        super().__init__(
            "py4j.protocol.Py4JJavaError: An error occurred while calling foreachBatch: "
            "java.lang.InterruptedException"
        )


def _is_no_news(record: logging.LogRecord) -> bool:
    """Whether a message of Py4J's log is one of those that tell of an epoch that was turned away."""
    return record.exc_info is not None and isinstance(record.exc_info[1], _TurnedAway)


logging.getLogger("py4j.clientserver").addFilter(lambda record: not _is_no_news(record))


class SparkEngine:
    """Runs the epochs of a database directory. It starts Spark when it is first needed.

    All calls into Spark are made by threads of ours, never by the main thread, which Ctrl-C may interrupt.
    """

    def __init__(self, stores: EpochStores, clock: Clock, session: SparkSession | None) -> None:
        """`session` None: one is started when it is first needed."""
        self.stores = stores
        self._folder = stores.folder
        self._log = stores.log
        self._clock = clock
        self._callers_session = session
        self._session: SparkSession | None = None
        self._query: StreamingQuery | None = None
        self._ended = threading.Event()
        """Set when the streaming query has ended, in any way; every run has its own."""
        self._runner: EpochRunner | None = None
        self._failure: BaseException | None = None
        self._callers_failure: BaseException | None = None
        """What the caller's own function raised after an epoch."""
        self._epoch = threading.Lock()
        """Held while an epoch is under way, so that stop() leaves none half done."""
        self._is_stopping = False
        self._is_cut = False
        """Whether the epoch under way is not waited for: whatever becomes of it is no failure."""
        self._heartbeat: Heartbeat | None = None
        self._heartbeat_us = 0
        self._epoch_bytes = 0
        self._broadcasts = Broadcasts()

    @property
    def is_running(self) -> bool:
        is_over = self._is_stopping or self._ended.is_set() or self._failure is not None
        return self._query is not None and not is_over

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
        """Starts the streaming query over the base streams.

        With a heartbeat it runs until it is stopped; without one until the sources have nothing more to bring.
        An epoch takes in at most `epoch_bytes` of each source. `workload` is given the record of the epoch before
        and the number of the cluster's cores, which is that of the first epoch for the whole run. `suspend` is
        told which queries failed, and why.
        """
        if self._query is not None:
            self.stop(cut=True)  # what is left of a run that has failed, or whose end was interrupted
        session = self._spark()
        if not runs_here(session):
            self._in_spark(lambda: check_reachable(session, self.stores.home, streams))
        pushed = self.stores.pushed.listed
        places = {source_name(stream): listed_place(stream, pushed) for stream in streams}
        move_logs(
            self._folder / "checkpoint",
            {source: place for source, place in places.items() if place is not None},
        )
        runner = self._runner = self._new_runner(streams, workload, after_commit, suspend)

        def read() -> dict[int, DataFrame]:
            return {
                place: read_source(session, stream, self.stores.pushed.listed, epoch_bytes)
                for place, stream in enumerate(streams)
            }

        self._epoch_bytes = epoch_bytes
        self._failure = self._callers_failure = None
        self._is_stopping = self._is_cut = False
        self._ended = threading.Event()
        try:
            self._in_spark(lambda: self._begin(read(), runner, is_endless=heartbeat_s is not None))
        except BaseException:
            self.stop(cut=True)
            raise
        if heartbeat_s is not None:
            self._heartbeat_us = int(heartbeat_s * 1_000_000)
            self._heartbeat = Heartbeat(heartbeat_s, self.beat)

    def _new_runner(
        self,
        streams: Sequence[Stream],
        workload: Callable[[EpochRecord, int], Workload],
        after_commit: Callable[[EpochRecord], None],
        suspend: Callable[[Mapping[int, str]], None],
    ) -> EpochRunner:
        def told(record: EpochRecord) -> None:
            try:
                after_commit(record)
            except BaseException as error:
                self._end_after(record.epoch, error)

        cores = functools.cache(self._cores)

        return EpochRunner(
            self.stores,
            streams,
            lambda before: workload(before, cores()),
            self._clock,
            told,
            suspend,
        )

    def _cores(self) -> int:
        """The cores that Spark has, as it counts them."""
        assert self._session is not None
        return int(self._session.sparkContext.defaultParallelism)

    def _end_after(self, epoch: int, error: BaseException) -> None:
        """Ends the run because the caller's own function has raised. The epoch is committed, for Spark too."""
        error.add_note(f"on_epoch raised this after epoch {epoch}, which is committed; the run ended with it")
        self._failure = self._callers_failure = error
        self._is_stopping = True
        query = self._query
        if query is not None:

            def end() -> None:
                with suppress(*SPARK_ERRORS):
                    self._end(query)

            # By another thread: Spark commits the epoch when this one has returned.
            threading.Thread(target=end, name="panes-end", daemon=True).start()

    def _begin(self, frames: Mapping[int, DataFrame], runner: EpochRunner, *, is_endless: bool) -> None:
        started = threading.Event()

        def run(batch: DataFrame, epoch: int) -> None:
            started.wait()
            if not self._run(runner, batch, epoch):
                self._turn_away()

        writer = (
            union_streams(frames)
            .writeStream.foreachBatch(run)
            .option("checkpointLocation", str(self._folder / "checkpoint"))
        )
        if not is_endless:
            writer = writer.trigger(availableNow=True)
        query = self._query = writer.start()
        watching = threading.Thread(
            target=self._watch, args=[query, self._ended], name="panes-watch", daemon=True
        )
        watching.start()
        started.set()

    def _run(self, runner: EpochRunner, batch: DataFrame, epoch: int) -> bool:
        """Runs the epochs of a micro-batch; False when it was not done, because the streaming query is being
        stopped."""
        is_done = False
        while not is_done:
            # Other threads may stop the query between two epochs of one micro-batch: the next run goes on there.
            with self._epoch:
                if self._is_stopping:
                    return False
                try:
                    is_done = self._run_epoch(runner, batch, epoch)
                except BaseException as error:
                    if self._is_cut:
                        return False
                    # Spark passes on only the text of what happens in here; keep the error itself.
                    self._failure = error
                    raise
        return True

    def _run_epoch(self, runner: EpochRunner, batch: DataFrame, number: int) -> bool:
        """Runs one epoch; returns whether all of the micro-batch is in."""
        set_epoch_conf(batch.sparkSession)

        def read(now_us: int, begun: Mapping[int, int] | None) -> SparkBatch:
            files = files_of_epoch(
                self._folder / "checkpoint",
                self.stores.pushed,
                runner.streams,
                number,
                now_us,
                begun,
                self._epoch_bytes,
            )
            return SparkBatch(number, batch, files)

        return runner.run(self._cluster(batch.sparkSession), number, read)

    def _cluster(self, session: SparkSession) -> SparkCluster:
        return SparkCluster(session, self._broadcasts)

    def _turn_away(self) -> None:
        """Raises what makes Spark leave a micro-batch undone; it must have been told to stop by then."""
        query = self._query
        while query is not None and query.isActive:
            time.sleep(_POLL_S)
        raise _TurnedAway

    def _watch(self, query: StreamingQuery, ended: threading.Event) -> None:
        """Waits for the end of the streaming query."""
        try:
            query.awaitTermination()
        except BaseException as error:
            if ended is self._ended and not self._is_cut and self._failure is None:
                self._failure = error
        finally:
            ended.set()

    def beat(self) -> None:
        """Moves the clock by an epoch of its own, if there was none for a heartbeat's time, and applies changes of
        tables that wait."""
        if not self._epoch.acquire(blocking=False):
            return
        try:
            last = self._log.latest()
            is_silent = last is not None and self._clock.now_us() - last.finished_us >= self._heartbeat_us
            if (is_silent or self.stores.has_changes) and not self._is_stopping and self._failure is None:
                assert self._runner is not None
                assert self._session is not None
                self._runner.beat(self._cluster(self._session))
        except BaseException as error:
            self._failure = error
        finally:
            self._epoch.release()

    def wait(self) -> None:
        """Returns when the streaming query has ended; raises what ended it."""
        if self._query is None:
            return
        wait_for(self._ended)
        self._query = None
        if self._failure is not None:
            raise self._explained(self._failure) from None

    def catch_up(self) -> None:
        """After the streaming query has ended by itself: moves the clock to the last tuple's time."""
        runner, session = self._runner, self._session
        assert runner is not None
        assert session is not None
        self._in_spark(lambda: runner.catch_up(self._cluster(session)))
        if self._callers_failure is not None:
            raise self._callers_failure

    def stop(self, *, cut: bool = False) -> None:
        """Ends the streaming query after the epoch that is under way; raises what ended it before.

        With `cut`, or on Ctrl-C, the epoch under way is not waited for: it is given up, and the next run does it
        again. Then nothing is raised.
        """
        query = self._query
        if query is None:
            return
        self._is_stopping = True
        if cut:
            self._cut()
        if self._heartbeat is not None:
            self._heartbeat.stop()
            self._heartbeat = None
        try:
            self._in_spark(lambda: self._end(query), when_interrupted=self._cut)
        except PanesError:
            if not cut and self._failure is None:
                raise
        finally:
            if self._ended.is_set():
                self._query = None
        if self._failure is not None and not cut:
            raise self._explained(self._failure) from None

    def _end(self, query: StreamingQuery) -> None:
        with self._epoch:
            if self._failure is self._callers_failure:
                self._wait_for_commit(query)
        # Not under the lock: an epoch that is about to begin must be let in to be turned away.
        query.stop()
        self._ended.wait()

    def _cut(self) -> None:
        """Gives up the epoch that is under way. Somebody else waits for the end of the query."""
        self._is_stopping = self._is_cut = True
        query = self._query
        if query is not None:

            def stop() -> None:
                with suppress(*SPARK_ERRORS):
                    query.stop()

            threading.Thread(target=stop, name="panes-cut", daemon=True).start()

    def close(self) -> None:
        """Stops, and lets go of what it holds in Spark; the session stays."""
        try:
            self.stop()
        finally:
            self._broadcasts.close()

    def _wait_for_commit(self, query: StreamingQuery) -> None:
        """Lets Spark commit the epoch that has just ended; else it would do it again, to no harm and no use."""
        last = self._log.latest()
        if last is None or last.batch < 0:
            return
        committed = self._folder / "checkpoint" / "commits" / str(last.batch)
        for _ in range(_COMMIT_POLLS):
            if committed.exists() or not query.isActive:
                return
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Raises what ended the background run, if something did, until it is stopped or started anew."""
        if self._query is None or self._failure is None:
            return
        if self._is_stopping and self._callers_failure is None:
            return
        raise self._explained(self._failure) from None

    def _spark(self) -> SparkSession:
        """The session that epochs run in."""
        given = self._callers_session
        if given is not None and uninterrupted(lambda: is_spark_lost(given)):
            raise PipelineError(
                "the Spark session that was given to connect(spark=…) was stopped, or its Java process has ended; "
                "connect again with a session that runs, or without one: nothing is lost"
            )
        session = self._session
        if session is not None and not uninterrupted(functools.partial(is_spark_lost, session)):
            return session
        base = given or local_session()
        self._session = uninterrupted(lambda: epoch_session(base))
        return self._session

    def _in_spark(
        self, call: Callable[[], None], when_interrupted: Callable[[], None] = lambda: None
    ) -> None:
        """Makes a call that talks to Spark; its errors come as ours."""
        try:
            uninterrupted(call, when_interrupted)
        except Exception as error:
            raise self._explained(error) from None

    def _explained(self, error: BaseException) -> BaseException:
        if error is self._callers_failure:
            return error
        where = last_success(self._log.latest())
        session = self._session
        if session is not None and not isinstance(error, PanesError) and is_spark_lost(session):
            return PipelineError(
                f"the Java process that Spark runs in has ended ({where}), as when it is "
                f"killed or out of memory{why_spark_was_lost()}; nothing is lost: run again, and Spark is "
                "started again"
            )
        return spark_failure(error, where, self._folder)
