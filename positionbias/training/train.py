"""From a collection and candidates to a checkpoint, whatever the kind of model: the plan, the training, the manifest of it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import refuse_existing
from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.records import Qrel
from positionbias.core.result import Result, TrainingCurve
from positionbias.core.run import Run
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from positionbias.probe.passages import original_collection, sample_passages
from positionbias.ranking.rerank import known_queries
from positionbias.training.build import build_model
from positionbias.training.loop import Trained, TrainingData, forget_state, train
from positionbias.training.plan import INPUTS, TrainPlan
from positionbias.training.state import find_state
from positionbias.training.trainsets.sample import GroupSource, StoredGroups, make_sampler
from positionbias.training.validation import RotatedTexts, Validation

__all__ = ["TrainPlan", "train_model", "training_result"]


def train_model(
    collection: Collection,
    source: Run | Groups,
    validation_candidates: Run,
    plan: TrainPlan,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_validation: Callable[[Mapping[str, float | None]], None] = lambda row: None,
) -> Checkpoint:
    """Train a model and write its checkpoint to ``out``; ``source`` is what ``plan`` names, candidates or a training set.

    Raises:
        InputError: candidates that do not fit collection and split, nothing to resume, other settings than it began with.
        OutputExistsError: ``out``, or an unfinished training towards it, stands there.
    """
    refuse_existing(out, overwrite=overwrite)
    training = plan.training
    settings = plan.settings(collection)
    # whatever is wrong shows now, not when the words have been counted or a batch draws an unknown passage
    find_state(out, settings, resume=resume)
    for run in (source, validation_candidates):
        if isinstance(run, Run):
            collection.rows(run.passage_ids)
    known_queries(validation_candidates, collection.queries(plan.validation_split))
    sampler = _group_source(collection, source, plan)
    data = TrainingData(collection, collection.queries(plan.split), sampler, plan.rotate)
    model, counted = build_model(collection, plan)
    # MATS is logged on passages of the original collection whatever is trained on, so that trainings can be compared
    probed = original_collection(collection) if training.probe_passages else collection
    validation = Validation(
        RotatedTexts(collection, plan.rotate) if plan.rotate else collection,
        collection.queries(plan.validation_split),
        [
            Qrel(q.query_id, q.passage_id, q.grade if q.grade >= plan.relevant_from else 0)
            for q in collection.qrels(plan.validation_split)
        ],
        validation_candidates,
        probed,
        sample_passages(probed, training.probe_passages, training.seed) if training.probe_passages else [],
    )
    record = train(model, data, validation, training, out, settings=settings, resume=resume, on_validation=on_validation)
    manifest = _manifest(collection, plan, settings, sampler, record, counted, out)
    log = {"log": record.log, "best_step": record.best_step, "stopped": record.stopped}
    save_checkpoint(out, model, depth=record.depth, training=log, manifest=manifest, overwrite=overwrite)
    forget_state(out)
    return load_checkpoint(out)


def _group_source(collection: Collection, source: Run | Groups, plan: TrainPlan) -> GroupSource:
    if isinstance(source, Groups):
        if source.split != plan.split or not len(source):
            raise bad_input(
                source.path,
                wanted=f"training groups of split {plan.split!r}",
                found=f"{len(source):,} of {source.split!r}",
                do=f"give --split {source.split}, or another --trainset",
            )
        return StoredGroups(source, seed=plan.training.seed)
    qrels = collection.qrels(plan.split)
    absent = set(collection.absent(list({qrel.passage_id for qrel in qrels})))
    return make_sampler(qrels, source, seed=plan.training.seed, relevant_from=plan.relevant_from, absent=absent)


def training_result(model: Checkpoint, collection: str) -> Result:
    """What was logged at each validation, as a Result; its value is the best validation nDCG@10."""
    log = model.training["log"]
    names = {"loss": "loss", "validation nDCG@10": "ndcg", "MATS": "mats", "pair accuracy": "pair_accuracy", "gate": "gate"}
    content = model.manifest.content
    notes = {key: content[key] for key in ("best_step", "steps", "stopped", "depth", "training_pairs")}
    curve = TrainingCurve(
        [int(row["step"]) for row in log], {label: [row[key] for row in log] for label, key in names.items()}, notes
    )
    best = content["validation_ndcg@10"]
    return Result("training", collection, "validation", model.name, model.manifest.seed, best, None, len(log), curve)


def _manifest(
    collection: Collection,
    plan: TrainPlan,
    settings: Mapping[str, Any],
    sampler: GroupSource,
    record: Trained,
    counted: Mapping[str, Any],
    out: Path,
) -> Manifest:
    inputs = [input_ref("collection", collection.path, collection.checksum, artefact=out)]
    for role in INPUTS:
        path = getattr(plan, role)
        if path is not None:
            inputs.append(input_ref(role, path, settings[role], artefact=out))
    kept = {k: v for k, v in settings.items() if k not in {*INPUTS, "collection"}}
    return Manifest(
        kind="checkpoint",
        name=out.name.split(".")[0],
        command=f"train {plan.kind}",
        settings=kept,
        seed=plan.training.seed,
        inputs=tuple(inputs),
        content={
            **counted,
            "training_pairs": len(sampler),
            "pairs_without_negatives": sampler.left_out,
            "pairs_without_their_passage": sampler.absent,
            "pairs_with_an_empty_side": record.dropped,
            "steps": record.step,
            "best_step": record.best_step,
            "validation_ndcg@10": record.best_ndcg,
            "depth": record.depth,
            "stopped": record.stopped,
        },
        licence=collection.manifest.licence,
        versions=package_versions("torch", "numpy", "blingfire"),
        provenance=provenance(
            training_seconds=round(record.seconds, 1), **{**plan.training.means(), "threads": torch.get_num_threads()}
        ),
    )
