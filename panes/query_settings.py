"""The settings that a query has from its registration on."""

from __future__ import annotations

from typing import NamedTuple

from panes.config import SETTINGS


class QuerySettings(NamedTuple):
    """The settings that a query keeps: what the database has when it is registered, or what its own statement
    gives. The catalog has a column for each of them."""

    strategy: str = str(SETTINGS["strategy"].default)
    calendar_days: int = int(SETTINGS["calendar_days"].default)
    changes: str = str(SETTINGS["changes"].default)
    """Whether its changes are net per 'epoch' where that is cheaper, or those of every 'instant'."""
    negation: str = str(SETTINGS["negation"].default)
    join: str = str(SETTINGS["join"].default)
    rules_off: str = str(SETTINGS["rules_off"].default)
    shed: str = str(SETTINGS["shed"].default)
    """Whether rows may be dropped for it: 'never', or 'auto' when the load is too high."""
    priority: float = float(SETTINGS["priority"].default)
