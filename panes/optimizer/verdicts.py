"""Why a plan was chosen, and why others were not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from panes.optimizer.cost import PlanCost
from panes.plan.nodes import Node
from panes.plan.shape import shape
from panes.stages.physical_plan import PhysicalPlan
from panes.stages.step_cost import StepCost

_NOTICED = 0.005
"""The part by which costs must differ to be told apart in words."""
_TIMES = 3.0
"""From how many times the cost on it is said in times, and not in percent."""


@dataclass(frozen=True)
class Costed:
    """A physical plan with its cost."""

    name: str
    plan: PhysicalPlan
    cost: PlanCost
    effective: float
    """What it costs when it sheds what does not fit; the same as `cost` has where all fits."""
    rules: tuple[str, ...] = ()
    """Those that have changed it after it became a candidate."""

    @property
    def sheds(self) -> bool:
        """Whether it does not fit, and has drop boxes."""
        return self.effective != self.cost.cpu

    @property
    def steps(self) -> Iterator[tuple[Node, StepCost]]:
        """The steps that operate on shards, with the nodes that they are for."""
        for number, stage in enumerate(self.plan.stages):
            for step in stage.fragment.steps if stage.fragment is not None else ():
                found = next(
                    (cost for key, cost in self.cost.steps.items() if key[:3] == (number, "", step.name)),
                    None,
                )
                if found is not None:
                    yield step.node, found


def verdicts(written: Costed, found: Sequence[Costed]) -> list[str]:
    """A verdict for each plan, of which the first is the chosen one; `written` is the one as its text has it."""
    best, *others = found
    return [_chosen(best, written, others), *(_other(one, best) for one in others)]


def _chosen(best: Costed, written: Costed, others: Sequence[Costed]) -> str:
    if not others:
        return "chosen: there is no other"
    than = others[0] if best is written else written
    share = 1 - best.cost.cpu / than.cost.cpu if than.cost.cpu else 0.0
    if share <= -_NOTICED and best.sheds:
        return f"chosen: it keeps more results than {than.name} when load is shed"
    if share <= -_NOTICED:
        return f"chosen: the cluster cannot run {than.name}"
    if share < _NOTICED:
        return "chosen: no other is cheaper"
    return f"chosen: {share:.0%} cheaper than {than.name}".replace("%", " %")


def _other(one: Costed, best: Costed) -> str:
    ratio = one.cost.cpu / best.cost.cpu if best.cost.cpu else 1.0
    if ratio - 1 <= -_NOTICED and one.sheds:
        return f"{1 - ratio:.0%} cheaper, but it keeps fewer results when load is shed".replace("%", " %")
    if ratio - 1 <= -_NOTICED:
        return f"{1 - ratio:.0%} cheaper, but the cluster cannot run it".replace("%", " %")
    if ratio - 1 < _NOTICED:
        return "costs the same"
    much = f"{ratio:.0f} times the cost" if ratio >= _TIMES else f"{ratio - 1:.0%} dearer".replace("%", " %")
    return f"{much}: {_why(one, best)}"


def _why(one: Costed, best: Costed) -> str:
    """What costs more: the dearest step that the chosen plan does not have, or more of the same."""
    known = {node for node, _ in best.steps}
    own = [(step.cpu, node, step) for node, step in one.steps if node not in known]
    if own:
        _, node, step = max(own, key=lambda found: found[0])
        given = [f"gives {step.rows_out:,.0f} rows/s"] if step.rows_out >= 1 else []
        kept = [f"keeps {step.state:,.0f} rows"] if step.state >= 1 else []
        return f"{_named(node)} {' and '.join([*given, *kept]) or 'costs more'}"
    more = one.cost.rate - best.cost.rate
    if more >= 1:
        return f"its steps give {more:,.0f} rows/s more"
    return f"it keeps {one.cost.state:,.0f} rows in dearer layouts"


def _named(node: Node) -> str:
    text = shape(node)
    return text if " " not in text or text.startswith(("δ", "γ", "⋈")) else f"({text})"
