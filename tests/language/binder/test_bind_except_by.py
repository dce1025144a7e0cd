"""EXCEPT ALL BY against the one-time SQL that it stands for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panes.delta.consolidate import contents_at
from panes.delta.delta import TS
from panes.errors import SqlError
from panes.language import bind, parse
from panes.language.binder import bind_except_by
from panes.language.statements import CreateStream, SelectQuery
from panes.operators.lower import lower
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node
from panes.plan.over_functions import OverFunction
from panes.plan.sort_key import SortKey
from panes.testing import Oracle, counted
from tests.properties.running import connection

RANGE_US = 5_000
BY_SRC = (
    "SELECT src, dst FROM link1 [RANGE 5 MILLISECONDS] EXCEPT ALL BY (src) "
    "SELECT src FROM link2 [RANGE 5 MILLISECONDS]"
)
ONE_TIME = """
SELECT src, dst FROM (
    SELECT *, row_number() OVER (PARTITION BY src ORDER BY _ts DESC, dst) AS place,
           count(*) OVER (PARTITION BY src) AS v1,
           (SELECT count(*) FROM two WHERE two.src IS NOT DISTINCT FROM one.src) AS v2
    FROM one)
WHERE place <= v1 - v2
"""


class Links:
    """A catalog of two links."""

    def stream(self, name: str) -> CreateStream | None:
        if name not in ("link1", "link2"):
            return None
        (statement,) = parse(f"CREATE STREAM {name} (src BIGINT, dst BIGINT)")
        assert isinstance(statement, CreateStream)
        return statement

    def table(self, name: str) -> None: ...

    def names(self) -> list[str]:
        return ["link1", "link2"]

    def is_query(self, name: str) -> bool:  # noqa: ARG002
        return False


def bound(sql: str) -> Node:
    (statement,) = parse(sql)
    assert isinstance(statement, SelectQuery)
    return bind(statement, Links())


Row = tuple[int, int | None, int]
"""Time, source and destination."""


def table_of(rows: list[Row]) -> pa.Table:
    ts, src, dst = zip(*rows, strict=True) if rows else ((), (), ())
    types = ((TS, ts), ("src", src), ("dst", dst))
    return pa.table({name: pa.array(column, pa.int64()) for name, column in types})


def expected(links: dict[str, pa.Table], now: int) -> Counter[tuple[Any, ...]]:
    """What the one-time SQL gives over the windows at an instant."""
    with connection().cursor() as cursor:
        for name, link in (("one", "link1"), ("two", "link2")):
            alive = [ts <= now < ts + RANGE_US for ts in links[link].column(TS).to_pylist()]
            cursor.register(name, links[link].filter(pa.array(alive, pa.bool_())))
        return Counter(cursor.execute(ONE_TIME).fetchall())


tuples = st.lists(
    st.tuples(st.integers(1, 8_000), st.none() | st.integers(0, 1), st.integers(0, 1)), max_size=14
)


def check(links: dict[str, pa.Table], cuts: list[int], strategy: str = "upa") -> None:
    """Compares what a dataflow holds at each of the cuts with the one-time SQL, and with that of the plan."""
    plan = bound(BY_SRC)
    dataflow, told, since = lower(optimize(plan), strategy=strategy), [], 0
    for clock in cuts:
        came = {
            name: table.filter(pa.array(_between(table, since, clock), pa.bool_()))
            for name, table in links.items()
        }
        told.append(dataflow.process(came, since, clock).table)
        held = contents_at(pa.concat_tables(told), clock)
        assert counted(held) == expected(links, clock)
        assert counted(Oracle(links, connection()).answer_at(plan, clock)) == expected(links, clock)
        since = clock


def _between(table: pa.Table, since: int, clock: int) -> list[bool]:
    return [since < ts <= clock for ts in table.column(TS).to_pylist()]


@settings(max_examples=12)
@given(
    tuples, tuples, st.sets(st.integers(1, 12_000), min_size=1, max_size=3), st.sampled_from(["upa", "nt"])
)
def test_at_every_clock_the_youngest_rows_of_the_surplus_are_given(
    one: list[Row], two: list[Row], cuts: set[int], strategy: str
):
    links = {"link1": table_of(sorted(one, key=_ts)), "link2": table_of(sorted(two, key=_ts))}
    check(links, sorted({*cuts, 14_000}), strategy)


def _ts(row: Row) -> int:
    return row[0]


def test_it_gives_whole_rows_and_may_be_by_several_columns():
    plan = bound(BY_SRC.replace("SELECT src FROM", "SELECT dst, src FROM").replace("(src)", "(dst, SRC)"))
    assert [str(field.name) for field in plan.schema] == ["src", "dst"]


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        (BY_SRC.replace("BY (src)", "BY (dst)"), "there is no column dst on the right side"),
        (BY_SRC.replace("BY (src)", "BY (x)"), "there is no column x on the left side"),
        (BY_SRC.replace("SELECT src FROM", "SELECT 'a' AS src FROM"), "to one type"),
        (BY_SRC.replace("EXCEPT ALL", "EXCEPT"), "only EXCEPT ALL can be by some columns"),
        (BY_SRC.replace("EXCEPT", "INTERSECT"), "only EXCEPT ALL can be by some columns"),
        (BY_SRC.replace("BY (src)", "BY NAME"), "BY NAME is not supported"),
        (BY_SRC.replace("SELECT src, dst", "SELECT DISTINCT src, dst"), "a row of DISTINCT stands for many"),
        (BY_SRC.replace(" [RANGE 5 MILLISECONDS]", ""), "state grows without bound"),
    ],
)
def test_what_it_cannot_do_is_refused(sql: str, problem: str):
    with pytest.raises(SqlError, match=problem):
        bound(sql)


def oldest_first(original: type[SortKey]) -> Callable[..., SortKey]:
    return lambda column, descending=False: original(column, descending and column != "_by_time")


def of_all(original: type[OverFunction]) -> Callable[..., OverFunction]:
    """Counts the rows of both sides."""
    return lambda name, function, *rest, **more: original(
        name, "count" if function == "sum" else function, *rest, **more
    )


@pytest.mark.parametrize(("name", "spoiled"), [("SortKey", oldest_first), ("OverFunction", of_all)])
def test_a_planted_bug_is_found(name: str, spoiled: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch):
    #  1    2    3    of the left: (0, 0) and then (0, 1)
    #  a    b         of the right one of source 0: b is left
    links = {"link1": table_of([(1, 0, 0), (2, 0, 1)]), "link2": table_of([(1, 0, 5)])}
    check(links, [3])
    monkeypatch.setattr(bind_except_by, name, spoiled(getattr(bind_except_by, name)))
    with pytest.raises(AssertionError):
        check(links, [3])
