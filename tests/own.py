"""Functions and aggregates of a user, for tests."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def doubled(x: pa.Array) -> pa.Array:
    return pc.multiply(x, 2)


def shout(text: str, times: int) -> str:
    return text.upper() + "!" * times


def or_zero(x: int | None) -> int:
    return 0 if x is None else x


def wrong_length(x: pa.Array) -> pa.Array:
    return x.slice(1)


def same_instant(at: pa.Array) -> pa.Array:
    assert at.type.tz == "UTC"
    return at


class Spread:
    """The greatest value less the least."""

    def zero(self) -> tuple[int, int] | None:
        return None

    def add(self, state: tuple[int, int] | None, value: int) -> tuple[int, int]:
        return (value, value) if state is None else (min(state[0], value), max(state[1], value))

    def result(self, state: tuple[int, int] | None) -> int | None:
        return None if state is None else state[1] - state[0]
