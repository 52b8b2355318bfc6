"""A model as a function from texts to vectors, which is all that looking for leakage asks of one."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from positionbias.cli.common import Ranking, model_place, say

if TYPE_CHECKING:
    from positionbias.leakage.kept_vectors import KeptVectors
    from positionbias.leakage.nearest import Encode
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["Semantic", "encode_function", "open_encoder", "open_semantic", "say_kept"]


@dataclass(frozen=True, slots=True)
class Semantic:
    """What looks for pairs by meaning: a model, its vectors of queries, the cosine from which a pair counts, and what that rests on, in words."""

    model: Checkpoint
    vectors: KeptVectors
    threshold: float
    told: str


def open_semantic(name: str, kind: str | None, ranking: Ranking, threshold: float | None) -> Semantic:
    """An encoder with the threshold that was given, or else with its own.

    Raises:
        InputError: no such model.
        SettingError: one that gives a text no single vector, or no threshold for an encoder whose cosines nobody has labelled.
    """
    from positionbias.leakage.thresholds import known_threshold, threshold_for

    model, vectors = open_encoder(name, kind, ranking)
    chosen = threshold_for(name, checksum := model.manifest.content["checksum"], threshold)
    known = known_threshold(name, checksum) if threshold is None else None
    told = known.told() if known else f"cosine from {chosen:g} ({model.name}), as given: precision unknown"
    return Semantic(model, vectors, chosen, told)


def open_encoder(name: str, kind: str | None, ranking: Ranking) -> tuple[Checkpoint, KeptVectors]:
    """The model of this name on its device, and its vectors of queries, which are kept for the next command.

    Raises:
        InputError: no such model.
        SettingError: one that gives a text no single vector.
    """
    from positionbias.leakage.kept_vectors import KeptVectors
    from positionbias.models.checkpoint import load_checkpoint, shape_of

    checkpoint = load_checkpoint(model_place(name), kind)
    checkpoint.model.to(ranking.device)
    read_as = {**shape_of(checkpoint.model), "checksum": checkpoint.manifest.content["checksum"]}
    read_as |= {"device": ranking.device.type, "precision": str(ranking.config.dtype(ranking.device))}
    return checkpoint, KeptVectors(encode_function(checkpoint, ranking), json.dumps(read_as, sort_keys=True, default=str))


def encode_function(checkpoint: Checkpoint, ranking: Ranking) -> Encode:
    """Texts to their vectors as queries, ``(n, dim)`` float32, in batches of alike length.

    Raises:
        SettingError: the model is no encoder with one vector a text.
    """
    from positionbias.dense.single_vectors import SingleVectors

    return SingleVectors(checkpoint, ranking.config, flag="--encoder").queries


def say_kept(vectors: KeptVectors) -> None:
    """How many queries were encoded, how many had been before, and where their vectors are."""
    say(f"{vectors.made:,} texts encoded, {vectors.reused:,} reused; vectors kept in {vectors.folder}")
