"""Tables in memory, as SQL reads them."""

from __future__ import annotations

import pyarrow as pa

from panes.delta.delta import ALWAYS, EXP, FOREVER, TS
from panes.plan import nodes
from panes.plan.sql_functions import sql_type
from panes.plan.to_sql import quoted
from panes.plan.types import TIMESTAMP, Type


class ScannedTables:
    """The tables that a query reads, by the names that its SQL has for them."""

    def __init__(self) -> None:
        self.by_name: dict[str, pa.Table] = {}

    def select(self, scan: nodes.TableScan, rows: pa.Table) -> str:
        """A SELECT of the columns of a scan, `_ts` and `_exp`; rows without these were always there."""
        name = f"_table_{len(self.by_name)}"
        self.by_name[name] = rows
        columns = [
            f"{without_zone(quoted(scan.attribute(own)), scan.schema[own].type)} AS {quoted(own)}"
            for own in scan.schema.names
        ]
        columns += [
            hidden if hidden in rows.column_names else f"CAST({instant} AS BIGINT) AS {hidden}"
            for hidden, instant in ((TS, ALWAYS), (EXP, FOREVER))
        ]
        return f"SELECT {', '.join(columns)} FROM {name}"


def without_zone(column: str, type_: Type) -> str:
    """A column; one of instants is without its zone, as the expressions of plans expect it."""
    if type_ == TIMESTAMP:
        return f"make_timestamp(epoch_us({column}))"
    return f"CAST({column} AS {sql_type(type_)})" if type_.is_nested else column
