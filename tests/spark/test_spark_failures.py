"""Errors of Spark become sentences; errors of others stay what they are."""

import errno

import pytest
from py4j.protocol import Py4JError

from panes.errors import EnvironmentMissing, PipelineError, StateError
from panes.spark.spark_failures import spark_failure


def test_an_error_that_is_not_sparks_is_passed_on():
    error = ZeroDivisionError("mine")
    assert spark_failure(error, "anywhere") is error


def test_an_error_of_ours_in_a_worker_comes_back_as_itself():
    error = Py4JError(
        "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: Job aborted\n"
        "Traceback (most recent call last):\n  File ...\n"
        "panes.errors.StateError: segment x.arrow is damaged\n\tat java.lang.Thread"
    )
    found = spark_failure(error, "epoch 3 was the last that succeeded")
    assert isinstance(found, StateError)
    assert str(found) == "segment x.arrow is damaged"


def test_the_innermost_sentence_of_spark_is_told():
    error = Py4JError("[STREAM_FAILED] Query terminated\n[FAILED_READ_FILE.NO_HINT] cannot read a.parquet.\n")
    found = spark_failure(error, "none has succeeded yet")
    assert isinstance(found, PipelineError)
    assert str(found) == (
        "an epoch failed in Spark (none has succeeded yet): [FAILED_READ_FILE.NO_HINT] cannot read a.parquet."
    )


def test_an_exception_of_python_in_a_worker_is_told():
    error = Py4JError(
        "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: [X_Y] Job aborted\n"
        "Traceback (most recent call last):\n  File ...\n"
        "panes.crash_points.Crash: before segment\n\n\tat org.apache.spark.Thread: x"
    )
    assert (
        str(spark_failure(error, "x"))
        == "an epoch failed in a worker (x): panes.crash_points.Crash: before segment"
    )


def test_without_a_code_the_first_line_is_told():
    assert str(spark_failure(Py4JError("boom\n\tat java"), "x")) == "an epoch failed in Spark (x): boom"


def test_what_spark_said_is_in_the_details():
    text = "boom\n\tat java.lang.Thread.run"
    assert spark_failure(Py4JError(text), "x").details == text


def test_an_error_of_the_file_system_names_the_file():
    error = PermissionError(errno.EACCES, "Permission denied", "/db/epochs/epoch-1.json")
    found = spark_failure(error, "epoch 0 was the last that succeeded")
    assert isinstance(found, StateError)
    assert str(found) == (
        "an epoch failed (epoch 0 was the last that succeeded): /db/epochs/epoch-1.json: Permission denied; see "
        "that there is space and that the folder can be written to, then run again: nothing is lost"
    )


@pytest.mark.parametrize(
    "said",
    [
        "ModuleNotFoundError: No module named 'panes'",
        "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.10 than that in driver: 3.11.",
        'java.io.IOException: Cannot run program "python3": error=2, No such file or directory',
    ],
)
def test_workers_of_another_python_are_told_with_the_line_to_add(said):
    text = f"An error occurred while calling o135.getResult.\n: Job\nTraceback (most recent call last):\n{said}\n"
    found = spark_failure(Py4JError(text), "none has succeeded yet")
    assert isinstance(found, EnvironmentMissing)
    assert "os.environ['PYSPARK_PYTHON'] = " in str(found)


def test_a_killed_worker_is_told():
    text = (
        "An error occurred while calling o135.getResult.\n: org.apache.spark.SparkException: Job aborted: Lost "
        "task 0.0 in stage 3.0 (TID 7) (10.0.0.3 executor 1): org.apache.spark.SparkException: Python worker "
        "exited unexpectedly (crashed): null\n\tat org.apache.spark.api.python\nCaused by: java.io.EOFException\n"
    )
    found = spark_failure(Py4JError(text), "epoch 4 was the last that succeeded")
    assert type(found) is PipelineError
    assert str(found).startswith(
        "a Python worker of Spark on 10.0.0.3 ended in the midst of an epoch (epoch 4"
    )


def test_without_a_code_the_innermost_cause_is_told():
    text = "An error while calling o135.getResult.\n: java.lang.Error: outer\nCaused by: java.lang.Error: inner\n"
    assert str(spark_failure(Py4JError(text), "none")) == "an epoch failed in Spark (none): Error: inner"


def test_a_full_disk_is_told_with_its_folder(tmp_path):
    text = "An error occurred.\n: java.io.IOException: No space left on device\n"
    found = spark_failure(Py4JError(text), "none has succeeded yet", tmp_path / "db")
    assert isinstance(found, StateError)
    assert f"no space is left on the disk of {tmp_path}/db or" in str(found)
    assert "make room there" in str(found)


@pytest.mark.parametrize("content", [b"", b"v1\n{damaged", b"\xff\xfe"])
def test_a_damaged_file_of_the_checkpoint_is_named(tmp_path, content):
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".3.crc").write_bytes(b"crc\0" + (512).to_bytes(4, "big") + bytes(4))
    (offsets / "3").write_bytes(content)
    found = spark_failure(Py4JError("An error.\n: java.lang.Error: x\n"), "none", tmp_path)
    assert isinstance(found, StateError)
    assert str(offsets / "3") in str(found)
    assert found.details.startswith("An error.")
