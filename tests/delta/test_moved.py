"""Numbers that are moved stay within 64 bits."""

from __future__ import annotations

import numpy as np

from panes.delta.moved import moved

LEAST, GREATEST = -(2**63), 2**63 - 1


def test_numbers_move_by_a_distance_and_stop_where_64_bits_end() -> None:
    values = np.array([LEAST, LEAST + 1, 0, GREATEST - 1, GREATEST])
    assert moved(values, 2).tolist() == [LEAST + 2, LEAST + 3, 2, GREATEST, GREATEST]
    assert moved(values, -2).tolist() == [LEAST, LEAST, -2, GREATEST - 3, GREATEST - 2]
    assert moved(values, 2**70).tolist() == [-1, 0, GREATEST, GREATEST, GREATEST]
