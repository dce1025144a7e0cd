"""What `benchmarks.joins` measured, as tables beside the words of the thesis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.markdown import table

Row = Mapping[str, Any]

FOUND = {
    "5.2": "The costs of the four orders are as predicted for each algorithm, with smaller differences; those of "
    "lazy evaluation and of hash joins differ least.",
    "5.3": "Lazy evaluation is faster than eager evaluation, and RESTORE costs noticeably. Both gain "
    "as Δ grows, since more new tuples have the same key.",
    "5.4": "Buckets are the best way to cut the cost. With five, the algorithms hardly differ.",
}
"""What the thesis found, by figure."""


def join_tables(results: Sequence[Row]) -> str:
    """The tables of all parts that were measured."""
    parts = [
        *_figure(results, "5.2", "order", _by_order(results)),
        *_figure(results, "5.3", "Δ", _by_delta(results, "5.3")),
        *_figure(results, "5.4", "Δ", _by_delta(results, "5.4")),
        *_plans(results),
        *_rows(results, "lost", ("streams", "slide", "lost", "slide/range"), "Results lost without RESTORE:"),
        *_rows(results, "bands", ("rows", "way", "ms", "pairs per tuple"), "A band and the product:"),
    ]
    return "\n\n".join(parts)


def _by_order(results: Sequence[Row]) -> dict[str, dict[str, str]]:
    """By algorithm: the cost in each order relative to the first."""
    costs: dict[str, dict[str, float]] = {}
    for row in results:
        if row.get("figure") == "5.2":
            costs.setdefault(row["algorithm"], {})[row["order"]] = row["ms"]
    found = {}
    for algorithm, by_order in costs.items():
        best = next(iter(by_order.values())) or 1.0
        found[algorithm] = {order: f"{cost / best:.2f}" for order, cost in by_order.items()}
    return found


def _by_delta(results: Sequence[Row], figure: str) -> dict[str, dict[str, str]]:
    """By algorithm: the milliseconds per 1,000 tuples for each Δ."""
    found: dict[str, dict[str, str]] = {}
    for row in results:
        if row.get("figure") == figure:
            found.setdefault(row["algorithm"], {})[f"{row['delta']:g}"] = f"{row['ms']:.0f}"
    return found


def _figure(
    results: Sequence[Row], figure: str, by: str, cells: Mapping[str, Mapping[str, str]]
) -> list[str]:
    if not any(row.get("figure") == figure for row in results):
        return []
    heads = list(next(iter(cells.values())))
    rows = [[algorithm, *(own.get(head, "") for head in heads)] for algorithm, own in cells.items()]
    return [f"Figure {figure}, by {by}. The thesis: {FOUND[figure]}", table(["algorithm", *heads], rows)]


def _plans(results: Sequence[Row]) -> list[str]:
    """Pipelines beside the best tree, and beside the first one, which is the tree as it is written."""
    mine = [row for row in results if row.get("part") == "plans"]
    rows = []
    for streams in dict.fromkeys(row["streams"] for row in mine):
        plans = [row for row in mine if row["streams"] == streams]
        trees = [row["state"] for row in plans if not row["pipelined"]]
        rows += [
            [
                streams,
                row["plan"],
                f"{row['ms']:.0f}",
                f"{row['state']:,}",
                f"{row['expected']:,}",
                f"{row['state'] / trees[0]:.2f}",
                f"{row['state'] / min(trees):.2f}",
                "yes" if row["chosen"] else "",
            ]
            for row in plans
        ]
    header = ["streams", "plan", "ms", "state", "expected", "÷ first tree", "÷ best tree", "chosen"]
    return ["A pipeline and trees:", table(header, rows, left=2)] if rows else []


def _rows(results: Sequence[Row], part: str, names: Sequence[str], title: str) -> list[str]:
    mine = [[_cell(row[name]) for name in names] for row in results if row.get("part") == part]
    return [title, table(names, mine)] if mine else []


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:,}" if isinstance(value, int) else str(value)
