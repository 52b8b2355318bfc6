"""From a collection and candidates to a TK checkpoint: vocabulary, model, training, and the manifest of it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from positionbias.core.collection import Collection
from positionbias.core.files import refuse_existing, sha256_file
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import key64
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from positionbias.models.tk import TK, TKConfig
from positionbias.models.word_vectors import embedding_matrix, read_word_vectors
from positionbias.positions.rotate import Rotation
from positionbias.probe.passages import original_collection, sample_passages
from positionbias.text.vocabulary import Vocabulary, count_words, words_of
from positionbias.training.config import TrainConfig
from positionbias.training.loop import Trained, TrainingData, forget_state, train
from positionbias.training.trainsets.sample import GroupSampler, make_sampler
from positionbias.training.validation import Validation

__all__ = ["TrainTK", "train_tk"]


@dataclass(frozen=True, slots=True)
class TrainTK:
    """Everything that decides a TK training, besides the collection's content.

    ``rotate`` turns every read of a training passage anew (the reference's way); None reads passages as stored.
    """

    candidates: Path
    validation_candidates: Path
    split: str = "train"
    validation_split: str = "validation"
    relevant_from: int = 1
    model: TKConfig = field(default_factory=TKConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    rotate: Rotation | None = None
    word_vectors: Path | None = None

    def settings(self, collection: Collection) -> dict[str, Any]:
        """The settings as the manifest and the resumable state record them: files by their checksum, no paths."""
        record = asdict(self)
        for name in ("candidates", "validation_candidates", "word_vectors"):
            record[name] = sha256_file(record[name]) if record[name] is not None else None
        record["collection"] = collection.checksum
        return record


def build_model(collection: Collection, plan: TrainTK) -> TK:
    """TK over the words of the collection's passages and training queries; a function of the seed."""
    counts = count_words(track((p.text for p in collection.passages()), "counting words", len(collection), unit="passages"))
    counts.update(word for query in collection.queries(plan.split) for word in words_of(query.text))
    # the global generator is the one nn.Module initialises from; seeding it here makes the model a function of the seed
    torch.manual_seed(key64(plan.training.seed, "initial weights") % 2**63)
    if plan.word_vectors is None:
        return TK(plan.model, Vocabulary.build(counts))
    given = read_word_vectors(plan.word_vectors, counts.keys(), plan.model.dimension)
    vocabulary = Vocabulary.build(counts, vectored=set(given.vectors))
    return TK(plan.model, vocabulary, embedding_matrix(vocabulary, given, seed=plan.training.seed))


def train_tk(
    collection: Collection,
    candidates: Run,
    validation_candidates: Run,
    plan: TrainTK,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_validation: Callable[[Mapping[str, float | None]], None] = lambda row: None,
) -> Checkpoint:
    """Train TK and write its checkpoint to ``out``.

    Raises:
        InputError: candidates that do not fit the split, nothing to resume, other settings than it began with.
        OutputExistsError: ``out``, or an unfinished training towards it, stands there.
    """
    refuse_existing(out, overwrite=overwrite)
    training = plan.training
    model = build_model(collection, plan)
    sampler = make_sampler(collection.qrels(plan.split), candidates, seed=training.seed, relevant_from=plan.relevant_from)
    data = TrainingData(collection, collection.queries(plan.split), sampler, plan.rotate)
    # MATS is logged on passages of the original collection whatever is trained on, so that trainings can be compared
    probed = original_collection(collection) if training.probe_passages else collection
    validation = Validation(
        collection,
        collection.queries(plan.validation_split),
        [
            Qrel(q.query_id, q.passage_id, q.grade if q.grade >= plan.relevant_from else 0)
            for q in collection.qrels(plan.validation_split)
        ],
        validation_candidates,
        probed,
        sample_passages(probed, training.probe_passages, training.seed) if training.probe_passages else [],
    )
    settings = plan.settings(collection)
    record = train(model, data, validation, training, out, settings=settings, resume=resume, on_validation=on_validation)
    manifest = _manifest(collection, plan, settings, sampler, record, out)
    log = {"log": record.log, "best_step": record.best_step, "stopped": record.stopped}
    save_checkpoint(out, model, depth=record.depth, training=log, manifest=manifest, overwrite=overwrite)
    forget_state(out)
    return load_checkpoint(out)


def _manifest(
    collection: Collection, plan: TrainTK, settings: Mapping[str, Any], sampler: GroupSampler, record: Trained, out: Path
) -> Manifest:
    inputs = [input_ref("collection", collection.path, collection.checksum, artefact=out)]
    for role in ("candidates", "validation_candidates", "word_vectors"):
        path = getattr(plan, role)
        if path is not None:
            inputs.append(input_ref(role, path, settings[role], artefact=out))
    kept = {k: v for k, v in settings.items() if k not in {"candidates", "validation_candidates", "word_vectors", "collection"}}
    return Manifest(
        kind="checkpoint",
        name=out.name.split(".")[0],
        command="train tk",
        settings=kept,
        seed=plan.training.seed,
        inputs=tuple(inputs),
        content={
            "training_pairs": len(sampler),
            "pairs_without_negatives": sampler.left_out,
            "pairs_with_an_empty_side": record.dropped,
            "steps": record.step,
            "best_step": record.best_step,
            "validation_ndcg@10": record.best_ndcg,
            "depth": record.depth,
            "stopped": record.stopped,
        },
        licence=collection.manifest.licence,
        versions=package_versions("torch", "numpy", "blingfire"),
        provenance=provenance(training_seconds=round(record.seconds, 1), threads=torch.get_num_threads()),
    )
