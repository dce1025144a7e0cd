"""What is known of streams, conditions and operators: measured where epochs have run, else assumed.

Facts have names that do not depend on plans (`optimizer/origins.py`), so what one query has measured, all others
are planned with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["rate", "selectivity", "join", "distinct", "early", "cost"]
"""
rate         rows per second of event time, of a stream
selectivity  rows that pass a condition, of those that come to it
join         results of a join / (rows right · arrivals left + rows left · arrivals right)
distinct     different values of columns
early        results of a negation that leave before their time, of all that leave
cost         CPU microseconds of a part of an operator, as `Join probe`: per row, or per span where it is `fixed`
"""


class FactName(NamedTuple):
    kind: Kind
    name: str


@dataclass(frozen=True)
class Fact:
    """A figure, and from how many epochs it is; none when it is assumed."""

    value: float
    epochs: int = 0

    @property
    def is_assumed(self) -> bool:
        return self.epochs == 0


@dataclass(frozen=True)
class Statistics:
    """All facts of a database at one time."""

    facts: Mapping[FactName, Fact] = field(default_factory=dict)

    def measured(self, kind: Kind, name: str) -> float | None:
        """A fact that was measured; None when it was not."""
        fact = self.facts.get(FactName(kind, name))
        return None if fact is None else fact.value
