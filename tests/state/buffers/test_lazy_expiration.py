from __future__ import annotations

import pyarrow as pa
import pytest

from panes.config import check_setting
from panes.delta.delta import EXP
from panes.errors import SettingError
from panes.plan.patterns import Pattern
from panes.state.buffers.choose import choose_buffer
from panes.state.buffers.chunked import ChunkedBuffer


def filled(setting: str, pattern: Pattern = Pattern.WEAKEST, rows: int = 1_000) -> ChunkedBuffer:
    buffer = choose_buffer(pattern, "upa", ["k"], lazy_expiration=setting)
    buffer.insert(pa.table({"k": range(rows), EXP: range(1, rows + 1)}))
    return buffer


@pytest.mark.parametrize(("setting", "share"), [("5%", 0.05), ("20 %", 0.2), ("50%", 0.5), ("100%", 1.0)])
def test_no_more_than_a_share_of_a_chunk_is_dead(setting: str, share: float):
    buffer = filled(setting)
    for now in range(1, 1_001):
        alive = buffer.forget(now, now - 1)
        assert alive == 1_000 - now
        assert buffer.rows - alive <= share * buffer.rows


@pytest.mark.parametrize("setting", ["100 MICROSECONDS", "0.1 milliseconds"])
def test_a_dead_row_stays_no_longer_than_a_length_of_time(setting: str):
    buffer, most = filled(setting), 0
    for now in range(1, 1_001):
        alive = buffer.forget(now, now - 1)
        most = max(most, buffer.rows - alive)
        assert all(now - chunk.low <= 100 for chunk in buffer.chunks)
    assert most == 100


def test_the_less_may_be_dead_the_more_rows_are_moved():
    state, touched = [], []
    for setting in ("1%", "10%", "50%"):
        buffer, held = filled(setting, Pattern.WEAK, 8_000), []
        for now in range(1, 8_000, 20):
            buffer.forget(now, now - 20)
            held.append(buffer.rows)
        state.append(sum(held))
        touched.append(buffer.touched)
    assert state == sorted(state)
    assert touched[0] > touched[1] > touched[2]


@pytest.mark.parametrize("value", ["5%", "0.5 %", "100%", "10 SECONDS", "1 minute", "3 MICROSECONDS"])
def test_shares_and_lengths_are_taken(value: str):
    assert check_setting("lazy_expiration", value) == value


@pytest.mark.parametrize("value", ["0%", "101%", "5", 5, "10 FORTNIGHTS", "-5%", "0 SECONDS", "", "5% 3%"])
def test_other_values_are_refused(value: str | int):
    with pytest.raises(SettingError, match="lazy_expiration takes a share"):
        check_setting("lazy_expiration", value)
