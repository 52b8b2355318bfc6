"""Re-rankers trained, and what a teacher's scores are for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from positionbias.core.errors import SettingError
from positionbias.core.extras import check_models
from positionbias.core.operation import Out, Overwrite, Source, operation
from positionbias.core.outcome import Written
from positionbias.core.places import Place, input_place, model_place, output_place, pasted
from positionbias.core.progress import hint, say, set_quiet
from positionbias.core.settings import (
    Setting,
    check_settings,
    declared_setting,
    flag_of,
    given_flags,
    setting,
)
from positionbias.engine.choose import Engine
from positionbias.models.kinds import READ_AS
from positionbias.ranking.config import Computing, TaughtPassages
from positionbias.ranking.workers import model_workers
from positionbias.training.config import TRACKERS
from positionbias.training.plan import INPUTS, TrainPlan

if TYPE_CHECKING:
    from pandas import DataFrame

    from positionbias.core.collection import Collection
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.ranking.teacher_scores import TeacherScores
    from positionbias.training.record import Row

__all__ = ["Taught", "Teacher", "Training", "teach", "train"]

S = TypeVar("S", TrainPlan, TaughtPassages)


@dataclass(frozen=True, slots=True, repr=False)
class Training(Written):
    """A trained model, where it stands, and how its validations went."""

    model: Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Teacher:
    """The source of the scores: a model, or the file of a teacher that runs elsewhere."""

    model: Place | None = setting(
        None,
        "The teacher: a checkpoint; a model of transformers or sentence-transformers (a folder, a "
        "hub id, minilm); your own module:object; or an endpoint, as openai:NAME@URL, "
        "rerank:NAME@URL or chat:NAME@URL.",
        metavar="MODEL",
        place="read",
    )
    kind: str | None = declared_setting(None, READ_AS)
    scores: Place | None = setting(
        None,
        "Instead of --model, the scores of a teacher that runs elsewhere: a TREC run, lines of "
        "query, passage and score, or published margins.",
        metavar="FILE",
        place="read",
    )
    order_only: bool = setting(
        False,
        "With --scores: they mean nothing but their order. Such a teacher can be learnt from by "
        "ranknet.",
    )
    only_known: bool = setting(
        False,
        "With --scores: leave out, and count, those of queries and passages that the collection "
        "has not.",
        shown=False,
    )
    name: str | None = setting(
        None,
        "What the teacher is called.",
        absent="the checkpoint's name, or the file's",
        shown=True,
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True, repr=False)
class Taught(Written):
    """A teacher's scores, where they stand, and what was counted."""

    scores: TeacherScores


@operation
def train(
    collection: Source,
    plan: TrainPlan,
    *,
    tracker: Annotated[
        str | None,
        Setting(
            "Also log to this tracker; TensorBoard's events lie in the folder tensorboard beside "
            "--out.",
            choices=TRACKERS,
            shown=False,
        ),
    ] = None,
    resume: Annotated[
        bool, Setting("Continue an interrupted training with the same settings.")
    ] = False,
    out: Out,
    overwrite: Overwrite = False,
) -> Training | None:
    """Train a re-ranker on ``collection``.

    Started by ``accelerate launch`` or ``torchrun``, every process calls this; ``out`` is a place
    that all of them see.

    Returns:
        The model, and rows of how its training went; None in all but the main process.

    Raises:
        SettingError: a precision that the device has not, a training that diverged, a batch that
            memory has no room for.
        InputError: candidates that do not fit collection and split, nothing to resume, other
            settings than it began with.
        OutputExistsError: ``out``, or an unfinished training towards it, stands there.
        DependencyError: ``tracker`` without its package.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import TrainConfig, TrainPlan
        >>> short = TrainConfig(max_steps=2, validate_every=1, batch_size=4, probe_passages=9)
        >>> plan = TrainPlan(
        ...     kind="tk",
        ...     candidates="train.run",
        ...     validation_candidates="validation.run",
        ...     training=short,
        ... )
        >>> print(pb.train("planted", plan, out="new.ckpt"))
        nDCG@10 on validation: 0.7...
        stopped after 2 steps: 2 steps
    """
    check_models("a training")
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.training.measured import training_rows
    from positionbias.training.train import train_model

    main = os.environ.get("RANK", "0") == "0"  # one of several processes says what there is to say
    if not main:
        set_quiet(True)
    if plan.encoder is not None:
        plan = replace(plan, encoder=str(model_place(plan.encoder)))
    opened, place, plan = find_collection(collection), output_place(out), _placed(plan, INPUTS)
    checkpoint = train_model(
        opened,
        plan,
        place,
        resume=resume,
        overwrite=overwrite,
        on_validation=lambda row: _say_row(row),
        tracker=tracker,
    )
    _leave_group()
    if not main:
        return None
    for line in _remarks(checkpoint, plan):
        say(line)
    hint(
        f"written to {pasted(place)}; "
        f"next: posbias rerank --model {pasted(place)} {pasted(opened.path)} --split test "
        "--candidates RUN --out RUN2"
    )
    made = Collected({"study": "training", "collection": opened.name, "model": checkpoint.name})
    training_rows(made, place, seed=plan.training.seed)
    return Training(place, checkpoint, rows=made.rows)


