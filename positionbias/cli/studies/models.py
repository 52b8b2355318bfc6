"""The options that say which models a study trains, and what is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import Decorator, all_of
from positionbias.cli.quick import quick_models, settle_warm_up
from positionbias.cli.settings_options import OneOf
from positionbias.cli.training_options import embedding_option, training_options
from positionbias.core.places import input_place, model_place
from positionbias.models.kinds import KINDS

if TYPE_CHECKING:
    from positionbias.experiments.model_settings import ModelSettings

__all__ = ["model_options", "models_of", "starts_of", "teacher_of", "teacher_options"]

_SET = "may be given again; a training's or a shape's setting, without MODEL for all models that have it"
model_options: Decorator = all_of(
    click.option(
        "--models", multiple=True, default=("tk",), show_default=True, help=f"Of {', '.join(KINDS)}; may be given again."
    ),
    click.option("--encoder", metavar="PATH|ID", help="What models over an encoder start from: a folder, a hub id, or minilm."),
    click.option(
        "--word-vectors", metavar="FILE", help="What models of words start from (not duet); without them words start at random."
    ),
    click.option(
        "--start",
        "starts",
        multiple=True,
        metavar="MODEL=CHECKPOINT",
        help="A checkpoint that a model goes on from, instead; may be given again.",
    ),
    training_options,
    embedding_option,
    click.option(
        "--set", "assignments", multiple=True, metavar="[MODEL.]SETTING=VALUE", help=f"As bert_cat.batch_size=16; {_SET}."
    ),
)


def teacher_options(kind: str) -> Decorator:
    """The options that say which model others learn from, by default one of this kind."""
    return all_of(
        click.option(
            "--teacher",
            type=OneOf(KINDS),
            default=kind,
            show_default=True,
            help="The kind of the teachers. --models are the students.",
        ),
        click.option(
            "--teacher-encoder", metavar="PATH|ID", help="What a teacher over an encoder starts from. [default: --encoder]"
        ),
        click.option(
            "--teacher-set",
            "teacher_assignments",
            multiple=True,
            metavar="SETTING=VALUE",
            help="As learning_rate=3e-5: a setting of the teacher's training or shape; may be given again. --set is for students.",
        ),
    )


def teacher_of(given: dict[str, Any], *, depth: int, quick_steps: bool) -> ModelSettings:
    """The teacher, begun and trained as the students but for what it has of its own; its options are taken out of ``given``."""
    from positionbias.core.errors import SettingError
    from positionbias.experiments.model_settings import with_assignments
    from positionbias.models.kinds import begins_with

    kind, encoder, assignments = given.pop("teacher"), given.pop("teacher_encoder"), given.pop("teacher_assignments")
    beginning = begins_with(kind)
    if encoder and beginning != "encoder":
        raise SettingError(f"--teacher-encoder: wanted a teacher that it is for; found {kind}; leave it out")
    begun = {
        "models": (kind,),
        "encoder": (encoder or given["encoder"]) if beginning == "encoder" else None,
        "word_vectors": given["word_vectors"] if beginning == "words" else None,
    }
    (teacher,) = models_of({**given, **begun, "starts": (), "assignments": ()}, depth=depth, quick_steps=quick_steps)
    (settled,) = with_assignments((teacher,), assignments, flag="--teacher-set")
    if given["encoder"] and not encoder and not any(begins_with(model) == "encoder" for model in given["models"]):
        given["encoder"] = None  # it was the teacher's alone
    return settled


def models_of(
    given: dict[str, Any],
    *,
    depth: int,
    quick_steps: bool = True,
    own_encoders: bool = False,
    decided: Mapping[str, str] = MappingProxyType({}),
) -> tuple[ModelSettings, ...]:
    """The models that ``model_options`` describe; what belongs to them is taken out of ``given``.

    ``quick_steps``: whether --quick sets how many steps they are trained. ``own_encoders``: a model may be KIND=ENCODER, and
    one over an encoder says what it begins with. ``decided`` as in ``with_assignments``.
    """
    from positionbias.core.errors import SettingError
    from positionbias.experiments.model_settings import ModelSettings, with_assignments
    from positionbias.models.kinds import begins_with, config_class
    from positionbias.training.config import TrainConfig

    texts, encoder, vectors = given.pop("models"), given.pop("encoder"), given.pop("word_vectors")
    asked = [text.partition("=") if own_encoders else (text, "", "") for text in texts]
    kinds = [kind for kind, _, _ in asked]
    quick = given.pop("quick")
    settle_warm_up(given)
    names = [name for name in TrainConfig.__dataclass_fields__ if name in given and name not in ("seed", "probe_passages")]
    training = TrainConfig(most_depth=depth, **{name: given.pop(name) for name in names})
    deviation = given.pop("embedding_deviation")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        known = ", ".join(KINDS) + ", or KIND=ENCODER" * own_encoders
        raise SettingError(f"--models: wanted some of {known}; found {unknown[0]!r}; give one of these")
    starts = starts_of(given.pop("starts"), kinds)
    models, flags = [], set()
    for kind, equals, own in asked:
        beginning, start = begins_with(kind), None if own else starts.get(kind)
        if equals and (beginning != "encoder" or not own):
            raise SettingError(f"--models: wanted KIND=ENCODER of a model over an encoder; found {kind}={own}; write it so")
        begun = (own or encoder) if beginning == "encoder" and start is None else None
        if own_encoders and beginning == "encoder" and not (begun or start):
            wanted = f"what {kind} begins with ({kind}=ENCODER, --encoder or --start {kind}=CHECKPOINT)"
            raise SettingError(f"--models: wanted {wanted}; found none; give one of these")
        shape = {"embedding_deviation": deviation} if beginning == "words" else {}
        models.append(
            ModelSettings(
                kind,
                config_class(kind)(**shape) if start is None else None,
                training,
                word_vectors=_file(vectors) if vectors and beginning == "words" else None,
                encoder=str(model_place(begun)) if begun else None,
                start=start,
            )
        )
        flags |= {"--word-vectors"} if beginning == "words" else {"--encoder"} if begun and not own else set()
    for flag, value in (("--word-vectors", vectors), ("--encoder", encoder)):
        if value and flag not in flags:
            raise SettingError(f"{flag}: wanted a model that it is for; found {', '.join(texts)}; leave it out")
    if idle := next((kind for kind in starts if not any(model.kind == kind and model.start for model in models)), None):
        raise SettingError(f"--start: wanted a model without an encoder of its own; found {idle}=ENCODER; give one of the two")
    trained = quick_models(models, steps=quick_steps) if quick else models
    return with_assignments(trained, given.pop("assignments"), decided=decided)


def _there(name: str) -> Path:
    """A file that trainings begin with; a missing one shows before the study begins, not at its training."""
    from positionbias.core.errors import bad_input

    if not (place := input_place(name)).exists():
        raise bad_input(place, wanted="weights or word vectors to begin with", found="no such file", do="check the path")
    return place


def _file(name: str) -> Path:
    from positionbias.core.errors import bad_input

    if (place := _there(name)).is_dir():
        raise bad_input(
            place, wanted="a file of word vectors", found="a folder", do="give the file in it, or posbias vectors distil"
        )
    return place


def starts_of(texts: Sequence[str], kinds: Sequence[str]) -> dict[str, Path]:
    """The checkpoints that ``--start MODEL=CHECKPOINT`` names, by model.

    Raises:
        SettingError: another form, a model that is not in the study, one model twice.
        InputError: there is no such file or folder.
    """
    from positionbias.core.errors import SettingError

    starts = {}
    for text in texts:
        kind, equals, place = text.partition("=")
        if not equals or kind not in kinds:
            raise SettingError(
                f"--start: wanted MODEL=CHECKPOINT with a model of the study ({', '.join(kinds)}); found {text!r}; write it so"
            )
        if kind in starts:
            raise SettingError(f"--start: wanted one checkpoint a model; found two of {kind!r}; drop one")
        starts[kind] = _there(place)
    return starts
