"""What is looked at while training: nDCG@10 on validation queries at the best re-ranking depth, and MATS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.collection import find_collection as _open
from positionbias.core.errors import InputError
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seeds import generator
from positionbias.evaluation.depth import tune_depth
from positionbias.models.protocols import TermInteractionModel
from positionbias.probe.ats import average_term_similarity, mats_figures
from positionbias.probe.term_vectors import term_vectors
from positionbias.ranking.encode import encode_passages
from positionbias.ranking.rerank import rescore

__all__ = ["Validation", "original_of", "probe_sample", "validate"]


@dataclass(frozen=True, slots=True)
class Validation:
    """What a model is validated on: queries with judgements and candidates, and the passages on which MATS is logged."""

    collection: Collection
    queries: Sequence[Query]
    qrels: Sequence[Qrel]
    candidates: Run
    probe_collection: Collection
    probe_ids: Sequence[str]


def original_of(collection: Collection) -> Collection:
    """The original of a rotated collection where its manifest leads to one that is still there; else itself."""
    source = collection.manifest.input("original")
    if source is None:
        return collection
    try:
        original = _open(collection.path / source.path)
    except InputError:
        return collection
    return original if original.checksum == source.checksum else collection


def probe_sample(collection: Collection, size: int, seed: int) -> list[str]:
    """A fixed sample of passages, keyed by the seed: the same ids for a collection and its rotation."""
    ids = sorted(collection.passage_ids())
    chosen = generator(seed, "probe sample").permutation(len(ids))[:size]
    return [ids[index] for index in sorted(chosen.tolist())]


def validate(
    model: TermInteractionModel, validation: Validation, *, most_depth: int, every_depth: bool = False
) -> dict[str, float | None]:
    """nDCG@10 at the best depth (``depth``), and MATS of the probe's passages.

    Depths 5, 10 … while training, every depth when ``every_depth`` (at the end).
    """
    rescored = rescore(
        model, validation.collection, validation.queries, validation.candidates, name="validation", description="validating"
    )
    deepest = min(most_depth, validation.candidates.depth)
    depths = range(1, deepest + 1) if every_depth else sorted({*range(5, deepest + 1, 5), deepest})
    choice = tune_depth(validation.candidates, rescored.run, validation.qrels, list(depths))
    return {"ndcg": choice.value, "depth": float(choice.depth), "mats": _mats(model, validation)}


def _mats(model: TermInteractionModel, validation: Validation) -> float | None:
    if not validation.probe_ids:
        return None
    with encode_passages(model, validation.probe_collection, validation.probe_ids, description="probing") as encoded:
        terms, positions, passages, vectors = term_vectors(encoded)
        curve = average_term_similarity(terms, positions, passages, np.asarray(vectors))
    value = mats_figures(curve)["mats"]
    return None if value is None else float(value)