def _placed(settings: S, names: Iterable[str]) -> S:
    """The settings with the named files and folders where they are.

    Raises:
        InputError: one of them is not there; its flag is named.
    """
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
    found: dict[str, Any] = {
        name: input_place(value, flag=flag_of(name)) for name, value in given.items()
    }
    return replace(settings, **found)


def _leave_group() -> None:
    """Several processes take leave of each other; else torch complains at the end."""
    import torch

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


def _remarks(checkpoint: Checkpoint, plan: TrainPlan) -> Sequence[str]:
    """Return remarks on the counts and on the model."""
    content = checkpoint.manifest.content
    lines = [
        f"{content['training_groups']:,} training groups; left out: "
        f"{content['groups_without_negatives']:,} without a candidate to set against them, "
        f"{content['groups_without_their_passage']:,} whose passage is not in the collection, "
        f"{content['groups_with_an_empty_side']:,} reads with an empty side"
    ]
    seen, queries = (
        checkpoint.manifest.content_as(int, f"validation_queries{which}", 0)
        for which in ("_seen", "")
    )
    if seen and queries:
        lines.append(
            f"{seen:,} of {queries:,} validation queries ({seen / queries:.1%}) have a relevant "
            "passage that is a training positive too: early stopping and the depth are tuned on "
            "passages that were trained on; posbias import --validation-queries N "
            "--set validation_by=passage draws others"
        )
    if plan.word_vectors:
        lines.append(
            f"{content['words_with_a_given_vector']:,} of {content['words']:,} words started from "
            "a given vector"
        )
    return [*lines, *(f"{checkpoint.name}: {remark}" for remark in checkpoint.ending.remarks())]


def _say_row(row: Row) -> None:
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


@operation
def teach(
    collection: Source,
    *,
    teacher: Teacher,
    passages: TaughtPassages = TaughtPassages(),
    computing: Computing = Computing(),
    engine: Engine = Engine(),
    out: Out,
    overwrite: Overwrite = False,
) -> Taught:
    """Write a teacher's scores of the passages that a student of ``collection`` learns from.

    Interrupted, the same command goes on. Each of the --workers loads the teacher: on a GPU of its
    own while there are enough, on a CPU with its share of the threads.

        posbias model teach msmarco --model teacher.ckpt --candidates train.run --depth 100 \\
                --out scores
        posbias train bert_dot msmarco --loss kl --teacher-scores scores --out student.ckpt

    Or only the pairs of a training set:

        posbias model teach msmarco --model teacher.ckpt --trainset sets/plain --out scores
        posbias train tk msmarco --loss margin_mse --trainset sets/plain --teacher-scores scores \\
                --out student.ckpt

    A teacher that runs elsewhere writes a file, of lines with six columns (query Q0 passage rank
    score tag), three (query passage score) or five (positive_score negative_score query positive
    negative). Of a ranking whose scores are made up, the order is left:

        posbias model teach msmarco --scores commercial.run --order-only --out scores
        posbias train bert_dot msmarco --loss ranknet --teacher-scores scores --out student.ckpt

    Returns:
        The scores, and a result with what was counted; its value is the mean score, None of a
        teacher with an order only.

    Raises:
        SettingError: settings that do not go together, or a device whose memory does not hold one
            text.
        InputError: candidates, groups or scores of queries or passages that are not there, or
            scores that distinguish no passages.
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import TaughtPassages, Teacher
        >>> teacher, passages = (
        ...     Teacher(model="tk.ckpt"),
        ...     TaughtPassages(candidates="train.run", depth=4),
        ... )
        >>> print(pb.teach("planted", teacher=teacher, passages=passages, out="scores"))
        tk: 50 queries, 201 pairs, 1 relevant passages added, mean score ...
    """
    from positionbias.core.collection import find_collection
    from positionbias.ranking.outside_teacher import take_in

    _check(teacher, passages)
    if teacher.scores is not None and (
        idle := next(chain(given_flags(computing), given_flags(engine)), None)
    ):
        raise SettingError(
            f"{idle}: wanted none beside --scores, which are not computed here; found one; leave "
            "it out"
        )
    computing.pick_device()  # a GPU that is not there is said before anything is read
    opened, place = find_collection(collection), output_place(out)
    if teacher.scores is None:
        placed = _placed(passages, ("candidates", "trainset"))
        scores = _by_model(teacher, opened, placed, place, computing, engine, overwrite=overwrite)
    else:
        scores = take_in(
            opened,
            passages.split or "train",
            input_place(teacher.scores),
            place,
            order_only=teacher.order_only,
            only_known=teacher.only_known,
            name=teacher.name,
            overwrite=overwrite,
        )
    loss = "ranknet" if scores.order_only else "margin_mse"
    hint(
        f"written to {pasted(place)}; "
        f"next: posbias train bert_dot {pasted(opened.path)} --loss {loss} --teacher-scores "
        f"{pasted(place)} --out STUDENT"
    )
    return Taught(place, scores, rows=_taught_rows(scores, opened))


