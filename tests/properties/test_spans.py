"""Where time is cut into spans, and where a dataflow is restarted, changes nothing."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from panes.operators.dataflow import Dataflow
from panes.plan import nodes
from panes.state.chunk import Chunk
from panes.testing import same_rows
from tests.properties.drawn import drawn
from tests.properties.plans import plans
from tests.properties.running import NT, UPA, UPA_FEW_EARLY, Choice, changes_until, outputs
from tests.properties.streams import Arrivals, arrivals

CASES = st.tuples(plans(), arrivals(), st.sampled_from([UPA, UPA_FEW_EARLY, NT]))


@drawn(CASES, share=0.15)
def test_cutting_a_span_changes_nothing_that_happens(case: tuple[nodes.Node, Arrivals, Choice]) -> None:
    plan, arrivals, choice = case
    last = arrivals.clocks[-1]
    told = []
    for clocks in (arrivals.clocks, [last]):
        dataflow = choice.lower(plan, every_instant=True)
        told.append(changes_until(list(outputs(dataflow, arrivals.with_clocks(clocks))), last))
    difference = same_rows(*told)
    assert difference is None, difference


@drawn(CASES, share=0.1)
def test_dataflow_restored_from_its_chunks_goes_on_the_same(
    case: tuple[nodes.Node, Arrivals, Choice],
) -> None:
    plan, arrivals, choice = case
    going_on, restarted = choice.lower(plan), choice.lower(plan)
    for came, since, clock in arrivals.spans():
        rows = {name: came[name] for name in going_on.inputs}
        one = going_on.process(rows, since, clock)
        other = restarted.process(rows, since, clock)
        difference = same_rows(one.table, other.table.select(one.table.column_names))
        assert difference is None, f"at {clock}: {difference}"
        restarted = _restored(choice.lower(plan), restarted)


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
        min_exp=chunk.min_exp,
        max_exp=chunk.max_exp,
        labels=dict(chunk.labels),
    )
