"""A Sphinx extension: pages made of the code and of the repository's records, before the site is
read.

They go to ``docs/generated``, which git ignores. A page that has not changed keeps its time: Sphinx
does not read it again.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from positionbias_site import api, commands, records

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "generated"
_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)\s:#]+)\)")


def pages() -> dict[str, str]:
    """Return the Markdown of every generated page by its path in ``docs/generated``."""
    return {**api.pages(), **commands.pages(), **records.pages(ROOT)}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the pages, and how docstrings are shown."""
    from positionbias_site import docstrings

    app.connect("builder-inited", lambda _: write(GENERATED, pages()))
    app.connect("source-read", _without_folders)
    docstrings.setup(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write(folder: Path, texts: dict[str, str]) -> None:
    """Make a folder hold these pages and no others."""
    for old in sorted(folder.rglob("*.md")):
        if old.relative_to(folder).as_posix() not in texts:
            old.unlink()
    for name, text in texts.items():
        place = folder / name
        if not place.exists() or place.read_text("utf-8") != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")


def _without_folders(app: Sphinx, page: str, source: list[str]) -> None:
    """Show a link to a folder as its words: on the repository's page it lists the files, here there
    is nothing to list.
    """
    folder = Path(app.srcdir, page).parent

    def shown(found: re.Match[str]) -> str:
        return found[1] if (folder / found[2]).is_dir() else found[0]

    source[0] = _LINK.sub(shown, source[0])