def _check(teacher: Teacher, passages: TaughtPassages) -> None:
    """Refuse settings that do not go together.

    Raises:
        SettingError: some do not.
    """

    def one_of(flags: str, one: object, other: object) -> None:
        if (one is None) == (other is None):
            raise SettingError(
                f"{flags}: wanted one of the two; found {'neither' if one is None else 'both'}; "
                "give one"
            )

    one_of("--model, --scores", teacher.model, teacher.scores)
    if teacher.model is not None:
        one_of("--candidates, --trainset", passages.candidates, passages.trainset)
    for beside, given, why, of, idle in (
        (
            "--scores",
            teacher.scores,
            "has its own pairs",
            passages,
            ("candidates", "trainset", "depth", "block_pairs"),
        ),
        ("--scores", teacher.scores, "has its own pairs", teacher, ("kind",)),
        (
            "--model",
            teacher.model,
            "scores what it is given",
            teacher,
            ("order_only", "only_known"),
        ),
        (
            "--trainset",
            passages.trainset,
            "says which pairs of which splits",
            passages,
            ("depth", "split"),
        ),
    ):
        name = next((name for name in idle if getattr(of, name)), None)
        if given is not None and name is not None:
            raise SettingError(
                f"{flag_of(name)}: wanted none beside {beside}, which {why}; found one; leave it "
                "out"
            )


def _by_model(
    teacher: Teacher,
    collection: Collection,
    passages: TaughtPassages,
    place: Path,
    computing: Computing,
    engine: Engine,
    *,
    overwrite: bool,
) -> TeacherScores:
    from positionbias.ranking.teach import teach as score

    assert teacher.model is not None
    loading = computing.loading(teacher.model, teacher.kind)
    model = loading()
    with model_workers(engine, loading, model) as spread:
        scores = score(
            model,
            collection,
            passages,
            place,
            name=teacher.name,
            config=computing.config,
            overwrite=overwrite,
            spread=spread,
        )
    if (
        scores.manifest is not None
        and (tokens := scores.manifest.provenance["batch_tokens"]) is not None
    ):
        say(
            f"the device's memory was too small for the batches: went on with {tokens:,} tokens a "
            "batch"
        )
    return scores


TAUGHT = {  # what is counted -> its name in the manifest of a teacher's scores
    "queries": "queries",
    "pairs": "pairs",
    "training groups": "groups",
    "relevant passages added": "added",
    "relevant passages left out, of queries without candidates": "relevant_without_candidates",
    "relevant passages left out, not in the collection": "relevant_not_in_the_collection",
    "pairs left out, of unknown queries": "pairs_of_unknown_queries",
    "pairs left out, of unknown passages": "pairs_of_unknown_passages",
    "pairs given again with another score": "repeats_that_differ",
    "texts up to the length limit": "truncated",
    "queries without a word": "empty_queries",
}


def _taught_rows(scores: TeacherScores, collection: Collection) -> DataFrame:
    """Return what was counted, and the mean and the range of the scores."""
    from positionbias.core.rows import Collected

    assert scores.manifest is not None
    facts: Mapping[str, Any] = scores.manifest.content
    split = "+".join(scores.splits)
    common = {"study": "teach", "collection": collection.name, "split": split}
    made = Collected({**common, "model": scores.name})
    for name, fact in TAUGHT.items():
        if facts.get(fact) is not None:
            made.add(name, "count", facts[fact])
    for statistic, fact in {"mean": "mean", "least": "least", "greatest": "most"}.items():
        if facts.get(fact) is not None:
            made.add("score", statistic, facts[fact])
    return made.rows
