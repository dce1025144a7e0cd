"""What each rule makes of queries: text files of cases, each a query and its plan before and after the rule.

    == a title
    SELECT …
    =>
    the plan as the rules before leave it
    ->
    the plan after the rule; `nothing` when it leaves the plan as it is

`python -m tests.optimizer.fixtures` writes what comes now under every query: read the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from panes.optimizer.optimizer import RULES, Rule
from panes.plan.nodes import Node
from tests.optimizer.rewriting import bound, tree

FOLDER = Path(__file__).parent.parent / "golden" / "rules"


@dataclass(frozen=True)
class Fixture:
    rule: Rule
    title: str
    sql: str
    expected: str

    def __str__(self) -> str:
        return f"{self.rule.__name__}: {self.title}"

    def before(self) -> Node:
        """The plan as the rules before this one leave it."""
        plan = bound(self.sql)
        for rule in RULES[: RULES.index(self.rule)]:
            plan = rule(plan)
        return plan

    def outcome(self) -> str:
        before = self.before()
        after = self.rule(before)
        return f"{tree(before)}\n->\n{'nothing' if after == before else tree(after)}"


def fixtures() -> list[Fixture]:
    return [fixture for rule in RULES for fixture in _of_rule(rule)]


def _of_rule(rule: Rule) -> list[Fixture]:
    found = []
    for block in ("\n" + _file(rule).read_text(encoding="utf-8")).split("\n== ")[1:]:
        title, _, rest = block.partition("\n")
        sql, _, expected = rest.partition("\n=>\n")
        found.append(Fixture(rule, title, sql.strip("\n"), expected.strip("\n")))
    return found


def _file(rule: Rule) -> Path:
    return FOLDER / f"{rule.__name__}.txt"


if __name__ == "__main__":
    for each in RULES:
        blocks = [f"== {f.title}\n{f.sql}\n=>\n{f.outcome()}\n" for f in _of_rule(each)]
        _file(each).write_text("\n".join(blocks), encoding="utf-8")
