"""CREATE QUERY, and `register`: names, and what is refused when a query is registered."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panes import errors
from panes.config import SETTINGS
from panes.query_settings import QuerySettings


def test_a_query_without_a_name_gets_a_free_one(db):
    names = [db.register("SELECT src FROM packets [NOW]").name for _ in range(2)]
    assert names == ["query_1", "query_2"]


def test_a_name_that_was_given_by_hand_is_no_longer_free(db):
    db.register("SELECT src FROM packets [NOW]", name="query_2")
    assert db.register("SELECT src FROM packets [NOW]").name == "query_3"


@pytest.mark.parametrize("name", [7, "", "a\x00b"])
def test_what_cannot_be_a_name_is_refused(db, name):
    with pytest.raises(errors.CatalogError, match="cannot be the name of a query"):
        db.register("SELECT src FROM packets [NOW]", name=name)
    assert db.queries() == []


def test_register_takes_create_query_too(db):
    query = db.register("CREATE QUERY named AS SELECT src FROM packets [NOW]")
    assert query.name == "named"
    with pytest.raises(errors.SqlError, match="register takes one query"):
        db.register("SHOW STREAMS")


def test_a_strategy_that_cannot_run_a_query_refuses_it_at_once(db):
    db.sql("SET strategy = 'direct'")
    db.register("SELECT src FROM packets [RANGE 1 MINUTE]")
    with pytest.raises(errors.SettingError, match="use 'upa' or 'nt'"):
        db.register("SELECT src FROM packets [ROWS 10]")
    assert len(db.queries()) == 1


def test_a_query_that_has_seen_nothing_has_an_empty_answer(db):
    answer = db.register("SELECT src AS host FROM packets [RANGE 1 MINUTE]").invoke()
    assert (len(answer), answer.as_of) == (0, None)
    assert answer.table.schema == pa.schema([("host", pa.int64())])
    assert repr(answer) == (
        "<Answer of host: no epoch has taken in a row yet: db.run() or db.start() takes in rows>"
    )


def test_a_query_has_no_name_of_a_stream_or_table_and_none_has_its(db):
    db.sql("CREATE TABLE hosts (src BIGINT); CREATE QUERY sources AS SELECT src FROM packets [NOW]")
    for name in ("packets", "Hosts"):
        with pytest.raises(errors.CatalogError, match="already a stream or table named"):
            db.register("SELECT src FROM packets [NOW]", name=name)
    for create in (
        "TABLE sources (a INT)",
        "STREAM SOURCES (a INT)",
        "STREAM sources AS SELECT * FROM packets",
    ):
        with pytest.raises(errors.CatalogError, match="already a query named"):
            db.sql(f"CREATE {create}")
    assert [query.name for query in db.queries()] == ["sources"]


def test_a_query_that_reads_one_that_is_not_there_is_refused(db):
    db.sql("CREATE QUERY sources AS SELECT src FROM packets [NOW]")
    with pytest.raises(
        errors.SqlError, match=r"no stream, table or query named 'source'\n.*\n.*\n.*'sources'"
    ):
        db.register("SELECT src FROM source")


COUNTS = "SELECT src, count(*) AS n FROM packets [RANGE 1 MINUTE] GROUP BY src"
LEAST = "SELECT src, min(ts) AS least FROM packets [RANGE 1 MINUTE] GROUP BY src"


def test_settings_that_a_query_may_have_for_itself_are_those_that_it_keeps():
    own = [setting.name for setting in SETTINGS.values() if setting.is_of_query]
    assert {*own, "index_by"} == {*QuerySettings._fields}


def test_a_query_has_the_settings_of_its_statement_before_those_of_the_database(db):
    db.sql(f"SET calendar_days = 7; CREATE QUERY mine WITH (strategy = 'nt', priority = 3) AS {COUNTS}")
    record = db._catalog.query("mine")
    assert record.settings == QuerySettings("nt", 7, priority=3)
    assert record.given == ("strategy", "priority")
    assert (
        db.sql("SHOW CREATE QUERY mine")
        == f"CREATE QUERY mine WITH (strategy = 'nt', priority = 3) AS {COUNTS}"
    )
    assert db.sql("SHOW SETTINGS LIKE 'strategy'").to_pylist() == [{"name": "strategy", "value": "upa"}]


def test_rules_that_are_off_for_one_query_are_those_of_its_plan(db):
    kept = db.register(f"CREATE QUERY kept WITH (rules_off = 'keep_needed_columns') AS {COUNTS}")
    assert kept.explain() != db.register(COUNTS).explain()
    with pytest.raises(errors.SettingError, match="no rule named 'all'"):
        db.sql(f"CREATE QUERY other WITH (rules_off = 'all') AS {COUNTS}")


def test_a_query_that_sheds_has_drop_boxes(db):
    db.sql(f"CREATE QUERY mine WITH (shed = 'auto') AS {COUNTS}; CREATE QUERY exact AS {COUNTS}")
    assert "Drop: keep all of packets" in db.sql("EXPLAIN mine")
    assert "Drop" not in db.sql("EXPLAIN exact")
    assert "Drop" not in db.sql(f"EXPLAIN {COUNTS}")
    db.sql("SET shed = 'auto'")
    assert "Drop" in db.sql(f"EXPLAIN {COUNTS}")
    assert "Drop" in db.register(COUNTS).explain()
    assert "Drop" not in db.sql("EXPLAIN exact"), "the setting is fixed when a query is registered"
    assert "Drop" not in db.register(f"CREATE QUERY whole WITH (shed = 'never') AS {COUNTS}").explain()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (LEAST, "min.*has no bound"),
        ("SELECT DISTINCT src FROM packets [RANGE 1 MINUTE]", "DISTINCT cannot tell"),
        ("SELECT src FROM packets BEGIN (NOW - INTERVAL 1 MINUTE) END (NOW)", "a BEGIN … END window"),
    ],
)
def test_a_query_that_is_to_shed_and_cannot_is_refused_and_stays_exact_under_the_setting_of_all(
    db, text, reason
):
    with pytest.raises(errors.SqlError, match=f"rows cannot be dropped for the query: {reason}") as raised:
        db.sql(f"CREATE QUERY mine WITH (shed = 'auto')\nAS {text}")
    assert (raised.value.line, raised.value.column) == (2, 4)
    assert db.queries() == []
    db.sql("SET shed = 'auto'")
    assert "Drop" not in db.register(text).explain()


def test_queries_that_shed_share_no_plan(db):
    text = "SELECT src, ts FROM packets [RANGE 1 MINUTE] WHERE src > {least}"
    db.sql("SET share_from = 2")
    for least in range(6):
        shed = "auto" if least < 3 else "never"
        db.sql(f"CREATE QUERY q{least} WITH (shed = '{shed}') AS {text.format(least=least)}")
    groups = [record.group for record in db._catalog.queries()]
    assert groups[:4] == [None] * 4
    assert groups[4] == groups[5] is not None


def test_queries_that_cannot_shed_share_a_plan_under_the_setting_of_all(db):
    db.sql("SET share_from = 2; SET shed = 'auto'")
    for least in range(3):
        db.register(
            f"{COUNTS.replace('GROUP', f'WHERE ts > {least} GROUP')} HAVING count(*) > 3", name=f"q{least}"
        )
    assert db._catalog.query("q2").group is not None
    assert "Drop" not in db.sql("EXPLAIN q2")


INDEXED = (
    "CREATE QUERY q WITH (index_cells = '2x3') INDEX BY (Src, proto) AS SELECT src, proto FROM packets [NOW]"
)


def test_an_index_is_shown_by_the_names_of_the_answer_and_goes_with_the_statement(db):
    db.sql(INDEXED)
    shown = INDEXED.replace("Src", "src")
    assert db.sql("SHOW CREATE QUERY q") == shown
    before = db._catalog.query("q")
    db.sql(shown.replace("CREATE", "CREATE OR REPLACE"))
    assert db._catalog.query("q") == before
    db.sql("ALTER QUERY q AS SELECT proto, src FROM packets [RANGE 1 MINUTE]")
    assert db._catalog.query("q").settings.index_by == '["src", "proto"]'
    with pytest.raises(errors.SqlError, match="INDEX BY src: the answer has no column of that name"):
        db.sql("ALTER QUERY q AS SELECT proto FROM packets [NOW]")
    assert "src" in db.sql("SHOW CREATE QUERY q")
    db.sql("CREATE OR REPLACE QUERY q AS SELECT proto, src FROM packets [RANGE 1 MINUTE]")
    assert db._catalog.query("q").settings.index_by == ""
    assert "INDEX" not in db.sql("SHOW CREATE QUERY q")


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("INDEX BY (dst) AS SELECT src FROM packets [NOW]", "the answer has no column of that name"),
        ("INDEX BY (all_) AS SELECT collect_list(src) AS all_ FROM packets [NOW]", "which has no order"),
        (
            "INDEX BY (src) AS SELECT src FROM packets BEGIN (NOW - INTERVAL 1 DAY) END (NOW)",
            "answers that are kept",
        ),
    ],
)
def test_what_cannot_be_indexed_is_refused_where_it_is_written(db, sql, problem):
    with pytest.raises(errors.SqlError, match=problem) as raised:
        db.sql(f"CREATE QUERY q\n  {sql}")
    assert (raised.value.line, raised.value.column) == (2, 3)
    assert db.queries() == []


def test_a_query_with_an_index_keeps_its_answer_for_itself(db):
    db.sql("SET share_from = 2; SET answers = 'lazy'")
    for least in range(4):
        db.sql(
            f"CREATE QUERY q{least} INDEX BY (src) AS SELECT src FROM packets [RANGE 1 DAY] WHERE src > {least}"
        )
    assert {record.group for record in db._catalog.queries()} == {None}
    assert {record.answers.mode for record in db._catalog.queries()} == {"eager"}
    with pytest.raises(errors.SettingError, match="INDEX BY is of an answer that is kept for it alone"):
        db.sql("CREATE QUERY q WITH (answers = 'none') INDEX BY (src) AS SELECT src FROM packets [NOW]")
