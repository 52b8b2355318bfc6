"""From a collection and candidates to a TK checkpoint: vocabulary, model, training, and the manifest of it all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import refuse_existing, sha256_file
from positionbias.core.groups import Groups
from positionbias.core.manifest import Manifest, input_ref, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.records import Qrel
from positionbias.core.result import Result, TrainingCurve
from positionbias.core.run import Run
from positionbias.core.seeds import key64
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from positionbias.models.tk import TK, TKConfig
from positionbias.models.word_vectors import embedding_matrix, read_word_vectors
from positionbias.positions.rotate import Rotation
from positionbias.probe.passages import original_collection, sample_passages
from positionbias.ranking.rerank import known_queries
from positionbias.text.vocabulary import Vocabulary, count_words, words_of
from positionbias.training.config import TrainConfig
from positionbias.training.loop import Trained, TrainingData, forget_state, train
from positionbias.training.state import find_state
from positionbias.training.trainsets.sample import GroupSource, StoredGroups, make_sampler
from positionbias.training.validation import RotatedTexts, Validation

__all__ = ["TrainTK", "train_tk", "training_result"]


@dataclass(frozen=True, slots=True)
class TrainTK:
    """Everything that decides a TK training, besides the collection's content.

    Groups are sampled from ``candidates`` and the judgements, or come from ``trainset`` as they are: one of the two is given.
    ``rotate`` turns every read of a training passage anew (the reference's way); None reads passages as stored.
    """

    candidates: Path | None
    validation_candidates: Path
    trainset: Path | None = None
    split: str = "train"
    validation_split: str = "validation"
    relevant_from: int = 1
    model: TKConfig = field(default_factory=TKConfig)
    training: TrainConfig = field(default_factory=TrainConfig)
    rotate: Rotation | None = None
    word_vectors: Path | None = None

    def __post_init__(self) -> None:
        if (self.candidates is None) == (self.trainset is None):
            found = "neither" if self.candidates is None else "both"
            raise SettingError(f"--candidates, --trainset: wanted one of the two; found {found}; give one")
        if self.relevant_from < 1:
            raise SettingError(
                f"--relevant-from: wanted a grade from 1 (0 is judged not relevant); found {self.relevant_from}; raise it"
            )

    def settings(self, collection: Collection) -> dict[str, Any]:
        """The settings as the manifest and the resumable state record them: files by their checksum, no paths.

        Raises:
            InputError: there is no such file.
        """
        record = asdict(self)
        for name in ("candidates", "validation_candidates", "word_vectors"):
            path = record[name]
            if path is not None and not Path(path).is_file():
                raise bad_input(path, wanted="a readable file", found="no such file", do="check the path")
            record[name] = sha256_file(path) if path is not None else None
        if self.trainset is not None:
            record["trainset"] = Groups(self.trainset).checksum
        else:
            del record["trainset"]
        record["collection"] = collection.checksum
        return record


def build_model(collection: Collection, plan: TrainTK) -> tuple[TK, int]:
    """TK over the words of the collection's passages and training queries, and how many words started from a given vector.

    A function of the seed.
    """
    counts = count_words(track((p.text for p in collection.passages()), "counting words", len(collection), unit="passages"))
    counts.update(word for query in collection.queries(plan.split) for word in words_of(query.text))
    given = read_word_vectors(plan.word_vectors, counts.keys(), plan.model.dimension) if plan.word_vectors else None
    vocabulary = Vocabulary.build(counts, vectored=set(given.vectors) if given else set())
    matrix = embedding_matrix(vocabulary, given, seed=plan.training.seed) if given else None
    # nn.Module initialises from the global generator: seeded here, and left as it was
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(key64(plan.training.seed, "initial weights") % 2**63)
        return TK(plan.model, vocabulary, matrix), len(given.vectors) if given else 0


def train_tk(
    collection: Collection,
    source: Run | Groups,
    validation_candidates: Run,
    plan: TrainTK,
    out: Path,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_validation: Callable[[Mapping[str, float | None]], None] = lambda row: None,
) -> Checkpoint:
    """Train TK and write its checkpoint to ``out``; ``source`` is what ``plan`` names, candidates or a training set.

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
    model, vectored = build_model(collection, plan)
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
    words = {"words": len(model.vocabulary.words), "words_with_a_given_vector": vectored}
    manifest = _manifest(collection, plan, settings, sampler, record, words, out)
    log = {"log": record.log, "best_step": record.best_step, "stopped": record.stopped}
    save_checkpoint(out, model, depth=record.depth, training=log, manifest=manifest, overwrite=overwrite)
    forget_state(out)
    return load_checkpoint(out)


def _group_source(collection: Collection, source: Run | Groups, plan: TrainTK) -> GroupSource:
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
    plan: TrainTK,
    settings: Mapping[str, Any],
    sampler: GroupSource,
    record: Trained,
    words: Mapping[str, int],
    out: Path,
) -> Manifest:
    inputs = [input_ref("collection", collection.path, collection.checksum, artefact=out)]
    for role in ("candidates", "trainset", "validation_candidates", "word_vectors"):
        path = getattr(plan, role)
        if path is not None:
            inputs.append(input_ref(role, path, settings[role], artefact=out))
    kept = {
        k: v
        for k, v in settings.items()
        if k not in {"candidates", "trainset", "validation_candidates", "word_vectors", "collection"}
    }
    return Manifest(
        kind="checkpoint",
        name=out.name.split(".")[0],
        command="train tk",
        settings=kept,
        seed=plan.training.seed,
        inputs=tuple(inputs),
        content={
            **words,
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
        provenance=provenance(training_seconds=round(record.seconds, 1), threads=torch.get_num_threads()),
    )
