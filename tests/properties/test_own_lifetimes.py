"""Streams whose tuples bring their own ends: the oracle's answers, wherever time is cut and whoever comes late."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest

from panes.delta.delta import TS
from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan import lifetime_window
from panes.plan.nodes import Node
from panes.plan.patterns import WEAK, pattern_of
from tests.language.corpus import read_catalog
from tests.properties.running import NT, UPA, Way, check_answers
from tests.properties.streams import Arrivals

CATALOG = read_catalog("""
    CREATE STREAM s (k BIGINT, v BIGINT, until BIGINT) EXPIRES BY until MICROSECONDS;
    CREATE STREAM p (k BIGINT, v BIGINT, until BIGINT);
""")
QUERIES = {
    "alive": "SELECT k, v FROM s",
    "within a window": "SELECT k, v FROM s [RANGE 6 MICROSECONDS]",
    "within a window that slides": "SELECT k, v, until FROM s [RANGE 12 MICROSECONDS SLIDE 4 MICROSECONDS]",
    "now": "SELECT k FROM s [NOW]",
    "in groups": "SELECT k, count(*) AS n, sum(v) AS v FROM s WHERE v > 1 GROUP BY k",
    "in groups that slide": "SELECT k, max(v) AS v FROM s [RANGE 9 MICROSECONDS SLIDE 3 MICROSECONDS] GROUP BY k",
    "joined with themselves": "SELECT a.v AS x, b.v AS y FROM s a, s [RANGE 8 MICROSECONDS] b WHERE a.k = b.k",
    "joined with others": "SELECT s.v, p.v AS w FROM s, p [RANGE 7 MICROSECONDS] WHERE s.k = p.k",
    "distinct": "SELECT DISTINCT k FROM s",
    "without others": """SELECT k, v FROM s
                         WHERE NOT EXISTS (SELECT * FROM p [RANGE 5 MICROSECONDS] WHERE p.k = s.k)""",
    "with others": "SELECT k, v FROM p [RANGE 5 MICROSECONDS] UNION ALL SELECT k, v FROM s",
    "under other names": "SELECT y, z FROM s AS t (x, y, z)",
}  # fmt: skip


def planned(text: str) -> Node:
    (query,) = parse(text)
    return optimize(bind(query, CATALOG))


def drawn(seed: int, *, late: bool) -> Arrivals:
    random = Random(seed)
    streams, last = {}, 30
    for name in ("s", "p"):
        ts = sorted(random.choices(range(1, last), k=12))
        rows = [
            {
                "k": random.randint(0, 2),
                "v": random.randint(0, 4),
                "until": random.choice((None, at + random.randint(1, 20), at + random.randint(1, 5))),
                TS: at,
            }
            for at in ts
        ]
        streams[name] = pa.Table.from_pylist(
            rows, pa.schema([(n, pa.int64()) for n in ("k", "v", "until", TS)])
        )
    clocks = sorted({*random.sample(range(1, last), random.randint(0, 8)), last, last + 9, last + 40})
    arrivals = Arrivals(streams, {}, clocks)
    return arrivals.out_of_order(random) if late else arrivals


def check(text: str, way: Way, *, late: bool) -> None:
    plan = planned(text)
    for seed in range(3):
        check_answers(plan, drawn(seed, late=late), way.lower(plan))


@pytest.mark.parametrize("late", [False, True], ids=["in time", "late"])
@pytest.mark.parametrize("way", [UPA, NT], ids=["upa", "nt"])
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_the_answer_is_that_over_the_tuples_that_are_alive(text: str, way: Way, late: bool) -> None:
    check(text, way, late=late)


def test_the_edge_is_weak() -> None:
    assert [pattern_of(planned(QUERIES[name])).pattern for name in ("alive", "within a window")] == [
        WEAK,
        WEAK,
    ]


def test_an_end_that_is_read_in_another_unit_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_of = lifetime_window.ends_of
    monkeypatch.setattr(lifetime_window, "ends_of", lambda column, by: ends_of(column, by) + 1)
    with pytest.raises(AssertionError, match="at "):
        check(QUERIES["alive"], UPA, late=False)
