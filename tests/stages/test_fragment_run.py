"""What is computed of the rows of a stream before the first shuffle."""

import pyarrow as pa

from panes.delta.delta import BEGINNING, FOREVER
from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.box_schedule import BoxSchedule
from panes.plan.sheddable import with_drop_boxes
from panes.stages.fragment_run import FragmentRun
from panes.stages.make_plan import make_plan
from tests.stages.test_partitioning import Streams

ROWS = pa.table(
    {"k": [1, 2, 1], "g": [5, 6, 7], "x": [0.5, 1.5, 2.5], "_ts": [1_000_000, 2_000_000, 2_500_000]}
)


def inputs_of(sql):
    (query,) = parse(sql)
    return [source for stage in make_plan(optimize(bind(query, Streams()))).stages for source in stage.inputs]


def read(sql):
    (source,) = inputs_of(sql)
    return list(source.columns)


def computed(run, source, since=BEGINNING):
    return run.input(source, since)[0]


def test_only_columns_that_are_needed_are_read():
    assert read("SELECT k + 1 AS more FROM a [NOW] WHERE g > 3") == ["k", "g"]
    assert read("SELECT k, sum(x) AS s FROM a [RANGE 2 SECONDS SLIDE 1 SECOND] GROUP BY k") == ["k", "x"]
    assert read("SELECT count(*) AS n FROM a [RANGE 2 SECONDS SLIDE 1 SECOND]") == []


def test_a_projection_whose_column_nobody_needs_is_not_computed():
    sql = "SELECT count(*) AS n FROM (SELECT k, g FROM a [RANGE 2 SECONDS SLIDE 1 SECOND])"
    (source,) = inputs_of(sql)
    partials = computed(FragmentRun(ROWS.select(["_ts"])), source)
    assert partials.column("_ts").to_pylist() == [1_000_000, 2_000_000, 3_000_000]


def test_rows_become_partial_sums_per_pane():
    (source,) = inputs_of("SELECT k, sum(g) AS s FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k")
    partials = computed(FragmentRun(ROWS), source).sort_by("_ts").to_pylist()
    assert [(row["a.k"], row["_sum_0"], row["_ts"], row["_exp"]) for row in partials] == [
        (1, 5, 2_000_000, 6_000_000),
        (2, 6, 2_000_000, 6_000_000),
        (1, 7, 4_000_000, 8_000_000),
    ]


def test_what_inputs_have_in_common_is_computed_once():
    one, other = inputs_of(
        "SELECT l.k FROM a [NOW] AS l, a [RANGE 1 SECOND] AS r WHERE l.k = r.k AND l.g = 5"
    )
    run = FragmentRun(ROWS)
    assert computed(run, one).num_rows == 1
    assert computed(run, other).num_rows == 3


def test_a_step_that_two_inputs_share_runs_once():
    sql = "SELECT k, sum(g) AS s FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] WHERE x > 1 GROUP BY k"
    (one,), (other,) = inputs_of(sql), inputs_of(sql.replace("sum(g)", "count(*)"))
    run = FragmentRun(ROWS)
    _, first = run.input(one, BEGINNING)
    _, second = run.input(other, BEGINNING)
    assert first["01_select"] is second["01_select"]
    assert (first["01_select"].rows_in, first["01_select"].positive) == (3, 2)


def test_rows_that_came_late_are_seen_at_the_first_slide_after_the_clock():
    (source,) = inputs_of("SELECT k, sum(g) AS s FROM a [RANGE 4 SECONDS SLIDE 2 SECONDS] GROUP BY k")
    partials = computed(FragmentRun(ROWS), source, since=2_500_000).sort_by("_ts").to_pylist()
    assert sorted((row["a.k"], row["_sum_0"], row["_ts"], row["_exp"]) for row in partials) == [
        (1, 5, 4_000_000, 6_000_000),
        (1, 7, 4_000_000, 8_000_000),
        (2, 6, 4_000_000, 6_000_000),
    ]


def test_the_time_of_a_tuple_is_filled_in_where_it_is_read():
    stream, table = inputs_of("SELECT a.x, n.y FROM a [RANGE 2 SECONDS], n WHERE a.k = n.k")
    assert (stream.columns, table.columns) == (("k", "x"), ("k", "y"))
    rows = computed(FragmentRun(ROWS.select(["k", "x", "_ts"])), stream)
    assert (
        rows.column("a._time").to_pylist() == rows.column("_ts").to_pylist() == ROWS.column("_ts").to_pylist()
    )


def test_changes_of_a_table_keep_their_lifetimes_and_weights():
    _, table = inputs_of("SELECT a.x FROM a [RANGE 2 SECONDS], t WHERE a.k = t.k AND t.y > 1.0")
    assert (table.table, table.looked_up_by, table.stream) == ("t", None, None)
    changes = {
        "k": [1, 2, 2],
        "y": [0.5, 1.5, 1.5],
        "_ts": [1, 1, 9],
        "_exp": [FOREVER] * 3,
        "_weight": [1, 1, -1],
    }
    rows = computed(FragmentRun(pa.table(changes)), table)
    hidden = rows.select(["_ts", "_exp", "_weight"]).to_pylist()
    assert hidden == [{"_ts": ts, "_exp": FOREVER, "_weight": w} for ts, w in ((1, 1), (9, -1))]


def test_queries_with_different_boxes_share_what_is_below_them():
    (query,) = parse("SELECT k FROM a [NOW]")
    plan = make_plan(with_drop_boxes(optimize(bind(query, Streams()))))
    (source,) = plan.stages[0].inputs
    assert sorted(source.columns) == ["g", "k", "x"]  # which rows pass depends on all columns
    rows = pa.table({name: ROWS.column(name).take([0, 1, 2] * 100) for name in ROWS.column_names})
    rows = rows.set_column(3, "_ts", [list(range(300))])
    run = FragmentRun(rows)
    counts = [
        run.input(source, BEGINNING, box=BoxSchedule(((0, share),)))[0].num_rows
        for share in (1.0, 0.2, 0.6, 0.2)
    ]
    assert counts[0] == 300 > counts[2] > counts[1] == counts[3] > 0
    entries = [key for key in run._done if key[0] == source.fragment.digests[0]]
    assert len(entries) == 1
