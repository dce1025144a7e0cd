"""Where queries stand after an epoch, from what its tasks report."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from panes.answers.output_delay import OutputDelay
from panes.delta.delta import FOREVER
from panes.runtime.operator_task import Report
from panes.runtime.refreshes_after import refreshes_after
from panes.sharing.refreshes import Probes
from panes.stages.clock_rule import Moved, Span
from panes.stages.exchange import Message
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord, QueryProgress


def queries_after(
    queries: Sequence[RunningQuery],
    messages: Sequence[Message],
    moved: Moved,
    before: EpochRecord,
    failed: Container[int],
    finished_us: int,
) -> dict[int, QueryProgress]:
    """Where each query stands after the epoch, which is committed at a wall time; those that failed in it stand
    nowhere."""
    reports = [Report(**message.content) for message in messages if message.kind == "report"]
    done = _done(reports, moved, {query.id: query for query in queries}, finished_us)
    after = {}
    for query in queries:
        if query.id not in failed:
            progress = done.get(query.id) or before.progress_of(query.id, query.query)
            assert progress is not None, f"plan {query.id} was never run"
            if query.id in done and query.members is not None and query.members.refreshes is not None:
                probes = [
                    Probes(*report.probed)
                    for report in reports
                    if report.query == query.id and report.probed is not None
                ]
                earlier = before.queries.get(query.query)
                progress = refreshes_after(progress, earlier, query.members.refreshes, probes)
            # Where nothing happened to it, its clock has come further all the same.
            after[query.known_as] = progress.moved_to(moved.clocks[query.id])
    return after


def _done(
    reports: Sequence[Report], moved: Moved, queries: Mapping[int, RunningQuery], finished_us: int
) -> dict[int, QueryProgress]:
    """What the epoch did to each query that it ran, over all its stages and shards."""
    delays: dict[int, OutputDelay] = {}
    progress: dict[int, QueryProgress] = {}
    last: dict[int, int] = {}
    for report in reports:
        last[report.query] = max(report.stage, last.get(report.query, 0))
    for report in reports:
        so_far = progress.get(report.query) or _begun(moved.spans[report.query], queries[report.query])
        is_answer = report.stage == last[report.query]
        delay = delays.get(report.query, OutputDelay()).with_other(OutputDelay(*report.delay))
        delays[report.query] = delay
        if is_answer and report.told is not None:
            since, clock = report.told
            so_far = replace(so_far, since=since, clock=clock, reached=moved.spans[report.query].clock)
        after_us = finished_us - moved.spans[report.query].clock
        progress[report.query] = replace(
            so_far,
            shards=so_far.shards + is_answer,
            changes=so_far.changes + report.changes * is_answer,
            bytes=so_far.bytes + report.bytes,
            segments=so_far.segments + report.segments,
            next_change=_earlier(so_far.next_change, report.next_change),
            delayed=delay.changes,
            delay_us=delay.mean_us(after_us),
            max_delay_us=delay.max_us(after_us),
        )
    return progress


def _earlier(one: int | None, other: int | None) -> int | None:
    """The earlier of two instants; None when one of them is not known."""
    return None if one is None or other is None else min(one, other)


def _begun(span: Span, query: RunningQuery) -> QueryProgress:
    return QueryProgress(
        0,
        0,
        0,
        0,
        epoch=span.epoch,
        before=span.before,
        since=span.since,
        clock=span.clock,
        spread=query.shards,
        spread_before=span.spread,
        answer=query.place_of(query.plan.last),
        next_change=FOREVER,
    )
