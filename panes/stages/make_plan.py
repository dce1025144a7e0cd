"""Making the physical plan of a query: its stages, the steps of each, and what runs before the shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from panes.config import SETTINGS
from panes.operators.input import Input
from panes.operators.lower import fragment_of
from panes.operators.physical_step import Fragment
from panes.plan.nodes import Node, TableScan
from panes.plan.order_of_answer import relation_of
from panes.plan.patterns import answer_pattern
from panes.stages.cut_stages import Stage, StageInput, cut_stages
from panes.stages.ingest_fragment import hand_on_fragment, ingest_fragment, matched_in
from panes.stages.physical_plan import PhysicalInput, PhysicalPlan, PhysicalStage
from panes.stages.placement import Placement
from panes.stages.store_kinds import store_kind


def make_plan(
    plan: Node,
    *,
    strategy: str = "upa",
    calendar_days: int = 10,
    lazy_expiration: str = str(SETTINGS["lazy_expiration"].default),
    every_instant: bool = False,
    large_tables: frozenset[str] = frozenset(),
    leaves_early: bool = True,
) -> PhysicalPlan:
    """The physical plan of a query over relations and streams, or of what a store keeps (`store_kinds.py`).

    What is computed and kept has no order: an answer is sorted when it is read.
    `large_tables` are those that are too large for every shard to have all of them; `leaves_early` says
    that many results of negations leave before their time.
    """
    stages: list[PhysicalStage] = []
    relation = relation_of(plan)
    for stage in _cut(relation, large_tables):
        before = [source.stage for source in stage.inputs]
        edges = [None if number is None else stages[number].fragment for number in before]
        fragment = None
        if store_kind(stage.plan) is None:
            fragment = fragment_of(
                stage.plan,
                strategy=strategy,
                inputs=_inputs(stage, edges),
                calendar_days=calendar_days,
                lazy_expiration=lazy_expiration,
                every_instant=every_instant or stage.every_instant,
                leaves_early=leaves_early,
            )
        inputs = tuple(_input(source, edge) for source, edge in zip(stage.inputs, edges, strict=True))
        made = PhysicalStage(stage.plan, inputs, stage.is_sharded, fragment)
        if fragment is not None and stage.is_sharded:
            made = replace(made, fragment=Placement(made).with_buckets())
        stages.append(made)
    last = stages[-1].fragment
    labeled = answer_pattern(relation)
    return PhysicalPlan(
        plan, tuple(stages), strategy, labeled.pattern if last is None else last.pattern, labeled.reason
    )


def _cut(plan: Node, large_tables: frozenset[str]) -> tuple[Stage, ...]:
    kind = store_kind(plan)
    return cut_stages(plan, large_tables) if kind is None else kind.cut(plan)


def _inputs(stage: Stage, before: Sequence[Fragment | None]) -> dict[Node, Input]:
    return {
        source.replaced: source.input
        if fragment is None or source.group_by is not None
        else replace(source.input, edge=fragment.edge)
        for source, fragment in zip(stage.inputs, before, strict=True)
    }


def _input(source: StageInput, before: Fragment | None) -> PhysicalInput:
    name, keys = source.input.name, source.keys or ()
    if before is not None:
        return PhysicalInput(name, hand_on_fragment(source, before.edge), keys, stage=source.stage)
    fragment, columns = ingest_fragment(source)
    scan = source.scan
    if isinstance(scan, TableScan):
        return PhysicalInput(
            name,
            fragment,
            keys,
            table=scan.table,
            looked_up_by=scan.stream,
            is_whole=source.keys is None,
            columns=columns,
        )
    matched = matched_in(source.node)
    return PhysicalInput(
        name,
        fragment,
        keys,
        stream=scan.stream,
        columns=columns,
        scan_number=None if matched is None else matched.scan_number,
    )
