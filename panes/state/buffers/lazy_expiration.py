"""When state from which rows leave unseen is cleaned of the dead ones: the setting `lazy_expiration`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from panes.config import SETTINGS
from panes.plan.durations import MICROSECONDS_IN
from panes.state.buffers.chunk import Chunk


@dataclass(frozen=True)
class LazyExpiration:
    """A chunk is rewritten without its dead rows when these are a share of it, or when the first of them has been
    dead for some time.

    With a share s at most s of the rows of each chunk are dead, and for each row that is removed at most 1/s - 1
    are moved.
    """

    share: float | None = 0.5
    after_us: int = 0

    @classmethod
    def of(cls, setting: str) -> LazyExpiration:
        """The rule that a value of the setting means.

        >>> LazyExpiration.of("5%"), LazyExpiration.of("2 SECONDS")
        (LazyExpiration(share=0.05, after_us=0), LazyExpiration(share=None, after_us=2000000))
        """
        number, unit = re.findall(r"[0-9.]+|%|[A-Za-z]+", setting)
        if unit == "%":
            return cls(float(number) / 100)
        return cls(None, round(float(number) * MICROSECONDS_IN[unit.upper().removesuffix("S")]))

    def is_due(self, chunk: Chunk, dead: int, now: int) -> bool:
        """Whether a chunk of whose rows `dead` are dead is to be rewritten."""
        if self.share is not None:
            return dead >= self.share * chunk.rows
        return dead > 0 and now - chunk.low >= self.after_us


DEFAULT = LazyExpiration.of(str(SETTINGS["lazy_expiration"].default))
