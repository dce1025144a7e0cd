"""The settings: what each takes, and what it does not."""

from __future__ import annotations

import math

import pytest

from panes.config import SETTINGS, check_setting
from panes.errors import SettingError

REFUSED = {
    "shards": [0, 65_536, 1.5],
    "calendar_days": [0, 10**12],
    "lazy_expiration": ["0%", "0.0000001%", "101%", "0 SECONDS", "99999999999 DAYS", "5", "5 WEEKS"],
    "priority": [1e-300, 1e300],
    "capacity": [1e-300, 1.01],
    "headroom": [1e-300, 1.01],
    "share_from": [0, 10**12],
    "epoch_megabytes": [1e-300, 1e300],
    "idle_after": [1e-300, 1e300],
    "heartbeat": [1e-300, 1e300],
    "max_delay": [1e-300, 1e300],
    "retain_epochs": [0, 10**12],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_value_that_makes_no_sense_is_refused_with_the_bounds(name):
    for value in [*REFUSED[name], math.inf, -math.inf, math.nan, -1, True]:
        with pytest.raises(SettingError, match=f"{name} takes .*, not"):
            check_setting(name, value)


def test_every_default_is_taken():
    for setting in SETTINGS.values():
        assert check_setting(setting.name, setting.default) == setting.default


@pytest.mark.parametrize("value", ["5%", "100 %", "10 SECONDS", "1.5 hours", "1 MICROSECOND", "3650 days"])
def test_lengths_of_time_and_shares_are_taken(value):
    assert check_setting("lazy_expiration", value) == value
