"""All strategies of the paper's experiments give the same answers; only what they cost differs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from benchmarks.paper_queries import EXPERIMENTS, UNIT_US, Experiment, Way
from benchmarks.update_patterns import Running, measure
from panes.delta.consolidate import contents_at
from panes.testing import counted

WINDOW = 60
SPANS = 6


def answer_of(experiment: Experiment, way: Way):
    running = Running.of(experiment, way, WINDOW)
    tables = []
    for number in range(SPANS):
        first = number * 20
        links = experiment.traffic.links(list(running.dataflow.inputs), WINDOW, first, 20)
        tables.append(running.dataflow.process(links, first * UNIT_US, (first + 20) * UNIT_US).table)
    together = pa.concat_tables([table.select(tables[0].column_names) for table in tables])
    return counted(contents_at(together, SPANS * 20 * UNIT_US))


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_all_ways_give_the_same_answer(experiment: Experiment):
    first, *others = (answer_of(experiment, way) for way in experiment.ways)
    assert first
    assert all(other == first for other in others)


def test_a_measurement_counts_time_and_state():
    points = measure(EXPERIMENTS[0], EXPERIMENTS[0].ways[-1], WINDOW, [20, 40])
    assert [point.span for point in points] == [20, 40]
    assert all(point.ms_per_1000 > 0 for point in points)
    assert all(point.state_rows > 0 for point in points)
