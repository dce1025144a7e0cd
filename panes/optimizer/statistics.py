"""What is known of streams, conditions and operators: measured where epochs have run, else assumed.

Facts have names that do not depend on plans (`optimizer/origins.py`), so what one query has measured, all others
are planned with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Literal, NamedTuple

from panes.optimizer.assumed import RATE, SPAN, TABLE_ROWS, assumed_cost, assumed_selectivity
from panes.plan.expressions import Expression, conjuncts

Kind = Literal["rate", "rows", "selectivity", "join", "distinct", "early", "cost", "span", "invocations"]
"""
rate         rows per second of event time, of a stream
rows         rows of a table
selectivity  rows that pass a condition, of those that come to it; of UNNEST, items per row
join         results of a join / (rows right · arrivals left + rows left · arrivals right)
distinct     different values that columns have over time
early        results of a negation that leave before their time, of all that leave
cost         CPU microseconds of a part of an operator, as `Join probe`: per row, or per span where it is `fixed`
span         seconds of event time that an epoch takes, under the name `epoch`
invocations  how many times a query is invoked per second of event time: `query 7`, by the number that it was first
             registered under, and `shape …`, the mean over all queries of a shape that were invoked
"""


EPOCH = "epoch"
"""The name of what is true of epochs as such."""


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
    """All facts of a database at one time.

    What was not measured is assumed where something must be (`optimizer/assumed.py`), and None where it follows
    from other facts: the planner knows from which.
    """

    facts: Mapping[FactName, Fact] = field(default_factory=dict)

    def measured(self, kind: Kind, name: str) -> float | None:
        """A fact that was measured; None when it was not."""
        fact = self.facts.get(FactName(kind, name))
        return None if fact is None else fact.value

    def rate(self, stream: str) -> float:
        """Rows per second of event time."""
        found = self.measured("rate", stream)
        return RATE if found is None else found

    def table_rows(self, table: str) -> float:
        """Rows of a table."""
        found = self.measured("rows", table)
        return TABLE_ROWS if found is None else found

    def selectivity(self, text: str, condition: Expression) -> float:
        """How many of the rows pass a condition, which has the text. Where its parts are the same as in other
        conditions (it is over origins, as the text is), what is known of them is used."""
        found = self.measured("selectivity", text)
        if found is not None:
            return found
        parts = conjuncts(condition)
        if len(parts) > 1:
            return prod(self.selectivity(str(part), part) for part in parts)
        return assumed_selectivity(condition)

    def join(self, text: str) -> float | None:
        """Results of a join / (rows right · arrivals left + rows left · arrivals right)."""
        return self.measured("join", text)

    def distinct(self, text: str) -> float | None:
        """How many different values columns have."""
        return self.measured("distinct", text)

    def early(self, text: str) -> float | None:
        """Of the results of a negation that leave, the share that leaves before its time."""
        return self.measured("early", text)

    @property
    def span(self) -> float:
        """Seconds of event time that an epoch takes."""
        # Clocks may stand still so far, as those of streams by arrival do: then nothing is known of it.
        return self.measured("span", EPOCH) or SPAN

    def cost(self, operator: str, part: str = "row") -> float:
        """CPU microseconds of an operator, by the name of its class.

        `fixed` is what every span costs on every shard, and `row` what each row costs that comes to it. The part
        `row` of a join is made of `probe`, `insert` and `expire`, per row that comes, of `visit`, per pair of rows
        with equal keys that is looked at, and of `weigh`, per result with a weight. What is done beside operators
        has names, too: `ingest` (to read a row before any operator), `shuffle` (to route a row to its shard),
        `store` (to write the state, per row that comes to an operator with state), `answer` (per row that changes
        the answer), and `epoch`, which is wall time of a whole epoch.
        """
        found = self.measured("cost", f"{operator} {part}")
        return assumed_cost(operator, part) if found is None else found
