"""Queries of several templates over one stream, which come and go, have the answers that SQL gives.

All groups are matched through the one index of the stream, as ingest tasks do it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from random import Random

import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.consolidate import contents_at
from panes.delta.delta import TS
from panes.operators.dataflow import Dataflow
from panes.plan import nodes
from panes.plan.expressions import Aggregate, Column
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT
from panes.plan.windows import RangeWindow
from panes.sharing.group import Group
from panes.sharing.query_index import SliceKey
from panes.sharing.shared_indexes import Slices
from panes.sharing.stream_indexes import StreamIndexes
from panes.sharing.template import template_of
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.testing import Oracle, same_rows
from tests.properties.plans import Drawing
from tests.properties.running import connection, together
from tests.properties.streams import COLUMNS, Arrivals

SETS = int(os.environ.get("PANES_TEMPLATE_SETS", "3"))
STREAM = "s"
COUNT = Aggregate("n", "count", None, BIGINT)


@dataclass
class Template:
    """What draws the queries of one template, and runs all of them."""

    random: Random
    number: int
    kind: str
    windows: tuple[RangeWindow, RangeWindow]
    members: dict[int, nodes.Node] = field(default_factory=dict)
    deltas: list[pa.Table] = field(default_factory=list)
    group: Group = field(init=False)
    dataflow: Dataflow = field(init=False)

    def __post_init__(self) -> None:
        plan = self.drawn()
        found = template_of(plan)
        assert found is not None
        self.group = Group.of(plan, found[0].key)
        (self.stage,) = make_plan(self.group.template.plan).stages
        assert self.stage.fragment is not None
        self.dataflow = Dataflow(self.stage.fragment)

    def drawn(self) -> nodes.Node:
        """A query; those of one template differ in the constants of their selections."""
        left = self._side("a", self.windows[0])
        if self.kind == "join":
            right = self._side("b", self.windows[1])
            left = nodes.Join(left, right, (f"a{self.number}.k",), (f"b{self.number}.k",))
        keys = () if self.kind == "all" else (f"a{self.number}.w",)
        return nodes.GroupBy(left, keys, (COUNT, *self._sums()))

    def _sums(self) -> tuple[Aggregate, ...]:
        column = Column(BIGINT, f"a{self.number}.k")
        return () if self.kind == "all" else (Aggregate("total", "sum", column, BIGINT),)

    def _side(self, name: str, window: RangeWindow) -> nodes.Node:
        alias = f"{name}{self.number}"
        schema = Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
        scan = nodes.StreamScan(STREAM, alias, schema)
        return nodes.Window(Drawing(self.random, has_tables=False).select(scan), window)

    def compute(self, run: FragmentRun, slices: Slices, since: int) -> dict[str, list[pa.Table]]:
        return {s.name: [run.input(s, since, slices)[0]] for s in self.stage.inputs}

    def answer(self, query: int, clock: int) -> pa.Table:
        whole = contents_at(together(self.deltas), clock)
        mine = whole.filter(pc.equal(whole.column(nodes.QUERY), query)).drop_columns([nodes.QUERY])
        return mine if mine.num_rows else self.group.template.of_nothing


def check(random: Random) -> int:
    """Runs a set of templates next to the oracle; gives how many queries came after others."""
    arrivals = Arrivals.drawn(random, 40, 3)
    oracle = Oracle(arrivals.tables, connection())
    rows = arrivals.streams[STREAM]
    templates = []
    for number in range(random.randint(2, 4)):
        slide = random.choice((None, 2, 3))
        windows = RangeWindow(random.randint(2, 12), slide), RangeWindow(random.randint(2, 12), slide)
        kind = random.choice(("all", "grouped", "grouped", "join"))
        templates.append(Template(random, number, kind, windows))
    indexes, numbers, came_later = StreamIndexes(), iter(range(1000)), 0
    for came, since, clock in arrivals.spans():
        begin: dict[int, set[int]] = {}
        for template in templates:
            gone = [query for query in template.members if random.randrange(4) == 0]
            for query in gone:
                del template.members[query]
            new = {next(numbers): template.drawn() for _ in range(random.randint(0, 2))}
            came_later += len(new) if template.deltas else 0
            template.members |= new
            template.group.update(template.members)
            begin[template.number] = set(new)
        everyone = indexes.update(
            {SliceKey(t.number, n): mine for t in templates for n, mine in enumerate(t.group.slices)}
        )
        fresh = indexes.some(
            {
                SliceKey(t.number, n): mine
                for t in templates
                for n, mine in enumerate(t.group.fresh_slices(begin[t.number]))
            }
        )
        # What came before is for the queries that begin, what comes is for all.
        before = rows.filter(pa.array(rows.column(TS).to_numpy() <= since))
        given = ((before, fresh), (came[STREAM], everyone))
        runs = [(FragmentRun(some), slices) for some, slices in given if some.num_rows]
        for template in templates:
            arrived: dict[str, list[pa.Table]] = {}
            for run, slices in runs:
                mine = tuple(slices[key] for key in sorted(slices) if key.group == template.number)
                if not mine:
                    continue
                for name, tables in template.compute(run, mine, since).items():
                    arrived.setdefault(name, []).extend(tables)
            inputs = {name: pa.concat_tables(tables) for name, tables in arrived.items()}
            delta = template.dataflow.process({n: t for n, t in inputs.items() if t.num_rows}, since, clock)
            template.deltas.append(delta.table)
            for query, plan in template.members.items():
                difference = same_rows(template.answer(query, clock), oracle.answer_at(plan, clock))
                assert difference is None, f"{plan} at {clock}: {difference}"
    return came_later


def test_queries_of_several_templates_answer_as_sql_does() -> None:
    came_later = sum(check(Random(f"templates {number}")) for number in range(SETS))
    assert came_later > SETS, "queries must join groups that run"
