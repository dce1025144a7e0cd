"""The picture of docs/refresh.md shows what schedulers do."""

from __future__ import annotations

from tests.refresh_picture import PICTURE, picture


def test_the_picture_shows_what_schedulers_do() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.refresh_picture"
