"""What a plan trains on, and what a manifest records of it."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.json_text import JsonObject
from positionbias.models.encoder_source import encoder_folder
from positionbias.models.identity import model_checksum
from positionbias.ranking.teacher_scores import open_teacher_scores
from positionbias.training.plan import TrainPlan

# settings recorded only where given
_OPTIONAL = (
    "validation_candidates",
    "trainset",
    "teacher_scores",
    "teacher_depth",
    "split",
    "words_of",
    "encoder",
    "start",
    "shuffle",
)


def splits_of(plan: TrainPlan) -> tuple[str, ...]:
    """Return the splits whose queries are trained on: those of the training set, if there is
    one.

    Raises:
        InputError: the training set does not exist.
    """
    if plan.trainset is not None:
        return Groups(plan.trainset).splits
    assert plan.split is not None
    return (plan.split,)


def settings_of(plan: TrainPlan, collection: Collection) -> JsonObject:
    """Return the settings for the manifest and the resumable state, with checksums instead of
    paths.

    Raises:
        InputError: a file does not exist.
    """
    record = {f.name: getattr(plan, f.name) for f in fields(plan)}
    record["model"] = None if plan.model is None else asdict(plan.model)
    record["training"] = plan.training.deciding()
    for name in ("rotate", "shuffle"):
        record[name] = None if record[name] is None else asdict(record[name])
    if plan.teacher_scores is not None:
        record["teacher_scores"] = open_teacher_scores(plan.teacher_scores).checksum
    for name in ("candidates", "validation_candidates", "word_vectors"):
        path = record[name]
        if path is not None and not Path(path).is_file():
            raise bad_input(
                path, wanted="a readable file", found="no such file", do="check the path"
            )
        record[name] = sha256_file(path) if path is not None else None
    if plan.trainset is not None:
        record["trainset"] = Groups(plan.trainset).checksum
    if plan.start is not None:
        if not Path(plan.start).is_dir():
            raise bad_input(
                plan.start,
                wanted="the folder of a checkpoint",
                found="no such folder",
                do="check the path",
            )
        record["start"] = model_checksum(plan.start)
    if plan.encoder is not None:
        record["encoder"] = _encoder_facts(plan.encoder)
    record["collection"] = collection.checksum
    return {
        name: value for name, value in record.items() if value is not None or name not in _OPTIONAL
    }


def _encoder_facts(name: str) -> dict[str, str]:
    """Return an encoder's record for settings: its name (the last part of a folder), and the
    checksum of all its files.
    """
    checksum = model_checksum(encoder_folder(name))
    return {"name": Path(name).name if Path(name).is_dir() else name, "checksum": checksum}
