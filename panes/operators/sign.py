"""The signatures of rows: which of the predicates of the queries of a synopsis each of them passes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from panes.delta.delta import Delta
from panes.operators.base import Operator
from panes.plan import nodes


class Signer(Protocol):
    """What an operator asks of the index of the predicates."""

    def signed(self, rows: pa.Table) -> pa.Table: ...


@dataclass
class Sign(Operator):
    """Gives the rows that pass any of the predicates, once each, with the bits of those that they pass.

    Output: the rows with their signature in front; MONOTONIC over a stream.
    State: none. `signer` is set by whoever runs it: it is made once for many tasks.
    Cost: per tuple and attribute a row of bits; the distinct rows of bits are told apart.
    """

    signed: nodes.Signed
    signer: Signer | None = field(default=None, init=False)

    def process(self, inputs: Sequence[Delta], since: int, clock: int) -> Delta:  # noqa: ARG002
        (delta,) = inputs
        assert self.signer is not None
        return Delta(self.signer.signed(delta.table), clock)
