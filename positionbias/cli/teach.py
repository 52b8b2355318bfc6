"""``posbias teach``: a teacher's scores of training passages, by a model or out of an outside teacher's file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from positionbias.cli.common import (
    all_of,
    emit,
    input_place,
    json_option,
    kind_option,
    model_place,
    out_option,
    output_place,
    overwrite_option,
    ranking_options,
    say,
)
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.core.collection import Collection
    from positionbias.core.teacher_scores import TeacherScores
    from positionbias.results.result import Result

__all__ = ["teach"]

_teacher_options = all_of(
    click.option(
        "--model",
        help="The teacher: a checkpoint; a model of transformers or sentence-transformers (a folder, a hub id, minilm); or your own "
        "module:function.",
    ),
    kind_option,
    click.option(
        "--scores",
        metavar="FILE",
        help="Instead of --model, the scores of a teacher that runs elsewhere: a TREC run, lines of query, passage and score, or "
        "published margins.",
    ),
    click.option(
        "--order-only",
        is_flag=True,
        help="With --scores: they mean nothing but their order. Such a teacher can be learnt from by ranknet.",
    ),
    click.option(
        "--only-known",
        is_flag=True,
        help="With --scores: leave out, and count, those of queries and passages that the collection has not.",
    ),
)
_what_options = all_of(
    click.option("--split", help="Whose queries. [default: train, or those that --trainset speaks of]"),
    click.option("--candidates", metavar="RUN", help="Score these, and each query's passages judged relevant."),
    click.option("--trainset", metavar="DIR", help="Score exactly the pairs of a training set, instead of --candidates."),
    click.option("--depth", type=click.IntRange(min=1), help="Candidates of a query to score. [default: all]"),
    click.option(
        "--relevant-from",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Grade from which a passage counts as relevant, with --candidates.",
    ),
    click.option(
        "--block-pairs",
        type=click.IntRange(min=1),
        help="Pairs scored and saved together: what an interruption costs at most. [default: 16384, or 1048576 for a model that encodes "
        "passages for themselves]",
    ),
    click.option("--name", help="What the teacher is called. [default: the checkpoint's name, or the file's]"),
)


@dataclass(frozen=True)
class _Asked:
    """What the command was given, but for where it computes."""

    collection: str
    model: str | None
    kind: str | None
    scores: str | None
    order_only: bool
    only_known: bool
    split: str | None
    candidates: str | None
    trainset: str | None
    depth: int | None
    relevant_from: int
    block_pairs: int | None
    name: str | None
    overwrite: bool


@click.command()
@click.argument("collection")
@_teacher_options
@_what_options
@ranking_options
@out_option(what="The scores, a folder.")
@overwrite_option
@json_option
def teach(out: str, computing: Computing, as_json: bool, **given: object) -> None:
    """A teacher's scores of the passages that a student of COLLECTION learns from. Interrupted, the same command goes on.

    \b
      posbias teach msmarco --model teacher.ckpt --candidates train.run --depth 100 --out scores
      posbias train bert_dot msmarco --loss kl --teacher-scores scores --out student.ckpt

    Or only the pairs of a training set:

    \b
      posbias teach msmarco --model teacher.ckpt --trainset sets/plain --out scores
      posbias train tk msmarco --loss margin_mse --trainset sets/plain --teacher-scores scores --out student.ckpt

    A teacher that runs elsewhere writes a file, of lines with six columns (query Q0 passage rank score tag), three (query passage score)
    or five (positive_score negative_score query positive negative). Of a ranking whose scores are made up, the order is left:

    \b
      posbias teach msmarco --scores commercial.run --order-only --out scores
      posbias train bert_dot msmarco --loss ranknet --teacher-scores scores --out student.ckpt
    """
    from positionbias.core.collection import find_collection

    asked = _Asked(**given)  # type: ignore[arg-type]
    _check(asked)
    collection, place = find_collection(asked.collection), output_place(out)
    if asked.scores is not None:
        from positionbias.ranking.outside_teacher import take_in

        taught = take_in(
            collection,
            asked.split or "train",
            input_place(asked.scores),
            place,
            order_only=asked.order_only,
            only_known=asked.only_known,
            name=asked.name,
            overwrite=asked.overwrite,
        )
    else:
        taught = _by_model(asked, collection, place, computing)
    result = _result(taught, collection)
    emit([result], as_json=as_json, table=lambda: _text(result))
    loss = "ranknet" if taught.order_only else "margin_mse"
    say(
        f"written to {place}; next: posbias train bert_dot {asked.collection} --loss {loss} --teacher-scores {out} --out STUDENT"
    )


def _check(asked: _Asked) -> None:
    """Whether the options go together.

    Raises:
        SettingError: they do not.
    """
    from positionbias.core.errors import SettingError

    def one_of(flags: str, one: object, other: object) -> None:
        if (one is None) == (other is None):
            raise SettingError(f"{flags}: wanted one of the two; found {'neither' if one is None else 'both'}; give one")

    one_of("--model, --scores", asked.model, asked.scores)
    if asked.model is not None:
        one_of("--candidates, --trainset", asked.candidates, asked.trainset)
    candidates, trainset = {"--candidates": asked.candidates}, {"--trainset": asked.trainset}
    depth, split = {"--depth": asked.depth}, {"--split": asked.split}
    running = {"--kind": asked.kind, "--block-pairs": asked.block_pairs}
    elsewhere = {"--order-only": asked.order_only, "--only-known": asked.only_known}
    for beside, given, why, options in (
        ("--scores", asked.scores, "has its own pairs", {**candidates, **trainset, **depth, **running}),
        ("--model", asked.model, "scores what it is given", elsewhere),
        ("--trainset", asked.trainset, "says which pairs of which splits", {**depth, **split}),
    ):
        idle = next((flag for flag, value in options.items() if value), None)
        if given is not None and idle is not None:
            raise SettingError(f"{idle}: wanted none beside {beside}, which {why}; found one; leave it out")


def _by_model(asked: _Asked, collection: Collection, place: Path, computing: Computing) -> TeacherScores:
    from positionbias.core.groups import Groups
    from positionbias.models.checkpoint import load_checkpoint
    from positionbias.ranking.teach import teach as score
    from positionbias.ranking.teach import teach_groups

    model = load_checkpoint(model_place(str(asked.model)), asked.kind)
    model.model.to(computing.pick_device())
    if asked.trainset is not None:
        taught = teach_groups(
            model,
            collection,
            Groups(input_place(asked.trainset)),
            place,
            name=asked.name,
            config=computing.config,
            block_pairs=asked.block_pairs,
            overwrite=asked.overwrite,
        )
    else:
        taught = score(
            model,
            collection,
            asked.split or "train",
            input_place(str(asked.candidates)),
            place,
            depth=asked.depth,
            relevant_from=asked.relevant_from,
            name=asked.name,
            config=computing.config,
            block_pairs=asked.block_pairs,
            overwrite=asked.overwrite,
        )
    assert taught.manifest is not None
    if (tokens := taught.manifest.provenance["batch_tokens"]) is not None:
        say(f"the device's memory was too small for the batches: went on with {tokens:,} tokens a batch")
    return taught


_ALWAYS = ("queries", "pairs", "mean score", "least score", "greatest score")  # shown also where they are 0


def _result(taught: TeacherScores, collection: Collection) -> Result:
    """What was counted as a Result; its value is the mean score, None of a teacher with an order only."""
    from positionbias.results.artefacts import TEACHING, TeachingFigures
    from positionbias.results.result import Result

    assert taught.manifest is not None
    figures = TeachingFigures.of_facts(taught.manifest.content)
    split = "+".join(taught.splits)
    return Result(TEACHING, collection.name, split, taught.name, None, figures.mean, None, figures.queries, figures)


def _text(result: Result) -> str:
    from positionbias.report.collection_text import aligned
    from positionbias.results.artefacts import TeachingFigures

    figures = result.payload
    assert isinstance(figures, TeachingFigures)
    told = [
        (label, f"{value:,}" if isinstance(value, int) else f"{value:.4f}")
        for label, value in figures.to_rows().items()
        if (value or label in _ALWAYS) and not isinstance(value, bool)
    ]
    if figures.order_only:
        told.append(("scores", "their order only"))
    return aligned(told, left=1)
