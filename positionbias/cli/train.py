"""``posbias train``: a re-ranker from a collection and candidates."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from positionbias.cli.before import say_before, yes_option
from positionbias.cli.common import (
    all_of,
    emit,
    input_place,
    json_option,
    model_place,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
    stated,
)
from positionbias.cli.quick import quick_train_option, settle_warm_up
from positionbias.cli.settings_options import settings_options
from positionbias.cli.training_options import encoder_option, training_options, vectors_option
from positionbias.core.settings import flag_of
from positionbias.models.kinds import KINDS, Kind, kind_named
from positionbias.training.config import TrainConfig

__all__ = ["train"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


@click.group()
def train() -> None:
    """Train a re-ranker.

    Several GPUs, or machines that share a file system: accelerate launch --no_python posbias train …
    """


_data_options: Decorator = all_of(
    click.argument("collection"),
    click.option("--candidates", metavar="RUN", help="Over the training queries: negatives are drawn from it."),
    click.option("--trainset", metavar="DIR", help="Training groups to take as they are, instead of --candidates."),
    click.option(
        "--teacher-scores",
        metavar="FILE",
        help="A teacher's scores (posbias teach; or a run, or a TSV), for losses that read them; alone, negatives come from its ranking.",
    ),
    click.option(
        "--teacher-depth", type=int, help="First passages in the teacher's order that negatives are drawn from. [default: 100]"
    ),
    click.option(
        "--validation-candidates",
        metavar="RUN",
        help="Over the validation queries; without them all steps are made, and the last weights are kept.",
    ),
    out_option(what="The checkpoint, a folder."),
    click.option("--split", help="Queries to train on. [default: train, or those that --trainset speaks of]"),
    click.option("--validation-split", default="validation", show_default=True, help="Queries to validate on."),
    click.option("--rotate", is_flag=True, help="Rotate every passage anew at each read in training."),
    click.option(
        "--relevant-from", type=int, default=1, show_default=True, help="Grade from which a passage counts as relevant."
    ),
    click.option("--start", metavar="CHECKPOINT", help="A checkpoint of this kind to go on from: its weights, and its shape."),
)
_training_options: Decorator = all_of(
    training_options,
    settings_options(TrainConfig, "epochs", "loss", "margin", "temperature", "most_depth"),
    click.option("--tensorboard", metavar="DIR", help="Also log there, for TensorBoard."),
    click.option("--resume", is_flag=True, help="Continue an interrupted training with the same settings."),
    seed_option(),
    overwrite_option,
    quick_train_option,
    yes_option,
    json_option,
)


def _train(kind: str, given: dict[str, Any]) -> None:
    from positionbias.core.collection import find_collection
    from positionbias.core.progress import set_quiet
    from positionbias.training.train import train_model, training_result

    main = os.environ.get("RANK", "0") == "0"  # one of several processes says what there is to say
    if not main:
        set_quiet(True)
    collection, place, as_json = given.pop("collection"), output_place(given.pop("out")), given.pop("as_json")
    resume, overwrite, board, yes = (given.pop(name) for name in ("resume", "overwrite", "tensorboard", "yes"))
    given.pop("quick")
    plan = _plan(kind, given)
    found = find_collection(collection)
    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    checkpoint = train_model(
        found,
        plan,
        place,
        resume=resume,
        overwrite=overwrite,
        before=lambda: _say_before(found, plan, place, yes=yes) if alone else None,
        on_validation=lambda row: _say_row(row),
        tensorboard=Path(board) / place.stem if board else None,
    )
    _leave_group()
    if not main:
        return
    content, ending = checkpoint.manifest.content, checkpoint.ending
    say(
        f"{content['training_groups']:,} training groups; left out: {content['groups_without_negatives']:,} without a candidate to "
        f"set against them, {content['groups_without_their_passage']:,} whose passage is not in the collection, "
        f"{content['groups_with_an_empty_side']:,} reads with an empty side"
    )
    from positionbias.results.payloads import TrainingNotes

    notes = TrainingNotes.of_facts(content)
    if (seen := notes.validation_queries_seen) and (queries := notes.validation_queries):
        say(
            f"{seen:,} of {queries:,} validation queries ({seen / queries:.1%}) have a relevant passage that is a training positive too: early stopping and "
            "the depth are tuned on passages that were trained on; posbias import --validation N --validation-by passage draws others"
        )
    if plan.word_vectors:
        say(f"{content['words_with_a_given_vector']:,} of {content['words']:,} words started from a given vector")
    ended = f"stopped after {content['steps']:,} steps: {content['stopped']}; written to {place}"
    if plan.validation_candidates is None:
        kept = (
            f"not validated: the weights of the last step, {content['best_step']:,}, are kept, and no re-ranking depth is tuned"
        )
    else:
        kept = (
            f"nDCG@10 on {plan.validation_split}: {ending.ndcg:.4f} at re-ranking depth {ending.depth} with the weights of step "
            f"{content['best_step']:,}, first stage {ending.first_stage:.4f}"
        )
    for remark in ending.remarks():
        say(f"{checkpoint.name}: {remark}")
    emit([training_result(checkpoint, found.name)], as_json=as_json, table=lambda: f"{kept}; {ended}")
    say(f"next: posbias rerank --model {place} {collection} --split test --candidates RUN --out RUN2")


def _say_before(found: Any, plan: Any, place: Path, *, yes: bool) -> None:
    from positionbias.studies.estimate import Estimator, training
    from positionbias.training.state import unfinished

    work, _ = training(found, plan, unfinished(place))
    seconds = Estimator({}).seconds(work)
    say_before(f"training of {work.amount:,.0f} steps", seconds, yes=yes, shorter="--quick is a small one")


def _plan(kind: str, given: dict[str, Any]) -> Any:
    """The plan that a command's options describe."""
    from positionbias.core.errors import SettingError
    from positionbias.positions.rotate import Rotation
    from positionbias.training.train import TrainPlan

    found = kind_named(kind)
    shape: Any = found.shape
    own = {name: given.pop(name) for name in shape.__dataclass_fields__ if name in given}
    settle_warm_up(given)
    seed, rotate = given["seed"], given.pop("rotate")
    training = TrainConfig(**{name: given.pop(name) for name in TrainConfig.__dataclass_fields__ if name in given})
    for name in ("candidates", "trainset", "teacher_scores", "validation_candidates", "start", "word_vectors"):
        if given.get(name) is not None:
            given[name] = input_place(given[name], flag=flag_of(name))
    if found.encoder and given["encoder"] is None and given["start"] is None:
        given["encoder"] = found.encoder
    if given.get("encoder") is not None:
        given["encoder"] = str(model_place(given["encoder"]))
    if training.epochs is not None and stated("max_steps"):
        raise SettingError(
            f"--epochs, --max-steps: wanted one of the two; found {training.epochs} and {training.max_steps}; give one"
        )
    if given["validation_candidates"] is None and stated("validation_queries"):
        raise SettingError(
            f"--validation-queries: wanted --validation-candidates beside it; found {training.validation_queries} alone; give both"
        )
    asked = [name for name in own if stated(name)]
    if given["start"] is not None and asked:
        flag = f"--{asked[0].replace('_', '-')}"
        raise SettingError(f"{flag}: wanted no shape beside --start, which has its own; found {own[asked[0]]}; leave it out")
    if kind == "bert_cat" and training.loss == "pointwise":
        own["head"] = "relevance"
    model = shape(**own) if given["start"] is None else None
    return TrainPlan(kind=kind, model=model, training=training, rotate=Rotation(seed=seed) if rotate else None, **given)


