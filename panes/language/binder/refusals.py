"""What is refused although it can be written, and why."""

from __future__ import annotations

from collections.abc import Mapping

from panes.language.positions import refuse
from panes.plan.aggregates import AGGREGATES
from panes.plan.begin_end import is_begin_end
from panes.plan.expressions import Aggregate
from panes.plan.lookups import is_lookup
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Dstream,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Node,
    OuterJoin,
    Over,
    Project,
    Rstream,
    SemiJoin,
    StreamScan,
    TableScan,
    TemporalFilter,
    TopN,
    Unnest,
    Values,
    Window,
    Wstream,
)
from panes.plan.output_streams import OUTPUT_STREAMS
from panes.plan.patterns import has_internal
from panes.plan.walk import has_relation, is_table_only, tables_of, walk
from panes.plan.window_of_panes import window_of_panes
from panes.plan.windows import RowsWindow, UnboundedWindow, WindowSpec

_BROKEN = "results that stay would break the condition they were given under"
_DUPLICATED = "results that stay would turn into duplicates"
_OVER_INTERNAL: dict[type[Node], tuple[str, str]] = {
    Distinct: ("DISTINCT", _DUPLICATED),
    # A row whose first match leaves while a later one stays is given again, as DISTINCT does.
    SemiJoin: ("EXISTS or IN", _DUPLICATED),
    AntiJoin: ("negation", _BROKEN),
    OuterJoin: ("an outer join", "results that stay would lack the partners that come later"),
    Except: ("EXCEPT", _BROKEN),
    TopN: ("LIMIT or DISTINCT ON", "results that stay would not make room for others"),
    Intersect: ("INTERSECT", "results that stay would outlive what they were matched with"),
    TemporalFilter: ("a condition on now()", _BROKEN),
    Over: ("OVER", "results that stay would keep values that others have changed"),
}


def unbounded_stream(node: Node) -> str | None:
    """The alias of a stream whose rows reach this edge and never leave it, or None."""
    match node:
        case StreamScan():
            return node.alias
        case Window(spec=UnboundedWindow()):
            return unbounded_stream(node.child)
        case TemporalFilter(op="gt" | "ge" | "eq"):
            return None  # rows leave when the instant of the answer has passed them
        case Window() | Wstream() | GroupBy() | Distinct() | TopN():
            # One row per group or value is counted as bounded: it grows with the domain, not with time.
            return None
        case Istream() | Dstream() | Rstream():
            return _some_alias(node)
    found = next((alias for child in node.children if (alias := unbounded_stream(child))), None)
    aliases = {name.rpartition(".")[0] for name in node.schema.names}
    if found is not None and isinstance(node, Project) and len(aliases) == 1 and "" not in aliases:
        return aliases.pop()  # a derived stream or table: users know it by its alias
    return found


def _some_alias(node: Node) -> str:
    if isinstance(node, (StreamScan, TableScan)):
        return node.alias
    return _some_alias(node.children[0])


def check_bounded(what: str, text: str, offset: int, *sides: Node) -> None:
    """An operator that remembers its inputs needs windows on them."""
    for side in sides:
        alias = unbounded_stream(side)
        if alias is not None:
            refuse(
                f"state grows without bound because {what} must remember every row of {alias}",
                text, offset, f"give {alias} a window: {alias} [RANGE 10 MINUTES]",
            )  # fmt: skip


def check_with_tables(left: Node, right: Node, text: str, offset: int) -> None:
    """Where streams meet rows of tables, and are not looked up in one: updates concern results that exist."""
    for tables, other in ((left, right), (right, left)):
        for node in walk(tables) if is_table_only(tables) and not is_table_only(other) else ():
            if isinstance(node, TableScan) and not node.retroactive:
                refuse(
                    f"{node.table} is NON RETROACTIVE: in a query over streams it is only looked up, by tuples",
                    text, offset, f"put {node.table} itself, with conditions, to the right of a stream in a join, "
                    "in IN or in EXISTS; or create it without NON RETROACTIVE",
                )  # fmt: skip
    table = _relation(left) or _relation(right)
    if table is not None and (has_internal(left) or has_internal(right)):
        refuse(
            f"INTERNAL windows do not go with {table}: its updates end results, and results of INTERNAL windows "
            "stay", text, offset, "leave INTERNAL out, or make the table NON RETROACTIVE",
        )  # fmt: skip


def _relation(node: Node) -> str | None:
    """The name of a retroactive table whose updates reach this edge; None when there is none."""
    if isinstance(node, TableScan):
        return node.table if node.retroactive else None
    if isinstance(node, (Istream, Dstream, Rstream, Wstream)):
        return None
    return next((found for child in node.children if (found := _relation(child))), None)


def check_bounded_with_tables(left: Node, right: Node, text: str, offset: int) -> None:
    """An update of a table finds the rows of a stream that it concerns only where these are remembered."""
    alias = unbounded_stream(left)
    if alias is not None and is_table_only(right):
        if not tables_of(right):
            check_bounded("a join with VALUES", text, offset, left)
        table = min(tables_of(right))
        refuse(
            f"state grows without bound because an update of {table} concerns every row of {alias}",
            text, offset, f"give {alias} a window, or make the table NON RETROACTIVE",
        )  # fmt: skip


