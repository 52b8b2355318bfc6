"""``posbias import``: a published data set, or the planted one, becomes a collection. One module a source."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["SOURCES", "import_"]

# name -> (module, attribute, one line of help)
SOURCES: dict[str, tuple[str, str, str]] = {
    "squad": ("positionbias.ops.imports", "import_squad", "SQuAD v1.1 or v2.0, from its JSON files."),
    "msmarco": ("positionbias.ops.imports", "import_msmarco", "MS MARCO passage ranking, from the release's files."),
    "msmarco-docs": (
        "positionbias.ops.imports",
        "import_msmarco_docs",
        "MS MARCO document ranking, from the release's files.",
    ),
    "orcas": ("positionbias.ops.imports", "import_orcas", "ORCAS: queries and the MS MARCO documents clicked for them."),
    "msmarco-qa": ("positionbias.ops.imports", "import_msmarco_qa", "MS MARCO's QA releases, v1.1 and v2.1."),
    "tripclick": (
        "positionbias.ops.imports",
        "import_tripclick",
        "TripClick: health queries and clicks, from the release's files.",
    ),
    "trec": ("positionbias.ops.imports", "import_trec", "TREC documents, topics and qrels."),
    "irds": ("positionbias.ops.imports", "import_irds", "Data sets by their ids in ir_datasets, which fetches them."),
    "beir": ("positionbias.ops.imports", "import_beir", "A data set of BEIR, from its folder."),
    "planted": ("positionbias.ops.imports", "import_planted", "An invented collection whose position bias you set."),
}


@click.group("import", cls=LazyGroup, commands_at=SOURCES)
def import_() -> None:
    """Bring a data set in as a collection."""
