"""What is kept of a fact from epoch to epoch: sums in which epochs of the past count less and less."""

from __future__ import annotations

from typing import NamedTuple

KEPT = 0.8
"""The part of a sum that an epoch leaves: after ten epochs, a change has come through to nine tenths."""
KEPT_OF_INVOCATIONS = 0.99
"""The same for how often queries are invoked, which may be seldom: epochs without an invocation say little."""
_MOST = 10.0
"""How many times as much as all that was known a single epoch counts at most, and at least a tenth of the first
one: the first epoch of a query, over its history, and one that catches up say no more of what is to come."""
_LEAST = 0.001
"""As a share of all that is known: an epoch that brings nothing for less is no epoch of its own, such as one that
ends a run and moves the clock by an instant."""


class FactSums(NamedTuple):
    """Sums over epochs, how many epochs they are from, and the last of them."""

    sums: tuple[float, ...]
    epochs: int
    seen: int


def ratio_after(
    before: FactSums | None, numerator: float, denominator: float, epoch: int, kept: float = KEPT
) -> FactSums:
    """The sums of a fact that is a ratio: epochs with few rows count little. `kept` is the part of the sums that
    an epoch leaves."""
    if before is None:
        return FactSums((numerator, denominator), 1, epoch)
    known, of = before.sums
    if not of or (not numerator and denominator <= _LEAST * of) or not denominator:
        return FactSums((known + numerator, of + denominator), before.epochs, epoch)
    if before.epochs == 1 and of > _MOST * denominator > 0:
        known, of = known * _MOST * denominator / of, _MOST * denominator
    if denominator > _MOST * of > 0:
        numerator, denominator = numerator * _MOST * of / denominator, _MOST * of
    return FactSums((kept * known + numerator, kept * of + denominator), before.epochs + 1, epoch)
