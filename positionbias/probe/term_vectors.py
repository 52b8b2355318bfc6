"""A model's term vectors, and the probe of a whole model on a collection's passages.

The vector of a term is the one that enters the model's cosine matrix: for TK, gated and contextualised [our decision]. Of an encoder
the terms are word pieces, and the vectors their states after a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import TermEncoder
from positionbias.models.term_layers import AllLayers, term_encoder
from positionbias.probe.ats import average_term_similarity, check_settings
from positionbias.probe.encode import EncodedPassages, encode_passages
from positionbias.probe.passages import sample_passages
from positionbias.probe.sums import PairMode
from positionbias.results.result import Result
from positionbias.text.vocabulary import UNKNOWN

__all__ = ["TermVectors", "probe", "probe_model", "term_vectors"]


class TermVectors(NamedTuple):
    """One entry a word of the passages: vocabulary number, position in its passage, number of its passage, vector ``(n, dim)``."""

    terms: np.ndarray
    positions: np.ndarray
    passages: np.ndarray
    vectors: np.ndarray


def term_vectors(encoded: EncodedPassages, layer: int = 0) -> TermVectors:
    """The words of encoded passages, as ``average_term_similarity`` takes them; ``layer`` is a place among those encoded.

    The vectors stay where they are.
    """
    lengths = np.diff(encoded.offsets)
    passages = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    positions = (np.arange(len(encoded.terms)) - np.repeat(encoded.offsets[:-1], lengths)).astype(np.int32)
    return TermVectors(encoded.terms, positions, passages, encoded.vectors[layer])


def probe_model(
    checkpoint: Checkpoint,
    collection: Collection,
    *,
    layers: Sequence[int] | AllLayers | None = None,
    passages: int | None = None,
    pairs: PairMode = "different",
    minimum_terms: int = 20,
    sample_pairs: int = 2_000,
    seed: int = 1,
    system: str | None = None,
) -> list[Result]:
    """Encode the passages (or ``passages`` of them, drawn by the seed) and measure ATS and MATS of the checkpoint's model.

    One Result for each of ``layers`` of an encoder, its system named "NAME layer 3" (0: the embeddings; None: only the last, by the
    plain name); for TK one. A Result's value is MATS as printed (position-bias paper, Eq. 9); its payload the whole ATS curve.

    Raises:
        SettingError: a setting out of range, a model without term vectors, or a layer that it has not.
        InputError: a term vector is not finite.
    """
    check_settings(pairs=pairs, minimum_terms=minimum_terms, sample_pairs=sample_pairs)
    model, name = term_encoder(checkpoint.model, layers), system or checkpoint.name
    return probe(
        model,
        collection,
        sample_passages(collection, passages, seed),
        systems=[name] if layers is None else [f"{name} layer {layer}" for layer in model.term_layers],
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
    systems: Sequence[str],
    pairs: PairMode = "different",
    minimum_terms: int = 20,
    sample_pairs: int = 2_000,
    seed: int = 1,
) -> list[Result]:
    """As ``probe_model``, for a model at hand and given passages; ``systems`` names each of the model's layers."""
    results = []
    with encode_passages(model, collection, passage_ids, description=f"probing {systems[0]}") as encoded:
        for layer, system in enumerate(systems):
            words = term_vectors(encoded, layer)
            curve = average_term_similarity(
                *words, pairs=pairs, minimum_terms=minimum_terms, sample_pairs=sample_pairs, seed=seed
            )
            read = {
                "passages": len(passage_ids),
                "passages_at_length_limit": encoded.truncated,
                "words": len(words.terms),
                "words_unknown": int((words.terms == UNKNOWN).sum()),
            }
            results.append(
                Result(
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
            )
    return results
