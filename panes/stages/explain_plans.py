"""EXPLAIN (PLANS): the plans that were compared when that of a query was chosen, as text or as data."""

from __future__ import annotations

from dataclasses import asdict
from textwrap import wrap
from typing import Any

from panes.stages.physical_plan import Candidate, Choice

WIDTH = 100


def explain_plans(choice: Choice) -> str:
    """A table of the candidates, the chosen one first, each with its shape and the verdict below it."""
    heads = ["rows/s", "state rows", "CPU ms/s", "utilization"]
    cells = [_cells(candidate, choice) for candidate in choice.candidates]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    right = sum(widths) + 2 * len(widths)
    left = min(WIDTH - right, max(len("plan"), *(len(candidate.name) for candidate in choice.candidates)))
    lines = [_line("plan", heads, left, widths)]
    for candidate, row in zip(choice.candidates, cells, strict=True):
        first, *others = wrap(candidate.name, left, subsequent_indent="  ")
        lines += [_line(first, row, left, widths), *others]
        for text in (candidate.shape, candidate.verdict):
            lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    if choice.capacity is not None:
        lines.append(f"utilization is of {_cores(choice.capacity)}")
    if choice.rules:
        lines += wrap(
            f"rules that changed all of them: {', '.join(choice.rules)}", WIDTH, subsequent_indent="  "
        )
    return "\n".join(lines)


def explain_plans_json(choice: Choice) -> dict[str, Any]:
    """The same facts for programs."""
    found = [asdict(one) | {"utilization": _utilization(one, choice)} for one in choice.candidates]
    return {"candidates": found, "capacity": choice.capacity, "rules": list(choice.rules)}


def _line(text: str, cells: list[str], left: int, widths: list[int]) -> str:
    figures = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"{text:<{left}}{figures}"


def _cells(one: Candidate, choice: Choice) -> list[str]:
    used = _utilization(one, choice)
    return [
        f"{one.rate:,.0f}",
        f"{one.state:,.0f}",
        f"{1000 * one.cost:,.3g}" if one.cost < 1 else f"{1000 * one.cost:,.0f}",
        f"{100 * used:.2g} %" if used < 0.1 else f"{100 * used:,.0f} %",
    ]


def _utilization(one: Candidate, choice: Choice) -> float:
    """The part of the cores that are there, or of one where nobody knows how many there are."""
    return one.cost / (choice.capacity or 1.0)


def _cores(capacity: float) -> str:
    return "1 core" if capacity == 1 else f"{capacity:g} cores"
