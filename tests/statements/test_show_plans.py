"""SHOW PLANS"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from panes import errors


def test_the_first_plan_of_a_query_is_shown_from_its_registration_on(db):
    began = datetime.now(UTC)
    db.sql(
        "CREATE QUERY pairs AS SELECT a.src FROM packets [NOW] AS a, packets [RANGE 1 MINUTE] AS b "
        "WHERE a.src = b.src"
    )
    (shown,) = db.sql("SHOW PLANS pairs").to_pylist()
    assert began <= shown.pop("chosen_at") <= datetime.now(UTC)
    assert shown == {
        "plan": 1,
        "state": "runs",
        "first_epoch": None,
        "last_epoch": None,
        "reason": "registered",
        "cost_before": None,
        "cost_after": None,
        "shape": "a ⋈ b",
    }


def test_a_query_that_is_not_there_has_no_plans(db):
    with pytest.raises(errors.CatalogError, match="there is no query named 'gone'; there are none yet"):
        db.sql("SHOW PLANS gone")
