"""A model's term vectors, and the probe of a whole model on a collection's passages.

The vector of a term is the one that enters the model's cosine matrix: for TK, gated and contextualised [our decision].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.result import Result
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import TermEncoder
from positionbias.probe.ats import average_term_similarity, check_settings
from positionbias.probe.passages import sample_passages
from positionbias.probe.sums import PairMode
from positionbias.ranking.encode import EncodedPassages, encode_passages
from positionbias.text.vocabulary import UNKNOWN

__all__ = ["TermVectors", "probe", "probe_model", "term_vectors"]


class TermVectors(NamedTuple):
    """One entry a word of the passages: vocabulary number, position in its passage, number of its passage, vector ``(n, dim)``."""

    terms: np.ndarray
    positions: np.ndarray
    passages: np.ndarray
    vectors: np.ndarray


def term_vectors(encoded: EncodedPassages) -> TermVectors:
    """The words of encoded passages, as ``average_term_similarity`` takes them; the vectors stay where they are."""
    lengths = np.diff(encoded.offsets)
    passages = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    positions = (np.arange(len(encoded.terms)) - np.repeat(encoded.offsets[:-1], lengths)).astype(np.int32)
    return TermVectors(encoded.terms, positions, passages, encoded.vectors)


def probe_model(
    checkpoint: Checkpoint,
    collection: Collection,
    *,
    passages: int | None = None,
    pairs: PairMode = "different",
    minimum_terms: int = 20,
    sample_pairs: int = 2_000,
    seed: int = 1,
    system: str | None = None,
) -> Result:
    """Encode the passages (or ``passages`` of them, drawn by the seed) and measure ATS and MATS of the checkpoint's model.

    The Result's value is MATS as printed (position-bias paper, Eq. 9); its payload the whole ATS curve.

    Raises:
        SettingError: a setting out of range, or a model without term vectors.
        InputError: a term vector is not finite.
    """
    check_settings(pairs=pairs, minimum_terms=minimum_terms, sample_pairs=sample_pairs)
    model = checkpoint.model
    if not isinstance(model, TermEncoder):
        raise SettingError(
            f"--model: wanted a model whose passage vectors are its words', as tk's; found {checkpoint.path}, of kind {model.kind}; "
            "give another"
        )
    return probe(
        model,
        collection,
        sample_passages(collection, passages, seed),
        system=system or checkpoint.name,
        pairs=pairs,
        minimum_terms=minimum_terms,
        sample_pairs=sample_pairs,
        seed=seed,
    )


def probe(
    model: TermEncoder,
    collection: Collection,
    passage_ids: Sequence[str],
    *,
    system: str,
    pairs: PairMode = "different",
    minimum_terms: int = 20,
    sample_pairs: int = 2_000,
    seed: int = 1,
) -> Result:
    """As ``probe_model``, for a model at hand and given passages."""
    with encode_passages(model, collection, passage_ids, description=f"probing {system}") as encoded:
        words = term_vectors(encoded)
        curve = average_term_similarity(*words, pairs=pairs, minimum_terms=minimum_terms, sample_pairs=sample_pairs, seed=seed)
        read = {
            "passages": len(passage_ids),
            "passages_at_length_limit": encoded.truncated,
            "words": len(words.terms),
            "words_unknown": int((words.terms == UNKNOWN).sum()),
        }
    return Result(
        measure="MATS",
        collection=collection.name,
        split="",
        system=system,
        seed=seed,
        value=curve.figures["mats"],
        interval=None,
        count=len(passage_ids),
        payload=replace(curve, figures={**curve.figures, **read}),
    )
