"""Every rule has a name that can be switched off, and no other name can."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from panes.errors import SettingError
from panes.optimizer.rule_names import check_rule_names, rule_names

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "running-on-spark.md"


def test_names_that_are_no_rules_are_refused_with_the_list():
    check_rule_names("push_selections, join_orders,")
    check_rule_names("")
    with pytest.raises(
        SettingError, match=r"no rule named 'push_joins'; there are merge_or_into_in, .*join_orders"
    ):
        check_rule_names("push_selections, push_joins")


def test_the_page_has_all_names_in_their_order():
    (names,) = re.findall(r"`rules_off` takes these names: (.*?)\.\n", PAGE.read_text(), re.DOTALL)
    assert re.findall(r"`(\w+)`", names) == list(rule_names())


def test_the_page_on_plans_tells_of_each_rule_and_alternative():
    tables = (DOCS / "plans.md").read_text().partition("## Rules")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)) == set(rule_names())
