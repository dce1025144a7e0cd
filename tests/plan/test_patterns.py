"""Every rule of the propagation of update patterns, one test per rule."""

from __future__ import annotations

import pytest

from panes.language import bind, parse
from panes.language.statements import SelectQuery
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Join,
    Node,
    Project,
    Select,
    StreamScan,
    Window,
)
from panes.plan.patterns import (
    MONOTONIC,
    STRICT,
    WEAK,
    WEAKEST,
    Pattern,
    answer_pattern,
    has_internal,
    pattern_of,
)
from panes.plan.walk import walk
from tests.language.corpus import read_catalog

CATALOG = read_catalog()


def plan_of(sql: str) -> Node:
    (query,) = parse(sql)
    assert isinstance(query, SelectQuery)
    return bind(query, CATALOG)


def top(sql: str) -> Pattern:
    return pattern_of(plan_of(sql)).pattern


def labels(plan: Node, *kinds: type[Node]) -> list[tuple[str, Pattern]]:
    """The patterns of the edges above the nodes of these kinds, parents first."""
    return [(type(node).__name__, pattern_of(node).pattern) for node in walk(plan) if isinstance(node, kinds)]


def test_patterns_are_ordered_by_difficulty() -> None:
    assert MONOTONIC < WEAKEST < WEAK < STRICT


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("", MONOTONIC),
        ("[RANGE UNBOUNDED]", MONOTONIC),
        ("[NOW]", WEAKEST),
        ("[RANGE 1 MINUTE]", WEAKEST),
        ("[RANGE 1 MINUTE SLIDE 7 SECONDS]", WEAKEST),
        ("[ROWS 10]", STRICT),
        ("[ROWS 10 SLIDE 2]", STRICT),
        ("[PARTITION BY a ROWS 10]", STRICT),
    ],
)
def test_base_windows(window: str, expected: Pattern) -> None:
    assert top(f"SELECT a FROM s1 {window}") is expected


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ("BEGIN (NOW - 1 MINUTE) END (NOW)", WEAKEST),
        ("BEGIN (NOW - 2 MINUTES) END (NOW - 1 MINUTE)", WEAKEST),
        ("BEGIN ('2026-01-01') END (NOW)", MONOTONIC),
        ("BEGIN ('2026-01-01') END ('2026-01-02')", MONOTONIC),
    ],
)
def test_windows_of_psoup(ends: str, expected: Pattern) -> None:
    assert top(f"SELECT a FROM s1 {ends}") is expected


@pytest.mark.parametrize("window", ["", "[NOW]", "[ROWS 10]"])
def test_selection_and_projection_keep_the_pattern(window: str) -> None:
    plan = plan_of(f"SELECT a + 1 FROM s1 {window} WHERE b > 2")
    (below,) = {pattern_of(node).pattern for node in walk(plan) if isinstance(node, Select | Project)}
    assert below is top(f"SELECT a FROM s1 {window}")


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("", "", MONOTONIC),
        ("[NOW]", "[NOW]", WEAKEST),
        ("[RANGE 1 MINUTE]", "[RANGE 2 MINUTES]", WEAK),
        ("[RANGE 1 MINUTE]", "", WEAK),
        ("[RANGE 1 MINUTE]", "[ROWS 5]", STRICT),
    ],
)
def test_union_takes_the_harder_pattern(left: str, right: str, expected: Pattern) -> None:
    assert top(f"SELECT a FROM s1 {left} UNION ALL SELECT a FROM s2 {right}") is expected


def test_union_of_an_output_stream_and_a_window_is_weak() -> None:
    """Rows of the stream stay, rows of the window leave: not first in, first out."""
    sql = "SELECT Istream(a) FROM s1 [RANGE 1 MINUTE] UNION ALL SELECT a FROM s2 [RANGE 1 MINUTE]"
    assert top(sql) is WEAK


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [("[NOW]", "[NOW]", WEAK), ("[RANGE 1 MINUTE]", "[ROWS 3]", STRICT), ("[ROWS 3]", "[ROWS 3]", STRICT)],
)
def test_join_is_weak_unless_an_input_is_strict(left: str, right: str, expected: Pattern) -> None:
    assert top(f"SELECT s1.a FROM s1 {left}, s2 {right} WHERE s1.a = s2.a") is expected


@pytest.mark.parametrize(("window", "expected"), [("", MONOTONIC), ("[NOW]", WEAK), ("[ROWS 3]", STRICT)])
def test_distinct(window: str, expected: Pattern) -> None:
    assert top(f"SELECT DISTINCT a FROM s1 {window}") is expected


