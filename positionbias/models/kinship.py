"""Find whether one model is another, or was made of the same weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from positionbias.models.checkpoint import Checkpoint
from positionbias.models.user_code import code_of

# Of each weight matrix the first rows are compared. Training changes weights little, and those of
# independent trainings are uncorrelated: over 256 numbers or more, a correlation beyond 0.5 is
# eight standard deviations from 0 [decision].
ROWS, LEAST, ALIKE = 64, 256, 0.5


def kinship(chooser: Checkpoint, audited: Checkpoint | Callable[..., Any]) -> str:
    """Describe what a model that chooses evidence has in common with an audited one; empty if
    nothing.

    Checkpoints are compared by their checksums and weights, functions as objects: what a function
    calls is unknown.
    """
    codes = [
        code_of(model.model) if isinstance(model, Checkpoint) else model
        for model in (chooser, audited)
    ]
    if any(code is not None for code in codes) or not isinstance(audited, Checkpoint):
        return "is audited itself" if codes[0] is codes[1] else ""
    if chooser.manifest.checksum and chooser.manifest.checksum == audited.manifest.checksum:
        return "is audited itself"
    if shares_weights(chooser.model, audited.model):
        return f"shares weights with {audited.name}"
    return ""


def shares_weights(model: Any, other: Any) -> bool:
    """Return True if some weight matrix of one model correlates with one of the same shape of the
    other, whatever their names. What has no weights shares none.
    """
    samples, others = weight_samples(model), weight_samples(other)
    return any(
        float((samples[shape] @ others[shape].T).abs().max()) > ALIKE
        for shape in samples.keys() & others.keys()
    )


def weight_samples(model: Any) -> dict[torch.Size, Tensor]:
    """Return the first rows of a model's matrices less their column means, as unit vectors
    ``(matrices, numbers)``, by shape.
    """
    modules = (part for part in (model, *vars(model).values()) if isinstance(part, torch.nn.Module))
    module = next(modules, None)
    samples: dict[torch.Size, list[Tensor]] = {}
    for matrix in module.parameters() if module is not None else ():
        if matrix.ndim == 2 and matrix[:ROWS].numel() >= LEAST:
            part = matrix.detach()[:ROWS].to("cpu", torch.float32)
            samples.setdefault(part.shape, []).append((part - part.mean(dim=0)).flatten())
    return {
        shape: torch.nn.functional.normalize(torch.stack(parts)) for shape, parts in samples.items()
    }
