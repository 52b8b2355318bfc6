"""Groups of commands whose members are all operations: a name, the operation, one line of help each."""

from __future__ import annotations

import click

from positionbias.cli.lazy import LazyGroup

__all__ = ["SOURCES", "contamination", "import_", "leakage", "pool", "trainset"]

# name -> (module, operation, one line of help)
CONTAMINATION = {
    "suspect": (
        "positionbias.ops.contamination",
        "suspect_contamination",
        "Is a model suspiciously good on a public test set?",
    ),
}
LEAKAGE = {
    "find": ("positionbias.ops.leakage", "find_leakage", "Which training queries near-duplicate which test queries."),
    "calibrate": (
        "positionbias.ops.leakage_labels",
        "calibrate_leakage",
        "From which score on a pair is a leak, by labelled pairs.",
    ),
    "sample": ("positionbias.ops.leakage_labels", "sample_pairs", "Draw pairs to label, so that a threshold can be set."),
    "review": (
        "positionbias.ops.leakage_labels",
        "review_pairs",
        "The most similar pairs for people to look at, and what they said.",
    ),
    "clean": ("positionbias.ops.leakage", "clean_leakage", "A collection without the training queries that leak."),
}
POOL = {
    "coverage": (
        "positionbias.ops.pools",
        "pool_coverage",
        "Relevant documents that each kind of system finds, by pool depth.",
    ),
    "reliability": (
        "positionbias.ops.pools",
        "pool_reliability",
        "How pools made from one kind of system judge systems of each kind.",
    ),
    "verdict": ("positionbias.ops.pools", "pool_verdict", "Can an existing collection judge this one new run?"),
}
TRAINSET = {
    "leaked": ("positionbias.ops.trainsets", "draw_leaked", "Sets with a known number of queries that leak test queries."),
    "contaminated": (
        "positionbias.ops.trainsets",
        "draw_contaminated",
        "A set with judgements of a test split in it, for a teacher that saw the test.",
    ),
    "clicks": ("positionbias.ops.trainsets", "draw_clicks", "Shuffled triples of clicked passages and sampled candidates."),
}
VECTORS = {
    "distil": ("positionbias.ops.encoders", "distil_vectors", "Word vectors from a pre-trained encoder."),
}
SOURCES = {
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


@click.group(cls=LazyGroup, commands_at=CONTAMINATION)
def contamination() -> None:
    """Has a model, or its teacher, seen the test set that it is measured on?"""


@click.group("import", cls=LazyGroup, commands_at=SOURCES)
def import_() -> None:
    """Bring a data set in as a collection."""


@click.group(cls=LazyGroup, commands_at=LEAKAGE)
def leakage() -> None:
    """Find training queries that near-duplicate test queries, check them by hand, remove them."""


@click.group(cls=LazyGroup, commands_at=POOL)
def pool() -> None:
    """Can a test collection judge a system that did not help to make it: what pools hold, and what they do to scores."""


@click.group(cls=LazyGroup, commands_at=TRAINSET)
def trainset() -> None:
    """Training sets made to order, for posbias train --trainset."""


@click.group(cls=LazyGroup, commands_at=VECTORS)
def vectors() -> None:
    """Word vectors to start TK from, without a download."""
