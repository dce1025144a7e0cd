"""Days and instants as text, and back, in UTC."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from panes.delta.calendar_functions import make_date
from panes.plan.can_cast import DAY_FORM, INSTANT_FORM
from panes.plan.types import DATE, STRING, Type

Datum = Any

_UNITS = ((11, 13, 3_600_000_000), (14, 16, 60_000_000), (17, 19, 1_000_000))
"""Where hours, minutes and seconds stand in a text, and how long they are."""


def written(instants: Datum) -> Datum:
    """Without zeros at the end of the fraction, and without a fraction of zero."""
    if isinstance(instants, pa.Scalar):
        return written(pa.array([instants.as_py()], instants.type))[0]
    naive = pc.cast(instants, pa.timestamp("us"))
    seconds = pc.floor_temporal(naive, unit="second")
    whole = pc.strftime(pc.cast(seconds, pa.timestamp("s")), "%Y-%m-%d %H:%M:%S")
    fraction = pc.cast(pc.cast(pc.subtract(naive, seconds), pa.int64()), pa.string())
    digits = pc.utf8_rtrim(pc.utf8_lpad(fraction, 6, "0"), "0")
    point = pc.if_else(pc.equal(digits, ""), "", ".")
    return pc.binary_join_element_wise(whole, point, digits, "")


def read(texts: Datum, target: Type) -> Datum:
    """The DATE or TIMESTAMP that each text names, NULL where it names none."""
    if isinstance(texts, pa.Scalar):
        return read(pa.array([texts.as_py()], STRING.arrow), target)[0]
    form = DAY_FORM if target == DATE else INSTANT_FORM
    fits = pc.fill_null(pc.match_substring_regex(texts, rf"\A({form})\z"), False)
    text = pc.utf8_rtrim(pc.utf8_trim(pc.if_else(fits, texts, ""), " "), "Z")
    year, month, day = (_number(text, *place) for place in ((0, 4), (5, 7), (8, 10)))
    days = make_date(year, month, day)
    if target == DATE:
        return days
    begins = pc.cast(pc.cast(days, pa.timestamp("us")), pa.int64())
    of_day = pc.cast(pc.utf8_rpad(pc.utf8_slice_codeunits(text, 20, 26), 6, "0"), pa.int64())
    for start, stop, length in _UNITS:
        of_day = pc.add(of_day, pc.multiply(_number(text, start, stop), length))
    return pc.cast(pc.add(begins, of_day), target.arrow)


def _number(text: Datum, start: int, stop: int) -> Datum:
    """The number that stands at a place; 0 where the text is shorter."""
    digits = pc.utf8_slice_codeunits(text, start, stop)
    return pc.cast(pc.if_else(pc.equal(digits, ""), "0", digits), pa.int64())
