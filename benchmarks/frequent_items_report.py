"""What `benchmarks.frequent_items` measured, as a table beside the words of the thesis (Golab, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchmarks.markdown import Content, short, table

NAME = "frequent-items"

Row = Mapping[str, Any]


def frequent_items_table(content: Content) -> str:
    """A line for each of the thesis' findings, a column for each stream."""
    streams = list(dict.fromkeys(r["stream"] for r in content["results"]))
    rows = [
        [says, *(here([r for r in content["results"] if r["stream"] == stream]) for stream in streams)]
        for says, here in FINDINGS.items()
    ]
    charts = [f"![Frequent {stream}](charts/frequent-{stream.split()[0]}.svg)" for stream in streams]
    note = f"Averages of {content['starts']} windows; none of it depends on the machine."
    return "\n\n".join([note, table(["the thesis says", *streams], rows), *charts])


def _between(
    name: str, unit: str = "", times: float = 1, **of: Sequence[int]
) -> Callable[[Sequence[Row]], str]:
    """From the least to the greatest of the averages of some k and some lengths of panes."""

    def told(rows: Sequence[Row]) -> str:
        found = [r[name] * times for r in rows if r[name] is not None and all(r[by] in of[by] for by in of)]
        texts = [short(value) for value in (min(found), max(found))] if found else ["none"]
        return " to ".join(dict.fromkeys(texts)) + (f" {unit}" if unit and found else "")

    return told


def _by_pane(cell: Callable[[Row], str]) -> Callable[[Sequence[Row]], str]:
    """For k = 5 and each length of panes."""
    return lambda rows: ", ".join(cell(r) for r in rows if r["k"] == 5)


FINDINGS: dict[str, Callable[[Sequence[Row]], str]] = {
    "(a) k = 5: δ is about 5 % of the window": _between("threshold", "%", 100, k=[5]),
    "(b) k = 5: 3 to 4 values are over δ": _between("over", k=[5]),
    "(c) the number of these that are reported": _between("reported", k=[5]),
    "(d) k ≥ 3: at least 80 % of the values over δ are found": _between("found", "%", 100, k=range(3, 11)),
    "(e) what is kept grows with k and with the number of panes: pairs for k = 5 and b = 20, 100, 500": _by_pane(
        lambda r: f"{r['pairs']:,.0f}"
    ),
    "(f) b = 20, k ≥ 7: counts are too low by less than 2 %": _between(
        "error", "%", 100, k=range(7, 11), pane=[20]
    ),
    "state for k = 5 and b = 20, 100, 500, in kB": _by_pane(lambda r: f"{r['bytes'] / 1e3:,.0f}"),
    "that of `top_k_counts`": _by_pane(lambda r: f"{r['exact_bytes'] / 1e3:,.0f}"),
}
"""What the thesis found in the parts of figure 6.3, and what is told of it here; the state is not in it."""
