"""Output streams and changes do not depend on how rows fall into epochs and shards: each way in which they did."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from panes.delta.delta import BEGINNING
from panes.language import bind, parse
from panes.language.statements import CreateFunction
from panes.plan.nodes import Node
from tests.properties.running import history
from tests.properties.shards import Shards
from tests.reference.relations import Reference
from tests.reference.values import Bag

LAST = 120


class Packets:
    """A catalog with one stream."""

    def __init__(self):
        (self.p,) = parse("CREATE STREAM p (src BIGINT, bytes BIGINT) FROM RATE")

    def stream(self, name):
        return self.p if name == "p" else None

    def table(self, _):
        return None

    def names(self):
        return ["p"]

    def functions(self) -> dict[str, CreateFunction]:
        return {}

    def registered(self, name: str) -> None:  # noqa: ARG002
        return None


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    return bind(query, Packets())


def rows(*tuples: tuple[int, int, int]) -> pa.Table:
    """Arrivals from (ts, src, bytes)."""
    columns = [pa.array([t[place] for t in tuples], pa.int64()) for place in (1, 2, 0)]
    return pa.table(columns, names=["src", "bytes", "_ts"])


def drawn() -> pa.Table:
    random = Random(7)
    times = sorted(random.randint(1, LAST - 20) for _ in range(180))
    return rows(*((ts, random.randint(1, 3), random.choice((40, 1500))) for ts in times))


DRAWN = drawn()


def happens(
    sql: str, came: pa.Table, *, epochs: int = 1, shards: int = 1, last: int = LAST
) -> dict[int, Bag]:
    """All changes of the answer, in so many epochs and over so many shards."""
    clocks = sorted({int(clock) for clock in np.linspace(0, last, epochs + 1)[1:]})
    run = Shards.of(plan_of(sql), shards)
    tables = []
    ts, since = came.column("_ts").to_numpy(), BEGINNING
    for clock in clocks:
        mine = came.filter(pa.array((ts > since) & (ts <= clock)))
        tables.append(run.process({"p": mine}, since, clock))
        since = clock
    return history(tables, last)


def expected(sql: str, came: pa.Table, last: int = LAST) -> dict[int, Bag]:
    return Reference({"p": came}, last).history(plan_of(sql))


EXACT = {
    "what enters groups": "SELECT Istream(src, count(*) AS n) FROM p [RANGE 10 MICROSECONDS] GROUP BY src",
    "what leaves groups": "SELECT Dstream(src, sum(bytes) AS b) FROM p [RANGE 10 MICROSECONDS] GROUP BY src",
    "one group": "SELECT Istream(count(*) AS n) FROM p [RANGE 10 MICROSECONDS]",
    "groups of internal windows": "SELECT src, count(*) AS n FROM p [RANGE 10 MICROSECONDS INTERNAL] GROUP BY src",
    "the last results of groups": """
        SELECT Wstream(src, count(*) AS n) [ROWS 5] FROM p [RANGE 9 MICROSECONDS] GROUP BY src""",
    "results of one group": "SELECT Wstream(count(*) AS n) [RANGE 9 MICROSECONDS] FROM p [RANGE 9 MICROSECONDS]",
    "a derived stream": """
        SELECT Istream(n, count(*) AS m) FROM (
          SELECT Istream(src, count(*) AS n) FROM p [RANGE 10 MICROSECONDS] GROUP BY src) [RANGE 20 MICROSECONDS]
        GROUP BY n""",
    "a group without its key": "SELECT Istream(n) FROM (SELECT src, count(*) AS n FROM p [ROWS 9] GROUP BY src)",
    "rows": "SELECT Istream(src, bytes) FROM p [RANGE 10 MICROSECONDS]",
    "rows that leave": "SELECT Dstream(src, bytes) FROM p [RANGE 10 MICROSECONDS]",
    "computed rows": "SELECT Istream(bytes + src AS x) FROM p [RANGE 10 MICROSECONDS]",
    "a join": """
        SELECT Istream(x.bytes) FROM p [RANGE 3 MICROSECONDS] x, p [RANGE 4 MICROSECONDS] y WHERE x.src = y.src""",
    "the last rows": "SELECT Wstream(src, bytes) [ROWS 7] FROM p [RANGE 10 MICROSECONDS]",
    "rows of internal windows": """
        SELECT sum(bytes) AS b FROM (SELECT bytes FROM p [RANGE 10 MICROSECONDS INTERNAL]) [ROWS 10 SLIDE 2]""",
    "a relation": "SELECT Rstream(src, count(*) AS n) FROM p [RANGE 10 MICROSECONDS] GROUP BY src",
    "a relation at slides": """
        SELECT Rstream(src, count(*) AS n) FROM p [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS] GROUP BY src""",
    "equal columns of a join, and other rows": """
        SELECT x.src AS u, y.src AS v FROM p [RANGE 9 MICROSECONDS] x, p [RANGE 9 MICROSECONDS] y
        WHERE x.src = y.src EXCEPT ALL SELECT src AS u, src AS v FROM p [RANGE 5 MICROSECONDS]""",
    "a relation of groups without their key": """
        SELECT Rstream(n) FROM (
          SELECT src, count(*) AS n FROM p [RANGE 10 MICROSECONDS SLIDE 5 MICROSECONDS] GROUP BY src)""",
    "count windows that slide": "SELECT src, count(*) AS n FROM p [ROWS 20 SLIDE 4] GROUP BY src",
}  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_epochs_and_shards_change_nothing(name: str) -> None:
    told = expected(EXACT[name], DRAWN)
    assert told
    for epochs, shards in ((1, 1), (7, 2), (40, 5)):
        assert happens(EXACT[name], DRAWN, epochs=epochs, shards=shards) == told, (
            f"{epochs} epochs, {shards} shards"
        )


def test_istream_of_groups_gives_as_many_results_in_any_number_of_epochs() -> None:
    sql = EXACT["what enters groups"]
    results = {epochs: total(happens(sql, DRAWN, epochs=epochs)) for epochs in (1, 3, 7)}
    assert len(set(results.values())) == 1, results


def test_istream_of_rows_gives_as_many_results_over_any_number_of_shards() -> None:
    sql = EXACT["rows"]
    results = {shards: total(happens(sql, DRAWN, shards=shards)) for shards in (1, 2, 5)}
    assert len(set(results.values())) == 1, results


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT Wstream(src) [RANGE 9 MICROSECONDS] FROM p [RANGE 3 MICROSECONDS]",
        "SELECT src FROM (SELECT src FROM p [RANGE 3 MICROSECONDS INTERNAL]) [RANGE 9 MICROSECONDS]",
    ],
)
def test_result_that_is_generated_as_an_equal_one_expires_counts(sql: str) -> None:
    #  1   2   3   4   5   6   7
    #  7-----------)                 expires at 4,
    #              7-----------)     when an equal one comes: two results
    came = rows((1, 7, 0), (4, 7, 0))
    for epochs in (1, 5):
        assert happens(sql, came, epochs=epochs, last=9) == {1: Counter({(7,): 1}), 4: Counter({(7,): 1})}


def test_rstream_repeats_the_relation_when_it_changes_and_not_once_per_epoch() -> None:
    came = rows((1, 7, 0), (4, 8, 0))
    told = {1: Counter({(7,): 1}), 4: Counter({(7,): 1, (8,): 1}), 6: Counter({(8,): 1})}
    for epochs in (1, 3, 20):
        assert (
            happens("SELECT Rstream(src) FROM p [RANGE 5 MICROSECONDS]", came, epochs=epochs, last=20) == told
        )


def test_every_slide_of_a_count_window_is_seen_in_the_changes_of_groups() -> None:
    came = rows(*((ts, 7, 1) for ts in range(1, 9)))
    changes = happens("SELECT sum(bytes) AS b FROM p [ROWS 6 SLIDE 2]", came, last=9)
    assert [(at, dict(change)) for at, change in sorted(changes.items())] == [
        (0, {(None,): 1}),
        (2, {(None,): -1, (2,): 1}),
        (4, {(2,): -1, (4,): 1}),
        (6, {(4,): -1, (6,): 1}),
    ]


def total(changes: dict[int, Bag]) -> int:
    return sum(change.total() for change in changes.values())
