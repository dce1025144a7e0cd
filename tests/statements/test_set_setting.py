"""SET …"""

from __future__ import annotations

import pytest

from panes import errors


def test_a_setting_keeps_its_value_and_a_wrong_one_changes_nothing(db):
    db.sql("SET shards = 3")
    with pytest.raises(
        errors.SettingError, match="shards takes 'auto' or a whole number from 1 to 4,096, not 0"
    ):
        db.sql("SET shards = 0")
    assert {"name": "shards", "value": "3"} in db.sql("SHOW SETTINGS").to_pylist()
