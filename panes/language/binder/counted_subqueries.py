"""EXISTS and IN (subquery) inside other expressions, such as below OR, in CASE and in the SELECT list.

As whole conditions of WHERE they are semi- and anti-joins. Elsewhere the value itself is needed, from counts:
`EXISTS (q)` is `(SELECT count(*) …) > 0`, and `x IN (q)` is TRUE where rows of q equal x, else FALSE where q is
empty, else NULL where x or a row of q is NULL, else FALSE.
"""

from __future__ import annotations

from sqlglot import exp

from panes.language.binder.bind_groups import is_grouped
from panes.language.binder.bind_over import has_over
from panes.language.binder.bind_subqueries import as_predicate, conjuncts, relation_of
from panes.language.parser.syntax import FromItem, Nested, SelectBlock
from panes.language.positions import offset_of
from panes.plan.unused import unused


def counted_subqueries(tree: exp.Expression) -> exp.Expression:
    """The query with counts for those EXISTS and IN that are no whole conditions of WHERE."""
    if not _inside_others(tree):
        return tree
    tree = tree.copy()
    for node in reversed(_inside_others(tree)):  # those inside others come first
        written = _exists(node) if isinstance(node, exp.Exists) else _in(node)
        for inside in written.walk():
            inside.meta.setdefault("start", offset_of(node))
        node.replace(written)
    return tree


def _inside_others(tree: exp.Expression) -> list[exp.Expression]:
    whole: set[int] = set()
    for block in tree.find_all(SelectBlock):
        where = block.args.get("where")
        predicates = map(as_predicate, conjuncts(where) if where is not None else ())
        whole |= {id(predicate.node) for predicate in predicates if predicate is not None}
    found: list[exp.Expression] = []
    for node in tree.find_all(exp.Exists, exp.In):
        assert isinstance(node, exp.Expression)
        has_query = isinstance(node, exp.Exists) or node.args.get("query")
        if has_query and id(node) not in whole and not _is_of_join(node):
            found.append(node)
    return found


def _is_of_join(node: exp.Expression) -> bool:
    """Whether it stands in the ON of a join, which takes no subqueries."""
    around: exp.Expr = node
    while around.parent is not None and not isinstance(around.parent, SelectBlock):
        key, around = around.arg_key, around.parent
        if isinstance(around, FromItem) and key == "on":
            return True
    return False


def _exists(node: exp.Exists) -> exp.Expression:
    predicate = as_predicate(node)
    assert predicate is not None
    query = relation_of(predicate)
    if isinstance(query, SelectBlock) and not is_grouped(query) and not has_over(query):
        counted = query.copy()
        for clause in ("distinct", "distinct_on"):
            counted.set(clause, None)
        counted.set("expressions", [_call("count", exp.Star())])
    else:
        counted = _of_rows(query, _call("count", exp.Star()))
    return exp.Paren(this=exp.GT(this=Nested(this=counted), expression=exp.Literal.number(0)))


def _in(node: exp.Expression) -> exp.Expression:
    subject, query = node.this, node.args["query"]
    # The left side moves into a query: it must not find its names there.
    taken = [name.name for name in subject.find_all(exp.Identifier)]
    value = exp.Column(
        this=exp.Identifier(this=unused("value", taken)), table=exp.Identifier(this=unused("subquery", taken))
    )
    equality = exp.EQ(this=value.copy(), expression=_grouped(subject))
    equal = _of_rows(query, _call("count", exp.Star()), value, equality)
    rows, values = (_of_rows(query, _call("count", what), value) for what in (exp.Star(), value.copy()))
    zero = exp.Literal.number(0)
    missing = exp.Or(
        this=exp.Is(this=_grouped(subject), expression=exp.Null()),
        expression=exp.LT(this=Nested(this=values), expression=Nested(this=rows.copy())),
    )
    branches = [
        exp.If(this=exp.GT(this=Nested(this=equal), expression=zero), true=exp.Boolean(this=True)),
        exp.If(this=exp.EQ(this=Nested(this=rows), expression=zero.copy()), true=exp.Boolean(this=False)),
        exp.If(this=missing, true=exp.Null()),
    ]
    return exp.Case(this=None, ifs=branches, default=exp.Boolean(this=False))


def _grouped(subject: exp.Expression) -> exp.Expression:
    return exp.Paren(this=subject.copy())


def _call(name: str, argument: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[argument])


def _of_rows(
    query: exp.Expression,
    counted: exp.Expression,
    value: exp.Column | None = None,
    where: exp.Expression | None = None,
) -> SelectBlock:
    """`SELECT counted FROM (query) AS t(value) WHERE …`; without a value, the columns have their own names."""
    columns = None if value is None else [value.this.copy()]
    alias = exp.Identifier(this="subquery" if value is None else value.text("table"))
    item = FromItem(this=Nested(this=query.copy()), alias=alias, columns=columns, kind="")
    return SelectBlock(expressions=[counted], from_=[item], where=where)
