"""Build the distribution: all is declared in ``setup.cfg`` but the page that a package index shows,
which is the README.
"""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
_IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)\s]+\)")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:)([^)\s]+)\)")
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)


def index_page(readme: str, source: str = "") -> str:
    """Return the README for a page outside the repository: relative addresses become absolute ones
    below ``source``.

    Without ``source`` links become their text, and images go.
    """
    page = _COMMENT.sub("", readme)
    if not source:
        return _LINK.sub(r"\1", re.sub(rf"{_IMAGE.pattern}\n*", "", page))
    page = _IMAGE.sub(
        lambda found: f"![{found[1]}]({source}/raw/HEAD/{found[0].rpartition('(')[2]}", page
    )
    return _LINK.sub(lambda found: f"[{found[1]}]({source}/blob/HEAD/{found[2]})", page)


def source_url() -> str:
    """Return the repository's address, which ``setup.cfg`` names under ``project_urls``; empty
    without one.
    """
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    named = config.get("metadata", "project_urls", fallback="")
    found = re.search(r"^\s*Source\s*=\s*(\S+)", named, re.MULTILINE)
    return found[1].rstrip("/") if found else ""


if __name__ == "__main__":
    setup(
        long_description=index_page((ROOT / "README.md").read_text(encoding="utf-8"), source_url()),
        long_description_content_type="text/markdown",
    )
