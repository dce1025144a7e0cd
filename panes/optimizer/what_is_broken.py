"""What a rule must leave as it is, checked each time that it has changed a plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from panes.optimizer.origins import origins_of
from panes.plan.nodes import Node, StreamScan, TableScan, Window
from panes.plan.patterns import pattern_of
from panes.plan.walk import walk


def what_is_broken(before: Node, after: Node) -> str | None:
    """What a plan has that it must not have after a rule; None when there is nothing.

    A rule keeps the columns of the answer, reads every stream and table as often and through the same windows as
    before, and does not make the pattern of the answer harder.
    """
    if after.schema != before.schema:
        return f"the columns are ({after.schema}) and were ({before.schema})"
    now, then = _read(after), _read(before)
    if now != then:
        more, fewer = (", ".join(map(str, side.elements())) or "nothing" for side in (now - then, then - now))
        return f"the plan reads {more} more, and {fewer} less"
    found, was = pattern_of(after), pattern_of(before)
    if found.pattern > was.pattern:
        return f"the answer is {found.pattern} ({found.reason}) and was {was.pattern}"
    return None


def _read(plan: Node) -> Counter[Hashable]:
    """What a plan reads: streams and tables by name, and windows. Aliases may change."""
    found: Counter[Hashable] = Counter()
    for node in walk(plan):
        if isinstance(node, StreamScan):
            found[node.stream] += 1
        elif isinstance(node, TableScan):
            found[node.table] += 1
        elif isinstance(node, Window):
            found[_text(node)] += 1
    return found


def _text(window: Window) -> str:
    origins = origins_of(window) if window.spec.partition_by else {}
    return window.spec.text(lambda name: str(origins[name]))
