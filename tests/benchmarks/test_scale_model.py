from __future__ import annotations

import doctest

import pytest

from benchmarks import counted_store, scale_model
from benchmarks.scale_model import EPOCH_S, Line, Model, fitted

CONSTANTS = {"driver_s": Line(0.5, 0.002), "files": Line(10, 2), "record_bytes": Line(1_000, 50)}
MODEL = Model(1, **CONSTANTS, requests=Line(20, 4), task_s=0.1, rows_per_core_s=1_000)


def test_examples_in_the_modules():
    assert doctest.testmod(scale_model).failed == doctest.testmod(counted_store).failed == 0


def test_a_line_has_no_negative_part():
    assert fitted([(1, 1.0), (10, 100.0)]).fixed == 0
    assert fitted([(1, 100.0), (10, 1.0)]).per_shard == 0


def test_rows_have_what_the_driver_the_tasks_and_the_requests_leave():
    storing = 24 * scale_model.REQUEST_S
    assert MODEL.rest_s(100) == pytest.approx(EPOCH_S - 0.7 - 0.1 - storing)
    assert MODEL.rows_per_s(100) == pytest.approx(100 * 1_000 * MODEL.rest_s(100) / EPOCH_S)


def test_an_epoch_that_the_driver_fills_has_no_room_for_rows():
    assert MODEL.rows_per_s(100_000) == 0
