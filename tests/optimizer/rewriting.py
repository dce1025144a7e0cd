"""Plans for the tests of rules, over the streams and tables of `tests/properties/streams.py`, and whether one plan
gives the answers of another."""

from __future__ import annotations

import functools
from random import Random

import pyarrow as pa

from panes.language import bind, parse
from panes.plan.describe import describe
from panes.plan.nodes import Node
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.walk import walk
from tests.language.corpus import read_catalog
from tests.properties.running import UPA, check_outputs, history, oracles_answers, outputs
from tests.properties.streams import Arrivals
from tests.reference.relations import Reference
from tests.reference.values import Bag

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
    is_stream = any(isinstance(node, OUTPUT_STREAMS) for node in walk(before))
    for seed in range(cases):
        arrivals = Arrivals.drawn(Random(seed), *((12, 3) if is_stream else (60, 12)))
        if is_stream:
            found = history(list(outputs(UPA.lower(after), arrivals)), arrivals.clocks[-1])
            assert found == _right_history(before, seed)
        else:
            check_outputs(arrivals, UPA.lower(after), _right_answers(before, seed))


# A plan is compared with many others: with what each rule makes of it, and with itself in every order of joins.


@functools.lru_cache(maxsize=256)
def _right_answers(plan: Node, seed: int) -> tuple[pa.Table, ...]:
    return tuple(oracles_answers(plan, Arrivals.drawn(Random(seed), 60, 12)))


@functools.lru_cache(maxsize=256)
def _right_history(plan: Node, seed: int) -> dict[int, Bag]:
    arrivals = Arrivals.drawn(Random(seed), 12, 3)
    return Reference(arrivals.tables, arrivals.clocks[-1]).history(plan)
