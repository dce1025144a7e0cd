"""Engines that cannot share a Python with Panes: each has an environment of its own in the cache folder."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.traffic import cache_folder

PACKAGES = {
    "flink": ("apache-flink==2.3.0", "pyarrow", "numpy", "pandas<3"),
    "pathway": ("pathway==0.33.0", "pyarrow", "numpy"),
}


def python_of(engine: str) -> Path:
    """The Python that runs an engine; its environment is made on first use."""
    if engine not in PACKAGES:
        return Path(sys.executable)
    folder = cache_folder() / "environments" / engine
    python = folder / "bin" / "python"
    done = folder / ".installed"
    if not done.exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES[engine]], check=True)
        done.touch()
    return python
