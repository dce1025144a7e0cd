"""What types scalar functions take, and what type comes out."""

from __future__ import annotations

import pytest

from panes.plan.function_signatures import WrongTypes
from panes.plan.functions import FUNCTIONS
from panes.plan.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    Type,
)


@pytest.mark.parametrize(
    ("name", "args", "cast_to", "result"),
    [
        ("add", (INT, INT), (BIGINT, BIGINT), BIGINT),
        ("add", (INT, DOUBLE), (DOUBLE, DOUBLE), DOUBLE),
        ("add", (TIMESTAMP, INTERVAL), (TIMESTAMP, INTERVAL), TIMESTAMP),
        ("add", (INTERVAL, DATE), (INTERVAL, TIMESTAMP), TIMESTAMP),
        ("add", (NULL, INT), (BIGINT, BIGINT), BIGINT),
        ("subtract", (TIMESTAMP, TIMESTAMP), (TIMESTAMP, TIMESTAMP), INTERVAL),
        ("subtract", (DATE, TIMESTAMP), (TIMESTAMP, TIMESTAMP), INTERVAL),
        ("subtract", (INTERVAL, INTERVAL), (INTERVAL, INTERVAL), INTERVAL),
        ("multiply", (INT, BIGINT), (BIGINT, BIGINT), BIGINT),
        ("divide", (INT, INT), (DOUBLE, DOUBLE), DOUBLE),
        ("modulo", (INT, INT), (BIGINT, BIGINT), BIGINT),
        ("negate", (INTERVAL,), (INTERVAL,), INTERVAL),
        ("eq", (INT, DOUBLE), (DOUBLE, DOUBLE), BOOLEAN),
        ("eq", (DATE, TIMESTAMP), (TIMESTAMP, TIMESTAMP), BOOLEAN),
        ("lt", (STRING, STRING), (STRING, STRING), BOOLEAN),
        ("in", (INT, INT, BIGINT), (BIGINT, BIGINT, BIGINT), BOOLEAN),
        ("and", (BOOLEAN, NULL), (BOOLEAN, BOOLEAN), BOOLEAN),
        ("is_null", (STRING,), (STRING,), BOOLEAN),
        ("coalesce", (NULL, INT, DOUBLE), (DOUBLE, DOUBLE, DOUBLE), DOUBLE),
        ("nullif", (INT, INT), (INT, INT), INT),
        ("greatest", (INT, BIGINT), (BIGINT, BIGINT), BIGINT),
        ("abs", (INT,), (BIGINT,), BIGINT),
        ("ceil", (DOUBLE,), (DOUBLE,), DOUBLE),
        ("sqrt", (INT,), (DOUBLE,), DOUBLE),
        ("length", (STRING,), (STRING,), BIGINT),
        ("substring", (STRING, INT), (STRING, BIGINT), STRING),
        ("substring", (STRING, INT, INT), (STRING, BIGINT, BIGINT), STRING),
        ("concat", (STRING, NULL), (STRING, STRING), STRING),
        ("year", (DATE,), (TIMESTAMP,), BIGINT),
        ("date_trunc", (STRING, TIMESTAMP), (STRING, TIMESTAMP), TIMESTAMP),
    ],
)
def test_signature(name: str, args: tuple[Type, ...], cast_to: tuple[Type, ...], result: Type) -> None:
    signature = FUNCTIONS[name].signature(args)
    assert (signature.args, signature.result) == (cast_to, result)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("add", (STRING, INT)),
        ("add", (TIMESTAMP, TIMESTAMP)),
        ("add", (TIMESTAMP, INT)),
        ("subtract", (INTERVAL, TIMESTAMP)),
        ("multiply", (INTERVAL, INT)),
        ("modulo", (DOUBLE, INT)),
        ("eq", (STRING, INT)),
        ("eq", (BOOLEAN, INT)),
        ("and", (INT, BOOLEAN)),
        ("concat", (STRING, INT)),
        ("year", (STRING,)),
        ("sqrt", (STRING,)),
        ("upper", ()),
        ("upper", (STRING, STRING)),
        ("coalesce", ()),
        ("coalesce", (STRING, INT)),
    ],
)
def test_wrong_types_are_refused(name: str, args: tuple[Type, ...]) -> None:
    with pytest.raises(WrongTypes):
        FUNCTIONS[name].signature(args)
