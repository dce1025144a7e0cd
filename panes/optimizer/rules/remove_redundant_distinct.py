"""DISTINCT is left out where its rows are different anyway, and where another DISTINCT follows."""

from __future__ import annotations

from panes.plan.nodes import Distinct, Node, Project, Select, Union, with_children
from panes.plan.unique_columns import is_without_duplicates


def remove_redundant_distinct(plan: Node) -> Node:
    """The plan without DISTINCT that changes nothing.

        Distinct                            Project a.k, n
          Project a.k, n              →       Group by a.k: n
            Group by a.k: n                     …
              …

        Distinct                            Distinct
          Union                               Union
            Distinct                  →         …
              …                                 …
            …

    Below another DISTINCT it would keep the same values once more.
    """
    if isinstance(plan, Distinct):
        child = remove_redundant_distinct(_with_duplicates(plan.child))
        return child if is_without_duplicates(child) else with_children(plan, child)
    return with_children(plan, *map(remove_redundant_distinct, plan.children))


def _with_duplicates(node: Node) -> Node:
    """The same values, each perhaps more often."""
    match node:
        case Distinct():
            return _with_duplicates(node.child)
        case Union() | Project() | Select():
            return with_children(node, *map(_with_duplicates, node.children))
    return node
