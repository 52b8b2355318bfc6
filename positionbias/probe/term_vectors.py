"""Get a model's term vectors, and probe a whole model on a collection's passages.

The vector of a term is the one that enters the model's cosine matrix: for TK, gated and
contextualised [our decision]. An encoder's terms are word pieces, and the vectors their states
after a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import TermEncoder
from positionbias.models.term_layers import term_encoder
from positionbias.probe.ats import AtsCurve, average_term_similarity
from positionbias.probe.encode import EncodedPassages, encode_passages
from positionbias.probe.passages import sample_passages
from positionbias.probe.settings import ProbeSettings
from positionbias.text.vocabulary import UNKNOWN


class TermVectors(NamedTuple):
    """One entry per word of the passages: vocabulary number, position in its passage, number of its
    passage, vector ``(n, dim)``.
    """

    terms: np.ndarray
    positions: np.ndarray
    passages: np.ndarray
    vectors: np.ndarray


class Probed(NamedTuple):
    """A model, or a layer of one, probed on ``passages``: ``words`` were read, ``unknown`` ones of
    them left out; ``at_limit`` passages reach the model's length limit.
    """

    system: str
    curve: AtsCurve
    passages: int
    at_limit: int
    words: int
    unknown: int


def term_vectors(encoded: EncodedPassages, layer: int = 0) -> TermVectors:
    """Return the words of encoded passages, as ``average_term_similarity`` takes them; ``layer``
    indexes the encoded layers.

    The vectors are not copied.
    """
    lengths = np.diff(encoded.offsets)
    passages = np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)
    positions = (np.arange(len(encoded.terms)) - np.repeat(encoded.offsets[:-1], lengths)).astype(
        np.int32
    )
    return TermVectors(encoded.terms, positions, passages, encoded.vectors[layer])


def probe_model(
    checkpoint: Checkpoint,
    collection: Collection,
    settings: ProbeSettings = ProbeSettings(),
    *,
    system: str = "",
) -> list[Probed]:
    """Encode the passages (all, or the number in the settings) and measure ATS and MATS of the
    checkpoint's model.

    One for each of the layers of an encoder, named "NAME layer 3" (0: the embeddings; None: only
    the last, by the plain name); for TK one.

    Raises:
        SettingError: a model without term vectors, or without a named layer.
        InputError: a term vector is not finite.
    """
    model, name = term_encoder(checkpoint.model, settings.probe_layers), system or checkpoint.name
    systems = (
        [name]
        if settings.probe_layers is None
        else [f"{name} layer {layer}" for layer in model.term_layers]
    )
    passage_ids = sample_passages(collection, settings.probe_passages, settings.seed)
    return probe(model, collection, passage_ids, settings, systems=systems)


def probe(
    model: TermEncoder,
    collection: Collection,
    passage_ids: Sequence[str],
    settings: ProbeSettings,
    *,
    systems: Sequence[str],
) -> list[Probed]:
    """Probe a loaded model on given passages, as ``probe_model``; ``systems`` names each of the
    model's layers.
    """
    probed = []
    with encode_passages(
        model, collection, passage_ids, description=f"probing {systems[0]}"
    ) as encoded:
        for layer, system in enumerate(systems):
            words = term_vectors(encoded, layer)
            probed.append(
                Probed(
                    system,
                    average_term_similarity(*words, settings),
                    passages=len(passage_ids),
                    at_limit=encoded.truncated,
                    words=len(words.terms),
                    unknown=int((words.terms == UNKNOWN).sum()),
                )
            )
    return probed
