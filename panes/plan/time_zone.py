"""Time zones: from when on the clocks of a zone are how far ahead of UTC.

All engines go by this one table: the data bases of zones that they bring along differ in what they expect of the
future. It is made from that of polars, which is the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl

Ints = npt.NDArray[np.int64]

_DAY = 86_400_000_000
_SECOND = 1_000_000
_FIRST, _LAST = -62_091 * _DAY, 47_482 * _DAY
"""1800 and 2100: before, zones have no rules, and after it the last ones stay."""


class UnknownZone(ValueError):
    """There is no time zone of this name."""


@dataclass(frozen=True)
class TimeZone:
    """The instants at which clocks are changed, and how far ahead of UTC they are before the first one and after
    each; all in microseconds."""

    changes: Ints
    ahead: Ints

    def ahead_at(self, instants: Ints) -> Ints:
        """How far ahead of UTC the clocks are at each instant."""
        found: Ints = self.ahead[np.searchsorted(self.changes, instants, side="right")]
        return found


@cache
def time_zone(name: str) -> TimeZone:
    """A time zone by its name, such as Europe/Berlin; raises UnknownZone."""
    if not name or not name[0].isalpha():
        raise UnknownZone(name)
    days = np.arange(_FIRST, _LAST, _DAY)
    ahead = _ahead(name, days)
    at = np.flatnonzero(np.diff(ahead))
    # The change lies within the day: after `before`, and not after `after`.
    before, after, last = days[at], days[at + 1], ahead[at]
    while (after - before > _SECOND).any():
        middle = (before + after) // (2 * _SECOND) * _SECOND
        is_later = _ahead(name, middle) == last
        before, after = np.where(is_later, middle, before), np.where(is_later, after, middle)
    return TimeZone(after, np.append(ahead[:1], ahead[at + 1]))


def _ahead(name: str, instants: Ints) -> Ints:
    utc = pl.Series(instants).cast(pl.Datetime("us", "UTC"))
    try:
        local = utc.dt.convert_time_zone(name).dt.replace_time_zone(None)
    except pl.exceptions.PolarsError as error:
        raise UnknownZone(name) from error
    found: Ints = local.cast(pl.Int64).to_numpy() - instants
    return found
