"""How a query is refreshed by deadline."""

from __future__ import annotations

from typing import NamedTuple


class Scheduled(NamedTuple):
    """What `SHOW SCHEDULE` and `db.status()` say of a query that is refreshed by deadline."""

    name: str
    group: int
    """The number of the synopsis that it reads."""
    asked: int
    """How many updates of the synopsis there may be from one refresh to the next."""
    given: float | None
    """How many there are on average; None before the second refresh."""
    d: int | None
    """How many there may be until the deadline; negative when it has passed, None before the first refresh."""
    late: int
    """The number of refreshes after the deadline."""
    latency: float | None
    """By how many updates refreshes come too late, on average."""
    cost: float
    """The seconds that a refresh of the query alone takes."""
