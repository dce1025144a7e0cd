"""Queries that are equal up to constants have one plan, and it answers each of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from panes.delta.delta import TS
from panes.errors import SqlError
from panes.history.retention import Retained
from panes.plan.nodes import QUERY, TIME, Node, StreamScan, TableScan, Window
from panes.plan.order_of_answer import relation_of
from panes.plan.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Type,
)
from panes.plan.walk import walk
from panes.plan.windows import BeginEndWindow
from panes.sharing.begin_end_aggregate import begin_end_aggregate_of
from panes.sharing.index_slice import IndexSlice
from panes.sharing.pair_reading import pair_reading_of
from panes.sharing.selection import selection_of
from panes.sharing.selection_store import SelectionStore
from panes.sharing.template import Template, template_of
from panes.testing import answer_at, same_rows
from tests.language.corpus import Case, optimized, read_cases, read_catalog
from tests.sharing.running import Spans, on_its_own, scans_of, shared
from tests.sharing.shared_pairs import Member, SharedPairs
from tests.synopses.timed_tuples import in_store, opened, reading_of

CATALOG = read_catalog()
MINUTE = 60_000_000
FIRST = "SELECT src, bytes FROM packets [RANGE 1 MINUTE]"
PACKETS = "SELECT count(*) FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS]"
JOINED = "SELECT p.src, r.b FROM packets [RANGE 1 MINUTE] p JOIN r [RANGE 2 MINUTES] ON p.dst = r.a"
PRICED = "SELECT src, rate FROM packets [RANGE 1 MINUTE] JOIN tariffs USING (proto)"
CLOCKS = (3 * MINUTE, 4 * MINUTE + 1, 11 * MINUTE)


def plan_of(sql: str) -> Node | None:
    try:
        plan = optimized(sql)
        return None if plan is None else relation_of(plan)
    except SqlError:
        return None


def template_for(sql: str) -> Template | None:
    plan = plan_of(sql)
    assert plan is not None
    found = template_of(plan)
    return found[0] if found else None


SHAREABLE = [
    case
    for case in read_cases()
    if not case.file.startswith("refused")
    if (plan := plan_of(case.sql)) is not None and template_of(plan) is not None
]


def test_many_queries_of_the_corpus_can_share() -> None:
    assert len(SHAREABLE) > 40


@pytest.mark.parametrize("case", SHAREABLE, ids=str)
def test_a_shared_plan_with_one_member_means_the_same(case: Case) -> None:
    plan = plan_of(case.sql)
    assert plan is not None
    found = template_of(plan)
    assert found is not None
    template, predicates = found
    spans = _spans(plan)
    expected = _expected(plan, spans)
    for (_, _, clock), mine, other in zip(
        spans, expected, _shared(template, plan, predicates, spans), strict=True
    ):
        assert same_rows(mine, other) is None, f"at {clock}: {same_rows(mine, other)}"


def _expected(plan: Node, spans: Spans) -> list[pa.Table]:
    if not any(isinstance(node, Window) and isinstance(node.spec, BeginEndWindow) for node in walk(plan)):
        return on_its_own(plan, spans)
    rows = {name: pa.concat_tables([came[name] for came, _, _ in spans]) for name in spans[0][0]}
    return [answer_at(plan, rows, clock) for _, _, clock in spans]


def _timed(plan: Node, spans: Spans) -> list[pa.Table]:
    reading, answers = reading_of(plan), []
    store = opened(reading)
    for rows, since, clock in spans:
        (came,) = (in_store(reading, table) for table in rows.values())
        store.add(came, reading.asked.measures, since)
        answers.append(reading.shown(reading.asked.at([store], clock)))
    return answers


def _shared(template: Template, plan: Node, predicates: Any, spans: Spans) -> list[pa.Table]:
    if not template.has_store:
        return [answers[7] for answers in shared(template, {7: predicates}, spans)]
    if pair_reading_of(plan) is not None:
        return [answers[7] for answers in _paired({7: plan}, spans)]
    if begin_end_aggregate_of(plan) is not None:
        return _timed(plan, spans)
    reading = selection_of(plan)
    assert reading is not None
    index = IndexSlice.of(template.matched[0], {7: reading.predicate})
    store, answers = SelectionStore(), []
    for rows, since, clock in spans:
        store.add(rows[reading.scan.stream], index, since)
        answers.append(store.answer(7, reading, clock))
    return answers


def _paired(plans: Mapping[int, Node], spans: Spans) -> list[dict[int, pa.Table]]:
    """The answers of joins that share a pair store at the end of each span, by query."""
    members = {query: Member.of(plan) for query, plan in plans.items()}
    store = SharedPairs(members[min(members)].reading.join, 1, Retained())
    answers = []
    for rows, since, clock in spans:
        store.run(rows, since, {} if store.members else members)
        answers.append({query: store.answer(query, clock) for query in members})
    return answers


def _spans(plan: Node) -> Spans:
    chance = random.Random(3)
    scans = scans_of(plan)
    spans = []
    since = 0
    for clock in CLOCKS:
        spans.append(
            ({name: _rows(scan, chance, since, clock) for name, scan in scans.items()}, since, clock)
        )
        since = clock
    return spans


def _rows(scan: StreamScan | TableScan, chance: random.Random, since: int, clock: int) -> pa.Table:
    ts = sorted(chance.randint(since + 1, clock) for _ in range(30))
    columns = {
        scan.attribute(field.name): pa.array([_value(field.type, chance) for _ in ts], field.type.arrow)
        for field in scan.schema
        if scan.attribute(field.name) != TIME
    }
    return pa.table(columns | {TS: pa.array(ts, pa.int64())})


def _value(type_: Type, chance: random.Random) -> Any:
    if chance.random() < 0.1:
        return None
    match type_:
        case t if t == BOOLEAN:
            return chance.random() < 0.5
        case t if t.item is not None:
            return [_value(t.item, chance) for _ in range(chance.randrange(3))]
        case t if t.fields:
            return {name: _value(field, chance) for name, field in t.fields}
        case t if t in (TINYINT, SMALLINT):
            return chance.choice((0, 1, 2, 3, 5, 10, 80, -7))
        case t if t.is_decimal:
            return Decimal(chance.choice((0, 1, 25, 150, 225, -350))).scaleb(-t.scale)
        case t if t == FLOAT:
            return chance.choice((0.0, 0.5, 0.75, -3.0, float("inf")))
        case t if t == BINARY:
            return chance.choice((b"", b"lab", b"x", b"\x00\xff"))
        case t if t in (INT, BIGINT):
            return chance.choice((0, 1, 2, 3, 5, 10, 80, 443, 1000, 5000))
        case t if t == DOUBLE:
            return chance.choice((0.0, 0.5, 1.5, 20.0, 40.0, -3.0))
        case t if t == STRING:
            return chance.choice(("ftp", "http", "telnet", "a", "x", ""))
        case t if t == DATE:
            return date(2024, 1, chance.randint(1, 28))
        case t if t == TIMESTAMP:
            return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randint(0, 10**6))
    raise TypeError(type_)


@pytest.mark.parametrize(
    "selected",
    [
        "SELECT p.src, r.b FROM packets [RANGE 1 MINUTE] p JOIN r [RANGE 2 MINUTES] ON p.dst = r.a "
        "WHERE p.src > {0} AND r.b IN ({0}, {1})",
        "SELECT p.src, r.b FROM packets [RANGE 1 MINUTE] p JOIN r [RANGE 2 MINUTES] ON p.dst = r.a "
        "WHERE r.b > {1}",
        "SELECT count(*) AS n FROM packets [RANGE 1 MINUTE] p JOIN r [RANGE 2 MINUTES] ON p.dst = r.a "
        "WHERE p.src < {1} AND r.b > {0}",
        f"{PACKETS} WHERE src < {{0}} AND dst <> {{1}} HAVING count(*) > 2",
        "SELECT count(*) + 1 AS n, sum(bytes) AS total FROM packets [RANGE 1 MINUTE] "
        "WHERE src > {0} AND dst = {1}",
        "SELECT DISTINCT proto FROM packets [RANGE 1 MINUTE] WHERE src BETWEEN {0} AND {1}",
        "SELECT proto, avg(bytes) AS size FROM packets [RANGE 1 MINUTE] WHERE src + dst > {0} GROUP BY proto",
        "SELECT max(n) AS most FROM (SELECT proto, count(*) AS n FROM packets [RANGE 1 MINUTE] "
        "WHERE src > {1} GROUP BY proto)",
        # With tables: looked up, and met as they are.
        "SELECT src, rate FROM packets [RANGE 1 MINUTE] p JOIN tariffs t ON p.proto = t.proto "
        "WHERE src > {0} AND bytes > {1}",
        "SELECT src, owner FROM packets [RANGE 1 MINUTE] JOIN hosts USING (src) WHERE dst >= {0} AND dst <> {1}",
        "SELECT owner, sum(bytes * rate) AS cost FROM packets [RANGE 1 MINUTE SLIDE 10 SECONDS] p, tariffs t, "
        "hosts h WHERE p.proto = t.proto AND p.src = h.src AND p.dst > {0} AND p.bytes <> {1} GROUP BY owner",
        "SELECT src FROM packets [RANGE 1 MINUTE] WHERE dst > {0} AND bytes <> {1} "
        "AND proto IN (SELECT proto FROM tariffs WHERE rate > 1) AND src NOT IN (SELECT src FROM hosts)",
        "SELECT count(*) AS n FROM packets [RANGE 1 MINUTE] p WHERE dst > {0} AND bytes <> {1} "
        "AND NOT EXISTS (SELECT * FROM tariffs t WHERE t.proto = p.proto AND t.rate > p.bytes)",
        "SELECT p.src, h.n FROM packets [RANGE 1 MINUTE] p "
        "JOIN (SELECT src, count(*) AS n FROM hosts GROUP BY src) h ON p.src = h.src "
        "WHERE p.dst > {0} AND p.bytes <> {1}",
    ],
)
def test_each_of_many_members_has_its_own_answer(selected: str) -> None:
    plans = {10 * k + m: plan_of(selected.format(k, m)) for k in (0, 2, 80) for m in (1, 5, 9)}
    found = {query: template_of(plan) for query, plan in plans.items() if plan is not None}
    members = {query: pair[1] for query, pair in found.items() if pair is not None}
    templates = {pair[0] for pair in found.values() if pair is not None}
    assert len(members) == 9
    assert len(templates) == 1
    first = plans[1]
    assert first is not None
    spans = _spans(first)
    template = templates.pop()
    known = {query: plan for query, plan in plans.items() if plan is not None}
    together = _paired(known, spans) if template.has_store else shared(template, members, spans)
    for query, plan in plans.items():
        assert plan is not None
        for mine, answers in zip(on_its_own(plan, spans), together, strict=True):
            assert same_rows(answers[query], mine) is None, query


def test_the_answers_that_are_compared_are_not_all_empty() -> None:
    plans = [plan for case in SHAREABLE if (plan := plan_of(case.sql)) is not None]
    assert sum(_expected(plan, _spans(plan))[0].num_rows > 0 for plan in plans) > len(plans) // 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{PACKETS} WHERE bytes > 5", f"{PACKETS} WHERE bytes > 7"),
        (f"{PACKETS} WHERE bytes > 5", f"{PACKETS} WHERE proto IN ('ftp', 'http') AND bytes + dst > 3"),
        # Window, projection and the name of the stream are each selection's own.
        ("SELECT src FROM packets [RANGE 1 MINUTE] WHERE bytes > 5", "SELECT * FROM packets [NOW] AS p"),
        # A limit is the same for all queries of a group; in which order each is read is its own.
        (f"{FIRST} WHERE dst = 1 ORDER BY bytes LIMIT 3", f"{FIRST} WHERE dst = 2 ORDER BY bytes LIMIT 3"),
        (f"{FIRST} WHERE dst = 1 ORDER BY bytes", f"{FIRST} WHERE dst = 2 ORDER BY src DESC"),
        ("SELECT src FROM packets", "SELECT dst FROM packets BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)"),
        (f"{PRICED} WHERE src = 1", f"{PRICED} WHERE src > 2 AND dst = 3"),
        # So are the windows of joins, and constants of what they ask of both tuples.
        (f"{JOINED} WHERE p.src + r.b > 7", f"{JOINED.replace('1 MINUTE', '9 MINUTES')} WHERE r.b = 2"),
        (
            f"{JOINED} WHERE p.src > 7",
            f"{JOINED.replace('SELECT', 'SELECT DISTINCT')} WHERE p.src + r.b <> 2",
        ),
        (
            JOINED,
            "SELECT x.src FROM packets x JOIN r y ON x.dst = y.a BEGIN (NOW - INTERVAL 5 MINUTES) END (NOW)",
        ),
    ],
)
def test_queries_that_are_equal_up_to_constants_have_one_template(one: str, other: str) -> None:
    left, right = template_for(one), template_for(other)
    assert left is not None
    assert right is not None
    assert left == right
    assert left.key == right.key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{PACKETS} WHERE bytes > 5", f"{PACKETS} WHERE bytes > 5 GROUP BY src"),
        (
            "SELECT count(*) FROM packets [RANGE 1 MINUTE] WHERE bytes > 5",
            "SELECT count(*) FROM packets [RANGE 2 MINUTES] WHERE bytes > 5",
        ),
        ("SELECT src FROM packets", "SELECT a FROM r"),
        (JOINED, JOINED.replace("p.dst = r.a", "p.src = r.a")),
        (f"{FIRST} WHERE dst = 1 ORDER BY bytes LIMIT 3", f"{FIRST} WHERE dst = 1 ORDER BY bytes LIMIT 4"),
        (f"{FIRST} WHERE dst = 1 ORDER BY bytes LIMIT 3", f"{FIRST} WHERE dst = 1 ORDER BY src LIMIT 3"),
        # The rows of a table are the same for all queries of a group.
        (f"{PRICED} WHERE src = 1 AND rate > 1", f"{PRICED} WHERE src = 1 AND rate > 2"),
        (
            "SELECT src, count(*) FROM packets [NOW] WHERE dst = 1 GROUP BY src HAVING count(*) > 1",
            "SELECT src, count(*) FROM packets [NOW] WHERE dst = 1 GROUP BY src HAVING count(*) > 2",
        ),
    ],
)
def test_queries_that_differ_in_more_than_selections_have_templates_of_their_own(
    one: str, other: str
) -> None:
    left, right = template_for(one), template_for(other)
    assert left is not None
    assert right is not None
    assert left.key != right.key


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM packets [ROWS 10] WHERE bytes > 5",
        "SELECT count(DISTINCT src) FROM packets WHERE bytes > 5 BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)",
        "SELECT src FROM packets [RANGE 1 MINUTE INTERNAL] WHERE bytes > 5",
        "SELECT ISTREAM(src) FROM packets [RANGE 1 MINUTE] WHERE bytes > 5",
        "SELECT src, count(*) FROM packets [RANGE 1 MINUTE] GROUP BY src",  # there is nothing to tell apart
        # Tuples of any age may ask for the versions of their time when a query joins the group.
        "SELECT src, rate FROM packets JOIN tariffs USING (proto) WHERE src = 1",
        "SELECT owner FROM hosts WHERE src IN (SELECT src FROM packets [RANGE 1 MINUTE] WHERE dst = 1)",
        "SELECT v FROM packets [RANGE 1 MINUTE], unnest([src, dst]) AS t(v) WHERE bytes > 5",
    ],
)
def test_what_cannot_be_shared_has_no_template(sql: str) -> None:
    plan = plan_of(sql)
    if plan is None:
        pytest.fail(f"{sql} is not accepted")
    assert template_of(plan) is None


def test_an_absent_row_of_a_count_of_everything_must_have_one_meaning() -> None:
    assert template_for(f"{PACKETS} WHERE dst = 1 HAVING count(*) < 3") is None
    assert template_for(f"{PACKETS} WHERE dst = 1 HAVING count(*) > 3") is not None


def test_a_count_of_nothing_is_zero() -> None:
    template = template_for("SELECT count(*) AS n, sum(bytes) AS total FROM packets [NOW] WHERE dst = 1")
    assert template is not None
    assert template.of_nothing.to_pylist() == [{"n": 0, "total": None}]


def test_the_query_is_the_first_column_and_a_key_of_everything() -> None:
    template = template_for(
        "SELECT p.src, count(*) AS n FROM packets [RANGE 1 MINUTE] AS p JOIN r [RANGE 1 MINUTE] ON p.src = r.a "
        "WHERE p.bytes > 5 AND r.b < 3 GROUP BY p.src"
    )
    assert template is not None
    assert template.plan.schema.names == (QUERY, "src", "n")
    assert [matched.query_column for matched in template.matched] == ["_query", "_query_1"]
