"""Finding Java, with small scripts that answer as a java command does."""

from __future__ import annotations

from pathlib import Path

import pytest

from panes.errors import EnvironmentMissing
from panes.java import Java, find_java, parse_version


def install(home: Path, version: str) -> Path:
    """A java command in home/bin that reports the given version."""
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n"
    )
    command.chmod(0o755)
    return home


@pytest.mark.parametrize(
    ("printed", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "11.0.22" 2024-01-16', 11),
        ("The operation couldn't be completed. Unable to locate a Java Runtime.", None),
    ],
)
def test_version_is_read_from_what_java_prints(printed: str, version: int | None):
    assert parse_version(printed) == version


def test_java_home_comes_before_path(tmp_path: Path):
    home, other = install(tmp_path / "home", "21.0.1"), install(tmp_path / "other", "17.0.2")
    environ = {"JAVA_HOME": str(home), "PATH": str(other / "bin")}
    assert find_java(environ) == Java(home, 21)


def test_path_is_used_when_java_home_is_too_old(tmp_path: Path):
    old, new = install(tmp_path / "old", "1.8.0_402"), install(tmp_path / "new", "17.0.2")
    assert find_java({"JAVA_HOME": str(old), "PATH": str(new / "bin")}) == Java(new, 17)


def test_path_is_used_when_java_home_names_nothing(tmp_path: Path):
    new = install(tmp_path / "new", "17.0.2")
    assert find_java({"JAVA_HOME": str(tmp_path / "gone"), "PATH": str(new / "bin")}) == Java(new, 17)


def test_home_is_what_java_says_even_when_the_command_is_a_link_elsewhere(tmp_path: Path):
    home = install(tmp_path / "home", "17.0.2")
    shims = tmp_path / "shims"
    shims.mkdir()
    (shims / "java").write_text(f'#!/bin/sh\nexec "{home}/bin/java" "$@"\n')
    (shims / "java").chmod(0o755)
    assert find_java({"PATH": str(shims)}).home == home


def test_without_java_the_error_says_how_to_get_it(tmp_path: Path):
    with pytest.raises(
        EnvironmentMissing, match=r"needs Java 17 .* lead to none: .*apt-get install openjdk-17"
    ):
        find_java({"PATH": str(tmp_path)})


def test_the_error_names_a_java_that_is_too_old(tmp_path: Path):
    old = install(tmp_path / "old", "11.0.22")
    with pytest.raises(EnvironmentMissing, match=f"only Java 11 in {old}"):
        find_java({"PATH": str(old / "bin")})


def test_a_command_that_fails_is_no_java(tmp_path: Path):
    broken = tmp_path / "bin" / "java"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(EnvironmentMissing, match="lead to none"):
        find_java({"PATH": str(broken.parent)})
