"""EXPLAIN: a plan as a tree of lines, or as data for programs.

Every line says what a node does, the pattern of the edge that leaves it, and the buffer that its state lives
in, with the reason. Which buffer suits a pattern is for the strategy to say: `choose` is its function, and
BUFFER_FOR is that of the default strategy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import zip_longest
from textwrap import TextWrapper
from typing import Any, NamedTuple

from panes.plan.describe import describe
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Except,
    GroupBy,
    Intersect,
    Join,
    Node,
    Rstream,
    SemiJoin,
    TableScan,
    Window,
    Wstream,
)
from panes.plan.patterns import MONOTONIC, STRICT, WEAK, Pattern, answer_pattern, pattern_of

WIDTH = 100
LEAST = 20
"""Columns that the text of a node has at least."""

Choose = Callable[[Pattern], str]


@dataclass(frozen=True)
class Statistics:
    """What was observed, or estimated, of a node: rows it gives and work it does per second."""

    rate: float
    cost: float


BUFFER_FOR = {
    Pattern.MONOTONIC: "list",
    Pattern.WEAKEST: "list",
    Pattern.WEAK: "calendar",
    Pattern.STRICT: "keyed",
}
"""The buffer that suits each pattern: a list when rows leave as they came, a calendar queue by expiry when
they leave at known times in any order, and a table by key when retractions must find them."""

_WHY = {
    Pattern.MONOTONIC: "rows stay",
    Pattern.WEAKEST: "first in, first out",
    Pattern.WEAK: "known expiry, any order",
    Pattern.STRICT: "retractions find their row",
}


def state_of(node: Node, inputs: tuple[Pattern, ...], choose: Choose = BUFFER_FOR.__getitem__) -> str | None:
    """The buffers of a node's state and why, or None when the node keeps none."""
    match node:
        case Join(right=TableScan() as table) | SemiJoin(right=TableScan() as table):
            return _of_lookup(table)
        case AntiJoin(right=TableScan() as table):
            return _of_lookup(table)
        case Join() | SemiJoin() | AntiJoin() | Intersect() | Except():
            left, right = inputs
            return _both(left, right, choose)
        case Distinct():
            return _distinct(inputs[0], choose)
        case GroupBy():
            return "by group: a new value replaces the old"
        case Window(spec=spec) if not spec.is_timed:
            return "list: first in, first out"
        case Window(spec=spec) if spec.slide_us is not None:
            return "list: held until the slide"
        case Rstream():
            return f"{choose(inputs[0])}: the whole relation"
        case Wstream():
            return "list: the youngest results"
    return None


def _of_lookup(table: TableScan) -> str | None:
    return "keyed: table updates find their rows" if table.retroactive else None


def _both(left: Pattern, right: Pattern, choose: Choose) -> str:
    one, other = choose(left), choose(right)
    if one == other:
        return f"2 × {one}: {_WHY[max(left, right)]}"
    return f"{one} + {other}: inputs are {left} and {right}"


def _distinct(child: Pattern, choose: Choose) -> str:
    if child is STRICT:
        return "keyed: counts, as retractions come"
    if child is MONOTONIC:
        return "keyed: a value that came stays"
    return f"{choose(WEAK)}: shown and youngest rows (δ*)"


def explain(
    plan: Node, choose: Choose | None = None, statistics: Mapping[Node, Statistics] | None = None
) -> str:
    """The plan as text, at most 100 columns wide. Nothing is left out: what does not fit goes on below."""
    statistics = statistics or {}
    choose = choose or BUFFER_FOR.__getitem__
    rows = [_row(node, bars, choose) for node, bars in _walk(plan)]
    numbers = [_numbers(statistics.get(node)) for node, _ in _walk(plan)] if statistics else []
    header = _Row(("", ""), "plan", "pattern", "state")
    tail = 20 if statistics else 0
    # The state column takes what it needs, up to half of the line; a long plan column is wrapped.
    right = min(max(len(row.state) for row in [*rows, header]), (WIDTH - tail) // 2)
    left = min(max(len(row.bars[0] + row.what) for row in [*rows, header]), WIDTH - tail - right - 13)
    lines = []
    for place, row in enumerate([header, *rows]):
        whats, states = _wrapped(row.what, left, *row.bars), _wrapped(row.state, right)
        for n, (what, state) in enumerate(zip_longest(whats, states, fillvalue="")):
            line = f"{what or row.bars[1]:<{left}}  {row.pattern * (n == 0):<9}  {state}"
            if statistics and n == 0:
                shown = ("rows/s", "cost/s") if place == 0 else numbers[place - 1]
                line = f"{line:<{WIDTH - tail}}{shown[0]:>10}{shown[1]:>10}"
            lines.append(line.rstrip())
    return "\n".join([*lines, *_answer_lines(plan, choose)])


def _answer_lines(plan: Node, choose: Choose) -> list[str]:
    pattern, reason = answer_pattern(plan)
    line = f"answer: {pattern} ({reason}), kept as {choose(pattern)}"
    return _wrapped(line, WIDTH, "", "  ")


def _wrapped(text: str, width: int, first: str = "", others: str = "") -> list[str]:
    """The lines of a text after what is drawn in front of them; a deep tree takes the width that it needs."""
    return TextWrapper(
        max(width, len(others) + LEAST),
        initial_indent=first,
        subsequent_indent=others,
        break_on_hyphens=False,
        replace_whitespace=False,
    ).wrap(text)


class _Row(NamedTuple):
    bars: tuple[str, str]
    """What is drawn in front of the first line, and in front of the others."""
    what: str
    pattern: str
    state: str


def _row(node: Node, bars: tuple[str, str], choose: Choose) -> _Row:
    inputs = tuple(pattern_of(child).pattern for child in node.children)
    return _Row(bars, describe(node), str(pattern_of(node).pattern), state_of(node, inputs, choose) or "")


def _walk(node: Node, indent: str = "", below: str = "") -> list[tuple[Node, tuple[str, str]]]:
    """Every node with what is drawn in front of its first line, and of those that follow."""
    found = [(node, (indent, below + ("│    " if node.children else "     ")))]
    for place, child in enumerate(node.children):
        last = place == len(node.children) - 1
        found += _walk(child, below + ("└─ " if last else "├─ "), below + ("   " if last else "│  "))
    return found


def _numbers(statistics: Statistics | None) -> tuple[str, str]:
    if statistics is None:
        return "", ""
    return f"{statistics.rate:,.4g}", f"{statistics.cost:,.4g}"


def explain_json(
    plan: Node, choose: Choose | None = None, statistics: Mapping[Node, Statistics] | None = None
) -> dict[str, Any]:
    """The plan as data: the same facts as `explain`, uncut, with the reason of every pattern."""
    choose = choose or BUFFER_FOR.__getitem__
    pattern, reason = answer_pattern(plan)
    return {
        "answer": {"pattern": str(pattern), "reason": reason, "buffer": choose(pattern)},
        "plan": _node_json(plan, choose, statistics or {}),
    }


def _node_json(node: Node, choose: Choose, statistics: Mapping[Node, Statistics]) -> dict[str, Any]:
    pattern, reason = pattern_of(node)
    inputs = tuple(pattern_of(child).pattern for child in node.children)
    data: dict[str, Any] = {
        "node": type(node).__name__,
        "does": describe(node),
        "pattern": str(pattern),
        "reason": reason,
        "state": state_of(node, inputs, choose),
        "columns": {f.name: str(f.type) for f in node.schema},
    }
    if node in statistics:
        data["statistics"] = asdict(statistics[node])
    data["inputs"] = [_node_json(child, choose, statistics) for child in node.children]
    return data
