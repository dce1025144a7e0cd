"""A join in one pipeline runs on Spark, and goes on from its state in every epoch."""

from __future__ import annotations

from panes.testing import local

JOIN = (
    "SELECT a.x, b.x AS y, c.x AS z FROM a [RANGE 6 SECONDS], b [RANGE 6 SECONDS], c [RANGE 6 SECONDS] "
    "WHERE a.k = b.k AND b.k = c.k AND a.x <> b.x"
)


def test_a_pipeline_and_a_tree_have_the_same_answer_after_every_epoch(tmp_path):
    with local(tmp_path / "db") as db:
        for name in "abc":
            db.sql(f"CREATE STREAM {name} (ts BIGINT, k BIGINT, x BIGINT) TIMESTAMP BY ts SECONDS")
        db.sql("SET shards = 2")
        for name, join in (("in_one", "pipelined"), ("in_two", "tree")):
            db.sql(f"CREATE QUERY {name} WITH (join = '{join}') AS {JOIN}")
        assert "new rows of" in str(db.sql("EXPLAIN in_one"))
        assert "new rows of" not in str(db.sql("EXPLAIN in_two"))
        db.sql("SET join = 'pipelined'")
        assert "new rows of" in str(db.sql(f"EXPLAIN {JOIN}"))
        for epoch in range(3):
            for shift, name in enumerate("abc"):
                db.push(name, [_row(4 * epoch, number, shift) for number in range(12)])
            db.run()
            one, two = (
                sorted(tuple(row.values()) for row in db.query(name).invoke().to_pylist())
                for name in ("in_one", "in_two")
            )
            assert one == two
            assert one


def _row(first: int, number: int, shift: int) -> dict[str, int]:
    return {"ts": first + number // 3, "k": (number + shift) % 5, "x": 10 * number + shift % 2}
