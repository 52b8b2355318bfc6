"""What a study reads of its checkpoints without loading the models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from positionbias.core.convergence import Ending
from positionbias.core.files import read_json
from positionbias.evaluation.records import Facts
from positionbias.models.checkpoint import LOG, read_log
from positionbias.models.remedied import trained_folder
from positionbias.models.tensors import FACTS

__all__ = ["as_ended", "checkpoint_facts", "ending_at"]


def as_ended(facts: Facts, *models: Path) -> Facts:
    """Mark facts as unfinished if one of these trainings is; a model that a dry run has not made
    changes nothing.
    """
    unfinished = facts.unfinished or any(ending_at(model).unfinished for model in models)
    return replace(facts, unfinished=unfinished)


def ending_at(model: Path) -> Ending:
    """Return how the training of a checkpoint ended."""
    own = trained_folder(model)
    return read_log(own).ending if (own / LOG).is_file() else Ending()


def checkpoint_facts(model: Path) -> Mapping[str, Any]:
    """Return a checkpoint's own record: kind, shape, re-ranking depth."""
    return read_json(trained_folder(model) / FACTS, what="a checkpoint's facts")