def check_internal(node: Node, text: str, offset: int) -> None:
    """DISTINCT, negation and their kin do not stand over INTERNAL windows. Lookups do: a row passes them once."""
    if is_lookup(node):
        return
    what, why = _OVER_INTERNAL.get(type(node), ("", ""))
    if what and has_internal(node):
        refuse(f"{what} does not work over INTERNAL windows: {why}", text, offset, "leave INTERNAL out")


def has_slide(node: Node) -> bool:
    return any(isinstance(n, Window) and n.spec.has_slide for n in walk(node))


def check_restore(node: Node, text: str, offset: int) -> None:
    """RESTORE gives at a slide what came and went since the slide before: there must be one such slide."""
    if not has_slide(node):
        refuse("RESTORE needs a window with SLIDE: without one, no result is missed", text, offset)
    if has_relation(node):
        refuse(
            "RESTORE needs results that change at slides only, and those with a table change when it is updated",
            text, offset, "leave out RESTORE, or make the table NON RETROACTIVE",
        )  # fmt: skip
    slides = slides_in_time(node)
    if len(slides) > 1 or None in slides:
        refuse(
            "RESTORE needs every window to slide by the same length of time",
            text, offset, "such as [RANGE 1 MINUTE SLIDE 10 SECONDS] on every stream",
        )  # fmt: skip


def slides_in_time(node: Node) -> frozenset[int | None]:
    """The slides of the windows that feed an edge; None for what does not slide in time."""
    if isinstance(node, Window):
        return frozenset({node.spec.slide_us})
    if isinstance(node, TableScan) and node.stream is None:
        return frozenset({None})
    if isinstance(node, (StreamScan, Istream, Dstream, Rstream, Wstream)):
        return frozenset({None})
    return frozenset[int | None]().union(*map(slides_in_time, node.children))


def check_has_times(node: Node, text: str, offset: int) -> None:
    """Rows of a stream have times; constants have none."""
    if isinstance(node, Values):
        refuse(
            "rows of constants have no times, so they are no stream", text, offset,
            "put the window, or the derived stream, on the stream alone",
        )  # fmt: skip
    for child in () if isinstance(node, OUTPUT_STREAMS) else node.children:
        check_has_times(child, text, offset)


def check_rows_counted(stream: Node, spec: WindowSpec, text: str, offset: int) -> None:
    """A count window counts the tuples of a stream one after the other, and those of unnest come together."""
    if isinstance(spec, RowsWindow) and _has_unnest(stream):
        refuse(
            "ROWS counts tuples in the order in which they came, and the items of one list come together",
            text, offset, "put the ROWS window on the stream below unnest(…), or use a RANGE window",
        )  # fmt: skip


def _has_unnest(stream: Node) -> bool:
    if isinstance(stream, (Window, *OUTPUT_STREAMS)):
        return False
    return isinstance(stream, Unnest) or any(map(_has_unnest, stream.children))


def check_always_on(what: str, node: Node, text: str, offset: int) -> None:
    """Nothing that runs all the time stands on BEGIN … END."""
    if is_begin_end(node):
        refuse(
            f"BEGIN … END is applied when the query is invoked, and {what} runs all the time",
            text, offset, "give the streams windows in brackets",
        )  # fmt: skip


def check_aggregates(node: GroupBy, text: str, places: Mapping[str, int]) -> None:
    """Aggregates that must see all values need a window, some of them one with panes; `places` says where each of
    them stands."""
    for aggregate in node.aggregates if window_of_panes(node.child) is None else ():
        if not aggregate.path and AGGREGATES[aggregate.function].needs_panes:
            refuse(
                f"{aggregate} keeps the heaviest values of each pane, so rows must come and go pane by pane, "
                "first in first out", text, places[aggregate.name],
                "put it over one stream with SLIDE, such as [RANGE 10 MINUTES SLIDE 1 MINUTE] or "
                "[ROWS 10000 SLIDE 100], with selections and projections at most; else use top_k_counts(x, k)",
            )  # fmt: skip
    alias = unbounded_stream(node.child)
    for aggregate in node.aggregates if alias is not None else ():
        if aggregate.distinct or aggregate.path or AGGREGATES[aggregate.function].keeps_values:
            refuse(
                f"state grows without bound because {aggregate} must remember every value of {alias}",
                text, places[aggregate.name],
                f"give {alias} a window: {alias} [RANGE 10 MINUTES]{_or_approximately(aggregate)}",
            )  # fmt: skip


def _or_approximately(aggregate: Aggregate) -> str:
    """What else to write where about the same will do."""
    if aggregate.path:
        return ""
    if aggregate.distinct:
        return ", or use approx_count_distinct(x)" if aggregate.function == "count" else ""
    short = AGGREGATES[aggregate.function].approximately
    return "" if short is None else f", or use {short}"
