"""The drop box of a query on a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from panes.delta.delta import TS, Delta
from panes.delta.hashing import hash_rows, reseeded
from panes.operators.base import Operator
from panes.plan import nodes
from panes.plan.box_schedule import BoxSchedule

_BUCKET_SEED = 0x2545F4914F6CDD1D
_FRACTION_BITS = np.uint64(11)
"""A double has 53 bits: those that a hash has more are left out."""


@dataclass
class DropBox(Operator):
    """Lets the share of tuples pass that the schedule has for their event time.

    Output: tuples as they are, with the columns for weights and buckets. A tuple passes or not by a hash of the
        seed, its event time and its columns: how tuples fall into epochs, tasks and shards changes nothing.
        Tuples that are equal in all of these pass together or not at all.
    State: none. `schedule` is set by whoever runs it: shares change from epoch to epoch.
    Cost: one hash of the columns; nothing where all are kept and nobody asks for a bucket.
    """

    node: nodes.Drop
    schedule: BoxSchedule = field(default=BoxSchedule(), init=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        rows, shares = delta.table, self.schedule.shares(delta.ts)
        is_shed = bool((shares < 1).any())
        if is_shed or self.node.bucket is not None:
            hashes = reseeded(hash_rows(rows, [TS, *self.node.child.schema.names]), self.node.seed)
            if is_shed:
                passing = np.ldexp((hashes >> _FRACTION_BITS).astype(np.float64), -53) < shares
                rows, shares, hashes = rows.filter(pa.array(passing)), shares[passing], hashes[passing]
        place = len(self.node.child.schema)
        if self.node.weight is not None:
            rows = rows.add_column(place, self.node.weight, pa.array(1 / shares))
            place += 1
        if self.node.bucket is not None:
            buckets = reseeded(hashes, _BUCKET_SEED) % np.uint64(nodes.DROP_BUCKETS)
            rows = rows.add_column(place, self.node.bucket, pa.array(buckets.astype(np.int64)))
        return Delta(rows, clock)
