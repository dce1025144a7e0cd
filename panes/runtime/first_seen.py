"""When a query that begins would have seen the tuples of a stream."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.delta import CAME
from panes.delta.rows import int64, with_column
from panes.history.history_file import EPOCH
from panes.history.query_clocks import QueryClocks


@dataclass(frozen=True)
class FirstSeen:
    """When a query over some streams whose first epoch this is would have seen each tuple, had it been there when
    the tuple came: so it gives the answers of one that was."""

    streams: frozenset[int]
    instant: int
    """The first one after its clock before the epoch: what comes now cannot be seen earlier, and what came before
    was seen by then, unless its time is later."""
    clocks: QueryClocks | None = field(default=None, compare=False)
    """Those that it would have had. None: it reads one stream, whose clocks the history has."""

    def with_came(self, rows: pa.Table) -> pa.Table:
        """Tuples of a stream with `_came` as the query has it; those of the history come with that of the stream,
        and with `_epoch`."""
        if EPOCH not in rows.column_names:
            return with_column(rows, CAME, np.full(rows.num_rows, self.instant))
        if self.clocks is not None:
            rows = self.clocks.as_seen(rows)
        rows = with_column(rows, CAME, np.minimum(int64(rows, CAME), self.instant))
        return rows.drop_columns([EPOCH])
