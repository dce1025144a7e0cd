"""The stages of a plan over several shards, in one process: what the tasks of an epoch do, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from panes.delta.delta import Delta
from panes.operators.dataflow import Dataflow
from panes.optimizer.optimizer import optimize
from panes.plan import nodes
from panes.stages.chains import Chains, partial_rows
from panes.stages.fragment import StageInput, cut
from panes.stages.routing import Route
from panes.stages.running_query import RunningQuery


@dataclass
class Shards:
    """A registered query at work: a dataflow for each shard of each stage."""

    query: RunningQuery
    dataflows: list[list[Dataflow]] = field(init=False)

    def __post_init__(self) -> None:
        stages = range(len(self.query.stages))
        self.dataflows = [
            [self.query.lowered(number) for _ in range(self.query.shards_of(number))] for number in stages
        ]

    @classmethod
    def of(
        cls, plan: nodes.Node, shards: int, *, strategy: str = "upa", every_instant: bool = False
    ) -> Shards:
        """The stages of a plan as a registered query has them."""
        stages = cut(optimize(plan))
        nowhere = Path("nowhere")
        query = RunningQuery(1, stages, shards, strategy, 10, 0, nowhere, every_instant=every_instant)
        return cls(query)

    def process(self, arrivals: Mapping[str, pa.Table], since: int, clock: int) -> pa.Table:
        """The delta of the answer over a span, of all shards together."""
        given: list[list[pa.Table]] = []
        for number, stage in enumerate(self.query.stages):
            shards = self.query.shards_of(number)
            inputs: list[dict[str, list[pa.Table]]] = [{} for _ in range(shards)]
            for source in stage.inputs:
                home = None if stage.is_sharded else 0
                for rows in self._rows(source, arrivals, given, clock):
                    for shard, mine in Route(source, shards, home).deal(rows):
                        inputs[shard].setdefault(source.input.name, []).append(mine)
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
        self, source: StageInput, arrivals: Mapping[str, pa.Table], given: list[list[pa.Table]], clock: int
    ) -> list[pa.Table]:
        """The rows of an input: of a stream, or of all shards of an earlier stage."""
        if source.stage is None:
            rows = arrivals[source.scan.stream]
            return [Chains(rows).input(source)] if rows.num_rows else []
        tables = [table for table in given[source.stage] if table.num_rows]
        if source.group_by is None:
            return tables
        return [partial_rows(source.group_by, Delta(table, clock)) for table in tables]
