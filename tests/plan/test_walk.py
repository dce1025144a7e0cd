"""What a plan reads."""

from __future__ import annotations

import pytest

from panes.plan.walk import has_relation, is_table_only, streams_of, tables_of
from tests.language.binder.test_bind import plan_of


@pytest.mark.parametrize(
    ("sql", "streams", "tables"),
    [
        ("SELECT a FROM s1 [NOW]", {"s1"}, set()),
        ("SELECT owner FROM hosts WHERE src IN (SELECT id FROM wards)", set(), {"hosts", "wards"}),
        ("SELECT owner FROM hosts WHERE src IN (SELECT src FROM link0 [NOW])", {"packets"}, {"hosts"}),
        ("SELECT src FROM packets JOIN tariffs USING (proto)", {"packets"}, {"tariffs"}),
    ],
)
def test_streams_and_tables(sql: str, streams: set[str], tables: set[str]) -> None:
    plan = plan_of(sql)
    assert (streams_of(plan), tables_of(plan)) == (streams, tables)
    assert is_table_only(plan) == (not streams)


def test_updates_of_tables_that_are_looked_up_change_nothing() -> None:
    assert not has_relation(
        plan_of("SELECT src FROM packets [NOW] WHERE proto IN (SELECT proto FROM tariffs)")
    )
    assert has_relation(plan_of("SELECT src FROM packets [NOW] WHERE src IN (SELECT src FROM hosts)"))
    assert has_relation(plan_of("SELECT proto FROM tariffs"))
