"""The tables of the demo, which change while it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from panes.cli.demo_queries import TABLES

if TYPE_CHECKING:
    from panes.database import Database

LINKS = 4
"""Of the generated traffic."""

RATE = 10
"""Of every link at first."""

SECONDS_BETWEEN_CHANGES = 8.0


@dataclass
class DemoTariffs:
    """The same tariffs in both tables: that of a link is doubled, is what it was at first, and so on."""

    db: Database
    changes: int = 0
    last_change: str = ""
    """The last change, in words."""

    def create(self) -> None:
        for statement in TABLES:
            self.db.sql(statement)
        rows = ", ".join(f"({link}, {RATE})" for link in range(LINKS))
        self.db.sql(f"INSERT INTO tariffs VALUES {rows}; INSERT INTO tariffs_then VALUES {rows}")

    def keep_changing(self, elapsed: float) -> None:
        """Changes what should have changed by that time, in seconds."""
        while self.changes < elapsed // SECONDS_BETWEEN_CHANGES:
            link, is_doubled = self.changes // 2 % LINKS, self.changes % 2 == 0
            rate, before = (2 * RATE, RATE) if is_doubled else (RATE, 2 * RATE)
            change = f"SET rate = {rate} WHERE link = {link}"
            self.db.sql(f"UPDATE tariffs {change}; UPDATE tariffs_then {change}")
            self.changes += 1
            self.last_change = f"the tariff of link {link} is {rate} now, and was {before}"
