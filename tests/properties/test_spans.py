"""Where time is cut into spans, and where a dataflow is restarted, changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from panes.operators.dataflow import Dataflow
from panes.state.buffers.chunk import Chunk
from panes.testing import same_rows
from tests.properties.drawn import Case, Cases, drawn
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, changes_until, outputs

WAYS = (UPA, UPA_FEW_EARLY, NT)


def changes_with(case: Case, clocks: Sequence[int]) -> pa.Table:
    """All that happens when time is cut at these clocks."""
    dataflow = case.way.lower(case.plan, changes="instant")
    return changes_until(list(outputs(dataflow, case.arrivals.with_clocks(clocks))), clocks[-1])


@drawn(Cases(ways=WAYS), share=0.13)
def test_cutting_a_span_changes_nothing_that_happens(case: Case) -> None:
    clocks = case.arrivals.clocks
    difference = same_rows(changes_with(case, clocks), changes_with(case, clocks[-1:]))
    assert difference is None, difference


@drawn(Cases(deepest=2, most_rows=12, most_clocks=1, ways=WAYS), share=0.03)
def test_span_gives_what_its_instants_give_one_by_one(case: Case) -> None:
    last = case.arrivals.clocks[-1]
    difference = same_rows(changes_with(case, [last]), changes_with(case, range(1, last + 1)))
    assert difference is None, difference


@drawn(Cases(ways=WAYS), share=0.06)
def test_dataflow_restored_from_its_chunks_goes_on_the_same(case: Case) -> None:
    going_on, restarted = case.way.lower(case.plan), case.way.lower(case.plan)
    for came, since, clock in case.arrivals.spans():
        rows = {name: came[name] for name in going_on.inputs}
        one = going_on.process(rows, since, clock)
        other = restarted.process(rows, since, clock)
        difference = same_rows(one.table, other.table.select(one.table.column_names))
        assert difference is None, f"at {clock}: {difference}"
        restarted = _restored(case.way.lower(case.plan), restarted)


def _restored(new: Dataflow, old: Dataflow) -> Dataflow:
    """A new dataflow over copies of the chunks, as if they had been written to files and read."""
    for name, state in new.buffers.items():
        state.restore([_reread(chunk) for chunk in old.buffers[name].chunks])
    return new


def _reread(chunk: Chunk) -> Chunk:
    sink = pa.BufferOutputStream()
    table = chunk.table.combine_chunks()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue()
    return Chunk(
        lambda: pa.ipc.open_file(pa.BufferReader(content)).read_all(),
        rows=chunk.rows,
        sort_key=chunk.sort_key,
        low=chunk.low,
        high=chunk.high,
        labels=dict(chunk.labels),
    )
