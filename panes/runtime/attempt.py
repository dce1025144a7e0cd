"""The contract between a task and the engine that runs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa


@dataclass(frozen=True)
class Attempt:
    """One attempt to run a task."""

    task: int
    """The number of the task among those of its level."""
    number: int
    """Differs between any two attempts of an epoch, so that they never write to the same file."""


class Task(Protocol):
    """The work of all tasks of one level of an epoch. It is data, so an engine can ship it to other machines."""

    def run(self, attempt: Attempt, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Takes the batches that are routed to the task and yields its messages.

        A task that is run twice writes the same states; only the files of the attempt whose messages count are
        read.
        """
        ...
