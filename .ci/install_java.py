"""Makes sure that there is a Java for Spark: as root on Debian or Ubuntu it is installed when missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from panes.errors import EnvironmentMissing
from panes.java import find_java

PACKAGES = ("openjdk-17-jre-headless", "default-jre-headless")


def main() -> None:
    try:
        find_java()
        return
    except EnvironmentMissing as missing:
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            sys.exit(str(missing))
    print("There is no Java 17 or newer: installing one with apt-get.", file=sys.stderr)
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    for package in PACKAGES:
        # A failure is not the end: a release of the system may have only one of the packages.
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package],
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            check=False,
        )
        try:
            find_java()
            return
        except EnvironmentMissing as missing:
            reason = str(missing)
    sys.exit(reason)


if __name__ == "__main__":
    main()
