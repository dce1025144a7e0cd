"""The table of settings on docs/running-on-spark.md, made from `panes/config.py`."""

from __future__ import annotations

import re
from pathlib import Path

from panes.config import SETTINGS

PAGE = Path(__file__).parent.parent / "docs" / "running-on-spark.md"


def renewed(text: str) -> str:
    """The page with the table as it must be."""
    lines = ["| setting | default | meaning |", "| --- | --- | --- |"]
    for setting in SETTINGS.values():
        lines.append(f"| `{setting.name}` | `{setting.default}` | {setting.help}; {setting.takes} |")
    table = "\n".join(lines)
    return re.sub(r"(<!-- settings -->\n).*?(<!-- end -->)", rf"\g<1>{table}\n\g<2>", text, flags=re.DOTALL)


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
