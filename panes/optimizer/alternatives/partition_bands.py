"""Joins by a band on all shards: the values of a band are cut into cells, and rows lie by cell.

A cell is as wide as the band, so that the values which lie in the band around another one are in at most two of
them. Rows of one side go to the cell that they lie in, and those of the other side are copied to the cells that
their band touches. So each pair meets in one cell, and the cell is a key like any other: it is computed before the
shuffle, and stages, shards and states know nothing of bands.
"""

from __future__ import annotations

from panes.optimizer.estimates import Estimates
from panes.optimizer.rules.merge_projects import merge_projects
from panes.optimizer.rules.push_below_window import push_below_window
from panes.plan.band import Band, band_of
from panes.plan.expressions import Cells, Column
from panes.plan.lookups import table_below
from panes.plan.nodes import Join, Node, Project, Unnest, with_children
from panes.plan.types import BIGINT, TIMESTAMP, Type, list_of
from panes.plan.unused import unused
from panes.plan.walk import constants_below

CELL, NEAR = "cell of", "cell near"
"""What the names of columns with cells begin with: of the side whose rows are there once, and of the other."""

_MOST = 2**62
"""Bands that are wider, or further off, hold nearly all values, and their ends may not fit into 64 bits."""


def partition_bands(plan: Node, estimates: Estimates) -> Node:
    """The plan with a cell as the key of every join that has none and goes by a band of whole numbers or instants,
    with constants at both ends.

        Join on abs(a.x - b.x) <= 5        Join on cell of a.x = cell near b.x AND abs(a.x - b.x) <= 5
          Window [RANGE 1 MINUTE]            Window [RANGE 1 MINUTE]
            Stream a                  →        Unnest the cell of 10 of a.x AS cell of a.x
          Window [RANGE 1 MINUTE]                Stream a
            Stream b                         Window [RANGE 1 MINUTE]
                                               Unnest the cells of 10 from b.x - 5 to b.x + 5 AS cell near b.x
                                                 Stream b

    A projection above it leaves the cells out.
    The rows of the side that brings fewer are copied. A table or constants on the right are on every shard anyway.
    """
    return merge_projects(_partitioned(plan, estimates))


def is_by_cell(node: Node) -> bool:
    """Whether a node is a join whose key is a cell."""
    return isinstance(node, Join) and any(key.startswith((CELL, NEAR)) for key in node.left_keys)


def _partitioned(node: Node, estimates: Estimates) -> Node:
    node = with_children(node, *(_partitioned(child, estimates) for child in node.children))
    if not isinstance(node, Join) or node.left_keys or node.time is not None:
        return node
    if table_below(node.right) is not None or constants_below(node.right) is not None:
        return node
    band = band_of(node.residual, *(frozenset(side.schema.names) for side in node.children))
    if band is None or not _has_cells(band):
        return node
    copies_left = estimates.of(node.left).rate < estimates.of(node.right).rate
    around = band if copies_left else band.flipped()
    taken = node.schema.names
    near = unused(f"{NEAR} {around.left}", taken)
    own = unused(f"{CELL} {around.right}", (*taken, near))
    width = max(1, int(around.high - around.low))
    numbers = list_of(BIGINT)
    touched = Cells(numbers, around.left, width, int(around.low), int(around.high))
    lists = (near, touched), (own, Cells(numbers, around.right, width))
    (left_key, left_cells), (right_key, right_cells) = lists if copies_left else lists[::-1]
    join = Join(
        push_below_window(Unnest(node.left, left_cells, left_key)),
        push_below_window(Unnest(node.right, right_cells, right_key)),
        (left_key,),
        (right_key,),
        node.residual,
    )
    return Project(join, tuple((field.name, Column(field.type, field.name)) for field in node.schema))


def _has_cells(band: Band) -> bool:
    """Whether cells of a band are exact, and hold less than everything."""
    return (
        band.is_two_sided
        and -_MOST < band.low <= band.high < _MOST
        and band.high - band.low < _MOST
        and _is_exact(band.left.type)
        and _is_exact(band.right.type)
    )


def _is_exact(type_: Type) -> bool:
    return type_.is_integer or type_ == TIMESTAMP
