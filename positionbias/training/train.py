"""Train any kind of model, from a collection and a plan to a checkpoint with its manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from positionbias.core.collection import Collection, find_collection
from positionbias.core.groups import group_queries
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    package_versions,
    provenance,
)
from positionbias.core.outcome import Written, hint_written
from positionbias.core.places import Place, model_place, pasted, placed
from positionbias.core.progress import say, set_quiet
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Qrel, relevant_passages
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from positionbias.models.kinds import begins_with, has_term_vectors
from positionbias.models.offset import check_offsets
from positionbias.models.torch_threads import torch_threads
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import RotatedTexts
from positionbias.probe.passages import original_collection, sample_passages
from positionbias.ranking.score import known_queries
from positionbias.text.splitter import USUAL_WORDS, remark_other_splitter
from positionbias.training.batches import TrainingTexts
from positionbias.training.build import build_model
from positionbias.training.devices import Devices, find_devices
from positionbias.training.loop import forget_state, train
from positionbias.training.measured import training_rows
from positionbias.training.plan import INPUTS, TrainPlan
from positionbias.training.planned import settings_of, splits_of
from positionbias.training.record import Row, Trained, untimed
from positionbias.training.state import Towards, find_state
from positionbias.training.trainsets.sample import GroupSource
from positionbias.training.trainsets.source import group_source
from positionbias.training.validation import Validation


def train_model(
    collection: Collection,
    plan: TrainPlan,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_validation: Callable[[Row], None] = lambda row: None,
    tracker: str | None = None,
) -> Checkpoint:
    """Train a model by ``plan`` and write its checkpoint to ``out``.

    In several processes (``accelerate launch``, ``torchrun``) all must make this call, and all must
    see ``out``; only the main one calls ``on_validation``.

    Raises:
        InputError: candidates that do not fit collection and split, nothing to resume, or settings
            that differ from those it began with.
        OutputExistsError: ``out`` or an unfinished training towards it exists.
        SettingError: a precision that the device lacks, a training that diverged, or a batch that
            does not fit in memory.
        DependencyError: ``tracker`` without its package.
    """
    refuse_existing(out, overwrite=overwrite)
    towards = Towards(out, settings_of(plan, collection), resume)
    devices = find_devices(plan.training.precision, tracker, out.parent / "tensorboard")
    with torch_threads(plan.training.threads):
        _train(collection, plan, towards, devices, on_validation, overwrite)
    devices.wait()
    return load_checkpoint(out)


def _train(
    collection: Collection,
    plan: TrainPlan,
    towards: Towards,
    devices: Devices,
    on_validation: Callable[[Row], None],
    overwrite: bool,
) -> None:
    # report faults now, not after the words were counted or when a batch draws an unknown passage
    find_state(towards)
    validation_candidates = (
        None if plan.validation_candidates is None else Run.from_file(plan.validation_candidates)
    )
    if validation_candidates is not None:
        collection.require(plan.validation_split, flag="--validation-split")
        collection.rows(validation_candidates.passage_ids)
        known_queries(validation_candidates, collection.queries(plan.validation_split))
    _remark_splitters(collection, plan)
    groups = group_source(collection, plan)
    texts = TrainingTexts(
        collection,
        group_queries(collection, splits_of(plan)),
        groups,
        reading=plan.reading,
        turned=Rotation(seed=plan.training.seed) if plan.training.consistency else None,
    )
    model, counted = build_model(collection, plan)
    if plan.training.offset_positions:
        check_offsets(model)
    with devices.own_generator():
        validation = (
            None
            if validation_candidates is None
            else _validation(collection, validation_candidates, plan)
        )
        record = train(
            model, texts, validation, plan.training, towards, devices, on_validation=on_validation
        )
    if devices.main:
        facts = {"training_seconds": round(record.seconds, 1), **devices.facts()}
        content = {**_content(counted, groups, record), **_overlap(collection, plan, groups)}
        manifest = _manifest(collection, plan, towards.settings, content, towards.out, facts)
        log: JsonObject = {
            "log": untimed(record.log),
            "best_step": record.best_step,
            "stopped": record.stopped,
            "ending": asdict(record.ending()),
        }
        save_checkpoint(
            towards.out,
            model,
            depth=record.depth,
            training=log,
            manifest=manifest,
            timed_log=record.log,
            base=plan.encoder if plan.encoder and not Path(plan.encoder).is_dir() else None,
            overwrite=overwrite,
        )
        forget_state(towards.out)


def _validation(collection: Collection, candidates: Run, plan: TrainPlan) -> Validation:
    training = plan.training
    # MATS is always logged on passages of the original collection, so that trainings can be
    # compared
    looked_at = training.probe_passages if has_term_vectors(plan.kind) else 0
    probed = original_collection(collection) if looked_at else collection
    return Validation(
        # validation text follows the training text [decision]
        RotatedTexts(collection, reading) if (reading := plan.reading) is not None else collection,
        collection.queries(plan.validation_split),
        [
            Qrel(q.query_id, q.passage_id, q.grade if q.grade >= plan.relevant_from else 0)
            for q in collection.qrels(plan.validation_split)
        ],
        candidates,
        probed,
        sample_passages(probed, looked_at, training.seed) if looked_at else [],
    )


def _overlap(collection: Collection, plan: TrainPlan, groups: GroupSource) -> dict[str, int]:
    """Count the validation queries with a relevant passage, and those with one that is also a
    training positive.
    """
    if plan.validation_candidates is None:
        return {}
    relevant = relevant_passages(collection.qrels(plan.validation_split), plan.relevant_from)
    seen = groups.positives_among(
        {passage_id for passages in relevant.values() for passage_id in passages}
    )
    overlap = sum(not seen.isdisjoint(passages) for passages in relevant.values())
    return {"validation_queries": len(relevant), "validation_queries_seen": overlap}


def _content(counted: Mapping[str, int], groups: GroupSource, record: Trained) -> JsonObject:
    return {
        **counted,
        "training_groups": len(groups),
        "groups_without_negatives": groups.left_out,
        "groups_without_their_passage": groups.absent,
        "groups_with_an_empty_side": record.dropped,
        "steps": record.step,
        "best_step": record.best_step,
        "weights": "the last" if record.best_ndcg is None else "the best on validation",
        "validation_ndcg@10": record.ndcg,
        "first_stage_ndcg@10": record.first_stage,
        "depth": record.depth,
        "stopped": record.stopped,
    }


def _remark_splitters(collection: Collection, plan: TrainPlan) -> None:
    """Remark if the collection was rotated, or the vectors' words were split, by another splitter
    than this machine has.
    """
    remark_other_splitter(collection.path, collection.manifest.versions)
    vectors = None if plan.word_vectors is None else manifest_if_any(plan.word_vectors)
    if vectors is not None:
        remark_other_splitter(plan.word_vectors, vectors.versions)


def _manifest(
    collection: Collection,
    plan: TrainPlan,
    settings: JsonObject,
    content: JsonObject,
    out: Path,
    facts: JsonObject,
) -> Manifest:
    inputs = [input_ref("collection", collection.path, collection.checksum, artefact=out)]
    for role in INPUTS:
        path = getattr(plan, role)
        if path is not None:
            inputs.append(input_ref(role, path, str(settings[role]), artefact=out))
    licences = [collection.manifest.licence]
    if (
        plan.start is not None
        and (begun := load_checkpoint(plan.start).manifest.licence) not in licences
    ):
        licences.append(f"{begun} (the checkpoint that it started from)")
    reading = (
        ("transformers", "tokenizers") if begins_with(plan.kind) == "encoder" else (USUAL_WORDS,)
    )
    return Manifest(
        kind="checkpoint",
        name=out.name.split(".")[0],
        command=f"train {plan.kind}",
        settings={k: v for k, v in settings.items() if k not in {*INPUTS, "collection"}},
        seed=plan.training.seed,
        inputs=tuple(inputs),
        content=content,
        licence="; ".join(filter(None, licences)),
        versions=package_versions("torch", "numpy", *reading, "accelerate"),
        provenance=provenance(**{**plan.training.means(), **facts}),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Training(Written):
    """A trained model, where it stands, and how its validations went."""

    model: Checkpoint


def train_checkpoint(
    collection: CollectionLike,
    plan: TrainPlan,
    out: Place,
    *,
    tracker: str | None,
    resume: bool,
    overwrite: bool,
) -> Training | None:
    """Train by a plan whose places are as users give them; say how it goes, and what is to be known
    of the model. None in all but the main of several processes.

    Raises:
        InputError: a file of the plan is not there; else as ``train_model``.
    """
    main = os.environ.get("RANK", "0") == "0"  # one of several processes says what there is to say
    if not main:
        set_quiet(True)
    if plan.encoder is not None:
        plan = replace(plan, encoder=str(model_place(plan.encoder)))
    plan = placed(plan, INPUTS)
    opened, place = find_collection(collection), Path(out)
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
    hint_written(
        place,
        f"next: posbias rerank --model {pasted(place)} {pasted(opened.path)} --split test "
        "--candidates RUN --out RUN2",
    )
    made = Collected({"study": "training", "collection": opened.name, "model": checkpoint.name})
    training_rows(made, place, seed=plan.training.seed)
    return Training(place, checkpoint, rows=made.rows)


def _leave_group() -> None:
    """Several processes take leave of each other; else torch complains at the end."""
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
