"""Time zones, against the data base that Python reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from panes.clock import to_microseconds
from panes.plan.time_zone import UnknownZone, time_zone

ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC", "Pacific/Apia")


@pytest.mark.parametrize("name", ZONES)
def test_clocks_are_those_of_the_zone_around_every_change(name: str) -> None:
    zone = time_zone(name)
    begin = to_microseconds(datetime(1920, 1, 1, tzinfo=UTC))
    end = to_microseconds(datetime(2030, 1, 1, tzinfo=UTC))
    near = zone.changes[(zone.changes > begin) & (zone.changes < end)]
    instants = np.concatenate([near - 1_000_000, near, near + 3_600_000_000, [begin, end, 0]])
    for instant, ahead in zip(instants.tolist(), zone.ahead_at(instants).tolist(), strict=True):
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=instant)
        assert moment.astimezone(ZoneInfo(name)).utcoffset() == timedelta(microseconds=ahead), moment


@pytest.mark.parametrize("name", ["", "berlin", "Europe/Nowhere", "+02:00"])
def test_zones_that_there_are_not(name: str) -> None:
    with pytest.raises(UnknownZone):
        time_zone(name)
