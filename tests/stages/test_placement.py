"""By which columns rows of steps and buffers lie on the shards of a stage."""

from __future__ import annotations

from panes.aggregates.accumulator_table import FIRST
from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.stages.make_plan import make_plan
from panes.stages.physical_plan import PhysicalStage
from panes.stages.placement import Anywhere, ByColumns, ByHash, Everywhere, Place, Placement
from tests.stages.test_exactness import plan_of
from tests.stages.test_partitioning import Streams


def stage_of(sql: str) -> PhysicalStage:
    return make_plan(optimize(plan_of(sql))).stages[-1]


def places(sql: str) -> dict[str, Place]:
    """Where the rows of each buffer lie, by its name without the number of the step."""
    return {name.partition("_")[2]: place for name, place in Placement(stage_of(sql)).buffers()}


def test_rows_of_a_join_lie_by_the_keys_of_their_side() -> None:
    found = places("SELECT x.bytes FROM p [NOW] x, p [RANGE 9 SECONDS] y WHERE x.src = y.src")
    assert found["join.left"] == ByColumns(("x.src",))
    assert found["join.right"] == ByColumns(("y.src",))


def test_groups_lie_by_their_hashes() -> None:
    found = places("SELECT src, median(bytes) AS b FROM p [RANGE 9 SECONDS] GROUP BY src")
    assert found["group_by.groups"] == found["group_by.frequencies_value_0"] == ByHash(FIRST)
    least = places("SELECT src, min(bytes) AS b FROM p [RANGE 9 SECONDS] GROUP BY src")
    assert least["group_by.extremes_value_0_least"] == ByHash(FIRST)
    assert found["group_by.expiring"] == ByColumns(("p.src",))


def test_matches_of_a_semi_join_lie_by_the_columns_that_stand_for_its_keys() -> None:
    found = places("SELECT bytes FROM p [NOW] x WHERE EXISTS (SELECT * FROM p [NOW] y WHERE y.src = x.src)")
    assert found["semi_join.join_right"] == found["semi_join.matched_shown"] == ByColumns(("_match0",))
    assert found["semi_join.join_left"] == ByColumns(("x.src",))


def test_rows_that_no_key_brings_together_lie_anywhere() -> None:
    sql = "SELECT bytes FROM p [RANGE 9 SECONDS]"
    assert places(sql)["hold.waiting"] == Placement(stage_of(sql)).answer == Anywhere()


def test_every_shard_knows_whether_a_relation_has_begun() -> None:
    sql = "SELECT Rstream(src, count(*) AS n) FROM p [RANGE 9 SECONDS SLIDE 3 SECONDS] GROUP BY src"
    found = places(sql)
    assert found["rstream.begun"] == Everywhere()
    assert found["rstream.relation"] == ByColumns(("src",))


def test_an_answer_without_its_key_lies_anywhere() -> None:
    assert Placement(stage_of("SELECT count(*) AS n FROM p [NOW] GROUP BY src")).answer == Anywhere()


def test_an_operator_that_keeps_hashes_is_told_by_which_of_its_keys_rows_lie() -> None:
    sql = """SELECT src, count(*) AS n FROM (SELECT src, bytes, count(*) AS m FROM p [NOW] GROUP BY src, bytes)
             GROUP BY src"""
    arguments = {step.name: dict(step.arguments) for step in stage_of(sql).fragment.steps}  # type: ignore[union-attr]
    told = [found["lies_by"] for found in arguments.values() if "lies_by" in found]
    assert told == [("p.src",), ()]


def places_with_tables(sql: str, large_tables: frozenset[str] = frozenset()) -> dict[str, Place]:
    (query,) = parse(sql)
    stage = make_plan(optimize(bind(query, Streams())), large_tables=large_tables).stages[-1]
    return {name.partition("_")[2]: place for name, place in Placement(stage).buffers()}


def test_every_shard_has_all_that_is_kept_of_a_whole_table() -> None:
    found = places_with_tables("SELECT a.x, t.y FROM a [RANGE 9 SECONDS], t WHERE a.k = t.k")
    assert found["join.right"] == Everywhere()
    assert found["join.left"] == Anywhere()
    found = places_with_tables("SELECT x FROM a [RANGE 9 SECONDS] WHERE k IN (SELECT k FROM t)")
    assert found["semi_join.join_right"] == Everywhere()
    assert found["semi_join.join_left"] == Anywhere()


def test_rows_that_not_in_has_matched_with_a_whole_table_lie_with_the_rows_that_they_are() -> None:
    found = places_with_tables("SELECT x FROM a [RANGE 9 SECONDS] WHERE k NOT IN (SELECT k FROM t)")
    left = ByColumns(("a.k", "a.x"))
    assert (
        found["anti_join.join_left"] == found["anti_join.pairs1_left"] == found["anti_join.waiting"] == left
    )
    assert found["anti_join.join_right"] == ByColumns(("_match0", "_match1"))
    assert found["anti_join.pairs0_right"] == found["anti_join.pairs2_right"] == Everywhere()


def test_versions_of_a_large_table_lie_by_the_key_that_rows_look_up() -> None:
    sql = "SELECT a.x, n.y FROM a, n WHERE a.k = n.k"
    assert places_with_tables(sql)["lookup.versions"] == Everywhere()
    assert places_with_tables(sql, frozenset(["n"]))["lookup.versions"] == ByColumns(("n.k",))


def test_groups_by_the_key_of_a_whole_table_lie_by_the_column_that_equals_it() -> None:
    sql = "SELECT t.k, count(*) AS m FROM a [RANGE 9 SECONDS], t WHERE a.k = t.k GROUP BY t.k"
    assert places_with_tables(sql)["group_by.groups"] == ByHash(FIRST)
