"""A model as a function from texts to vectors, which is all that looking for leakage asks of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.cli.common import Ranking, model_place

if TYPE_CHECKING:
    import numpy as np

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
    import numpy as np
    import torch

    from positionbias.core.errors import SettingError
    from positionbias.models.protocols import PassageEncoder
    from positionbias.ranking.batches import TokenBudget

    model = checkpoint.model
    wanted = f"--encoder: wanted a model with one vector a text (a bi-encoder); found {checkpoint.name}, of kind {model.kind}"
    if not isinstance(model, PassageEncoder):
        raise SettingError(f"{wanted}; give another, or --kind bi-encoder for a plain encoder")
    budget = TokenBudget(ranking.config.tokens(model.device))

    def encode(texts: Sequence[str]) -> np.ndarray:
        rows = model.read_queries(texts)
        out: list[np.ndarray | None] = [None] * len(texts)

        def work(batch: np.ndarray) -> None:
            vectors, mask = model.encode_queries([rows[index] for index in batch])
            if vectors.shape[1] != 1 or not bool(mask.all()):
                raise SettingError(f"{wanted}, with {vectors.shape[1]} of some; give another")
            for index, vector in zip(batch.tolist(), vectors[:, 0].float().cpu().numpy(), strict=True):
                out[index] = vector

        with torch.inference_mode(), ranking.config.autocast(model.device):
            budget.work(np.fromiter(map(len, rows), np.int64, len(rows)), work)
        return np.stack([vector for vector in out if vector is not None])

    return encode
