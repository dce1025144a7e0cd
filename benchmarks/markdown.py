"""What the pages of figures are made of: tables, rates, and the machine that was measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Content = Mapping[str, Any]
"""A result file."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A Markdown table; all but the first columns are numbers, and stand to the right."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(row) + " |" for row in (header, rule, *rows))


def rate(value: float | None) -> str:
    """Rows per second, with as many digits as mean something.

    >>> rate(1_234_567), rate(45_678), rate(6_543), rate(None)
    ('1.23 M', '46 k', '6.5 k', '')
    """
    if value is None:
        return ""
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value / 1e3:.0f} k" if value >= 10_000 else f"{value / 1e3:.1f} k"


def short(value: float) -> str:
    """Two digits, or all before the point.

    >>> short(0.1214), short(3.946), short(17.497), short(104.2)
    ('0.12', '3.9', '17', '104')
    """
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def measured_on(content: Content) -> str:
    machine, versions = content["machine"], content["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "panes")
    return (
        f"Measured {content['measured']} on {machine['cores']} cores of {machine['processor']}, "
        f"{machine['memory_gb']} GB; {machine['system']}, Python {machine['python']}; {packages}."
    )
