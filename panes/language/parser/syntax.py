"""The nodes that the dialect adds to sqlglot's own: whole queries, windows and output operators.

Scalar expressions are sqlglot's. Queries are not, because a query here is not SQL's: it has windows in FROM,
an output operator around it, and far fewer clauses.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp


class SelectBlock(exp.Expression):
    """SELECT … FROM … WHERE … BEGIN … END … GROUP BY … HAVING … WINDOW … QUALIFY …"""

    arg_types: ClassVar[dict[str, bool]] = {
        "distinct": False,
        "distinct_on": False,
        "expressions": True,
        "from_": False,
        "where": False,
        "window": False,
        "group": False,
        "having": False,
        "windows": False,
        "qualify": False,
    }


class FromItem(exp.Expression):
    """A stream, a table (`this` is its name), a query in parentheses or unnest(…), its window and its alias.

    `kind` is how it is joined to the items before it: "" (the first), ",", "CROSS JOIN", or "JOIN", "LEFT JOIN",
    "RIGHT JOIN", "FULL JOIN", "SEMI JOIN" or "ANTI JOIN" with `on`, `using` or, where it is `natural`, neither.
    `columns` are names for its columns, from the first one on.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "window": False,
        "alias": False,
        "columns": False,
        "kind": False,
        "natural": False,
        "on": False,
        "using": False,
    }


class WindowClause(exp.Expression):
    """`[RANGE …]` and its kin, or `BEGIN … END …`: `spec` is a `panes.plan.windows` value."""

    arg_types: ClassVar[dict[str, bool]] = {"spec": True}


class Grouping(exp.Expression):
    """GROUPING SETS ("SETS"), ROLLUP or CUBE (`kind`) of a GROUP BY: keys, and tuples of them."""

    arg_types: ClassVar[dict[str, bool]] = {"kind": True, "expressions": True}


class SetOperation(exp.Expression):
    """UNION, INTERSECT or EXCEPT (`kind`) of two queries; EXCEPT ALL may be by some columns (`by`)."""

    arg_types: ClassVar[dict[str, bool]] = {
        "this": True,
        "expression": True,
        "kind": True,
        "all": False,
        "by": False,
    }


class Sorted(exp.Expression):
    """A query with ORDER BY (`order`), LIMIT and OFFSET, which are literals; at least one of them."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "order": False, "limit": False, "offset": False}


class ValuesBlock(exp.Expression):
    """`VALUES (…), (…)` as a query."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class Nested(exp.Expression):
    """A query in parentheses."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


OUTPUTS = {"ISTREAM": "Istream", "DSTREAM": "Dstream", "RSTREAM": "Rstream", "WSTREAM": "Wstream"}
"""The kinds of output operators by the words that are read for them."""


class Output(exp.Expression):
    """Istream, Dstream, Rstream or Wstream (`kind`) of a query; `window` is that of Wstream."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "restore": False, "window": False}


class WindowedCall(exp.Expression):
    """`Wstream(sum(a)) [ROWS 10]` inside an aggregate: the aggregates of the last results."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "window": True}


class OverCall(exp.Expression):
    """A function (`this`) with OVER: `window` is an OverWindow, or the name of one."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "window": True}


class OverWindow(exp.Expression):
    """What stands in the parentheses of OVER. `base` is the name of a window that this one adds to, `frame` a
    `panes.plan.over_functions` value."""

    arg_types: ClassVar[dict[str, bool]] = {"base": False, "partition": False, "order": False, "frame": False}


class NamedWindow(exp.Expression):
    """`w AS (…)` of WINDOW."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "window": True}


class TypeName(exp.Expression):
    """The type after `CAST(… AS` and `::`; `this` is a `panes.plan.types.Type`."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class OnConflict(exp.Expression):
    """`ON CONFLICT (keys) DO …` of INSERT: without assignments (`expressions`) it does nothing."""

    arg_types: ClassVar[dict[str, bool]] = {"keys": False, "expressions": False, "where": False}


class AtInstant(exp.Expression):
    """`AT TIMESTAMP '…'`: `this` is the text of the instant."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Default(exp.Expression):
    """DEFAULT among the values of INSERT."""

    arg_types: ClassVar[dict[str, bool]] = {}


class StatementNode(exp.Expression):
    """A whole statement; `this` is a `panes.language.statements` value."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}
