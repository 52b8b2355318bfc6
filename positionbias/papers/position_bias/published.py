"""The paper's figures, and the collections that they are of.

The paper calls rotated passages "debiased", and prints Δ = (debiased − original) / debiased.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from positionbias.papers.position_bias import PAPER
from positionbias.report.published import Published
from positionbias.results.collections import PassageFigures
from positionbias.results.published import read_cells
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["CELLS", "PRETRAINED", "published_of"]

CELLS = read_cells(Path(__file__).with_name("cells.csv"))
# a collection's source → the paper's collection that it is, whole or in part
COLLECTIONS = {"import msmarco": "MS MARCO", "import squad": "SQuAD 2.0"}
PRETRAINED = {
    "bert_cat": "6-layer DistilBERT",
    "bert_dot": "6-layer DistilBERT",
    "tk": "GloVe vectors (42B tokens, 300 wide)",
}


def published_of(results: Sequence[Result]) -> Published | None:
    """Return the paper's cells, for those collections that are its own.

    A collection made from another (rotated, sampled, selected, planted) is not, and gets no figure
    of it.
    """
    made = {
        result.collection: figures.manifest.command
        for result, figures in of_type(results, PassageFigures)
    }
    names = {name: COLLECTIONS[command] for name, command in made.items() if command in COLLECTIONS}
    return Published(PAPER, CELLS, names, PRETRAINED) if names else None
