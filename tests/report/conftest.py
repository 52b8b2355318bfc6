"""The browser that pages are opened in: one for all tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from .browser import Browser


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = next(
        (
            path
            for name in ("chromium", "chromium-browser", "google-chrome")
            if (path := shutil.which(name))
        ),
        None,
    )
    if found is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on the path")
    opened = Browser(found, tmp_path_factory.mktemp("profile"))
    yield opened
    opened.close()
