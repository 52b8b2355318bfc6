"""A model as a function from texts to vectors, which is all that looking for leakage asks of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from positionbias.cli.common import Ranking, model_place

if TYPE_CHECKING:
    from positionbias.leakage.nearest import Encode
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["encode_function", "open_encoder"]


def open_encoder(name: str, kind: str | None, ranking: Ranking) -> tuple[Checkpoint, Encode]:
    """The model of this name on its device, and its vectors of queries.

    Raises:
        InputError: no such model.
        SettingError: one that gives a text no single vector.
    """
    from positionbias.models.checkpoint import load_checkpoint

    checkpoint = load_checkpoint(model_place(name), kind)
    checkpoint.model.to(ranking.device)
    return checkpoint, encode_function(checkpoint, ranking)


def encode_function(checkpoint: Checkpoint, ranking: Ranking) -> Encode:
    """Texts to their vectors as queries, ``(n, dim)`` float32, in batches of alike length.

    Raises:
        SettingError: the model is no encoder with one vector a text.
    """
    from positionbias.dense.single_vectors import SingleVectors

    return SingleVectors(checkpoint, ranking.config, flag="--encoder").queries