@pytest.mark.parametrize("window", ["", "[NOW]", "[ROWS 3]"])
def test_group_by_is_always_strict(window: str) -> None:
    assert top(f"SELECT a, count(*) FROM s1 {window} GROUP BY a") is STRICT


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("EXISTS (SELECT * FROM s2 [NOW] WHERE s2.a = s1.a)", WEAK),
        ("EXISTS (SELECT * FROM s2 [ROWS 3] WHERE s2.a = s1.a)", STRICT),
        ("NOT EXISTS (SELECT * FROM s2 [NOW] WHERE s2.a = s1.a)", STRICT),
        ("a NOT IN (SELECT a FROM s2 [NOW])", STRICT),
    ],
)
def test_semi_and_anti_join(predicate: str, expected: Pattern) -> None:
    assert top(f"SELECT a FROM s1 [NOW] WHERE {predicate}") is expected


@pytest.mark.parametrize(
    ("operation", "expected"), [("INTERSECT ALL", WEAK), ("EXCEPT ALL", STRICT), ("UNION", WEAK)]
)
def test_set_operations(operation: str, expected: Pattern) -> None:
    assert top(f"SELECT a FROM s1 [NOW] {operation} SELECT a FROM s2 [NOW]") is expected


KEPT = [("", MONOTONIC), ("[NOW]", WEAKEST), ("[RANGE 1 MINUTE INTERNAL]", WEAKEST), ("[ROWS 3]", STRICT)]


@pytest.mark.parametrize(("window", "expected"), KEPT)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT src, rate FROM packets {0} JOIN tariffs USING (proto)",
        "SELECT src FROM packets {0} WHERE proto IN (SELECT proto FROM tariffs WHERE rate > 1)",
        "SELECT src FROM packets {0} WHERE proto NOT IN (SELECT proto FROM tariffs)",
        "SELECT src FROM packets {0} p WHERE NOT EXISTS (SELECT * FROM tariffs t WHERE t.proto = p.proto)",
    ],
)
def test_a_lookup_keeps_the_pattern(query: str, window: str, expected: Pattern) -> None:
    assert top(query.format(window)) is expected


def test_lookups_of_windows_of_one_length_leave_in_order() -> None:
    looked = "SELECT rate FROM packets [RANGE 1 MINUTE] JOIN tariffs USING (proto)"
    assert top(f"{looked} UNION ALL {looked}") is WEAKEST


@pytest.mark.parametrize(
    "query",
    [
        "SELECT owner FROM packets [NOW] JOIN hosts USING (src)",
        "SELECT owner FROM packets [ROWS 3] JOIN hosts USING (src)",
        "SELECT p.src FROM packets [NOW] p JOIN (SELECT DISTINCT src FROM hosts) h ON p.src = h.src",
        "SELECT src FROM packets [NOW] WHERE src IN (SELECT src FROM hosts)",
        "SELECT src FROM packets [NOW] WHERE src NOT IN (SELECT src FROM hosts)",
        "SELECT owner FROM hosts WHERE src IN (SELECT src FROM packets [NOW])",
        "SELECT src FROM packets [NOW] UNION ALL SELECT src FROM hosts",
        "SELECT src FROM packets [NOW] INTERSECT SELECT src FROM hosts",
        "SELECT rate FROM tariffs",
    ],
)
def test_updates_of_a_relation_make_what_it_meets_strict(query: str) -> None:
    assert top(query) is STRICT


def test_output_streams_only_grow() -> None:
    for operator in ("Istream", "Dstream", "Rstream"):
        assert top(f"SELECT {operator}(a) FROM s1 [ROWS 3]") is MONOTONIC


def test_output_windows_are_labeled_as_input_windows_are() -> None:
    assert top("SELECT Wstream(a) [RANGE 1 MINUTE] FROM s1 [ROWS 3]") is WEAKEST
    assert top("SELECT Wstream(a) [ROWS 3] FROM s1 [RANGE 1 MINUTE]") is STRICT


def test_a_join_of_internal_windows_answers_with_a_stream_but_its_state_slides() -> None:
    plan = plan_of("SELECT x.a FROM s1 [NOW INTERNAL] x, s2 [NOW INTERNAL] y WHERE x.a = y.a")
    assert answer_pattern(plan).pattern is MONOTONIC
    assert pattern_of(plan).pattern is WEAK
    assert has_internal(plan)


def test_one_external_window_makes_the_answer_expire() -> None:
    """The pair leaves with its external row, but came with the later of the two: the lifetimes differ."""
    plan = plan_of("SELECT x.a FROM s1 [NOW INTERNAL] x, s2 [NOW] y WHERE x.a = y.a")
    assert answer_pattern(plan).pattern is WEAK


def test_rows_of_internal_and_external_windows_of_one_length_leave_state_in_order() -> None:
    plan = plan_of("SELECT a FROM s1 [RANGE 1 MINUTE INTERNAL] UNION ALL SELECT a FROM s2 [RANGE 1 MINUTE]")
    assert pattern_of(plan).pattern is WEAKEST
    assert answer_pattern(plan).pattern is WEAK


