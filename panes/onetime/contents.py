"""What windows hold at an instant, as SQL: a plan over window contents is an ordinary query.

The tuples of a stream have, besides its columns, `_ts`, `_came` (the first instant of the span in which each came:
it cannot be seen before) and `_order` (a number that grows in the order of arrival). The rows of a table have
`_ts` and `_exp`: the instants from which and until which each is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from panes.answers.instants import last_slide
from panes.delta.delta import EXP, TS
from panes.history.history_file import CAME
from panes.plan import nodes
from panes.plan.lifetime_window import LifetimeWindow, ends_sql
from panes.plan.lookups import has_lookup, is_lookup
from panes.plan.now import at_instant
from panes.plan.schema import Schema
from panes.plan.to_sql import quoted, to_sql
from panes.plan.walk import walk
from panes.plan.windows import Reach, RowsWindow, SessionWindow, UnboundedWindow, WindowSpec

ORDER = "_order"
_SEEN = f"greatest({TS}, {CAME})"
"""When a tuple can first be seen."""


@dataclass(frozen=True)
class Scanned:
    sql: str
    """A SELECT of the scan's columns, `_ts`, `_came` and, where the reach needs it, `_order`."""
    left_out: int = 0
    """How many tuples came before these."""


class Scans(Protocol):
    """Where the tuples of streams and the rows of relations are."""

    def stream(self, scan: nodes.StreamScan, reach: Reach) -> Scanned:
        """At least the tuples within reach."""

    def relation(self, scan: nodes.TableScan) -> str:
        """A SELECT of the scan's columns, `_ts` and `_exp`: all rows that ever were, as often as they were.

        Where tuples of a stream look the table up the instants are those of that stream, else of the query.
        """


def contents_sql(plan: nodes.Node, now: int, scans: Scans) -> str:
    """A SELECT that gives the answer of a plan at an instant, after all that came up to it."""
    plan = at_instant(plan, last_slide(plan, now))
    return to_sql(plan, {leaf: _contents(leaf, now, scans) for leaf in leaves(plan)})


def leaves(plan: nodes.Node) -> list[nodes.Node]:
    """The windows, tables and unbounded streams that a plan reads."""
    if isinstance(plan, (nodes.Window, nodes.StreamScan, nodes.TableScan)):
        return [plan]
    return [leaf for child in plan.children for leaf in leaves(child)]


def _contents(leaf: nodes.Node, now: int, scans: Scans) -> str:
    """What a leaf of the plan holds at an instant; of a table that is looked up, all that it ever held."""
    columns = ", ".join(map(quoted, leaf.schema.names))
    if isinstance(leaf, nodes.TableScan):
        if leaf.stream is not None:
            return scans.relation(leaf)
        return f"SELECT {columns} FROM ({scans.relation(leaf)}) WHERE {TS} <= {now} AND {now} < {EXP}"
    spec: WindowSpec = leaf.spec if isinstance(leaf, nodes.Window) else UnboundedWindow()
    child = leaf.child if isinstance(leaf, nodes.Window) else leaf
    reach = spec.reach(now)
    if isinstance(spec, RowsWindow):
        stream, left_out = _ordered_stream(child, reach, scans)
        seen = f"SELECT * FROM ({stream}) WHERE {_SEEN} <= {spec.last_slide(now)}"
        # Of what tuples have met there is no order of arrival: values decide.
        ties = f"{CAME}, {ORDER}" if not has_lookup(child) else _by_value(child)
        return _youngest(columns, seen, spec, left_out, ties)
    read: dict[nodes.Node, str] = _looked_up(child, scans)
    for scan in _streams(child):
        read[scan] = _scanned(scan, reach, scans).sql
    stream = to_sql(child, read, (TS, CAME))
    if isinstance(spec, SessionWindow):
        return _open_session(columns, stream, spec, now)
    # A window that slides is what it was at the last slide: what came after that is not in it.
    held = f"{_SEEN} <= {spec.last_slide(now)} AND {TS} BETWEEN {reach.since} AND {reach.until}"
    if isinstance(spec, LifetimeWindow):
        ends = ends_sql(quoted(spec.ends.column), spec.ends)
        held += f" AND coalesce({ends} > {spec.last_slide(now) - spec.offset_us}, TRUE)"
    return f"SELECT {columns} FROM ({stream}) WHERE {held}"


