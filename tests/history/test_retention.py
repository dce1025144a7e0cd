"""How much of a stream is kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from panes.delta.delta import BEGINNING, FOREVER
from panes.history.retention import Retained, needed, retained
from panes.language import bind, parse
from panes.language.statements import CreateDerivedStream, CreateFunction, CreateStream, SelectQuery
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Node

SECOND = 1_000_000


class Streams:
    """The streams that the queries of these tests read."""

    def __init__(self, *statements: str) -> None:
        parsed = [statement for text in statements for statement in parse(text)]
        self._streams = {
            statement.name: statement
            for statement in parsed
            if isinstance(statement, (CreateStream, CreateDerivedStream))
        }

    def stream(self, name: str) -> CreateStream | CreateDerivedStream | None:
        return self._streams.get(name)

    def table(self, name: str) -> None:  # noqa: ARG002
        return None

    def names(self) -> list[str]:
        return list(self._streams)

    def functions(self) -> dict[str, CreateFunction]:
        return {}

    def registered(self, name: str) -> None:  # noqa: ARG002
        return None

    def plan(self, sql: str) -> Node:
        (query,) = parse(sql)
        assert isinstance(query, SelectQuery)
        return optimize(bind(query, self))


CATALOG = Streams(
    "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS",
    "CREATE STREAM t (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS",
    "CREATE STREAM few AS SELECT * FROM s WHERE k > 5",
    "CREATE STREAM counts AS SELECT Istream(k, count(*)) FROM s [RANGE 60 SECONDS SLIDE 10 SECONDS] GROUP BY k",
)


def of(*queries: str, retain_us: int | None = None) -> Retained:
    stream = CATALOG.stream("s")
    assert isinstance(stream, CreateStream)
    declared = replace(stream.stream, retain_us=retain_us)
    return retained(declared, [CATALOG.plan(query) for query in queries])


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT k FROM s [RANGE 5 SECONDS]", Retained(5 * SECOND)),
        ("SELECT k FROM s [RANGE 5 SECONDS] WHERE k > 5", Retained(5 * SECOND)),
        ("SELECT k FROM s [RANGE 5 SECONDS SLIDE 2 SECONDS]", Retained(7 * SECOND)),
        ("SELECT k FROM t [RANGE 5 SECONDS]", Retained()),
        ("SELECT s.k FROM s [RANGE 5 SECONDS], t [RANGE 9 SECONDS] WHERE s.k = t.k", Retained(5 * SECOND)),
        ("SELECT k FROM s [NOW]", Retained(1)),
        ("SELECT k FROM s [ROWS 10]", Retained(rows=10)),
        ("SELECT k FROM s [ROWS 10 SLIDE 4]", Retained(rows=13)),
        ("SELECT k FROM s [PARTITION BY k ROWS 10]", Retained(None)),
        ("SELECT k FROM few [ROWS 10]", Retained(None)),
        ("SELECT k FROM few [RANGE 3 SECONDS]", Retained(3 * SECOND)),
        ("SELECT k FROM s", Retained(None)),
        ("SELECT k, count(*) FROM s [RANGE UNBOUNDED] GROUP BY k", Retained(None)),
        ("SELECT k FROM counts [RANGE 5 SECONDS]", Retained(75 * SECOND)),
        ("SELECT k FROM counts [ROWS 5]", Retained(None)),
        ("SELECT k FROM s BEGIN (NOW - INTERVAL 5 SECONDS) END (NOW - 1 SECOND)", Retained(5 * SECOND + 1)),
        ("SELECT k FROM s BEGIN ('1970-01-01 00:00:07') END (NOW)", Retained(spans=((7 * SECOND, FOREVER),))),
        ("SELECT k FROM s BEGIN ('1970-01-01 00:00:07') END ('1970-01-01 00:00:09')",
         Retained(spans=((7 * SECOND, 9 * SECOND),))),
    ],
)  # fmt: skip
def test_a_query_needs(query: str, expected: Retained) -> None:
    assert needed(CATALOG.plan(query), "s") == expected
    assert of(query) == (expected if expected.us is not None else Retained())


def test_the_longest_window_in_use_decides() -> None:
    assert of("SELECT k FROM s [RANGE 5 SECONDS]", "SELECT k FROM s [RANGE 9 SECONDS]").us == 9 * SECOND


def test_a_window_without_end_does_not_keep_everything() -> None:
    assert of("SELECT k FROM s [RANGE 5 SECONDS]", "SELECT k FROM s").us == 5 * SECOND


def test_without_a_window_in_use_nothing_is_kept() -> None:
    assert of().is_nothing
    assert of("SELECT k FROM t [RANGE 5 SECONDS]").is_nothing


def test_retain_says_how_much_whatever_windows_are_in_use() -> None:
    queries = ["SELECT k FROM s", "SELECT k FROM s [ROWS 5]", "SELECT k FROM s [RANGE 1 HOUR]"]
    assert of(*queries, retain_us=30 * SECOND) == Retained(30 * SECOND)


def test_begin_and_end_keep_what_they_need_beyond_retain() -> None:
    sliding = "SELECT k FROM s BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)"
    landmark = "SELECT k FROM s BEGIN ('1970-01-01 00:00:07') END (NOW)"
    assert of(sliding, retain_us=30 * SECOND) == Retained(60 * SECOND + 1)
    assert of(landmark, retain_us=30 * SECOND) == Retained(30 * SECOND, ((7 * SECOND, FOREVER),))


def test_oldest_time_that_is_kept() -> None:
    assert Retained(10).oldest_ts(100) == 91
    assert Retained(None).oldest_ts(100) == BEGINNING
    assert Retained(10, ((70, 80), (85, FOREVER))).oldest_ts(100) == 70
    assert Retained(10).oldest_ts(BEGINNING) == BEGINNING


def test_spans_that_overlap_are_kept_as_one() -> None:
    both = Retained(spans=((5, 9), (20, 30))) | Retained(3, spans=((7, 12), (30, FOREVER)))
    assert both == Retained(3, ((5, 12), (20, FOREVER)))


def test_a_snapshot_keeps_nothing_beyond_its_end() -> None:
    #  40 ... 50      snapshot          91 ... 100   the last ten
    kept = Retained(10, ((40, 50),))
    assert [kept.keeps(ts, ts, 100) for ts in (39, 40, 50, 51, 90, 91, 100)] == [
        False, True, True, False, False, True, True,
    ]  # fmt: skip
    assert kept.keeps(10, 40, 100)
    assert kept.keeps(10, 20, BEGINNING)
    assert Retained(None).keeps(10, 20, 100)
