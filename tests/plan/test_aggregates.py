"""The table of aggregate functions: what they take, and what they give."""

from __future__ import annotations

import pytest

from panes.plan.aggregates import AGGREGATE_ALIASES, AGGREGATES
from panes.plan.expressions import Value
from panes.plan.function_signatures import WrongTypes
from panes.plan.types import BIGINT, BOOLEAN, DOUBLE, INT, INTERVAL, STRING, TIMESTAMP, Type, list_of


@pytest.mark.parametrize(
    ("name", "arg", "parameters", "cast_to", "result"),
    [
        ("count", STRING, (), STRING, BIGINT),
        ("sum", INT, (), BIGINT, BIGINT),
        ("sum", DOUBLE, (), DOUBLE, DOUBLE),
        ("avg", INT, (), BIGINT, DOUBLE),
        ("avg", DOUBLE, (), DOUBLE, DOUBLE),
        ("min", STRING, (), STRING, STRING),
        ("max", INT, (), INT, INT),
        ("max", BOOLEAN, (), BOOLEAN, BOOLEAN),
        ("quantile", BIGINT, (0.9,), DOUBLE, DOUBLE),
        ("quantile", DOUBLE, (1,), DOUBLE, DOUBLE),
        ("median", INT, (), DOUBLE, DOUBLE),
        ("top_k", STRING, (3,), STRING, list_of(STRING)),
        ("approx_count_distinct", TIMESTAMP, (), TIMESTAMP, BIGINT),
        ("approx_quantile", INT, (0.5,), DOUBLE, DOUBLE),
        ("approx_top_k", INT, (1,), INT, list_of(INT)),
    ],
)
def test_signature(name: str, arg: Type, parameters: tuple[Value, ...], cast_to: Type, result: Type) -> None:
    signature = AGGREGATES[name].signature(arg, parameters)
    assert (signature.args, signature.result) == ((cast_to,), result)


@pytest.mark.parametrize(
    ("name", "arg", "parameters"),
    [
        ("sum", STRING, ()),
        ("sum", INT, (1,)),
        ("avg", BOOLEAN, ()),
        ("min", INTERVAL, ()),
        ("min", list_of(INT), ()),
        ("quantile", INT, ()),
        ("quantile", INT, (1.5,)),
        ("quantile", INT, (-0.1,)),
        ("quantile", INT, ("x",)),
        ("quantile", INT, (True,)),
        ("top_k", INT, (0,)),
        ("top_k", INT, (1.5,)),
        ("top_k", INT, (None,)),
    ],
)
def test_wrong_arguments_are_refused(name: str, arg: Type, parameters: tuple[Value, ...]) -> None:
    with pytest.raises(WrongTypes):
        AGGREGATES[name].signature(arg, parameters)


def test_approximate_forms_have_the_types_of_the_exact_ones() -> None:
    for name in ("quantile", "top_k"):
        parameter: tuple[Value, ...] = (0.5,) if name == "quantile" else (2,)
        exact = AGGREGATES[name].signature(INT, parameter)
        assert AGGREGATES[f"approx_{name}"].signature(INT, parameter) == exact


def test_every_aggregate_says_what_it_means() -> None:
    assert all(function.meaning and function.name == name for name, function in AGGREGATES.items())


def test_other_names_lead_to_aggregates() -> None:
    assert set(AGGREGATE_ALIASES.values()) <= set(AGGREGATES)