@pytest.mark.parametrize("window", ["[ROWS 5 INTERNAL]", "[RANGE 1 MINUTE INTERNAL]"])
def test_values_over_internal_windows_are_never_replaced(window: str) -> None:
    plan = plan_of(f"SELECT sum(a) FROM s1 {window}")
    assert answer_pattern(plan).pattern is MONOTONIC
    assert pattern_of(plan).pattern is STRICT


def test_an_output_operator_ends_what_internal_began() -> None:
    plan = plan_of("SELECT count(*) FROM (SELECT a FROM s1 [NOW INTERNAL]) [ROWS 3]")
    assert not has_internal(plan)
    assert answer_pattern(plan).pattern is STRICT


def test_query_1_joins_two_links() -> None:
    plan = plan_of(
        "SELECT * FROM link1 [RANGE 10 MINUTES], link2 [RANGE 10 MINUTES] "
        "WHERE link1.src = link2.src AND link1.proto = 'ftp' AND link2.proto = 'ftp'"
    )
    assert labels(plan, Join, Window) == [("Join", WEAK), ("Window", WEAKEST), ("Window", WEAKEST)]
    (selection,) = (n for n in walk(plan) if isinstance(n, Select) and isinstance(n.child, Join))
    assert pattern_of(selection).pattern is WEAK
    assert pattern_of(plan).pattern is WEAK


def test_query_2_selects_distinct_sources() -> None:
    plan = plan_of("SELECT DISTINCT src FROM link1 [RANGE 10 MINUTES]")
    assert labels(plan, Distinct, Window) == [("Distinct", WEAK), ("Window", WEAKEST)]


def test_query_3_negates_a_link() -> None:
    plan = plan_of(
        "SELECT * FROM link1 [RANGE 10 MINUTES] "
        "WHERE NOT EXISTS (SELECT * FROM link2 [RANGE 10 MINUTES] WHERE link2.src = link1.src)"
    )
    assert labels(plan, AntiJoin, Window) == [("AntiJoin", STRICT), ("Window", WEAKEST), ("Window", WEAKEST)]


def test_query_4_joins_distinct_sources() -> None:
    plan = plan_of(
        "SELECT * FROM (SELECT DISTINCT src FROM link1 [RANGE 10 MINUTES]) a "
        "JOIN (SELECT DISTINCT src FROM link2 [RANGE 10 MINUTES]) b ON a.src = b.src"
    )
    assert labels(plan, Join, Distinct, Window) == [
        ("Join", WEAK), ("Distinct", WEAK), ("Window", WEAKEST), ("Distinct", WEAK), ("Window", WEAKEST),
    ]  # fmt: skip


def test_query_5_with_the_negation_on_top_is_strict_only_there() -> None:
    plan = plan_of(
        "SELECT * FROM link0 [RANGE 10 MINUTES], link2 [RANGE 10 MINUTES] "
        "WHERE link0.src = link2.src AND link2.proto = 'ftp' "
        "AND NOT EXISTS (SELECT * FROM link1 [RANGE 10 MINUTES] WHERE link1.src = link0.src)"
    )
    assert labels(plan, AntiJoin, Join, Window) == [
        ("AntiJoin", STRICT), ("Join", WEAK), ("Window", WEAKEST), ("Window", WEAKEST), ("Window", WEAKEST),
    ]  # fmt: skip


def test_query_5_with_the_negation_below_makes_the_join_strict() -> None:
    plan = plan_of(
        "SELECT * FROM (SELECT * FROM link0 [RANGE 10 MINUTES] WHERE NOT EXISTS "
        "(SELECT * FROM link1 [RANGE 10 MINUTES] WHERE link1.src = link0.src)) x, link2 [RANGE 10 MINUTES] y "
        "WHERE x.src = y.src AND y.proto = 'ftp'"
    )
    assert labels(plan, AntiJoin, Join, Window) == [
        ("Join", STRICT), ("AntiJoin", STRICT), ("Window", WEAKEST), ("Window", WEAKEST), ("Window", WEAKEST),
    ]  # fmt: skip


def test_every_edge_below_a_window_is_a_stream() -> None:
    plan = plan_of("SELECT src, sum(kb) FROM heavy [RANGE 1 MINUTE] GROUP BY src")
    (window,) = (node for node in walk(plan) if isinstance(node, Window))
    assert {pattern_of(node).pattern for node in walk(window.child)} == {MONOTONIC}
    assert any(isinstance(node, StreamScan) for node in walk(window.child))


def test_every_label_has_a_reason() -> None:
    plan = plan_of("SELECT DISTINCT x.a FROM s1 [NOW] x, s2 [ROWS 3] y WHERE x.a = y.a")
    assert all(pattern_of(node).reason for node in walk(plan))
