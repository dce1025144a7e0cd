"""`panes spark-settings`: the settings that a Spark context of your own needs, for spark-submit."""

from __future__ import annotations

from panes.spark.session import spark_settings as settings


def spark_settings() -> None:
    """Print the settings for spark-submit: spark-submit $(panes spark-settings) program.py."""
    for name, value in settings().items():
        print(f"--conf {name}={value}")
