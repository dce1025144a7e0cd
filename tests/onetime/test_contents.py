"""The SQL of windows and tables at an instant: relations as they are then, lookups at the time of each tuple."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from panes.delta.delta import FOREVER
from panes.language import parse
from panes.language import statements as st
from panes.language.binder.bind import bind
from panes.optimizer.optimizer import optimize
from panes.testing import answer_at
from tests.language.corpus import read_catalog

CATALOG = read_catalog(
    """
    CREATE STREAM s (k BIGINT, g BIGINT);
    CREATE STREAM looked AS SELECT s.k, v FROM s JOIN n ON s.k = n.k;
    CREATE TABLE r (k BIGINT, v STRING);
    CREATE TABLE n (k BIGINT, v STRING) NON RETROACTIVE;
    """
)

#        1   2   3   4   5   6   7   8
# s      1       2   1   1       NULL 3     the last 1 comes late, at 5, with the time 2
# n, r   1:a---------)1:b----------------
#            2:c-----)        2:d--------
#                         NULL:e---)
ARRIVALS = {
    "s": pa.table(
        {
            "k": [1, 2, 1, 1, None, 3],
            "g": [10, 20, 30, 40, 50, 60],
            "_ts": [1, 3, 4, 2, 7, 8],
            "_came": [0, 0, 0, 5, 0, 0],
        }
    ),
    "n": pa.table(
        {
            "k": [1, 1, 2, 2, None],
            "v": ["a", "b", "c", "d", "e"],
            "_ts": [1, 4, 2, 6, 5],
            "_exp": [4, FOREVER, 4, FOREVER, 7],
        }
    ),
}
ARRIVALS["r"] = ARRIVALS["n"]


def answer(sql: str, now: int) -> Counter[tuple[object, ...]]:
    """The answer at an instant; that of the optimized plan is the same."""
    (query,) = parse(sql)
    assert isinstance(query, st.SelectQuery)
    plan = bind(query, CATALOG)
    one, other = (
        Counter(tuple(row.values()) for row in answer_at(made, ARRIVALS, now).to_pylist())
        for made in (plan, optimize(plan))
    )
    assert one == other
    return one


def rows(*expected: tuple[object, ...]) -> Counter[tuple[object, ...]]:
    return Counter(expected)


def test_a_relation_is_what_it_is_at_the_instant() -> None:
    sql = "SELECT g, v FROM s [RANGE 1 SECOND] JOIN (SELECT k, v FROM r WHERE v <> 'e') r ON s.k = r.k"
    assert answer(sql, 3) == rows((10, "a"), (20, "c"))
    assert answer(sql, 4) == rows((10, "b"), (30, "b"))
    assert answer(sql, 8) == rows((10, "b"), (20, "d"), (30, "b"), (40, "b"))


def test_each_tuple_meets_the_version_of_its_time() -> None:
    sql = "SELECT g, v FROM s JOIN n ON s.k = n.k"
    assert answer(sql, 3) == rows((10, "a"), (20, "c"))
    assert answer(sql, 8) == rows((10, "a"), (20, "c"), (30, "b"), (40, "a"))


def test_a_late_tuple_is_seen_when_it_came_and_meets_the_version_of_its_time() -> None:
    sql = "SELECT g, v FROM s [RANGE 1 SECOND] JOIN n ON s.k = n.k WHERE g = 40"
    assert answer(sql, 4) == rows()
    assert answer(sql, 5) == rows((40, "a"))


def test_conditions_on_a_table_are_of_its_versions() -> None:
    sql = "SELECT g, w FROM s JOIN (SELECT k, v || '!' AS w FROM n WHERE v <> 'b') d ON s.k = d.k AND d.w <> 'c!'"
    assert answer(sql, 8) == rows((10, "a!"), (40, "a!"))


def test_exists_and_not_exists_at_the_time_of_the_tuple() -> None:
    matches = "(SELECT * FROM n WHERE n.k = s.k AND v <> 'a')"
    assert answer(f"SELECT g FROM s WHERE EXISTS {matches}", 8) == rows((20,), (30,))
    assert answer(f"SELECT g FROM s WHERE NOT EXISTS {matches}", 8) == rows((10,), (40,), (50,), (60,))


def test_not_in_is_null_aware_at_the_time_of_the_tuple() -> None:
    # At 7 the NULL key is gone, and a NULL on the left is not known to be outside of a table with rows.
    assert answer("SELECT g FROM s WHERE k NOT IN (SELECT k FROM n WHERE v <> 'a')", 8) == rows(
        (10,), (40,), (60,)
    )
    assert answer("SELECT g FROM s WHERE g NOT IN (SELECT k FROM n)", 8) == rows(
        (10,), (20,), (30,), (40,), (50,), (60,)
    )
    assert answer("SELECT g FROM s [RANGE 1 SECOND] WHERE g NOT IN (SELECT k FROM r)", 6) == rows()


def test_a_table_on_the_left_of_a_window() -> None:
    seen = "SELECT v FROM r WHERE k IN (SELECT k FROM s [RANGE 1 SECOND] WHERE g >= 20)"
    assert answer(seen, 3) == rows(("c",))
    assert answer(seen, 4) == rows(("b",))
    assert answer("SELECT v FROM r WHERE NOT EXISTS (SELECT * FROM s [NOW] WHERE s.k = r.k)", 4) == rows()
    assert answer("SELECT v FROM r WHERE NOT EXISTS (SELECT * FROM s [NOW] WHERE s.k = r.k)", 6) == rows(
        ("b",), ("d",), ("e",)
    )


def test_tables_alone_of_both_kinds() -> None:
    grouped = "SELECT n.v, count(*) FROM n JOIN r ON n.k = r.k GROUP BY n.v"
    sql = f"{grouped} UNION ALL SELECT v, 0 FROM r WHERE k IS NULL"
    assert answer(sql, 3) == rows(("a", 1), ("c", 1))
    assert answer(sql, 6) == rows(("b", 1), ("d", 1), ("e", 0))


def test_a_relation_and_a_lookup_together() -> None:
    sql = "SELECT g, n.v, r.v FROM s [RANGE 1 SECOND], n, r WHERE s.k = n.k AND s.k = r.k"
    assert answer(sql, 8) == rows((10, "a", "b"), (20, "c", "d"), (30, "b", "b"), (40, "a", "b"))


def test_two_lookups_of_one_table() -> None:
    sql = "SELECT g, t.v, u.v FROM s, n t, n u WHERE s.k = t.k AND t.v < u.v"
    assert answer(sql, 8) == rows((40, "a", "c"))


def test_windows_over_streams_that_have_looked_up() -> None:
    assert answer("SELECT k, v FROM looked [RANGE 3 MICROSECONDS]", 4) == rows((2, "c"), (1, "b"))
    assert answer("SELECT k, v FROM looked [RANGE 3 MICROSECONDS]", 5) == rows((2, "c"), (1, "b"))
    # The late tuple is the youngest one when it comes.
    assert answer("SELECT k, v FROM looked [ROWS 2]", 4) == rows((2, "c"), (1, "b"))
    assert answer("SELECT k, v FROM looked [ROWS 2]", 5) == rows((1, "b"), (1, "a"))


def test_of_what_one_tuple_has_met_values_say_which_is_the_youngest() -> None:
    arrivals = {
        "s": pa.table({"k": [1], "g": [1], "_ts": [5]}),
        "n": pa.table({"k": [1, 1, 1], "v": ["b", None, "a"], "_ts": [1, 1, 1], "_exp": [9, 9, 9]}),
    }
    (query,) = parse("SELECT v FROM looked [ROWS 2]")
    assert isinstance(query, st.SelectQuery)
    assert sorted(answer_at(bind(query, CATALOG), arrivals, 6).column("v").to_pylist()) == ["a", "b"]


def test_a_lookup_above_a_count_window() -> None:
    sql = "SELECT g, v FROM s [ROWS 3] JOIN n ON s.k = n.k"
    assert answer(sql, 5) == rows((20, "c"), (30, "b"), (40, "a"))


def test_a_lookup_above_a_union_of_one_stream() -> None:
    sql = (
        "SELECT d.g, v FROM (SELECT k, g FROM s WHERE g < 30 UNION ALL SELECT k, g + 100 FROM s WHERE g >= 30) "
        "[RANGE 1 SECOND] d JOIN n ON d.k = n.k"
    )
    assert answer(sql, 8) == rows((10, "a"), (20, "c"), (130, "b"), (140, "a"))


def test_a_lookup_in_begin_end() -> None:
    sql = "SELECT g, v FROM s JOIN n ON s.k = n.k BEGIN (NOW - INTERVAL 1 SECOND) END (NOW)"
    assert answer(sql, 8) == rows((10, "a"), (20, "c"), (30, "b"), (40, "a"))
