"""Build the initial model of a training: new, over an encoder, or from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.seeds import key64
from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.kinds import begins_with, model_over
from positionbias.models.protocols import Ranker
from positionbias.training.from_words import model_of_words
from positionbias.training.plan import TrainPlan, check_loss


def build_model(collection: Collection, plan: TrainPlan) -> tuple[Ranker, Mapping[str, int]]:
    """Return the model before its first step, on the CPU, and counts of its making. Depends only on
    plan and collection.

    Raises:
        InputError: word vectors, an encoder or a checkpoint that cannot be used.
        SettingError: the checkpoint to start from is of another kind or shape.
    """
    start = _start(plan)
    # nn.Module initialises from the global generator: seeded here, and restored after
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key64(plan.training.seed, "initial weights") % 2**63)
        if begins_with(plan.kind) != "encoder":
            return model_of_words(collection, plan, start)
        if start is not None:
            return start, {}
        assert plan.encoder is not None
        return model_over(plan.kind, plan.model, plan.encoder), {}


def _start(plan: TrainPlan) -> Ranker | None:
    if plan.start is None:
        return None
    model = load_checkpoint(plan.start).ranker
    if model.kind != plan.kind:
        raise SettingError(
            f"--start: wanted a checkpoint of kind {plan.kind}; found {model.kind}; give another"
        )
    if plan.model not in (None, model.config):
        raise SettingError(
            f"--start: wanted a checkpoint of the shape asked for; found {model.config}; ask for "
            "no other"
        )
    check_loss(str(plan.training.loss), model.kind, model.config)
    return model
