"""What `benchmarks.operators` measured, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.markdown import table

AT = 600_000
"""The window whose targets are given."""


def operator_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Rows per second by operator and window beside the targets; those that are missed are marked.

    >>> result = {"operator": "join", "rows_per_s": 3e6, "results_per_row": 1.0, "target": 1.5e6}
    >>> print(operator_table([result | {"window": 60_000}, result | {"window": 600_000, "rows_per_s": 1e6}]))
    | operator | 60,000 | 600,000 | grows by | results per row | target at 600,000 |
    | --- | ---: | ---: | ---: | ---: | ---: |
    | join | 3.00 M/s | 1.00 M/s | 3.00× | 1.00 | 1.5 M/s ✗ |
    """
    windows = list(dict.fromkeys(result["window"] for result in results))
    by_operator: dict[str, dict[int, Mapping[str, Any]]] = {}
    for result in results:
        by_operator.setdefault(result["operator"], {})[result["window"]] = result
    rows = []
    for name, found in by_operator.items():
        rates = [found[window]["rows_per_s"] for window in windows]
        aimed = found[AT]
        missed = " ✗" if aimed["target"] and aimed["rows_per_s"] < aimed["target"] else ""
        rows.append(
            [
                name,
                *(f"{rate / 1e6:.2f} M/s" for rate in rates),
                f"{rates[0] / rates[-1]:.2f}×",
                f"{aimed['results_per_row']:.2f}",
                f"{aimed['target'] / 1e6:.1f} M/s{missed}" if aimed["target"] else "",
            ]
        )
    heads = (f"{window:,}" for window in windows)
    return table(["operator", *heads, "grows by", "results per row", f"target at {AT:,}"], rows)
