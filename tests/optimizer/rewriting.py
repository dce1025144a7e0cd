"""Plans for the tests of rules, over the streams and tables of `tests/properties/streams.py`, and whether one plan
gives the answers of another."""

from __future__ import annotations

from random import Random

from panes.language import bind, parse
from panes.plan.describe import describe
from panes.plan.nodes import Node
from tests.language.corpus import read_catalog
from tests.properties.running import UPA, check_answers
from tests.properties.streams import Arrivals

CATALOG = read_catalog(
    """
    CREATE STREAM s (k BIGINT, v DOUBLE, w STRING);
    CREATE STREAM t (k BIGINT, v DOUBLE, w STRING);
    CREATE TABLE r (k BIGINT, v DOUBLE, w STRING);
    CREATE TABLE n (k BIGINT, v DOUBLE, w STRING) NON RETROACTIVE;
    CREATE STREAM looked AS SELECT s.k + 1 AS h, s.v, n.w FROM s JOIN n ON s.k = n.k;
    CREATE STREAM known AS SELECT v, w FROM s WHERE k NOT IN (SELECT k FROM n) AND w IN (SELECT w FROM n);
    """
)


def bound(sql: str) -> Node:
    """The plan of a query as it is bound, before any rule."""
    (query,) = parse(sql.replace("SECONDS", "MICROSECONDS"))
    return bind(query, CATALOG)


def tree(node: Node, depth: int = 0) -> str:
    """A plan as text, one line per node."""
    return "\n".join(["  " * depth + describe(node), *(tree(child, depth + 1) for child in node.children)])


def check_same(before: Node, after: Node, cases: int = 4) -> None:
    """Runs a plan over drawn arrivals: at every clock its answer is that of SQL for the other one."""
    assert after.schema == before.schema
    for seed in range(cases):
        arrivals = Arrivals.drawn(Random(seed), 40, 3)
        check_answers(before, arrivals, UPA.lower(after))
