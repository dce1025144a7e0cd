"""The Java process, with small scripts in the place of Spark's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from panes.errors import EnvironmentMissing, SettingError
from panes.spark.java_process import JavaProcess, log_level
from tests.faults.processes import left_of_session

COMES_UP = """
echo Using a default
printf '\\0\\0\\4\\322\\0\\0\\0\\6secret' > "$_PYSPARK_DRIVER_CONN_INFO_PATH.tmp"
mv "$_PYSPARK_DRIVER_CONN_INFO_PATH.tmp" "$_PYSPARK_DRIVER_CONN_INFO_PATH"
"""


def spark(home: Path, script: str) -> dict[str, str]:
    """The environment in which a script is Spark."""
    command = home / "bin" / "spark-submit"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return {**os.environ, "SPARK_HOME": str(home)}


def test_it_tells_how_to_reach_it_and_ends_when_its_input_does(tmp_path):
    java = JavaProcess()
    assert java.start({"a": "b"}, spark(tmp_path, f"{COMES_UP}\nread line\necho gone > {tmp_path}/gone")) == (
        1234,
        "secret",
    )
    assert java.is_alive
    java.end()
    assert not java.is_alive
    assert (tmp_path / "gone").exists()


def test_killed_it_takes_its_children_with_it(tmp_path):
    java = JavaProcess()
    java.start({}, spark(tmp_path, f"{COMES_UP}\nsleep 1000.25 &\nwait"))
    java.kill()
    java.kill()
    assert not java.is_alive
    assert left_of_session(os.getsid(0), "1000.25") == []


def test_its_last_words_are_the_reason_why_it_did_not_come_up(tmp_path):
    java = JavaProcess()
    with pytest.raises(EnvironmentMissing, match=r"Spark did not start: Java has ended:\n  no such heap\n"):
        java.start({}, spark(tmp_path, "echo no such heap >&2; exit 1"))


def test_what_every_spark_says_at_the_start_is_no_reason(tmp_path):
    java = JavaProcess()
    java.start({}, spark(tmp_path, f"{COMES_UP}\nread line\necho out of memory\n"))
    java.came_up()
    java.end()
    assert java.last_words() == ":\n  out of memory\n"


def test_once_it_was_told_to_end_it_does_not_start(tmp_path):
    java = JavaProcess()
    java.kill()
    with pytest.raises(EnvironmentMissing, match="it was interrupted"):
        java.start({}, spark(tmp_path, f"echo started > {tmp_path}/started"))
    assert not (tmp_path / "started").exists()


def test_the_level_of_its_log_is_one_of_sparks(monkeypatch):
    monkeypatch.delenv("PANES_SPARK_LOG", raising=False)
    assert log_level() == "OFF"
    monkeypatch.setenv("PANES_SPARK_LOG", "warn")
    assert log_level() == "WARN"
    monkeypatch.setenv("PANES_SPARK_LOG", "loud")
    with pytest.raises(SettingError, match=r"PANES_SPARK_LOG takes off, fatal, .* not 'loud'"):
        log_level()
