"""``posbias import``: a published data set, or the planted one, becomes a collection. One module a source."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["SOURCES", "import_"]

# name -> (module, attribute, one line of help)
SOURCES: dict[str, tuple[str, str, str]] = {
    "squad": ("positionbias.cli.imports.squad", "squad", "SQuAD v1.1 or v2.0, from its JSON files."),
    "msmarco-qa": ("positionbias.cli.imports.msmarco_qa", "msmarco_qa", "MS MARCO's QA releases, v1.1 and v2.1."),
    "planted": ("positionbias.cli.imports.planted", "planted", "An invented collection whose position bias you set."),
}


@click.group("import", cls=LazyGroup, commands_at=SOURCES)
def import_() -> None:
    """Bring a data set in as a collection."""
