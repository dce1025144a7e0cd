"""What steps did: kept per epoch, averaged over recent ones, and never in the way of an epoch."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from panes.errors import StateError
from panes.operators.measures import Measures
from panes.stages.explain_tree import StepKey
from panes.stages.measure_log import MeasureLog, StepMeasures, StepPlace, measured_after

JOIN = StepPlace(7, 0, "", "03_join")
SCAN = StepPlace(7, 0, "input-0", "00_input")
OTHER = StepPlace(8, 1, "", "02_group_by")


def test_a_first_epoch_over_history_does_not_begin_the_average() -> None:
    first = measured_after({}, 0, {7: 0.0}, {JOIN: Measures(rows_in=1_000_000)})
    second = measured_after(first, 1, {7: 2.0}, {JOIN: Measures(rows_in=100)})
    assert second[JOIN] == StepMeasures(1, 2.0, Measures(rows_in=100), Measures(rows_in=100))


def test_an_average_follows_slowly_and_state_is_what_it_is() -> None:
    known = {JOIN: StepMeasures(1, 1.0, Measures(rows_in=100), Measures(rows_in=100, state_rows=5))}
    found = measured_after(known, 2, {7: 1.0}, {JOIN: Measures(rows_in=200, state_rows=9)})[JOIN]
    assert found.last.rows_in == 200
    assert found.smooth.rows_in == pytest.approx(120)
    assert found.smooth.state_rows == 9


def test_a_step_to_which_nothing_came_counts_as_idle_while_its_query_runs() -> None:
    known = {
        SCAN: StepMeasures(1, 1.0, Measures(rows_in=100), Measures(rows_in=100)),
        OTHER: StepMeasures(1, 1.0, Measures(rows_in=50), Measures(rows_in=50)),
    }
    found = measured_after(known, 2, {7: 1.0}, {JOIN: Measures(rows_in=3)})
    assert found[SCAN].smooth.rows_in == pytest.approx(80)
    assert found[OTHER] == known[OTHER]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    measured = measured_after(
        {}, 4, {7: 1.0, 8: 2.5}, {JOIN: Measures(1, 2, 3, 4), OTHER: Measures(cpu_us=9)}
    )
    pin = log.write(4, measured)
    assert MeasureLog(tmp_path / "measures").read(pin) == measured
    assert log.of_query(pin, 8) == {StepKey(1, "", "02_group_by"): measured[OTHER]}
    assert log.read(None) == {}


def test_steps_that_were_not_run_are_carried_forward_and_those_of_dropped_queries_are_not(
    tmp_path: Path,
) -> None:
    log = MeasureLog(tmp_path / "measures")
    first = measured_after(
        {}, 4, {7: 1.0, 8: 2.5}, {JOIN: Measures(1), SCAN: Measures(2), OTHER: Measures(3)}
    )
    second = measured_after(first, 5, {7: 1.0}, {JOIN: Measures(9)})
    third = {place: measures for place, measures in second.items() if place.query == 8}
    for epoch, measured in ((4, first), (5, second), (6, third), (7, first)):
        assert log.read(log.write(epoch, measured)) == measured


def test_few_queries_that_ran_are_written_without_those_that_sleep(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    done = {
        StepPlace(query, 0, "", f"{step}_step"): Measures(step) for query in range(50) for step in range(3)
    }
    measured = measured_after({}, 0, dict.fromkeys(range(50), 1.0), done)
    log.write(0, measured)
    for epoch in (1, 2, 99, 100):
        measured = measured_after(measured, epoch, {7: 1.0}, {JOIN: Measures(epoch)})
        pin = log.write(epoch, measured)
        assert MeasureLog(tmp_path / "measures").read(pin) == measured
        assert len(log.of_query(pin, 7)) == 4
    files = sorted((tmp_path / "measures").glob("*/*"))
    # The last one lies in another folder, and does not need the first one.
    assert [pa.ipc.open_file(file).read_all().num_rows for file in files] == [150, 4, 4, 4, 151]
    log.collect(250)
    assert log.read(pin) == measured


def test_nothing_measured_is_a_file_too(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    assert log.read(log.write(0, {})) == {}


def test_a_damaged_file_is_told_of_and_forgotten(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    pin = log.write(0, {JOIN: StepMeasures(0, 1.0, Measures(), Measures())})
    (file,) = (tmp_path / "measures").glob("*/*")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(StateError, match="is damaged"):
        log.read(pin)
    assert log.known(pin) == {}
    file.unlink()
    with pytest.raises(StateError):
        log.read(pin)
    assert log.known(pin) == {}


def test_old_files_are_removed(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    for epoch in (0, 99, 100, 199, 200):
        log.write(epoch, {}, "token")
        log.collect(epoch)
    left = sorted(path.stem for path in (tmp_path / "measures").glob("*/*"))
    assert left == ["epoch-0000000100-token", "epoch-0000000199-token", "epoch-0000000200-token"]
    MeasureLog(tmp_path / "measures").collect(300)  # as another process finds them
    assert [path.name for path in (tmp_path / "measures").iterdir()] == ["00000002"]


def test_two_attempts_at_an_epoch_do_not_overwrite_each_other(tmp_path: Path) -> None:
    log = MeasureLog(tmp_path / "measures")
    pins = [log.write(0, {JOIN: StepMeasures(0, n, Measures(), Measures())}, f"try{n}") for n in (1, 2)]
    assert [log.read(pin)[JOIN].seconds for pin in pins] == [1, 2]
