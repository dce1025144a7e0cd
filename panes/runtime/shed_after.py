"""How many rows the drop boxes of queries have shed by the end of an epoch."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from panes.operators.measures import Measures
from panes.stages.measure_log import StepPlace
from panes.stages.running_query import RunningQuery
from panes.state.storage.epoch_log import EpochRecord


def shed_after(
    queries: Sequence[RunningQuery],
    numbers: Mapping[str, int],
    before: EpochRecord,
    done: Mapping[StepPlace, Measures],
    failed: Container[int],
) -> dict[int, dict[int, int]]:
    """The rows that each query has shed since it began, by stream; nothing where there are none.

    `numbers` are those of the streams, by name; `done` is what the steps did in the epoch. Rows of a stream that a
    query reads twice count for each of the two boxes.
    """
    found: dict[int, dict[int, int]] = {}
    for query in queries:
        if not query.plan.shed_streams or query.id in failed or query.replaces is not None:
            continue  # one that replaces another sees what that has counted
        rows = dict(before.shed.get(query.query, {})) if query.first_epoch <= before.epoch else {}
        for place, measures in _boxes(query, done):
            number = numbers[place]
            rows[number] = rows.get(number, 0) + round(measures.rows_in - measures.positive)
        rows = {number: count for number, count in rows.items() if count}
        if rows:
            found[query.query] = rows
    return found


def _boxes(query: RunningQuery, done: Mapping[StepPlace, Measures]) -> list[tuple[str, Measures]]:
    """What each drop box of a query did, with its stream."""
    return [
        (source.stream, done[place])
        for number, stage in enumerate(query.plan.stages)
        for source in stage.inputs
        for step in source.fragment.steps
        if source.stream is not None
        and step.operator == "DropBox"
        and (place := StepPlace(query.id, number, source.name, step.name)) in done
    ]
