"""How reads went lately: how long each took, and how old the state was that it saw."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import NamedTuple

import numpy as np

from panes.answers.answer import Answer
from panes.clock import Clock, to_microseconds

_KEPT = 10_000
"""The most reads that percentiles are taken of: the last ones."""


class Percentiles(NamedTuple):
    """The values, in seconds, that half of the reads, 95 % and 99 % of them did not exceed."""

    median: float
    p95: float
    p99: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Percentiles:
        return cls(*(float(value) for value in np.percentile(seconds, (50, 95, 99))))


@dataclass(frozen=True)
class ReadTimes:
    """The reads of one isolation level that were measured, and their times."""

    reads: int
    response_seconds: Percentiles
    """From the call to the answer."""
    staleness_seconds: Percentiles | None
    """`Answer.staleness`; None when no read saw an epoch."""


class _Read(NamedTuple):
    isolation: str
    response: float
    staleness: float | None


class MeasuredReads:
    """Measures reads, and remembers the last of them. For any number of threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reads: deque[_Read] = deque(maxlen=_KEPT)

    def measured(self, isolation: str, read: Callable[[], Answer]) -> Answer:
        """What a read gives, with its staleness."""
        began = self._clock.elapsed()
        answer = read()
        response = self._clock.elapsed() - began
        if answer.committed is None:
            self._reads.append(_Read(isolation, response, None))
            return answer
        # Wall clocks may be set back.
        age_us = max(0, self._clock.now_us() - to_microseconds(answer.committed))
        self._reads.append(_Read(isolation, response, age_us / 1e6))
        return replace(answer, staleness=timedelta(microseconds=age_us))

    def times(self) -> Mapping[str, ReadTimes]:
        """The times of the last reads, by isolation level."""
        reads = list(self._reads)
        return {
            isolation: _times([read for read in reads if read.isolation == isolation])
            for isolation in dict.fromkeys(read.isolation for read in reads)
        }


def _times(reads: Sequence[_Read]) -> ReadTimes:
    ages = [read.staleness for read in reads if read.staleness is not None]
    responses = Percentiles.of([read.response for read in reads])
    return ReadTimes(len(reads), responses, Percentiles.of(ages) if ages else None)
