from __future__ import annotations

from panes.optimizer.assumed import FIXED
from panes.optimizer.shedding.row_costs import RowCosts
from panes.optimizer.statistics import Fact, FactName, Statistics


def test_rows_cost_what_they_cost_and_epochs_nothing() -> None:
    facts = {FactName("cost", "Join fixed"): Fact(900.0, 3), FactName("cost", "Join probe"): Fact(0.7, 3)}
    found = RowCosts(facts)
    assert found.cost("Join", FIXED) == found.cost("GroupBy", FIXED) == 0
    assert found.cost("Join", "probe") == 0.7
    assert found.cost("GroupBy") == Statistics(facts).cost("GroupBy")
