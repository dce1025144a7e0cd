"""How late the changes of an answer are seen."""

from __future__ import annotations

import pyarrow as pa

from panes.answers.output_delay import OutputDelay, output_delay
from panes.delta.delta import FOREVER, Delta
from panes.state.buffers.chunk import Chunk


def delta(clock: int, *rows: tuple[int, int, int]) -> Delta:
    """From (ts, exp, weight)."""
    ts, exp, weight = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"_ts": pa.array(ts, pa.int64()), "_exp": pa.array(exp, pa.int64())}
    return Delta(pa.table({**columns, "_weight": pa.array(weight, pa.int64())}), clock)


def held(*exp: int) -> Chunk:
    return Chunk.of(pa.table({"_exp": pa.array(exp, pa.int64())}))


def test_every_row_that_comes_goes_or_is_taken_back_is_a_change():
    #  since 10              20 clock
    #           12------16                 came and went within the span
    #              14------------- 30      came
    #                    18 taken back     was to leave at 19
    #  ---------15                         was there, and left
    #  ------------------------------25    is there
    changes = delta(20, (12, 16, 1), (14, 30, 1), (18, 19, -1))
    late = [20 - at for at in (12, 16, 14, 18, 15)]
    assert output_delay(changes, [held(5, 15, 25), held(30, 40)], 10, 20) == OutputDelay(5, sum(late), 8)


def test_nothing_that_changes_is_no_delay():
    found = output_delay(delta(20), [held(21, FOREVER)], 10, 20)
    assert found == OutputDelay()
    assert (found.mean_us(1_000), found.max_us(1_000)) == (0.0, 0)


def test_what_follows_the_clock_delays_all_changes_alike():
    both = OutputDelay(1, 4.0, 4).with_other(OutputDelay(3, 8.0, 6))
    assert both == OutputDelay(4, 12.0, 6)
    assert (both.mean_us(1_000), both.max_us(1_000)) == (1_003.0, 1_006)


def test_an_answer_that_lags_behind_the_clock_is_later_by_that():
    assert output_delay(delta(20, (20, 90, 1)), [held(15, 25)], 10, 26) == OutputDelay(2, 6 + 11, 11)
