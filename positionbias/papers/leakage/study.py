"""Run the leakage study: effects on re-rankers of near-duplicates of test queries in training
(leakage paper, §4).

    BM25 candidates of source and target → training sets without and with leakage, by size
    → each model trained on each set → the target's candidates re-ranked, leaked passages scored
    beside them → measures, tests, memories → report

Every step is restartable (``experiments.step``). All kinds of set of one size differ only in the
leaked queries. There is no validation: training is one epoch, the last weights are kept, all
candidates are re-ranked, and the size is chosen by cross-validation over the topics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import product
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.run import Run
from positionbias.experiments.measured import check_candidates, check_splits
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.step import record_of
from positionbias.experiments.workspace import Workspace
from positionbias.leakage.pairs import pairs_file
from positionbias.leakage.settings import LeakedSettings
from positionbias.leakage.trainsets import DEPTH, LeakedInputs, leaking_queries, write_leaked_set
from positionbias.papers.leakage import NO
from positionbias.papers.leakage.measured import (
    LeakageStudy,
    Training,
    leaked_pairs,
    measure_leakage,
    target_folds,
    with_leaked,
)
from positionbias.papers.leakage.settings import LeakageSettings

NOTES = (
    "Training sets are drawn once; a training's seed draws first weights and shuffles its set.",
    "A topic's value is its mean over the training seeds, before a size is chosen.",
    "Bonferroni's correction is over all models and leakages of a measure.",
    "MFR is the mean of first relevant ranks, the candidates + 1 where none is relevant.",
)


def run_study(collection: Collection, settings: LeakageSettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: a missing split, given candidates of another collection, a set that cannot be
            built, fewer topics than folds, or a fold without relevant passages.
        SettingError: a size without room for the leaked queries.
    """
    check_splits(collection, settings.splits)
    target_folds(collection, settings)
    check_candidates(settings.candidates, collection)
    target = settings.target
    depths = dict.fromkeys(settings.sources, DEPTH) | {target: settings.depth}
    inputs = LeakedInputs(
        collection=collection,
        targets=(target,),
        candidates={},
        leaking=settings.leaking,
    )
    topics = {query_id for query_id, _ in collection.query_texts(target)}
    # refuse bad pairs before the first step
    leaking_queries(inputs.pairs(), topics, settings.leaking)
    runs = {
        split: settings.candidates.get(split)
        or workspace.candidates(collection.path, split, depth, settings.bm25)
        for split, depth in depths.items()
    }
    candidates = runs.pop(target)
    trainsets = _trainsets(replace(inputs, candidates=runs), settings, workspace)
    leaked = [place for (kind, _), place in trainsets.items() if kind != NO]
    to_score = _to_score(collection, target, candidates, leaked, workspace)
    # one seed after another, the smallest sets first, so that an interrupted study has whole
    # comparisons
    trainings = [
        (model, Training(model.kind, kind, size, seed), trainsets[kind, size])
        for seed, size, model in product(
            settings.training_seeds, sorted(settings.sizes), settings.models
        )
        for kind in settings.kinds
    ]
    scored = partial(_scored, workspace, collection.path, target, to_score)
    study = LeakageStudy(
        collection.path,
        settings,
        candidates,
        to_score,
        trainsets,
        dict(workspace.side_by_side(scored, trainings, settings.models)),
    )
    return workspace.results(
        f"Leakage: {target} of {collection.name}",
        "study leakage",
        {"settings": record_of(settings), "collection": dict(collection.manifest.settings)},
        study.inputs(),
        lambda: measure_leakage(study),
        notes=NOTES,
        seed=settings.seed,
    )


def _trainsets(
    inputs: LeakedInputs, settings: LeakageSettings, workspace: Workspace
) -> dict[tuple[str, int], Path]:
    """Return the training sets by kind and size."""
    material = cache(inputs.material)
    checksums = {"collection": workspace.checksum(inputs.collection.path)}
    for number, path in enumerate(settings.leaking.files, 1):
        checksums[f"pairs {number}"] = sha256_file(pairs_file(path))
    for split, run in inputs.candidates.items():
        checksums[f"candidates {split}"] = workspace.checksum(run)
    sets = {}
    for (kind, size), wanted in settings.sets().items():
        place = workspace.folder / "trainsets" / f"{kind}-{size}"

        def make(place: Path = place, wanted: LeakedSettings = wanted) -> None:
            write_leaked_set(place, inputs, wanted, material=material(), overwrite=True)

        name, record = f"trainset-{kind}-{size}", {**inputs.record(), "set": asdict(wanted)}
        sets[kind, size] = workspace.steps.make(
            f"{workspace.prefix}{name}", place, record, checksums, make
        )
    return sets


def _to_score(
    collection: Collection,
    target: str,
    candidates: Path,
    leaked: Sequence[Path],
    workspace: Workspace,
) -> Path:
    """Return the target's candidates with the leaked passages that were not retrieved."""

    def made() -> Run:
        pairs = [pair for path in leaked for pair in leaked_pairs(Groups(path))]
        return with_leaked(Run.from_file(candidates), pairs, name="to-score")

    inputs = {
        "collection": collection.path,
        "candidates": candidates,
        **{path.name: path for path in leaked},
    }
    return workspace.derived_run(
        f"to-score-{target}", "study leakage", {"split": target}, inputs, made
    )


def _scored(
    workspace: Workspace,
    collection: Path,
    target: str,
    to_score: Path,
    wanted: tuple[ModelSettings, Training, Path],
) -> tuple[Training, Path]:
    model, of, trainset = wanted
    name = f"{of.model}-{of.kind}-{of.size}-seed-{of.seed}"
    place = workspace.trained(name, collection, model.plan(trainset=trainset, seed=of.seed))
    return of, workspace.reranked(place, collection, target, to_score)