def _command(name: str, kind: Kind) -> click.Command:
    """The training command of a kind."""
    beginning = {"words": (vectors_option,), "encoder": (encoder_option(kind), settings_options(TrainConfig, "dropout"))}
    probed = (settings_options(TrainConfig, "probe_passages"),) if name == "tk" else ()
    options = (_data_options, *beginning.get(kind.beginning, ()), _training_options, *probed, settings_options(kind.shape))

    def run(**given: Any) -> None:
        _train(name, given)

    return click.command(name, help=kind.about)(all_of(*options)(run))


for name, kind in KINDS.items():
    train.add_command(_command(name, kind))


def _leave_group() -> None:
    """Several processes take leave of each other; else torch complains at the end."""
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _say_row(row: Any) -> None:
    parts = [f"step {row['step']:,}"]
    for key, label in (
        ("loss", "loss"),
        ("pair_accuracy", "pair accuracy"),
        ("score_margin", "margin"),
        ("ndcg", "nDCG@10"),
        ("mats", "MATS"),
    ):
        if row[key] is not None:
            at = f" (depth {row['depth']:.0f})" if key == "ndcg" else ""
            parts.append(f"{label} {row[key]:.4f}{at}")
    if row["pairs_per_second"] is not None:
        parts.append(f"{row['pairs_per_second']:,.1f} pairs/s")
    say("  ".join(parts))
