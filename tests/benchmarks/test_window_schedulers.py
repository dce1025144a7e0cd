"""The schedulers of section 7.5, over a few small files."""

from __future__ import annotations

import pytest

from benchmarks.window_schedulers import LWS, SERIAL, TTU, WS, run, seconds_of_a_file


@pytest.fixture(scope="module")
def outcomes():
    # An execution takes about a period: most meet an update.
    period = 60 * seconds_of_a_file(1)
    return run(50, 1, groups=4, period=period, seed=3, periods=50, one_time_every=4 * period)


def test_every_scheduler_executes_periodic_and_one_time_queries(outcomes):
    for outcome in outcomes.values():
        assert outcome.executions > 10
        assert outcome.staleness
        assert outcome.one_time_response


def test_only_those_that_promise_the_latest_window_abort(outcomes):
    assert outcomes[SERIAL].aborts == outcomes[WS].aborts == 0
    assert outcomes[LWS].aborts > outcomes[TTU].aborts


def test_the_latest_window_is_less_stale(outcomes):
    mean = {name: sum(one.staleness) / len(one.staleness) for name, one in outcomes.items()}
    assert mean[TTU] < mean[WS]
