"""How long epochs wait for streams that are silent, by the settings of a database."""

from __future__ import annotations

import pytest

import panes
from panes.errors import SettingError
from panes.waits import Waits, waits


def waits_of(**settings: object) -> Waits:
    return waits(({"idle_after": 60, "heartbeat": 1, "max_delay": "none"} | settings).__getitem__)


def test_max_delay_shortens_what_is_longer_and_nothing_else():
    assert waits_of() == (60, 1)
    assert waits_of(max_delay=0.4) == (0.2, 0.1)
    assert waits_of(max_delay=1_000) == (60, 1)
    assert waits_of(max_delay=10, idle_after=3, heartbeat=0.2) == (3, 0.2)


def test_max_delay_is_a_number_of_seconds_or_none(tmp_path):
    with panes.connect(tmp_path / "db") as db:
        db.sql("SET max_delay = 2")
        db.sql("SET max_delay = 'none'")
        with pytest.raises(SettingError, match=r"'none' or a number of seconds from 0.01 to 86,400"):
            db.sql("SET max_delay = 0")
