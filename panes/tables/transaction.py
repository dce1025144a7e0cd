"""A transaction: the changes of one or more tables that take effect together, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Transaction:
    number: int
    """Transactions are numbered in the order in which they were accepted."""
    at: int | None
    """The instant that AT TIMESTAMP names; None: at once."""
    changes: Mapping[int, pa.Table]
    """The net change of each table, by number: its columns and `_weight`."""
