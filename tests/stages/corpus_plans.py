"""The logical plans of all queries of the corpus that epochs can run."""

from __future__ import annotations

from panes.errors import SettingError, SqlError
from panes.language import statements as st
from panes.operators.tools.strategy import check_strategy
from panes.plan.begin_end import is_begin_end
from panes.plan.nodes import Node
from panes.plan.walk import is_table_only
from panes.state.buffers.choose import STRATEGIES
from tests.language.corpus import optimized, parsed, read_cases


def _plans() -> dict[str, Node]:
    found = {}
    for case in read_cases():
        if case.file.startswith("refused"):
            continue
        try:
            statements = parsed(case.sql)
        except SqlError:
            continue
        for number, statement in enumerate(statements):
            if not isinstance(statement, st.CreateQuery | st.SelectQuery):
                continue
            plan = optimized(case.sql, number)
            assert plan is not None
            if not is_begin_end(plan) and not is_table_only(plan):
                found[f"{case} {number}"] = plan
    return found


def _can_run(plan: Node, strategy: str) -> bool:
    try:
        check_strategy(plan, strategy)
    except SettingError:
        return False
    return True


PLANS = _plans()
RUNS = [
    (name, strategy) for name, plan in PLANS.items() for strategy in STRATEGIES if _can_run(plan, strategy)
]
"""Every query under every strategy that can run it."""
