"""Which queries may shed, and where their drop boxes stand."""

import pytest

from panes.language import bind, parse
from panes.optimizer.optimizer import optimize
from panes.plan.nodes import Drop, StreamScan
from panes.plan.order_of_answer import relation_of
from panes.plan.sheddable import why_not_sheddable, with_drop_boxes
from panes.plan.walk import walk
from panes.stages.explain import Explained, explain
from panes.stages.make_plan import make_plan
from panes.stages.plan_text import plan_from, plan_text
from tests.stages.corpus_plans import PLANS
from tests.stages.test_partitioning import Streams

A, B = "a [RANGE 1 MINUTE]", "b [RANGE 1 MINUTE]"


def plan_of(sql):
    (query,) = parse(sql)
    return optimize(bind(query, Streams()))


REFUSED = {
    f"SELECT DISTINCT k FROM {A}": "DISTINCT",
    f"SELECT k FROM {A} GROUP BY k": "DISTINCT",
    f"SELECT k, count(DISTINCT g) AS n FROM {A} GROUP BY k": "how many values are missing",
    f"SELECT k, min(x) AS m FROM {A} GROUP BY k": "only count, sum and avg",
    f"SELECT k, max(x) AS m FROM {A} GROUP BY k": "only count, sum and avg",
    f"SELECT top_k(g, 3) AS m FROM {A}": "only count, sum and avg",
    f"SELECT stddev_samp(x) AS m FROM {A}": "only count, sum and avg",
    f"SELECT k, count(*) AS n FROM {A} GROUP BY k HAVING count(*) > 3": "HAVING",
    f"SELECT k, sum(x) / count(*) AS n FROM {A} GROUP BY k": "computed from aggregates",
    f"SELECT k FROM {A} WHERE NOT EXISTS (SELECT * FROM {B} WHERE a.k = b.k)": "negation",
    f"SELECT k FROM {A} WHERE k NOT IN (SELECT k FROM {B})": "negation",
    f"SELECT k FROM {A} WHERE EXISTS (SELECT * FROM {B} WHERE a.k = b.k)": "EXISTS",
    f"SELECT a.k, b.g FROM {A} LEFT JOIN {B} ON a.k = b.k": "outer join",
    f"SELECT k FROM {A} EXCEPT SELECT k FROM {B}": "EXCEPT",
    f"SELECT k FROM {A} EXCEPT ALL SELECT k FROM {B}": "EXCEPT",
    f"SELECT k FROM {A} INTERSECT ALL SELECT k FROM {B}": "INTERSECT",
    f"SELECT k, row_number() OVER (ORDER BY x) AS place FROM {A}": "OVER",
    f"SELECT k FROM {A} ORDER BY x LIMIT 3": "LIMIT",
    "SELECT k FROM a [PARTITION BY k SESSION 1 MINUTE]": "session",
    "SELECT k, count(*) AS n FROM a [RANGE 1 MINUTE INTERNAL] GROUP BY k": "INTERNAL",
    "SELECT sum(x) AS s FROM a [ROWS 10]": "ROWS",
    f"SELECT ISTREAM(k) FROM {A}": "output stream",
    f"SELECT avg(n) AS m FROM (SELECT k, count(*) AS n FROM {A} GROUP BY k)": "computed from aggregates",
    f"SELECT count(*) AS n FROM (SELECT a.k FROM {A}, {B} WHERE a.k = b.k UNION ALL SELECT k FROM {A})": "UNION",
}
SHED = {
    f"SELECT k, x FROM {A} WHERE g > 3": 1,
    "SELECT k FROM a [ROWS 10]": 1,
    f"SELECT a.x FROM {A}, {B} WHERE a.k = b.k": 2,
    "SELECT a.x FROM a [ROWS 10], b [ROWS 20] WHERE a.k = b.k": 2,
    f"SELECT a.x, t.y FROM {A}, t WHERE a.k = t.k": 1,
    f"SELECT k FROM {A} UNION ALL SELECT k FROM {B}": 2,
    f"SELECT k, count(*) AS n FROM {A} GROUP BY k ORDER BY n DESC": 1,
    f"SELECT k, count(x) AS n, sum(x) AS s, avg(g) AS m FROM {A} GROUP BY k HAVING k > 3": 1,
    "SELECT count(*) AS n FROM a [RANGE 1 MINUTE SLIDE 1 SECOND]": 1,
    f"SELECT a.k, count(*) AS n FROM {A}, {B} WHERE a.k = b.k GROUP BY a.k": 2,
    f"SELECT l.k, avg(r.x) AS m FROM {A} AS l, {A} AS r WHERE l.k = r.k GROUP BY l.k": 2,
    f"SELECT t.y, count(*) AS n FROM {A}, t WHERE a.k = t.k GROUP BY t.y": 1,
    f"SELECT count(*) AS n FROM (SELECT k FROM {A} UNION ALL SELECT k FROM {B})": 2,
}


@pytest.mark.parametrize("sql", REFUSED)
def test_a_query_whose_error_nothing_bounds_is_refused_with_the_reason(sql):
    assert REFUSED[sql] in (why_not_sheddable(plan_of(sql)) or "nothing")


@pytest.mark.parametrize("sql", SHED)
def test_a_query_that_may_shed_has_a_box_on_each_stream(sql):
    plan = plan_of(sql)
    assert why_not_sheddable(plan) is None
    boxes = [node for node in walk(with_drop_boxes(plan)) if isinstance(node, Drop)]
    # A relation that several group-bys read is one and the same.
    assert len(set(boxes)) == SHED[sql]
    assert len({box.seed for box in boxes}) == SHED[sql]


@pytest.mark.parametrize("name", [name for name, plan in PLANS.items() if why_not_sheddable(plan) is None])
def test_plans_with_boxes_can_be_made_stored_and_explained(name):
    plan = PLANS[name]
    boxed = with_drop_boxes(plan)
    assert boxed.schema.names[: len(plan.schema)] == plan.schema.names
    assert boxed.schema.types[: len(plan.schema)] == plan.schema.types
    added = boxed.schema.names[len(plan.schema) :]
    assert all(extra.startswith("_error_") for extra in added)
    assert relation_of(boxed).schema.names[: len(relation_of(plan).schema)] == relation_of(plan).schema.names
    # Every stream is read through a box.
    scans = sum(isinstance(node, StreamScan) for node in walk(boxed))
    assert scans == sum(isinstance(node, Drop) for node in walk(boxed))
    made = make_plan(boxed)
    assert plan_from(plan_text(made)) == made
    assert all(source.has_drop_box for stage in made.stages for source in stage.inputs if source.stream)
    assert "Drop: keep all of" in explain(Explained(made))


def test_explain_shows_the_share_that_is_kept_now():
    plan = make_plan(with_drop_boxes(plan_of(f"SELECT k, count(*) AS n FROM {A} GROUP BY k")))
    text = explain(Explained(plan, kept={"a": 0.314}))
    assert "Drop: keep 31.4 % of a" in text
    assert "estimate of count(*)" in text
    assert "_error_" not in text
    assert "_shed_" not in text
