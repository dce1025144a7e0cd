"""What the epochs of a database tell of facts: measured by tasks, added up by the driver."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from panes.aggregates.distinct_sketch import Registers
from panes.delta.delta import BEGINNING
from panes.operators.measures import Measures
from panes.optimizer.distinct_keys import DistinctKeys
from panes.optimizer.known_facts import KnownFacts, facts_after
from panes.optimizer.observed_facts import Observed, ObservedFacts
from panes.optimizer.statistics import EPOCH, FactName
from panes.plan.stream import Stream
from panes.runtime.job_plan import JobPlan
from panes.stages.clock_rule import ClockRule, Moved
from panes.stages.clock_rule import Measured as StreamMeasured
from panes.stages.exchange import BESIDE, SKETCH, Message
from panes.stages.measure_log import Measured, StepPlace
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord, StreamProgress

Invoked = Callable[[Iterable[str]], Mapping[str, tuple[float, int]]]
"""Gives, by the name of the fact, how many times queries were invoked since it was last asked, and how many
queries these are; it is told which facts are known, and leaves those out whose query is gone."""


class EpochFacts:
    """Remembers between epochs what it takes to observe the next one quickly."""

    def __init__(self) -> None:
        self.invoked: Invoked = lambda _: {}
        self._steps = ObservedFacts()
        self._keys = DistinctKeys()
        self._sketched: Mapping[int, FactName] = {}

    def sketched(self, plan: JobPlan) -> frozenset[int]:
        """The inputs of which the tasks of an epoch that begins are to sketch the keys, by number."""
        self._sketched = self._keys.chosen([route.source for route in plan.inputs])
        return frozenset(self._sketched)

    def after(
        self,
        known: KnownFacts,
        before: EpochRecord,
        rule: ClockRule,
        moved: Moved,
        queries: Sequence[RunningQuery],
        streams: Sequence[Stream],
        found: Sequence[StreamMeasured],
        messages: Sequence[Message],
        done: Mapping[StepPlace, Measures],
        measured: Measured,
    ) -> KnownFacts:
        """What is known after an epoch. `known` was before it; `done` is what steps did, `measured` what they had
        done before; `found` what tasks found of streams."""
        ran = {query.id: query.plan for query in queries if query.id in moved.spans}
        first = frozenset(query for query, span in moved.spans.items() if span.before < 0)
        observed = self._steps.of(ran, first, done, measured)
        seconds = _observe_streams(observed, before, moved, streams, found, is_end=rule.occasion == "end")
        names = [name.name for name in known if name.kind == "invocations"]
        for name, (times, invoked) in self.invoked(names).items():
            observed.add(FactName("invocations", name), times, seconds * invoked)
        for message in messages:
            if message.kind == BESIDE:
                for name, values in message.content.items():
                    observed.add_cost(name, Measures(*values))
        if before.rows:
            whole = Measures(rows_in=before.rows, cpu_us=before.seconds * 1e6, spans=1)
            observed.add_cost(EPOCH, whole)
        values = {name: sums.sums[0] for name, sums in known.items() if name.kind == "distinct"}
        distinct = self._keys.after(self._sketches(messages), values)
        return facts_after(known, observed, distinct, rule.epoch)

    def _sketches(self, messages: Sequence[Message]) -> Iterator[tuple[FactName, Registers, int]]:
        for message in messages:
            if message.kind == SKETCH:
                assert message.block is not None
                registers = np.frombuffer(message.block, np.uint8)
                yield self._sketched[message.content["input"]], registers, message.content["rows"]


def _observe_streams(
    observed: Observed,
    before: EpochRecord,
    moved: Moved,
    streams: Sequence[Stream],
    found: Sequence[StreamMeasured],
    *,
    is_end: bool,
) -> float:
    """The rates of streams, and how much event time the epoch took, which is returned."""
    lengths = []
    for stream in streams:
        old, new = before.streams.get(stream.number, StreamProgress()), moved.streams[stream.number]
        rows = new.rows - new.bad - (old.rows - old.bad)
        if old.clock > BEGINNING:
            seconds = (new.clock - old.clock) / 1e6
        else:
            seconds = _seconds([part for part in found if part.stream == stream.number])
        if rows or seconds:
            observed.add(FactName("rate", stream.name), rows, seconds)
            lengths.append(seconds)
    if lengths:
        # What moves the clock at the end of a run belongs to the epoch that brought the last rows.
        observed.add(FactName("span", EPOCH), max(lengths), 0.0 if is_end else 1.0)
    return max(lengths, default=0.0)


def _seconds(found: Sequence[StreamMeasured]) -> float:
    """How much event time lies between the first and the last row of a stream that begins."""
    least = [part.min_ts for part in found if part.min_ts is not None]
    greatest = [part.max_ts for part in found if part.max_ts is not None]
    return (max(greatest) - min(least)) / 1e6 if least and greatest else 0.0
