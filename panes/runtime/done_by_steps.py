"""What tasks report of the steps they ran, added up over tasks and shards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from panes.operators.measures import Measures
from panes.runtime.job_plan import InputPlace
from panes.runtime.operator_task import Report
from panes.stages.exchange import INPUT_STEPS, Message
from panes.stages.measure_log import StepPlace


def done_by_steps(
    messages: Sequence[Message], readers: Sequence[Sequence[InputPlace]]
) -> dict[StepPlace, Measures]:
    """What each step did in an epoch; `readers` says by whom each input is read.

    An input that several queries share is computed once, and counts for each of them.
    """
    done: dict[StepPlace, Measures] = {}
    for place, values in _reported(messages, readers):
        done[place] = done.get(place, Measures()) + Measures(*values)
    return done


def _reported(
    messages: Sequence[Message], readers: Sequence[Sequence[InputPlace]]
) -> Iterator[tuple[StepPlace, Sequence[int]]]:
    for message in messages:
        if message.kind == "report":
            report = Report(**message.content)
            for step, values in report.steps.items():
                yield StepPlace(report.query, report.stage, "", step), values
            for number, steps in report.inputs.items():
                yield from _of_input(readers[int(number)], steps)
        elif message.kind == INPUT_STEPS:
            yield from _of_input(readers[message.content["input"]], message.content["steps"])


def _of_input(
    readers: Sequence[InputPlace], steps: Mapping[str, Sequence[int]]
) -> Iterator[tuple[StepPlace, Sequence[int]]]:
    for place in readers:
        for step, values in steps.items():
            yield StepPlace(place.query, place.stage, place.input, step), values
