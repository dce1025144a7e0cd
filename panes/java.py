"""Finding the Java that Spark runs on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from panes.errors import EnvironmentMissing

MINIMUM_VERSION = 17
"""The oldest Java that Spark 4 runs on."""

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_HOME = re.compile(r"^\s*java\.home = (.+?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Java:
    """A Java installation: what JAVA_HOME should say, and its major version."""

    home: Path
    version: int


def find_java(environ: Mapping[str, str] = os.environ) -> Java:
    """The first Java that is new enough: that of JAVA_HOME, else that of PATH.

    Spark follows JAVA_HOME without looking at the version, so whoever starts Spark sets it to the home found.
    """
    too_old: Java | None = None
    for command in _commands(environ):
        java = _ask(command)
        if java is None:
            continue
        if java.version >= MINIMUM_VERSION:
            return java
        too_old = too_old or java
    found = f"only Java {too_old.version} in {too_old.home}" if too_old else "none"
    raise EnvironmentMissing(
        f"Spark needs Java {MINIMUM_VERSION} or newer, and JAVA_HOME and PATH lead to {found}: "
        "install it ('apt-get install openjdk-17-jre-headless' on Debian and Ubuntu, "
        "'brew install openjdk@17' on macOS, or https://adoptium.net) and let JAVA_HOME name its directory."
    )


def parse_version(text: str) -> int | None:
    """The major version in what `java -version` prints.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_version('java version "1.8.0_402"')
    8
    """
    match = _VERSION.search(text)
    return int(match[1]) if match else None


def _commands(environ: Mapping[str, str]) -> Iterator[str]:
    if home := environ.get("JAVA_HOME"):
        yield str(Path(home) / "bin" / "java")
    if command := shutil.which("java", path=environ.get("PATH", "")):
        yield command


def _ask(command: str) -> Java | None:
    """What a java command says of itself, or None when it does not run.

    The home is asked for, because the command may be a wrapper that lies far from it (macOS, jenv).
    """
    try:
        ran = subprocess.run(
            [command, "-XshowSettings:properties", "-version"], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version, home = parse_version(ran.stderr), _HOME.search(ran.stderr)
    return Java(Path(home[1]), version) if version and home and ran.returncode == 0 else None
