"""Functions of days and instants beyond their fields, in UTC."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Datum = Any

_LENGTHS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def date_diff(unit: pa.Scalar, begin: Datum, end: Datum) -> Datum:
    """How many boundaries of the unit lie between two instants."""
    number = _months if unit.as_py() in _MONTHS else _units
    return pc.subtract(number(end, unit.as_py()), number(begin, unit.as_py()))


def last_day(instant: Datum) -> Datum:
    after = pc.ceil_temporal(_naive(instant), unit="month", ceil_is_strictly_greater=True)
    return pc.cast(pc.subtract(after, pa.scalar(86_400_000_000, pa.duration("us"))), pa.date32())


def day_name(instant: Datum) -> Datum:
    return pc.strftime(_naive(instant), "%A")


def month_name(instant: Datum) -> Datum:
    return pc.strftime(_naive(instant), "%B")


def formatted(instant: Datum, form: pa.Scalar) -> Datum:
    """The instant as text; seconds are whole."""
    whole = pc.cast(pc.floor_temporal(_naive(instant), unit="second"), pa.timestamp("s"))
    return pc.strftime(whole, form.as_py())


def microseconds(instant: Datum) -> Datum:
    """Since 1970."""
    return pc.cast(_naive(instant), pa.int64())


def milliseconds(instant: Datum) -> Datum:
    return _floor(microseconds(instant), 1_000)


def seconds(instant: Datum) -> Datum:
    return pc.divide(pc.cast(microseconds(instant), pa.float64(), safe=False), 1e6)


def from_seconds(number: Datum) -> Datum:
    whole = pc.round(pc.multiply(number, 1e6), round_mode="half_towards_infinity")
    return pc.cast(pc.cast(whole, pa.int64()), pa.timestamp("us", tz="UTC"))


def from_microseconds(number: Datum) -> Datum:
    return pc.cast(number, pa.timestamp("us", tz="UTC"))


def make_date(year: Datum, month: Datum, day: Datum) -> Datum:
    """NULL when there is no such day."""
    parts = [year, month, day]
    rows = max((len(p) for p in parts if not isinstance(p, pa.Scalar)), default=1)
    known = [pc.fill_null(p, 0) for p in parts]
    y, m, d = (np.broadcast_to(np.asarray(p.as_py() if isinstance(p, pa.Scalar) else p), rows) for p in known)
    right = (y >= 1) & (y <= 9999) & (m >= 1) & (m <= 12) & (d >= 1) & (d <= 31)
    y, m, d = np.where(right, y, 1970), np.where(right, m, 1), np.where(right, d, 1)
    months = ((y - 1970) * 12 + m - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (d - 1)
    right &= days.astype("datetime64[M]") == months
    made = pa.array(days.astype(np.int64).astype(np.int32), mask=~right).cast(pa.date32())
    return made[0] if all(isinstance(p, pa.Scalar) for p in parts) else made


def _naive(instant: Datum) -> Datum:
    return pc.cast(instant, pa.timestamp("us"))


def _units(instant: Datum, unit: str) -> Datum:
    return _floor(microseconds(instant), _LENGTHS[unit])


def _months(instant: Datum, unit: str) -> Datum:
    naive = _naive(instant)
    months = pc.add(pc.multiply(pc.year(naive), 12), pc.subtract(pc.month(naive), 1))
    return _floor(months, _MONTHS[unit])


def _floor(number: Datum, step: int) -> Datum:
    """The quotient without its fraction, down also below zero."""
    whole = pc.divide(number, step)
    is_over = pc.greater(pc.multiply(whole, step), number)
    return pc.subtract(whole, pc.cast(is_over, pa.int64()))
