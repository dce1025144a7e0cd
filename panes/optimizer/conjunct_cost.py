"""What it costs to test a condition on a row, by its form, and what an order of conditions costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from panes.plan.expressions import Call, Cast, Expression, OwnCall, walk
from panes.plan.types import STRING

_CHEAP, _TEXT, _PATTERN, _PARSED, _OWN, _OWN_COLUMN = 0.005, 0.15, 0.8, 3.0, 6.0, 0.1
_PATTERNS = frozenset(("like", "ilike"))


class Conjunct(NamedTuple):
    """A condition, what it costs per row that it is tested on, and the share of rows that pass it."""

    condition: Expression
    cost: float
    selectivity: float

    @property
    def rank(self) -> float:
        """Its cost per row that it leaves out. One after the other, conditions cost least in this order."""
        return self.cost / max(1 - self.selectivity, 1e-9)


def conjunct_cost(condition: Expression) -> float:
    """CPU microseconds per row, as they were measured over columns of 10,000 and 100,000 rows.

    Comparisons and arithmetic of numbers take 0.001 to 0.01, functions of text 0.1 to 0.2, LIKE and regular
    expressions 0.7 to 0.8, a number that is read from text 2.5 to 4, and a function of a user that is called row
    by row 6 and more.
    """
    return sum(map(_cost, walk(condition)))


def cost_in_order(conjuncts: Sequence[Conjunct], rate: float) -> float:
    """What conditions cost per second when each is tested on the rows that passed those before it.

    >>> cheap, dear = Conjunct(Expression(STRING), 0.0005, 0.25), Conjunct(Expression(STRING), 0.001, 0.5)
    >>> cost_in_order([cheap, dear], 1000), cost_in_order([dear, cheap], 1000)
    (0.75, 1.25)
    """
    total, passing = 0.0, rate
    for conjunct in conjuncts:
        total += passing * conjunct.cost
        passing *= conjunct.selectivity
    return total


def _cost(expression: Expression) -> float:
    match expression:
        case OwnCall():
            return _OWN_COLUMN if expression.is_vectorized else _OWN
        case Cast(arg=arg):
            return _PARSED if arg.type == STRING and expression.type != STRING else _CHEAP
        case Call(function=function):
            if function in _PATTERNS or function.startswith("regexp_"):
                return _PATTERN
            return _TEXT if expression.type == STRING else _CHEAP
    return 0.0
