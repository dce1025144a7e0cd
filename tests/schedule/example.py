"""The seven queries of section 8.4.3 of the thesis: MAX over one stream, with panes of a minute."""

from __future__ import annotations

from panes.schedule.member import Member

WINDOWS = {1: (10, 2), 2: (5, 2), 3: (6, 2), 4: (15, 3), 5: (12, 3), 6: (20, 5), 7: (30, 5)}
"""Minutes of WINDOW and SLIDE."""


def members(*, per_comparison: float = 1.0) -> list[Member]:
    """The maximum of n panes takes n - 1 comparisons."""
    return [
        Member(query, "G1", slide, (window - 1) * per_comparison)
        for query, (window, slide) in WINDOWS.items()
    ]
