"""What docs/life-of-a-query.md shows, made by running the parts of Panes one after the other."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

import pyarrow as pa

from panes.answers.answer_store import AnswerStore, answer_of
from panes.delta.delta import BEGINNING, EXP, TS, WEIGHT
from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.operators.dataflow import Dataflow
from panes.optimizer.cost import plan_cost
from panes.optimizer.optimizer import optimize
from panes.optimizer.statistics import Statistics
from panes.stages.explain import Explained, explain
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from panes.stages.plan_text import plan_text
from panes.stages.routing import Route
from tests.language.corpus import Shelf

PAGE = Path(__file__).parent.parent / "docs" / "life-of-a-query.md"
STREAM = """CREATE STREAM packets (ts BIGINT, src STRING, bytes BIGINT) TIMESTAMP BY ts SECONDS"""
QUERY = """SELECT src, count(*) AS n, sum(bytes) AS total
FROM packets [RANGE 10 SECONDS SLIDE 5 SECONDS]
WHERE bytes > 100
GROUP BY src"""
EPOCHS = (
    [(1, "ann", 500), (2, "bob", 50), (3, "ann", 700), (4, "bob", 120)],
    [(6, "ann", 300), (7, "bob", 900), (11, "ann", 110), (13, "bob", 40)],
)
CLOCKS = (5, 15)
SHARDS = 2
_SECOND = 1_000_000


class Life:
    """One query on its way; each method is a section of the page."""

    def __init__(self) -> None:
        (stream,) = parse(STREAM)
        self.shelf = Shelf()
        self.shelf.things["packets"] = stream  # type: ignore[assignment]
        (query,) = parse(QUERY)
        assert isinstance(query, SelectQuery)
        self.query = query
        self.logical = bind(query, self.shelf)
        self.optimized = optimize(self.logical)
        self.plan = make_plan(self.optimized)
        (self.stage,) = self.plan.stages
        (self.source,) = self.stage.inputs
        assert self.stage.fragment is not None
        self.shards = [Dataflow(self.stage.fragment) for _ in range(SHARDS)]
        self.answers = [AnswerStore() for _ in range(SHARDS)]

    def canonical(self) -> str:
        return self.query.sql

    def bound(self) -> str:
        return explain(Explained(self.logical)).partition("\nanswer")[0]

    def improved(self) -> str:
        return explain(Explained(self.optimized)).partition("\nanswer")[0]

    def physical(self) -> str:
        cost = plan_cost(self.plan, Statistics(), shards=SHARDS)
        return explain(Explained(self.plan, SHARDS, expected={**cost.steps, **cost.shuffles}))

    def stored(self) -> str:
        content = json.loads(plan_text(self.plan))
        (stage,) = content["plan"]["PhysicalPlan"]["stages"]
        step = stage["PhysicalStage"]["fragment"]["Fragment"]["steps"][1]
        return "\n".join(wrap(json.dumps(step), 110, break_on_hyphens=False))

    def arrived(self) -> str:
        return _shown(_rows(0))

    def partials(self) -> str:
        rows, _ = FragmentRun(_rows(0)).input(self.source, BEGINNING)
        return _shown(rows)

    def routed(self) -> str:
        rows, _ = FragmentRun(_rows(0)).input(self.source, BEGINNING)
        parts = Route(self.source, SHARDS, None).split(rows)
        return "\n\n".join(f"shard {shard}\n{_shown(mine)}" for shard, mine in parts)

    def changed(self) -> str:
        return "\n\n".join(self._epoch(number) for number in range(len(EPOCHS)))

    def kept(self) -> str:
        schema = self.plan.plan.schema.arrow
        tables = [chunk.table for store in self.answers for chunk in store.chunks]
        return _shown(answer_of(tables, schema).sort_by("src"))

    def buffers(self) -> str:
        lines = []
        for shard, dataflow in enumerate(self.shards):
            for name, state in dataflow.buffers.items():
                lines.append(f"shard {shard}  {name:<24} {state.kind:<12} {state.rows} rows")
        return "\n".join(lines)

    def _epoch(self, number: int) -> str:
        since = BEGINNING if number == 0 else CLOCKS[number - 1] * _SECOND
        clock = CLOCKS[number] * _SECOND
        rows, _ = FragmentRun(_rows(number)).input(self.source, since)
        parts = dict(Route(self.source, SHARDS, None).split(rows))
        shown = []
        for shard, dataflow in enumerate(self.shards):
            came = {self.source.name: parts[shard]} if shard in parts else {}
            delta = dataflow.process(came, since, clock)
            self.answers[shard].apply(delta)
            if delta.rows:
                shown.append(delta.table)
        return f"epoch {number}, clock {CLOCKS[number]} s\n{_shown(_in_order(pa.concat_tables(shown)))}"


def _rows(epoch: int) -> pa.Table:
    ts, src, size = zip(*EPOCHS[epoch], strict=True)
    seconds = pa.array([second * _SECOND for second in ts])
    return pa.table({"ts": pa.array(ts), "src": pa.array(src), "bytes": pa.array(size), TS: seconds})


def _in_order(table: pa.Table) -> pa.Table:
    return table.sort_by([(TS, "ascending"), ("src", "ascending"), (WEIGHT, "ascending")])


def _shown(table: pa.Table) -> str:
    """A table as text; hidden times in seconds."""
    columns = {
        name: [_text(name, value) for value in table.column(name).to_pylist()] for name in table.column_names
    }
    widths = {
        name: max(len(name), *map(len, values)) if values else len(name) for name, values in columns.items()
    }
    lines = ["  ".join(f"{name:<{widths[name]}}" for name in columns)]
    for row in zip(*columns.values(), strict=True):
        lines.append("  ".join(f"{v:<{w}}" for v, w in zip(row, widths.values(), strict=True)))
    return "\n".join(line.rstrip() for line in lines)


def _text(name: str, value: object) -> str:
    if name in (TS, EXP) and isinstance(value, int):
        return "-" if value > 10**15 else f"{value / _SECOND:g} s"
    return str(value)


def renewed(text: str) -> str:
    """The page with its generated parts as they must be."""
    life = Life()
    for name in re.findall(r"<!-- (\w+) -->", text):
        if name == "end":
            continue
        section: Callable[[], str] = getattr(life, name)
        block = f"```text\n{section()}\n```\n"
        text = re.sub(
            f"(<!-- {name} -->\n).*?(<!-- end -->)", lambda m, b=block: m[1] + b + m[2], text, flags=re.DOTALL
        )
    return text


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
