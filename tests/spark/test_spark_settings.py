"""The settings for a Spark session of one's own."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from typer.testing import CliRunner

import panes
from panes.cli.main import app


def test_they_are_those_of_a_session_that_is_started_here(spark):
    conf = dict(spark.sparkContext.getConf().getAll())
    settings = panes.spark_settings()
    assert {name: conf.get(name) for name in settings} == settings


def test_whoever_gets_them_may_change_them():
    panes.spark_settings().clear()
    assert panes.spark_settings()


def test_the_command_prints_them_as_options_of_spark_submit():
    words = shlex.split(CliRunner().invoke(app, ["spark-settings"]).output)
    assert words[::2] == ["--conf"] * len(panes.spark_settings())
    assert dict(word.split("=", 1) for word in words[1::2]) == panes.spark_settings()


def test_the_page_lists_them():
    page = (Path(__file__).parent.parent.parent / "docs" / "running-on-spark.md").read_text()
    listed = re.findall(r"^\| `(spark\.[\w.]+)=(\S+)` \|", page, re.MULTILINE)
    assert dict(listed) == panes.spark_settings()
