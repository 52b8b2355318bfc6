"""``posbias train``: a re-ranker from a collection and candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from positionbias.cli.common import (
    emit,
    input_place,
    json_option,
    out_option,
    output_place,
    overwrite_option,
    say,
    seed_option,
    training_options,
)

__all__ = ["train"]


@click.group()
def train() -> None:
    """Train a re-ranker."""


FILE = click.Path(dir_okay=False, path_type=Path)


@train.command()
@click.argument("collection")
@click.option("--candidates", metavar="RUN", help="Over the training queries: negatives are drawn from it.")
@click.option("--trainset", metavar="DIR", help="Training groups to take as they are, instead of --candidates.")
@click.option("--validation-candidates", metavar="RUN", required=True, help="Over the validation queries.")
@out_option(what="The checkpoint, a folder.")
@click.option("--split", default="train", show_default=True, help="Queries to train on.")
@click.option("--validation-split", default="validation", show_default=True, help="Queries to validate on.")
@click.option("--rotate", is_flag=True, help="Rotate every passage anew at each read in training.")
@click.option("--word-vectors", type=FILE, help="GloVe or word2vec text to start from; by default words start at random.")
@click.option("--relevant-from", type=int, default=1, show_default=True, help="Grade from which a passage counts as relevant.")
@training_options
@click.option("--margin", type=float, default=1.0, show_default=True, help="Of the pairwise hinge loss.")
@click.option("--most-depth", type=int, default=100, show_default=True, help="Deepest re-ranking depth tried in validation.")
@click.option("--probe-passages", type=int, default=500, show_default=True, help="Passages on which MATS is logged; 0: none.")
@click.option("--dimension", type=int, default=300, show_default=True, help="Width of word vectors.")
@click.option("--layers", type=int, default=2, show_default=True, help="Transformer layers.")
@click.option("--heads", type=int, default=16, show_default=True, help="Attention heads of a layer.")
@click.option("--head-size", type=int, default=32, show_default=True, help="Width of a head.")
@click.option("--feed-forward", type=int, default=100, show_default=True, help="Width of a layer's feed-forward part.")
@click.option("--query-length", type=int, default=30, show_default=True, help="Words read of a query.")
@click.option("--passage-length", type=int, default=200, show_default=True, help="Words read of a passage.")
@click.option(
    "--kernel-layout",
    type=click.Choice(["reference", "even"]),
    default="reference",
    show_default=True,
    help="Means of the 11 kernels: 1, 0.9, 0.7 … −0.9, or evenly from −1 to 1.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted training with the same settings.")
@seed_option()
@overwrite_option
@json_option
def tk(collection: str, out: str, resume: bool, overwrite: bool, rotate: bool, seed: int, as_json: bool, **given: Any) -> None:
    """TK on COLLECTION with a pairwise hinge loss, stopped early on validation nDCG@10."""
    from positionbias.core.collection import find_collection
    from positionbias.core.groups import Groups
    from positionbias.core.run import read_run
    from positionbias.models.tk import TKConfig
    from positionbias.positions.rotate import Rotation
    from positionbias.training.config import TrainConfig
    from positionbias.training.train import TrainPlan, train_model, training_result

    model = TKConfig(**{name: given.pop(name) for name in TKConfig.__dataclass_fields__ if name in given})
    training = TrainConfig(seed=seed, **{name: given.pop(name) for name in TrainConfig.__dataclass_fields__ if name in given})
    place = output_place(out)
    for name in ("candidates", "trainset", "validation_candidates"):
        given[name] = input_place(given[name]) if given[name] is not None else None
    plan = TrainPlan(model=model, training=training, rotate=Rotation(seed=seed) if rotate else None, **given)
    found = find_collection(collection)
    source = read_run(plan.candidates) if plan.candidates else Groups(str(plan.trainset))
    validation = read_run(plan.validation_candidates)
    checkpoint = train_model(found, source, validation, plan, place, resume=resume, overwrite=overwrite, on_validation=_say_row)
    content = checkpoint.manifest.content
    say(
        f"{content['training_pairs']:,} training pairs; left out: {content['pairs_without_negatives']:,} without a candidate to "
        f"set against them, {content['pairs_without_their_passage']:,} whose passage is not in the collection, "
        f"{content['pairs_with_an_empty_side']:,} reads with an empty side"
    )
    if plan.word_vectors:
        say(f"{content['words_with_a_given_vector']:,} of {content['words']:,} words started from a given vector")
    best = (
        f"best nDCG@10 on {plan.validation_split}: {content['validation_ndcg@10']:.4f} at step {content['best_step']:,} "
        f"(re-ranking depth {checkpoint.depth}); stopped after {content['steps']:,} steps: {content['stopped']}; written to {place}"
    )
    emit([training_result(checkpoint, found.name)], as_json=as_json, table=lambda: best)
    say(f"next: posbias rerank --model {out} {collection} --split test --candidates RUN --out RUN2")


def _say_row(row: Any) -> None:
    parts = [f"step {row['step']:,}"]
    for key, label in (("loss", "loss"), ("ndcg", "nDCG@10"), ("mats", "MATS")):
        if row[key] is not None:
            parts.append(f"{label} {row[key]:.4f}")
    say("  ".join(parts))
