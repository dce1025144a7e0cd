"""SET …"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_setting_keeps_its_value_and_a_wrong_one_changes_nothing(db):
    db.sql("SET shards = 3")
    with pytest.raises(errors.SettingError, match="shards takes a whole number above 0, not 0"):
        db.sql("SET shards = 0")
    assert {"name": "shards", "value": "3"} in db.sql("SHOW SETTINGS").to_pylist()
