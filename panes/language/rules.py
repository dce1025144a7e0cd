"""What is refused although it can be written, and why."""

from __future__ import annotations

from panes.language.positions import refuse
from panes.plan.nodes import (
    AntiJoin,
    Distinct,
    Dstream,
    Except,
    GroupBy,
    Intersect,
    Istream,
    Node,
    Project,
    Rstream,
    StreamScan,
    TableScan,
    Window,
    Wstream,
)
from panes.plan.patterns import STRICT, has_internal, pattern_of
from panes.plan.windows import BeginEndWindow, RangeWindow, RowsWindow, UnboundedWindow

_ALL_VALUES = ("quantile", "median", "top_k")


def is_table_only(node: Node) -> bool:
    """Whether no stream feeds this plan."""
    if isinstance(node, StreamScan):
        return False
    return all(is_table_only(child) for child in node.children)


def unbounded_stream(node: Node) -> str | None:
    """The alias of a stream whose rows reach this edge and never leave it, or None."""
    match node:
        case StreamScan():
            return node.alias
        case Window(spec=UnboundedWindow()):
            return unbounded_stream(node.child)
        case Window() | Wstream() | GroupBy() | Distinct():
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


def check_join(left: Node, right: Node, text: str, offset: int) -> None:
    """What may be joined: windows with windows, and rows that are never taken back with tables."""
    if not isinstance(right, TableScan):
        if not is_table_only(right):
            check_bounded("a join", text, offset, left, right)
        return
    check_table_lookup(left, right, text, offset)


def check_table_lookup(left: Node, table: TableScan, text: str, offset: int) -> None:
    if is_table_only(left):
        return
    if table.retroactive:
        alias = unbounded_stream(left)
        if alias is not None:
            refuse(
                f"state grows without bound because an update of {table.table} concerns every row of {alias}",
                text, offset, f"give {alias} a window, or make the table NON RETROACTIVE",
            )  # fmt: skip
    pattern, reason = pattern_of(left)
    if pattern is STRICT:
        refuse(
            f"{table.table} cannot be joined above a STRICT input: {reason}",
            text, offset, "a row that is taken back may find other partners in the table; "
            "join the table first, in a derived table",
        )  # fmt: skip


def check_internal(node: Node, text: str, offset: int) -> None:
    """DISTINCT and negation do not stand over INTERNAL windows."""
    what = {Distinct: "DISTINCT", AntiJoin: "negation", Except: "EXCEPT", Intersect: "INTERSECT"}.get(
        type(node)
    )
    if what is not None and has_internal(node):
        why = {
            "DISTINCT": "results that stay would turn into duplicates",
            "INTERSECT": "results that stay would outlive what they were matched with",
        }.get(what, "results that stay would break the condition they were given under")
        refuse(f"{what} does not work over INTERNAL windows: {why}", text, offset, "leave INTERNAL out")


def has_slide(node: Node) -> bool:
    if isinstance(node, Window) and isinstance(node.spec, (RangeWindow, RowsWindow)):
        spec = node.spec
        slide = spec.slide_us if isinstance(spec, RangeWindow) else spec.slide
        if slide is not None:
            return True
    return any(has_slide(child) for child in node.children)


def has_begin_end(node: Node) -> bool:
    if isinstance(node, Window) and isinstance(node.spec, BeginEndWindow):
        return True
    return any(has_begin_end(child) for child in node.children)


def check_aggregates(node: GroupBy, text: str, offset: int) -> None:
    """Aggregates that must see all values need a window."""
    for aggregate in node.aggregates:
        if aggregate.distinct or aggregate.function in _ALL_VALUES:
            alias = unbounded_stream(node.child)
            if alias is not None:
                refuse(
                    f"state grows without bound because {aggregate} must remember every value of {alias}",
                    text, offset, f"give {alias} a window, or use the approx_ form",
                )  # fmt: skip
