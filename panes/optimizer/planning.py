"""What is fixed when a plan is made: the settings of its query, and the machine that it runs on."""

from __future__ import annotations

from dataclasses import dataclass

from panes.config import SETTINGS


@dataclass(frozen=True)
class Planning:
    """The settings under which a plan is chosen. They stay those of the query, also when it is planned again."""

    strategy: str = "upa"
    calendar_days: int = 10
    every_instant: bool = False
    large_tables: frozenset[str] = frozenset()
    """Those that are too large for every shard to have all of them."""
    negation: str = "auto"
    """Where negations stand: 'auto' by cost, 'up' above joins, 'down' below them, or as 'written'."""
    rules_off: frozenset[str] = frozenset()
    """The names of rules that are not applied."""
    cores: int | None = None
    """How many the cluster has; None when no epoch has run yet, and nobody knows."""
    join: str = "auto"
    """How three and more windows are joined: 'auto' by cost, 'pipelined' in one operator where the keys allow it,
    or in a 'tree' of joins of two."""
    lazy_expiration: str = str(SETTINGS["lazy_expiration"].default)
    sheds: bool = False
    """Whether its plan has drop boxes: only one for which `why_not_sheddable` has no reason may."""
    shards: int | None = None
    """Over how many shards its rows are spread; None: as many as the cluster has cores."""

    @property
    def has_one_shard(self) -> bool:
        """Whether nothing can be gained by spreading rows, as far as is known."""
        return (self.shards or self.cores) == 1


def rules_in(setting: str) -> frozenset[str]:
    """The names in a list that is separated by commas."""
    return frozenset(name for part in setting.split(",") if (name := part.strip()))
