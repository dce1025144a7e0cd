"""What Spark does on its own, and what is left to operators."""

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import GroupBy, Project, Select, StreamScan
from panes.plan.windows import RangeWindow
from panes.stages.cut_stages import cut_stages
from tests.stages.test_partitioning import Streams


def stage_of(sql):
    (query,) = parse(sql)
    (stage,) = cut_stages(optimize(bind(query, Streams())))
    return stage


def chain(node):
    kinds = [type(node)]
    while node.children:
        (node,) = node.children
        kinds.append(type(node))
    return kinds


def test_selections_and_projections_run_below_the_shuffle():
    (source,) = stage_of("SELECT k + 1 AS more FROM a [RANGE 1 MINUTE] WHERE g > 3").inputs
    assert source.input.kind == "rows"
    assert chain(source.node) == [Project, Select, StreamScan]


def test_a_group_by_over_panes_gets_partial_sums():
    (source,) = stage_of(
        "SELECT k, sum(g) AS s FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] WHERE g > 3 GROUP BY k"
    ).inputs
    assert source.input.kind == "partials"
    assert isinstance(source.replaced, GroupBy)
    assert source.window == RangeWindow(60_000_000, 1_000_000)
    assert chain(source.node)[-1] == StreamScan


def test_a_group_by_without_panes_gets_rows():
    (source,) = stage_of("SELECT k, sum(g) AS s FROM a [RANGE 1 MINUTE] GROUP BY k").inputs
    assert source.input.kind == "rows"


def test_what_runs_without_its_slides_as_well_gets_rows():
    (source,) = stage_of(
        "SELECT Istream RESTORE(k, sum(g) AS s) FROM a [RANGE 1 MINUTE SLIDE 1 SECOND] GROUP BY k"
    ).inputs
    assert source.input.kind == "rows"


def test_a_stage_whose_results_are_grouped_gives_partial_sums():
    (query,) = parse(
        "SELECT a.g, count(*) AS n FROM a [NOW], b [RANGE 1 MINUTE] WHERE a.k = b.k GROUP BY a.g"
    )
    join, group = cut_stages(optimize(bind(query, Streams())))
    assert [source.stage for source in join.inputs] == [None, None]
    (source,) = group.inputs
    assert (source.stage, source.input.kind, source.keys) == (0, "partials", ("a.g",))


def test_a_join_has_an_input_per_side():
    stage = stage_of("SELECT a.k FROM a [RANGE 1 MINUTE], b [NOW] WHERE a.k = b.k AND b.g = 1")
    assert [source.scan.stream for source in stage.inputs] == ["a", "b"]
    assert [source.input.name for source in stage.inputs] == ["input-0", "input-1"]


def test_the_same_stream_under_two_names_is_two_inputs():
    stage = stage_of("SELECT l.k FROM a [RANGE 1 MINUTE] AS l, a [NOW] AS r WHERE l.k = r.k")
    assert [source.scan.alias for source in stage.inputs] == ["l", "r"]


def test_what_stands_on_both_sides_of_a_join_is_one_stage():
    (query,) = parse(
        "WITH w AS (SELECT a.g, b.g AS h FROM a [NOW] LEFT JOIN b [NOW] ON a.k = b.k) "
        "SELECT w.g, v.g FROM w LEFT JOIN w v ON w.h = v.h"
    )
    below, above = cut_stages(optimize(bind(query, Streams())))
    assert [source.stage for source in below.inputs] == [None, None]
    assert [source.stage for source in above.inputs] == [0]


def test_sessions_that_are_grouped_by_another_column_are_a_stage_of_their_own():
    (query,) = parse("SELECT g, count(*) AS n FROM a [PARTITION BY k SESSION 1 MINUTE] GROUP BY g")
    sessions, group = cut_stages(optimize(bind(query, Streams())))
    assert [source.keys for source in sessions.inputs] == [("a.k",)]
    (source,) = group.inputs
    assert (source.stage, source.input.kind, source.keys) == (0, "partials", ("a.g",))
