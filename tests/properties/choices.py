"""What a choice of plans is drawn from: plans with much to choose, statistics of any kind, settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from panes.optimizer.candidates import ALTERNATIVES
from panes.optimizer.choose_plan import LAYOUT, PARTITIONED
from panes.optimizer.fact_names import distinct_name, early_name, join_name, selection_name
from panes.optimizer.planning import Planning
from panes.optimizer.statistics import Fact, FactName, Kind, Statistics
from panes.plan import nodes
from panes.plan.expressions import Column
from panes.plan.walk import walk
from tests.properties.drawn import Case
from tests.properties.plans import Drawing
from tests.properties.streams import STREAMS, TABLES

_OPERATORS = (
    "Join",
    "MultiJoin",
    "SemiJoin",
    "AntiJoin",
    "Distinct",
    "DistinctStar",
    "ExplicitExpiry",
    "SetOperationByCount",
    "SetOperationByLifetime",
    "Calendar",
    "shuffle",
)
_PARTS = ("row", "fixed", "probe", "insert", "expire", "retract")
_SHARES = (0.0, 1e-9, 0.01, 0.3, 0.999, 1.0)
_NUMBERS = (0.0, 1e-6, 1.0, 37.0, 1e4, 1e12)


def with_choices(drawing: Drawing) -> nodes.Node:
    """Joins, negations and DISTINCT over one another, and at times something else among them."""
    return _relation(drawing, drawing.random.randint(2, 4))


def _relation(drawing: Drawing, depth: int) -> nodes.Node:
    if depth <= 0:
        return drawing.relation(1) if drawing.one_in(8) else drawing.window()
    kinds: list[Callable[[], nodes.Node]] = [
        *[lambda: _matched(drawing, depth, nodes.Join)] * 4,
        *[lambda: _matched(drawing, depth, nodes.AntiJoin)] * 3,
        lambda: _matched(drawing, depth, nodes.SemiJoin),
        lambda: nodes.Distinct(drawing.narrow(_relation(drawing, depth - 1))),
        lambda: nodes.Distinct(_renamed(drawing, _relation(drawing, depth - 1))),
        lambda: _renamed(drawing, _relation(drawing, depth - 1)),
        lambda: drawing.select(_relation(drawing, depth - 1)),
    ]
    return drawing.choose(kinds)()


def _matched(drawing: Drawing, depth: int, kind: type[nodes.Node]) -> nodes.Node:
    left, right = _relation(drawing, depth - 1), _relation(drawing, drawing.choose([0, depth - 2]))
    if kind is nodes.Join and drawing.one_in(2):
        left, right = right, left
    keys, residual = drawing.keys(left, right), drawing.residual(left, right)
    if kind is nodes.AntiJoin and len(keys[0]) == 1 and drawing.one_in(3):
        return nodes.AntiJoin(left, right, *keys, residual and drawing.predicate(right), null_aware=True)
    return kind(left, right, *keys, residual)  # type: ignore[call-arg]  # all three take the same


def _renamed(drawing: Drawing, child: nodes.Node) -> nodes.Node:
    """Some columns under other names; one of them may be there twice."""
    kept = drawing.some(child.schema.names, 1, 4)
    kept += kept[:1] * drawing.one_in(4)
    return nodes.Project(
        child, tuple((drawing.name("p"), Column(child.schema[name].type, name)) for name in kept)
    )


def drawn_statistics(case: Case) -> Statistics:
    """Facts about some of what a plan reads and does, however unlikely."""
    random = Random(f"statistics {case.plan}")
    facts: dict[FactName, Fact] = {}
    for name, kind, values in _facts(case.plan):
        if random.randrange(3):
            facts[FactName(kind, name)] = Fact(random.choice(values), 1)
    return Statistics(facts)


def _facts(plan: nodes.Node) -> Iterator[tuple[str, Kind, tuple[float, ...]]]:
    yield from ((stream, "rate", _NUMBERS) for stream in STREAMS)
    yield from ((table, "rows", _NUMBERS) for table in TABLES)
    yield from ((f"{operator} {part}", "cost", _NUMBERS) for operator in _OPERATORS for part in _PARTS)
    for node in walk(plan):
        match node:
            case nodes.Select():
                yield selection_name(node.predicate, node.child), "selectivity", _SHARES
            case nodes.Join() | nodes.OuterJoin():
                yield join_name(node), "join", _SHARES
            case nodes.SemiJoin():
                yield f"EXISTS {join_name(node)}", "selectivity", _SHARES
            case nodes.AntiJoin():
                yield f"NOT EXISTS {join_name(node)}", "selectivity", _SHARES
        if isinstance(node, (nodes.AntiJoin, nodes.Except)):
            yield early_name(node), "early", _SHARES
        for column in node.schema.names:
            yield distinct_name(node, [column]), "distinct", _NUMBERS


def drawn_planning(case: Case) -> Planning:
    """Settings under which a plan is chosen."""
    random = Random(f"planning {case.plan}")
    names = [*ALTERNATIVES, PARTITIONED, LAYOUT]
    off = random.sample(names, random.choice((0, 0, 0, 1, 2)))
    negation = random.choice(("auto", "auto", "auto", "up", "down", "written"))
    return Planning(
        case.way.strategy,
        calendar_days=random.choice((1, 3, 10)),
        large_tables=case.large_tables,
        negation=negation,
        rules_off=frozenset(off),
        cores=random.choice((None, 1, 8)),
        join=random.choice(("auto", "auto", "pipelined", "tree")),
        shards=random.choice((None, None, 1, 5)),
    )
