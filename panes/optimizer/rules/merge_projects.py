"""One projection is computed in place of two, and none in place of one that changes nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from panes.plan.expressions import Column, Literal, substitute, walk
from panes.plan.nodes import AntiJoin, GroupBy, Join, Node, Project, SemiJoin, with_children


def merge_projects(plan: Node) -> Node:
    """The plan without projections over projections, and without those that give the columns that are there.

        Project d.x + 1 AS y
          Project a.k * 2 AS d.x, a.v AS d.v    →    Project (a.k * 2) + 1 AS y
            Stream a                                   Stream a

    Two stay two where the upper one reads a computed column more than once: it is computed once below. A group-by
    takes columns by their names, so one that only chooses some of those of a join goes from below it: the rows of
    the join can then be summed where they are made.
    """
    plan = with_children(plan, *map(merge_projects, plan.children))
    if isinstance(plan, GroupBy) and isinstance(plan.child, Project) and _chooses_of_join(plan.child):
        return replace(plan, child=plan.child.child)
    if not isinstance(plan, Project):
        return plan
    if isinstance(plan.child, Project) and not _is_computed_twice(plan, plan.child):
        below = dict(plan.child.columns)
        columns = tuple((name, substitute(expression, below)) for name, expression in plan.columns)
        return merge_projects(Project(plan.child.child, columns))
    return plan.child if _changes_nothing(plan) else plan


def _is_computed_twice(upper: Project, lower: Project) -> bool:
    read = Counter(e.name for _, top in upper.columns for e in walk(top) if isinstance(e, Column))
    return any(read[name] > 1 and not isinstance(e, (Column, Literal)) for name, e in lower.columns)


def _changes_nothing(project: Project) -> bool:
    return project.schema == project.child.schema and _renames_nothing(project)


def _chooses_of_join(project: Project) -> bool:
    return isinstance(project.child, (Join, SemiJoin, AntiJoin)) and _renames_nothing(project)


def _renames_nothing(project: Project) -> bool:
    return all(e == Column(e.type, name) for name, e in project.columns)
