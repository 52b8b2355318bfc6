"""Find whether two models are the same, or have a common base."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from positionbias.models.checkpoint import Checkpoint
from positionbias.models.user_code import code_of

__all__ = ["kinship", "shares_weights"]

_ROWS = 64  # of each matrix that are compared
# numbers: the correlation of this many independent ones is below 0.5 by eight standard deviations
_LEAST = 256
_ALIKE = 0.5  # correlation from which two matrices have a common origin [decision]


def kinship(chooser: Checkpoint, audited: Checkpoint | Callable[..., Any]) -> str:
    """Describe what a model that chooses evidence has in common with an audited one; empty if
    nothing.

    It compares checksums, the start of a training, and the weights themselves (``shares_weights``).
    Functions are compared as objects: what a function calls is unknown.
    """
    own_code, other_code = (
        code_of(one.model) if isinstance(one, Checkpoint) else one for one in (chooser, audited)
    )
    if (
        own_code is not None or other_code is not None or not isinstance(audited, Checkpoint)
    ):  # their checksums are those of files, which may hold several functions
        return "is audited itself" if own_code is other_code else ""
    if chooser.manifest.checksum and chooser.manifest.checksum == audited.manifest.checksum:
        return "is audited itself"
    own, theirs = ({one.manifest.checksum, *_bases(one)} - {""} for one in (chooser, audited))
    if own & theirs or shares_weights(chooser.model, audited.model):
        return f"shares weights with {audited.name}"
    return ""


def _bases(checkpoint: Checkpoint) -> set[str]:
    """Return the checksums of the checkpoint or encoder from which a training started, if any."""
    encoder = checkpoint.manifest.settings.get("encoder")
    named = {str(encoder.get("checksum", ""))} if isinstance(encoder, Mapping) else set()
    return named | {given.checksum for given in checkpoint.manifest.inputs if given.role == "start"}


def shares_weights(model: Any, other: Any) -> bool:
    """Return True if one model was made of the other, or both of a third: some of their weight
    matrices correlate.

    Training changes weights little, and independent trainings share none. It compares the first
    rows of all matrices of the same size, less their column means, whatever their names. A function
    has no weights to compare.
    """
    own, theirs = _samples(model), _samples(other)
    return any(
        float((own[shape] @ theirs[shape].T).abs().max()) > _ALIKE
        for shape in own.keys() & theirs.keys()
    )


def _samples(model: Any) -> dict[tuple[int, int], Tensor]:
    """Return the first rows of a model's matrices as unit vectors, ``(matrices, rows · columns)``,
    by rows and columns.
    """
    weights = next(
        (part for part in (model, *vars(model).values()) if isinstance(part, torch.nn.Module)), None
    )
    found: dict[tuple[int, int], list[Tensor]] = {}
    for matrix in weights.parameters() if weights is not None else ():
        if matrix.ndim == 2 and matrix[:_ROWS].numel() >= _LEAST:
            part = matrix.detach()[:_ROWS].to("cpu", torch.float32)
            found.setdefault((len(part), part.shape[1]), []).append(
                (part - part.mean(dim=0)).flatten()
            )
    return {
        shape: torch.nn.functional.normalize(torch.stack(parts)) for shape, parts in found.items()
    }
