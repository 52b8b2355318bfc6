"""``posbias study contamination``: what a teacher that was trained on the test does to its students."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import all_of, out_option, stated
from positionbias.cli.quick import DEPTH, quick_study_option
from positionbias.cli.settings_options import settings_options
from positionbias.cli.studies.common import Running, keys, run_options, runs_by_split, seeds_option
from positionbias.cli.studies.models import Decorator, model_options, models_of
from positionbias.firststage.settings import PRESETS, Bm25Settings
from positionbias.models.kinds import KINDS

if TYPE_CHECKING:
    from positionbias.studies.model_settings import ModelSettings

__all__ = ["contamination"]

# as in the paper; a model that is none over an encoder keeps its own learning rate
PAPER = {"schedule": "linear", "warmup_share": 0.1, "models": ("bert_cat", "bert_dot")}

_split_options: Decorator = all_of(
    click.option("--targets", multiple=True, required=True, metavar="SPLIT", help="Test queries, judged; may be given again."),
    click.option("--source", default="train", show_default=True, metavar="SPLIT", help="Training queries."),
    click.option(
        "--contaminate",
        "contaminating",
        multiple=True,
        metavar="SPLIT",
        help="A target that a teacher is contaminated with; may be given again. [default: each target, a teacher for each]",
    ),
    click.option(
        "--validation", metavar="SPLIT", help="Held-out training queries, to stop trainings early. [default: none, all epochs]"
    ),
    click.option(
        "--relevant-from",
        type=int,
        default=1,
        show_default=True,
        help="Grade from which a passage is relevant to a training or validation query.",
    ),
    click.option(
        "--target-relevant-from",
        type=int,
        default=2,
        show_default=True,
        help="Grade from which a passage is relevant to a test query, in measures and in contaminated training sets.",
    ),
)
_teacher_options: Decorator = all_of(
    click.option(
        "--teacher",
        type=click.Choice(list(KINDS)),
        default="bert_cat",
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
    click.option(
        "--losses",
        multiple=True,
        default=("margin_mse", "kl", "ranknet:8:0.5"),
        show_default=True,
        metavar="LOSS[:GROUP[:PART]]",
        help="How students learn; with passages a group instead of --group-size, and the part of the steps; may be given again.",
    ),
    click.option(
        "--negatives",
        type=click.Choice(["teacher", "candidates"]),
        default="teacher",
        show_default=True,
        help="Where a student's negatives stand: first in its teacher's order, or among the candidates, the same for all teachers.",
    ),
)
_dose_options: Decorator = all_of(
    click.option(
        "--shares",
        multiple=True,
        type=float,
        default=(0.25, 0.5),
        show_default=True,
        help="Teachers contaminated with a share of one target's queries, for the curve; may be given again.",
    ),
    click.option("--no-doses", is_flag=True, help="No --shares, no curve."),
    click.option("--dose-target", metavar="SPLIT", help="The target of the curve. [default: the first to contaminate with]"),
    click.option("--dose-student", type=click.Choice(list(KINDS)), help="The student of the curve. [default: the first]"),
    click.option("--dose-loss", help="Its loss. [default: kl, or the first]"),
)
_measuring_options: Decorator = all_of(
    seeds_option,
    click.option(
        "--epochs", type=int, help="Passes over the training groups, at most. [default: 1, or as many as --max-steps takes]"
    ),
    click.option(
        "--teacher-queries",
        type=int,
        help="Training queries whose judgements teachers are trained on, drawn by --seed. [default: all]",
    ),
    click.option(
        "--student-queries",
        type=int,
        help="Training queries that teachers score and students learn from, drawn by --seed. [default: all]",
    ),
    click.option("--depth", type=int, default=100, show_default=True, help="Candidates a test query; all are re-ranked."),
    click.option(
        "--train-depth",
        type=int,
        default=100,
        show_default=True,
        help="Candidates a training query: those that a teacher scores, and negatives are drawn from.",
    ),
    settings_options(Bm25Settings, **asdict(PRESETS["robertson"])),
    click.option(
        "--candidates", multiple=True, metavar="SPLIT=RUN", help="A run to take instead of BM25's; may be given again."
    ),
)


@click.command(context_settings={"default_map": PAPER})
@click.argument("collection")
@_split_options
@out_option(what="The study, a folder.")
@_teacher_options
@model_options
@_dose_options
@_measuring_options
@quick_study_option(
    "KL alone, no doses, 3,000 training queries for the teachers and 1,000 for the students, 10 candidates a query",
    losses=("kl",),
    no_doses=True,
    teacher_queries=3_000,
    student_queries=1_000,
    depth=DEPTH,
    train_depth=DEPTH,
)
@run_options
def contamination(
    collection: str,
    running: Running,
    seed: int,
    seeds: tuple[int, ...],
    **given: Any,
) -> None:
    """Does a teacher that was trained on a test of COLLECTION make its students look better on it?

    Trains teachers without and with the judgements of each target, has each score the training queries' candidates, trains students on
    those scores alone, and re-ranks every target's candidates with all of them. Targets of other corpora are merged with the source first
    (posbias merge --apart).

    \b
      posbias study contamination msmarco --targets dl19 --targets dl20 --encoder minilm --out contaminated
      posbias encoder planted --out small-bert
      posbias study contamination planted --targets test --targets validation --target-relevant-from 1 --encoder small-bert --models tk …
    """  # fmt: skip
    from positionbias.core.collection import find_collection
    from positionbias.studies.contamination import contamination as run_study
    from positionbias.studies.contamination_settings import ContaminationSettings, Distillation

    if stated("shares"):
        given["no_doses"] = given["no_doses"] and stated("no_doses")
    shares = given.pop("shares")
    named: dict[str, Any] = {
        "contaminating": given.pop("contaminating") or None,
        "losses": tuple(map(Distillation.read, given.pop("losses"))),
        "shares": () if given.pop("no_doses") else shares,
        "bm25": Bm25Settings(given.pop("k1"), given.pop("b")),
        "candidates": runs_by_split(given.pop("candidates")),
    }
    teacher, repeated = _teacher_of(given), keys(seeds, seed, quick=given["quick"])
    own = {name: given.pop(name) for name in ContaminationSettings.__dataclass_fields__ if name in given}
    students = models_of(given, depth=own["train_depth"], quick_steps=False)
    found = find_collection(collection)
    settings = ContaminationSettings(teacher=teacher, students=students, seeds=repeated, seed=seed, **named, **own)
    running.run(lambda shop: run_study(found, settings, shop), found.name)


def _teacher_of(given: dict[str, Any]) -> ModelSettings:
    """The teacher, begun and trained as the students but for what it has of its own; its options are taken out of ``given``."""
    from positionbias.core.errors import SettingError
    from positionbias.models.kinds import begins_with
    from positionbias.studies.model_settings import with_assignments

    kind, encoder, assignments = given.pop("teacher"), given.pop("teacher_encoder"), given.pop("teacher_assignments")
    beginning = begins_with(kind)
    if encoder and beginning != "encoder":
        raise SettingError(f"--teacher-encoder: wanted a teacher that it is for; found {kind}; leave it out")
    begun = {
        "models": (kind,),
        "encoder": (encoder or given["encoder"]) if beginning == "encoder" else None,
        "word_vectors": given["word_vectors"] if beginning == "words" else None,
    }
    (teacher,) = models_of({**given, **begun, "starts": (), "assignments": ()}, depth=given["train_depth"], quick_steps=False)
    (settled,) = with_assignments((teacher,), assignments, flag="--teacher-set")
    if given["encoder"] and not encoder and not any(begins_with(model) == "encoder" for model in given["models"]):
        given["encoder"] = None  # it was the teacher's alone
    return settled
