"""Errors of Spark become sentences; errors of others stay what they are."""

import errno

from py4j.protocol import Py4JError

from panes.errors import PipelineError, StateError
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
