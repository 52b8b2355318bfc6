"""``posbias import``: a published data set, or the planted one, becomes a collection. One module a source."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["SOURCES", "import_"]

# name -> (module, attribute, one line of help)
SOURCES: dict[str, tuple[str, str, str]] = {
    "squad": ("positionbias.cli.imports.squad", "squad", "SQuAD v1.1 or v2.0, from its JSON files."),
    "msmarco": ("positionbias.cli.imports.msmarco", "msmarco", "MS MARCO passage ranking, from the release's files."),
    "msmarco-docs": (
        "positionbias.cli.imports.msmarco_docs",
        "msmarco_docs",
        "MS MARCO document ranking, from the release's files.",
    ),
    "orcas": ("positionbias.cli.imports.orcas", "orcas", "ORCAS: queries and the MS MARCO documents clicked for them."),
    "msmarco-qa": ("positionbias.cli.imports.msmarco_qa", "msmarco_qa", "MS MARCO's QA releases, v1.1 and v2.1."),
    "tripclick": (
        "positionbias.cli.imports.tripclick",
        "tripclick",
        "TripClick: health queries and clicks, from the release's files.",
    ),
    "trec": ("positionbias.cli.imports.trec", "trec", "TREC documents, topics and qrels."),
    "irds": ("positionbias.cli.imports.irds", "irds", "Data sets by their ids in ir_datasets, which fetches them."),
    "beir": ("positionbias.cli.imports.beir", "beir", "A data set of BEIR, from its folder."),
    "planted": ("positionbias.cli.imports.planted", "planted", "An invented collection whose position bias you set."),
}


@click.group("import", cls=LazyGroup, commands_at=SOURCES)
def import_() -> None:
    """Bring a data set in as a collection."""
