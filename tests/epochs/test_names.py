"""Names that look like paths, patterns or internal columns: they are names, and nothing else."""

import pytest

import panes
from panes import errors
from panes.testing import local


@pytest.fixture
def outside(tmp_path):
    """A folder of other people, with a file in it."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "0.parquet").write_bytes(b"not ours")
    return folder


def test_streams_and_queries_of_any_name_work_and_touch_no_other_files(tmp_path, outside):
    names = [
        str(outside),
        "*",
        "../x",
        "x" * 300,
        "a/b",
        "it's",
        'say "x"',
        "two\nlines",
        "$HOME",
        "..",
        "a.b",
        "?[z]",
    ]
    quoted = {name: '"' + name.replace('"', '""') + '"' for name in names}
    with local(tmp_path / "db") as db:
        queries = {}
        for name in names:
            db.sql(f"CREATE STREAM {quoted[name]} (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
            queries[name] = db.register(f"SELECT k FROM {quoted[name]} [RANGE 1 HOUR]", name=f"{name}?")
        for number, name in enumerate(names):
            db.push(name, [(1, number), (None, -1)])
        db.run()
        for number, name in enumerate(names):
            assert queries[name].invoke().to_pylist() == [{"k": number}], name
            assert db.sql(f"SELECT k FROM {quoted[name]} [ROWS 1]").to_pylist() == [{"k": number}], name
            assert db.sql(f'INVOKE {quoted[name][:-1]}?"').to_pylist() == [{"k": number}], name
            assert db.bad_rows(name).column("k").to_pylist() == [-1], name
            assert "Stream" in queries[name].explain()
        assert set(db.status().streams) == set(names)
        for name in names:
            queries[name].drop()
            db.sql(f"DROP STREAM {quoted[name]}")
        assert (db.queries(), db.sql("SHOW STREAMS").num_rows) == ([], 0)
    assert (outside / "0.parquet").read_bytes() == b"not ours"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["db", "precious"]


def test_a_stream_that_is_created_again_knows_nothing_of_the_one_before(tmp_path):
    create = "CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS RETAIN INTERVAL 1 HOUR"
    with local(tmp_path / "db") as db:
        db.sql(create)
        db.push("s", [(1000, 1), (None, 0)])
        db.run()
        db.push("s", (row for row in [(1001, 2)]))
        db.sql("DROP STREAM s")
        db.sql(create)
        assert "s" not in db.status().streams
        assert db.bad_rows("s").num_rows == 0
        query = db.register("SELECT k FROM s [RANGE UNBOUNDED]")
        db.push("s", (row for row in [(1002, 3)]))
        db.run()
        assert query.invoke().to_pylist() == [{"k": 3}]
        assert db.sql("SELECT k FROM s [RANGE UNBOUNDED]").to_pylist() == [{"k": 3}]
        assert (db.status().streams["s"].rows, db.status().streams["s"].bad) == (1, 0)


def test_a_query_with_dots_in_its_name_can_be_explained_invoked_and_dropped(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        query = db.register("SELECT k FROM s [RANGE 1 HOUR]", name="team.daily")
        assert query.explain() == db.sql('EXPLAIN "team.daily"')
        assert query.invoke().to_pylist() == db.sql('INVOKE "team.daily"').to_pylist() == []
        query.drop()
        db.register("SELECT k FROM s [RANGE 1 HOUR]", name="team.daily")
        db.sql('DROP QUERY "team.daily"')
        assert db.queries() == []


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 1001, 5])
def test_what_cannot_be_a_name_is_refused_at_registration(tmp_path, name):
    with panes.connect(tmp_path / "db") as db:
        db.sql("CREATE STREAM s (ts BIGINT, k BIGINT) TIMESTAMP BY ts SECONDS")
        with pytest.raises(errors.CatalogError, match="cannot be the name of a query: it "):
            db.register("SELECT k FROM s [RANGE 1 HOUR]", name=name)
        assert db.queries() == []


HOUR = "[RANGE 1 HOUR]"
ALIKE = {
    "constants that differ in case": (
        f"SELECT sum(CASE WHEN w = 'a' THEN 1 ELSE 0 END) AS x, sum(CASE WHEN w = 'A' THEN 5 ELSE 0 END) AS y "
        f"FROM s {HOUR}",
        f"SELECT sum(CASE WHEN w = 'a' THEN 1 ELSE 0 END) AS x, sum(CASE WHEN 'A' = w THEN 5 ELSE 0 END) AS y "
        f"FROM s {HOUR}",
    ),
    "a key that looks like an aggregate": (
        f'SELECT "sum(p"."k)" AS x, sum(p.k) AS y FROM s {HOUR} p, odd {HOUR} "sum(p" '
        'WHERE p.ts = "sum(p".ts GROUP BY "sum(p"."k)"',
        f"SELECT q.k AS x, sum(p.k) AS y FROM s {HOUR} p, s {HOUR} q WHERE p.ts = q.ts GROUP BY q.k",
    ),
    "a key that looks like an expression": (
        f'SELECT a + 1 AS x, "A + 1" AS y, count(*) AS n FROM odd {HOUR} GROUP BY a + 1, "A + 1"',
        f"SELECT k + 1 AS x, v AS y, count(*) AS n FROM s {HOUR} GROUP BY k + 1, v",
    ),
    "aliases that look like an expression and an alias with a column": (
        f'SELECT "x.a + x".a AS p, x.a AS q FROM odd {HOUR} x, odd {HOUR} "x.a + x" '
        'WHERE x.a + x.a = "x.a + x".ts',
        f"SELECT y.k AS p, x.k AS q FROM s {HOUR} x, s {HOUR} y WHERE x.k + x.k = y.ts",
    ),
    "aliases like internal columns": (
        f'SELECT "_query"."k)" AS kind, "_ts".a AS shard, "_accumulator_1".a AS content FROM odd {HOUR} "_query", '
        f'odd {HOUR} "_ts", odd {HOUR} "_accumulator_1" '
        'WHERE "_query".ts = "_ts".ts AND "_ts".ts = "_accumulator_1".ts',
        f"SELECT a.k AS x, b.k AS y, c.k AS z FROM s {HOUR} a, s {HOUR} b, s {HOUR} c "
        "WHERE a.ts = b.ts AND b.ts = c.ts",
    ),
    "columns like tables of the SQL that is run": (
        f'SELECT l.a AS l, r.a AS r, count(*) AS "count(*)" FROM odd {HOUR} l, odd {HOUR} r '
        "WHERE l.ts = r.ts GROUP BY l.a, r.a",
        f"SELECT x.k AS l, y.k AS r, count(*) AS n FROM s {HOUR} x, s {HOUR} y "
        "WHERE x.ts = y.ts GROUP BY x.k, y.k",
    ),
    "columns with backticks and line breaks": (
        f'SELECT "sh`a\nrd" AS "sh`a\nrd", count(*) AS n FROM odd {HOUR} GROUP BY "sh`a\nrd"',
        f"SELECT w, count(*) AS n FROM s {HOUR} GROUP BY w",
    ),
}  # fmt: skip


def test_queries_with_strange_names_answer_as_those_with_plain_ones(tmp_path):
    rows = [(i, i % 3, i % 5, "aAb"[i % 3]) for i in range(12)]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "0.csv").write_text("".join(f"{ts},{k},{k},{v},{w}\n" for ts, k, v, w in rows))
    with local(tmp_path / "db") as db:
        db.sql(
            "CREATE STREAM s (ts BIGINT, k BIGINT, v BIGINT, w STRING) TIMESTAMP BY ts SECONDS; "
            'CREATE STREAM odd (ts BIGINT, a BIGINT, "k)" BIGINT, "A + 1" BIGINT, "sh`a\nrd" STRING) '
            f"TIMESTAMP BY ts SECONDS FROM FILES '{folder}' WITH (format = 'csv')"
        )
        asked = {case: [db.register(query) for query in pair] for case, pair in ALIKE.items()}
        db.push("s", rows)
        db.run()
        for case, (odd, plain) in asked.items():
            expected = values(plain.invoke())
            assert expected, case
            assert values(odd.invoke()) == expected, case
            assert values(db.sql(ALIKE[case][0])) == expected, case


def values(answer):
    return sorted(tuple(row.values()) for row in answer.to_pylist())
