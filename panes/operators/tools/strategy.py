"""How rows leave: by known lifetimes or by negative tuples.

The strategies (`SET strategy`) give the same answers at different cost:

* `nt`: every window is followed by an `ExplicitExpiry`, so every departure is a negative tuple, every edge is
  STRICT and all state is keyed;
* `direct`: rows leave all state at their `_exp`, which is found by reading the state whole; a plan in which
  rows leave at times nobody can foresee is refused;
* `upa`: rows leave at their `_exp`, and state is laid out by the pattern of the edge. Above a negation there
  are two ways, of which cost decides (`optimizer/choose_plan.py`). While few rows leave early, they keep their
  lifetimes, the state above is a calendar queue, and only what leaves early comes as a negative tuple. When many
  do, every departure is a negative tuple and the state above is keyed.
"""

from __future__ import annotations

from dataclasses import dataclass

from panes.delta.delta import Delta
from panes.errors import SettingError
from panes.plan import nodes
from panes.plan.lookups import is_lookup
from panes.plan.patterns import Pattern, pattern_of
from panes.state.buffers.choose import STRATEGIES


@dataclass
class Departures:
    """What a negation has given, and what of it left before its time."""

    given: int = 0
    early: int = 0

    def count(self, delta: Delta) -> None:
        """Counts an output in which every row of negative weight takes back one before its time."""
        weight = delta.weight
        self.given += int(weight[weight > 0].sum())
        self.early -= int(weight[weight < 0].sum())

    @property
    def measures(self) -> dict[str, float]:
        """The same by field of `Measures`."""
        return {"given": self.given, "early": self.early}


def check_strategy(plan: nodes.Node, strategy: str) -> None:
    """Refuses a strategy that cannot run the plan."""
    if strategy not in STRATEGIES:
        raise SettingError(f"there is no strategy {strategy!r}; there are {', '.join(STRATEGIES)}")
    if strategy == "direct":
        _refuse_strict(plan)


def _refuse_strict(node: nodes.Node, *, is_kept: bool = False) -> None:
    """`is_kept` says that OVER above the node keeps its rows."""
    pattern, reason = pattern_of(node)
    # A value of a group or of OVER replaces the one before without a look at any state, so on top it is no harm;
    # nor is top-n, which says what leaves it.
    if pattern is Pattern.STRICT and (is_kept or not _gives_new_values(node)):
        raise SettingError(
            f"strategy 'direct' cannot run this query: the output of {type(node).__name__} is STRICT "
            f"({reason}); use 'upa' or 'nt'"
        )
    # What happens to a table that is looked up never reaches what is above.
    for child in node.children[:1] if is_lookup(node) else node.children:
        _refuse_strict(child, is_kept=is_kept or isinstance(node, nodes.Over))


def _gives_new_values(node: nodes.Node) -> bool:
    while isinstance(node, (nodes.Select, nodes.Project, nodes.Unnest)):
        node = node.child
    return isinstance(node, (nodes.GroupBy, nodes.Over, nodes.TopN))
