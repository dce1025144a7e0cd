"""The cheapest order is found, whatever the rates, windows, selectivities and keys are."""

from __future__ import annotations

from itertools import combinations, permutations
from random import Random

import pytest

from panes.optimizer import join_order as join_order_module
from panes.optimizer.estimates import Estimate
from panes.optimizer.join_costs import JoinCosts
from panes.optimizer.join_order import MOST, join_order
from panes.optimizer.joined_column import JoinedColumn
from panes.optimizer.joined_rows import JoinedCondition, JoinedRows
from tests.optimizer.test_join_costs import EXAMPLE_1, VISITS


def drawn_rows(random: Random, count: int) -> JoinedRows:
    """Relations with drawn rates, sizes and early departures, drawn columns and conditions among them.

    Half of them differ little, so that it matters by which keys results lie."""
    relations = []
    wide = random.choice((0.2, 3.0))
    for _ in range(count):
        rate = 10 ** random.uniform(0, wide)
        early = random.choice((0.0, 0.0, rate))
        relations.append(Estimate(rate, rate * 10 ** random.uniform(1 - wide / 2, 1 + wide / 2), early))
    columns = []
    for _ in range(random.randint(0, count)):
        having = random.sample(range(count), random.choice((2, 2, random.randint(2, count))))
        values = {number: 10 ** random.uniform(1 - wide / 2, 1 + wide / 2) for number in having}
        pairs = [tuple(sorted(pair)) for pair in combinations(having, 2) if random.randrange(4) == 0]
        columns.append(JoinedColumn(values, {(a, b): 10 ** random.uniform(-4, 0) for a, b in pairs}))
    conditions = []
    for _ in range(random.randint(0, 2)):
        read = random.sample(range(count), random.randint(2, min(3, count)))
        bits = [1 << number for number in read]
        sides = (bits[0], sum(bits[1:])) if random.randrange(2) else None
        conditions.append(JoinedCondition(sum(bits), random.uniform(0.01, 1), sides))
    return JoinedRows(relations, columns, conditions)


def drawn_costs(random: Random) -> JoinCosts:
    return JoinCosts(random.uniform(0, 1), random.uniform(0, 1), random.choice((0.0, 0.3, 3.0, 30.0)))


def cheapest(rows: JoinedRows, costs: JoinCosts) -> float:
    """The cost of the best of all left-deep orders."""
    return min(costs.of_order(rows, order) for order in permutations(range(len(rows.relations))))


def is_exact(seed: int) -> bool:
    random = Random(seed)
    rows, costs = drawn_rows(random, random.randint(2, 5)), drawn_costs(random)
    best = join_order(rows, costs)[0]
    is_true = best.cost == pytest.approx(costs.of_order(rows, best.order), rel=1e-6)
    return is_true and best.cost == pytest.approx(cheapest(rows, costs), rel=1e-6)


def test_no_order_is_cheaper_than_the_one_that_is_chosen():
    assert all(map(is_exact, range(400)))


def test_each_relation_is_the_last_of_one_order_and_these_are_sorted_by_cost():
    for seed in range(50):
        random = Random(seed)
        rows, costs = drawn_rows(random, 4), drawn_costs(random)
        found = join_order(rows, costs)
        assert sorted(order.order[-1] for order in found) == [0, 1, 2, 3]
        assert [order.cost for order in found] == pytest.approx(sorted(order.cost for order in found))
        for order in found:
            alike = (o for o in permutations(range(4)) if o[-1] == order.order[-1])
            assert order.cost == pytest.approx(min(costs.of_order(rows, o) for o in alike), rel=1e-6)


def test_the_cost_of_a_set_is_that_of_its_best_order(monkeypatch: pytest.MonkeyPatch):
    """A planted bug: the first order of each set is kept, and not the best."""
    monkeypatch.setattr(join_order_module, "_sorted", tuple)
    assert not all(map(is_exact, range(400)))


def test_example_1_of_the_paper_has_b_and_c_first():
    best, *others = join_order(EXAMPLE_1, VISITS)
    assert (best.order, best.cost) == ((1, 2, 0), pytest.approx(280))
    assert [(order.order, order.cost) for order in others] == [((0, 2, 1), 400), ((0, 1, 2), 500)]


def test_a_product_is_made_where_it_pays():
    # Two relations of a row each are tied to a fast stream, and nothing ties them to each other.
    rows = JoinedRows(
        [Estimate(1000, 100_000), Estimate(0.01, 1), Estimate(0.01, 1)],
        [JoinedColumn({0: 10, 1: 1}), JoinedColumn({0: 10, 2: 1})],
    )
    assert join_order(rows, JoinCosts(1, 1, 1))[0].order == (1, 2, 0)


def test_equal_costs_leave_the_order_of_the_text():
    rows = JoinedRows([Estimate(7, 70)] * 5, [JoinedColumn(dict.fromkeys(range(5), 30.0))])
    found = join_order(rows, JoinCosts(0.5, 0.6, 0.3))
    assert found[0].order == (0, 1, 2, 3, 4)
    assert found[1].order == (0, 1, 2, 4, 3)


def test_many_relations_are_ordered_by_the_heuristic():
    count = MOST + 2
    random = Random(1)
    relations = [Estimate(rate, rate * 100) for rate in random.sample(range(1, 100), count)]
    rows = JoinedRows(relations, [JoinedColumn({n: 10.0 * (n + 1) for n in range(count)})])
    costs = JoinCosts(0.5, 0.6, 0.3)
    found = join_order(rows, costs)
    assert all(sorted(order.order) == list(range(count)) for order in found)
    assert [order.cost for order in found] == pytest.approx([costs.of_order(rows, o.order) for o in found])
    mean = sum(costs.of_order(rows, random.sample(range(count), count)) for _ in range(50)) / 50
    assert found[0].cost < mean
