"""The sets of keys that a GROUP BY asks for."""

from __future__ import annotations

import pytest

from panes.errors import SqlError
from panes.language import parse
from panes.language.binder.grouping_sets import grouping_sets
from panes.language.parser.syntax import SelectBlock
from panes.language.statements import SelectQuery


def sets_of(group_by: str) -> list[str]:
    """The keys of each set, joined together."""
    (query,) = parse(f"SELECT count(*) FROM s GROUP BY {group_by}")
    assert isinstance(query, SelectQuery)
    assert isinstance(query.tree, SelectBlock)
    found = grouping_sets(query.tree.args["group"], query.text)
    return ["".join(key.sql() for key in keys) for keys in found]


@pytest.mark.parametrize(
    ("group_by", "sets"),
    [
        ("a, b", ["ab"]),
        ("ROLLUP (a, b, c)", ["abc", "ab", "a", ""]),
        ("ROLLUP ((a, b), c)", ["abc", "ab", ""]),
        ("CUBE (a, b)", ["ab", "a", "b", ""]),
        ("GROUPING SETS (a, (b, c), ())", ["a", "bc", ""]),
        ("GROUPING SETS (a, ROLLUP (b), GROUPING SETS (c))", ["a", "b", "", "c"]),
        ("a, ROLLUP (b), CUBE (c)", ["abc", "ab", "ac", "a"]),
        ("GROUPING SETS (a, a)", ["a", "a"]),
    ],
)
def test_one_set_of_each_item_in_all_combinations(group_by: str, sets: list[str]) -> None:
    assert sets_of(group_by) == sets


@pytest.mark.parametrize("group_by", ["CUBE (a, b, c, d, e, f, g)", f"CUBE ({', '.join('x' * 500)})"])
def test_too_many_sets_are_refused_before_they_are_made(group_by: str) -> None:
    with pytest.raises(SqlError, match="more than 64"):
        sets_of(group_by)
