"""DROP FUNCTION."""

from __future__ import annotations

import pytest

from panes import errors
from tests import own


def test_what_is_called_is_not_dropped(db):
    db.create_function("doubled", own.doubled, returns="DOUBLE", takes=["DOUBLE"])
    db.register("SELECT doubled(src) AS d FROM packets [RANGE 1 MINUTE]", name="q")
    with pytest.raises(errors.CatalogError, match="is called by query 'q'; drop that first"):
        db.sql("DROP FUNCTION doubled")
    db.sql("DROP QUERY q; DROP FUNCTION doubled; DROP FUNCTION IF EXISTS doubled")
    assert db.sql("SHOW FUNCTIONS").num_rows == 0
    with pytest.raises(errors.CatalogError, match="there is no function named 'doubled'"):
        db.sql("DROP FUNCTION doubled")
