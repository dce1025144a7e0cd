"""Orders of many joins that are found without trying all (thesis, 5.3.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from statistics import fmean

Order = tuple[int, ...]

_FAST = 2
"""How many streams are moved up at most: with each, the number of orders grows by a factor."""


def heuristic_orders(rates: Sequence[float], joined_size: Callable[[int, int], float]) -> list[Order]:
    """The order by the sizes of joins of two, smallest first, and those where streams that are faster than the
    mean stand further up, but not at the top. The cheapest of them is the one to take.

    `joined_size` says how many results two of the streams have at an instant. The next stream is always one that
    makes the smallest result with any of those before it.
    """
    by_size = _by_size(len(rates), joined_size)
    mean = fmean(rates)
    fast = sorted((n for n in range(len(rates)) if rates[n] > mean), key=lambda n: -rates[n])[:_FAST]
    orders = [by_size]
    for number in sorted(fast, key=by_size.index):
        orders += [moved for order in orders for moved in _moved_up(order, number)]
    return list(dict.fromkeys(orders))


def _by_size(count: int, joined_size: Callable[[int, int], float]) -> Order:
    pairs = sorted(combinations(range(count), 2), key=lambda pair: joined_size(*pair))
    order = list(pairs[0])
    while len(order) < count:
        one, other = next(pair for pair in pairs if len(set(pair) & set(order)) == 1)
        order.append(other if one in order else one)
    return tuple(order)


def _moved_up(order: Order, number: int) -> list[Order]:
    """The order with a stream at any earlier place except the first."""
    place, rest = order.index(number), [other for other in order if other != number]
    return [(*rest[:at], number, *rest[at:]) for at in range(1, place)]
