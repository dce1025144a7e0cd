"""The stages of a plan over several shards, in one process: what the tasks of an epoch do, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from panes.operators.dataflow import Dataflow
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalInput
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery


@dataclass
class Shards:
    """A registered query at work: a dataflow for each shard of each stage."""

    query: RunningQuery
    dataflows: list[list[Dataflow]] = field(init=False)

    def __post_init__(self) -> None:
        self.dataflows = []
        for number, stage in enumerate(self.query.plan.stages):
            assert stage.fragment is not None
            shards = range(self.query.shards_of(number))
            self.dataflows.append([Dataflow(stage.fragment) for _ in shards])

    @classmethod
    def of(
        cls, plan: nodes.Node, shards: int, *, strategy: str = "upa", every_instant: bool = False
    ) -> Shards:
        """The stages of a plan as a registered query has them."""
        made = make_plan(optimize(plan), strategy=strategy, every_instant=every_instant)
        return cls(RunningQuery(1, made, shards, 0))

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> pa.Table:
        """The delta of the answer over a span, of all shards together."""
        given: list[list[pa.Table]] = []
        for number, stage in enumerate(self.query.plan.stages):
            shards = self.query.shards_of(number)
            inputs: list[dict[str, list[pa.Table]]] = [{} for _ in range(shards)]
            for source in stage.inputs:
                route = Route(source, shards, None if stage.is_sharded else 0)
                for rows in self._rows(source, arrivals, given):
                    computed, _ = FragmentRun(rows).input(source, since)
                    for shard, mine in route.split(computed):
                        inputs[shard].setdefault(source.name, []).append(mine)
            given.append(
                [
                    dataflow.process(
                        {name: pa.concat_tables(tables) for name, tables in mine.items()}, since, clock
                    ).table
                    for dataflow, mine in zip(self.dataflows[number], inputs, strict=True)
                ]
            )
        return pa.concat_tables(table.select(given[-1][0].column_names) for table in given[-1])

    def _rows(
        self, source: PhysicalInput, arrivals: Mapping[str, pa.Table], given: list[list[pa.Table]]
    ) -> list[pa.Table]:
        """What an input is computed from: the rows of a stream, or of all shards of an earlier stage."""
        if source.stream is not None:
            rows = arrivals[source.stream]
            return [rows] if rows.num_rows else []
        assert source.stage is not None
        return [table for table in given[source.stage] if table.num_rows]
