"""Drawn joins of three to five streams give the answers of SQL in every order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from random import Random

import pyarrow as pa
import pytest

from panes.delta.consolidate import contents_at
from panes.optimizer.alternatives import join_orders as join_orders_module
from panes.optimizer.alternatives.join_orders import join_orders
from panes.optimizer.equality_classes import EqualityClass, EqualityClasses
from panes.optimizer.estimates import Estimates
from panes.optimizer.statistics import Fact, FactName, Statistics
from panes.plan.can_fail import can_fail
from panes.plan.expressions import Aggregate, Call, Column, Expression, columns_of, conjunction
from panes.plan.join_tree import join_tree_of, joined
from panes.plan.nodes import (
    Distinct,
    GroupBy,
    Istream,
    Join,
    Node,
    Project,
    Select,
    StreamScan,
    Window,
    Wstream,
)
from panes.plan.schema import Field, Schema
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, STRING
from panes.plan.windows import RangeWindow, RowsWindow, WindowSpec
from panes.testing import Oracle, same_rows
from tests.properties.running import NT, UPA, check_answers, connection, history, outputs, together
from tests.properties.shards import Shards
from tests.properties.streams import COLUMNS, STREAMS, Arrivals

TYPES = {"k": BIGINT, "v": DOUBLE, "w": STRING}


def leaf(random: Random, alias: str) -> Node:
    """A window on a stream; one in three has a column that is computed."""
    scan = StreamScan(
        random.choice(STREAMS), alias, Schema(tuple(Field(f"{alias}.{f.name}", f.type) for f in COLUMNS))
    )
    specs: list[WindowSpec] = [
        RangeWindow(random.randint(3, 14)),
        RangeWindow(random.randint(3, 14)),
        RangeWindow(random.randint(3, 14), random.randint(1, 5)),
        RowsWindow(random.randint(2, 6)),
    ]
    node: Node = Window(scan, random.choice(specs))
    if random.randrange(3) == 0:
        kept = tuple((f.name, Column(f.type, f.name)) for f in node.schema)
        node = Project(node, (*kept, (f"{alias}.j", _plus(column(alias, "k"), column(alias, "k")))))
    return node


def column(alias: str, name: str) -> Column:
    return Column(TYPES[name], f"{alias}.{name}")


def _plus(one: Expression, other: Expression) -> Expression:
    return Call(BIGINT, "add", (one, other))


def condition(random: Random, aliases: list[str]) -> Expression:
    """An equality, between columns of two streams, of one, or with an expression over two; or another test."""
    one, other, third = (*random.sample(aliases, 2), random.choice(aliases))
    name = random.choice("kkw")
    equal = Call(BOOLEAN, "eq", (column(one, name), column(other, name)))
    match random.randrange(9):
        case 0:
            sides = (_plus(column(one, "k"), column(other, "k")), column(third, "k"))
            return Call(BOOLEAN, "eq", sides)
        case 1:
            return Call(BOOLEAN, "eq", (_plus(column(one, "k"), column(one, "k")), column(other, "k")))
        case 2:
            return Call(BOOLEAN, random.choice(["lt", "ne"]), (column(one, "v"), column(other, "v")))
        case 3:
            return Call(BOOLEAN, "is_distinct", (column(one, "k"), column(other, "k")))
    return equal


def drawn_join(random: Random, count: int) -> Node:
    """Streams that are joined as in the text: left-deep, or with a join on the right; conditions where they can
    first be decided, or in a selection on top."""
    aliases = list("abcde"[:count])
    leaves = [leaf(random, alias) for alias in aliases]
    conditions = [condition(random, aliases) for _ in range(random.randint(count - 1, count + 1))]
    harmless = [c for c in conditions if not can_fail(c)][:1]
    if harmless and random.randrange(3) == 0:
        conditions.remove(harmless[0])
        cut = random.randint(1, count - 1)
        sides = [(side, _decided(side, conditions)) for side in (leaves[:cut], leaves[cut:])]
        rest = [c for c in conditions if not any(c in own for _, own in sides)]
        left, right = (joined(side, own) for side, own in sides)
        plan: Node = Select(Join(left, right, (), (), conjunction(tuple(rest))), harmless[0])
    else:
        plan = joined(leaves, conditions)
    names = random.sample(plan.schema.names, min(len(plan.schema.names), 6))
    shown = tuple((f"x{number}", Column(plan.schema[name].type, name)) for number, name in enumerate(names))
    return Project(plan, shown)


def _decided(leaves: list[Node], conditions: list[Expression]) -> list[Expression]:
    names = {name for node in leaves for name in node.schema.names}
    return [c for c in conditions if columns_of(c) <= names]


def reordered(plan: Node, order: tuple[int, ...]) -> Node:
    tree = join_tree_of(plan)
    if tree is None:
        raise TypeError("no tree was drawn")
    leaves = [tree.leaves[number] for number in order]
    return joined(leaves, EqualityClasses.of(tree).conditions(order), tree.columns)


def drawn(seed: int) -> tuple[Node, Arrivals, list[tuple[int, ...]]]:
    """A join, arrivals for it, and some of its orders."""
    random = Random(seed)
    count = random.choice((3, 3, 4, 4, 5))
    plan = drawn_join(random, count)
    arrivals = Arrivals.drawn(random, {3: 30, 4: 20, 5: 14}[count], 2)
    orders = list(permutations(range(count)))
    return plan, arrivals, random.sample(orders, 3)


def check_orders(seed: int) -> None:
    """At every clock, the answer is that of SQL in all orders that were drawn."""
    plan, arrivals, orders = drawn(seed)
    oracle = Oracle(arrivals.tables, connection())
    expected = [oracle.answer_at(plan, clock) for clock in arrivals.clocks]
    for order in orders:
        tables: list[pa.Table] = []
        dataflow = (NT if seed % 5 == 0 else UPA).lower(reordered(plan, order))
        for answer, clock, table in zip(expected, arrivals.clocks, outputs(dataflow, arrivals), strict=True):
            tables.append(table)
            difference = same_rows(contents_at(together(tables), clock), answer)
            assert difference is None, f"{order} at {clock}: {difference}"


@pytest.mark.parametrize("seeds", [range(at, at + 20) for at in range(0, 60, 20)], ids=str)
def test_every_order_gives_the_answers_of_sql(seeds: range) -> None:
    for seed in seeds:
        check_orders(seed)


def test_every_order_gives_the_answers_of_sql_over_shards() -> None:
    for seed in range(200, 220):
        plan, arrivals, orders = drawn(seed)
        shards = Shards.of(reordered(plan, orders[0]), 3)
        oracle = Oracle(arrivals.tables, connection())
        for came, since, clock in arrivals.spans():
            shards.process(came, since, clock)
            assert same_rows(shards.answer(clock), oracle.answer_at(plan, clock)) is None


ABOVE: dict[str, Callable[[Node], Node]] = {
    "Istream": Istream,
    "the youngest results": lambda node: Wstream(node, RowsWindow(3)),
    "results of the last instants": lambda node: Wstream(node, RangeWindow(5)),
    "DISTINCT": Distinct,
    "groups": lambda node: GroupBy(node, node.schema.names[:1], (Aggregate("n", "count", None, BIGINT),)),
}


@pytest.mark.parametrize("above", ABOVE.values(), ids=ABOVE)
def test_what_stands_above_cannot_tell_the_order_at_any_instant(above: Callable[[Node], Node]) -> None:
    for seed in range(300, 305):
        plan, arrivals, orders = drawn(seed)
        one, other = (
            history(given(above(found), arrivals), arrivals.clocks[-1])
            for found in (plan, reordered(plan, orders[0]))
        )
        assert one == other


def given(plan: Node, arrivals: Arrivals) -> list[pa.Table]:
    return list(outputs(UPA.lower(plan, changes="instant"), arrivals))


def test_orders_by_cost_give_the_answers_of_sql() -> None:
    offered = 0
    for seed in range(400, 420):
        plan, arrivals, _ = drawn(seed)
        random = Random(seed)
        facts = {FactName("rate", name): Fact(10 ** random.uniform(5, 8), 1) for name in STREAMS}
        for alternative in join_orders(plan, Estimates(Statistics(facts))):
            check_answers(plan, arrivals, UPA.lower(alternative.plan))
            offered += 1
    assert offered > 20


# Planted bugs: each is found by one of the cases.


def without_the_last_condition(self: EqualityClasses, order: tuple[int, ...]) -> tuple[Expression, ...]:
    return CONDITIONS(self, order)[:-1]


def without_the_last_equality(self: EqualityClass, order: tuple[int, ...]) -> list[Expression]:
    return EQUALITIES(self, order)[:-1]


def compared_with_the_leaf_before(self: EqualityClass, order: tuple[int, ...]) -> list[Expression]:
    """As if all columns of a leaf were equal to those of the leaf before, and none of them on their own."""
    having = [number for number in order if number in self.of_leaf]
    pairs = zip(having, having[2:], strict=False)
    return [Call(BOOLEAN, "eq", (self.of_leaf[a][0], self.of_leaf[b][0])) for a, b in pairs]


def one_class_for_all(tree: object) -> EqualityClasses:
    """As if columns were equal because some of their relations are."""
    found = OF(tree)
    by_type: dict[object, list[tuple[int, Expression]]] = {}
    for members in found.classes:
        by_type.setdefault(members.members[0][1].type, []).extend(members.members)
    return EqualityClasses(tuple(EqualityClass(tuple(all_)) for all_ in by_type.values()), found.others)


CONDITIONS, EQUALITIES, OF = EqualityClasses.conditions, EqualityClass.equalities, EqualityClasses.of
BUGS: dict[str, tuple[object, str, object]] = {
    "a condition is dropped": (EqualityClasses, "conditions", without_the_last_condition),
    "an equality is dropped": (EqualityClass, "equalities", without_the_last_equality),
    "leaves are compared in pairs that do not meet": (
        EqualityClass,
        "equalities",
        compared_with_the_leaf_before,
    ),
    "classes are mixed up": (EqualityClasses, "of", staticmethod(one_class_for_all)),
}


@pytest.mark.parametrize("bug", BUGS.values(), ids=BUGS)
def test_a_planted_bug_is_found(bug: tuple[object, str, object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*bug)
    # Few cases have two classes of one type and results in which they differ: 93 is one of them.
    assert any(is_found(check_orders, seed) for seed in (3, 13, 14, 93))


def test_columns_in_another_order_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_columns(leaves: list[Node], conditions: tuple[Expression, ...], _: object) -> Node:
        return joined(leaves, conditions)

    monkeypatch.setattr(join_orders_module, "joined", without_columns)

    def check(seed: int) -> None:
        plan, arrivals, _ = drawn(seed)
        for alternative in join_orders(plan, Estimates(Statistics())):
            check_answers(plan, arrivals, UPA.lower(alternative.plan))

    assert any(is_found(check, seed) for seed in range(20))


def is_found(check: Callable[[int], None], seed: int) -> bool:
    try:
        check(seed)
    except (AssertionError, ValueError):
        return True
    return False