def _streams(node: nodes.Node) -> list[nodes.StreamScan]:
    return [scan for scan in walk(node) if isinstance(scan, nodes.StreamScan)]


def _looked_up(stream: nodes.Node, scans: Scans) -> dict[nodes.Node, str]:
    """The versions of the tables that tuples of a stream have met."""
    return {scan: scans.relation(scan) for scan in walk(stream) if isinstance(scan, nodes.TableScan)}


def _scanned(scan: nodes.StreamScan, reach: Reach, scans: Scans) -> Scanned:
    """The tuples of a stream, with their time in a column where the plan reads it."""
    time = f"{scan.alias}.{nodes.TIME}"
    if time not in scan.schema:
        return scans.stream(scan, reach)
    stored = Schema(tuple(field for field in scan.schema if field.name != time))
    scanned = scans.stream(replace(scan, columns=stored), reach)
    return replace(scanned, sql=f"SELECT *, {TS} AS {quoted(time)} FROM ({scanned.sql})")


def _ordered_stream(node: nodes.Node, reach: Reach, scans: Scans) -> tuple[str, int]:
    """The tuples of a stream with their order, and how many came before them."""
    if any(not isinstance(n, (nodes.StreamScan, nodes.Project, nodes.Union)) for n in walk(node)):
        # Of the tuples that pass a test the youngest may be of any age.
        reach = replace(reach, youngest=None)
    read: dict[nodes.Node, str] = _looked_up(node, scans)
    left_out = 0
    for scan in _streams(node):
        scanned = _scanned(scan, reach, scans)
        read[scan] = f"SELECT * REPLACE ([{ORDER}] AS {ORDER}) FROM ({scanned.sql})"
        left_out += scanned.left_out
    return f"SELECT * FROM ({_merge_in_order(node, read)})", left_out


def _merge_in_order(node: nodes.Node, scans: Mapping[nodes.Node, str]) -> str:
    """The SQL of a stream; of tuples of one time those of the left side of a union come first."""
    relations = dict(scans)
    for child in node.children[:1] if is_lookup(node) else node.children:
        relations[child] = _merge_in_order(child, scans)
    if isinstance(node, nodes.Union):
        for place, child in enumerate(node.children):
            order = f"list_prepend({place}, {ORDER})"
            relations[child] = f"SELECT * REPLACE ({order} AS {ORDER}) FROM ({relations[child]})"
        if node.left == node.right:
            raise ValueError("the two sides of a union must be told apart")
    return to_sql(node, relations, (TS, CAME, ORDER))


def _by_value(node: nodes.Node) -> str:
    return ", ".join(f"{quoted(name)} NULLS FIRST" for name in node.schema.names)


def _youngest(columns: str, stream: str, spec: RowsWindow, left_out: int, ties: str) -> str:
    """The last rows up to the one whose number is a multiple of the slide; `ties` orders those of one instant."""
    by = f"PARTITION BY {', '.join(map(quoted, spec.partition_by))}" if spec.partition_by else ""
    slide = spec.slide or 1
    numbered = (
        f"SELECT *, {left_out} + row_number() OVER ({by} ORDER BY {_SEEN}, {ties}) AS _number, "
        f"({left_out} + count(*) OVER ({by})) // {slide} * {slide} AS _last FROM ({stream})"
    )
    return f"SELECT {columns} FROM ({numbered}) WHERE _number <= _last AND _number > _last - {spec.rows}"


def _open_session(columns: str, stream: str, spec: SessionWindow, now: int) -> str:
    """The rows since the last pause of each partition, unless the pause is now."""
    by = f"PARTITION BY {', '.join(map(quoted, spec.partition_by))}" if spec.partition_by else ""
    seen = f"SELECT *, {_SEEN} AS _seen FROM ({stream}) WHERE {_SEEN} <= {now}"
    paused = f"SELECT *, _seen - lag(_seen) OVER ({by} ORDER BY _seen) AS _pause FROM ({seen})"
    began = f"max(CASE WHEN _pause < {spec.gap_us} THEN NULL ELSE _seen END) OVER ({by})"
    sessions = f"SELECT *, {began} AS _began, max(_seen) OVER ({by}) AS _last FROM ({paused})"
    return f"SELECT {columns} FROM ({sessions}) WHERE _seen >= _began AND {now} - _last < {spec.gap_us}"
