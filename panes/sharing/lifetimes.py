"""From when to when a window holds a tuple, for windows that are applied when a query is invoked."""

from __future__ import annotations

import numpy as np

from panes.delta.delta import BEGINNING, FOREVER, Instants
from panes.operators.window import round_up
from panes.plan.windows import BeginEndWindow, NowWindow, RangeWindow, UnboundedWindow
from panes.sharing.selection import TimeWindow


def lifetimes(window: TimeWindow, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
    """The instants at which tuples enter the window and leave it; those that never enter leave before that.

    `seen` is the instant from which on a tuple can be seen: its time, or later when it came late. Both results
    grow with `ts` where `seen` is `ts`.
    """
    match window:
        case RangeWindow(range_us, slide_us):
            if slide_us is None:
                return seen, ts + range_us
            return round_up(seen, slide_us), round_up(ts + range_us, slide_us)
        case NowWindow():
            return seen, ts + 1
        case UnboundedWindow():
            return seen, np.full(len(ts), FOREVER)
        case BeginEndWindow():
            return _between(window, ts, seen)


def _between(window: BeginEndWindow, ts: Instants, seen: Instants) -> tuple[Instants, Instants]:
    enters, leaves = seen, np.full(len(ts), FOREVER)
    if window.end_is_relative:
        enters = np.maximum(seen, ts - window.end_us)
    else:
        enters = np.where(ts > window.end_us, FOREVER, seen)
    if window.begin_is_relative:
        leaves = ts - window.begin_us + 1
    else:
        leaves[ts < window.begin_us] = BEGINNING
    return enters, leaves
