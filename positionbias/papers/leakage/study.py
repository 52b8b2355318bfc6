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

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from itertools import product
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.run import Run, read_run
from positionbias.experiments.candidates import check_candidates
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.leakage.material import Material
from positionbias.leakage.pairs import pairs_file, read_pairs
from positionbias.leakage.settings import LeakedSettings
from positionbias.leakage.trainsets import check_set
from positionbias.leakage.write_trainsets import LeakedInputs, write_leaked_set
from positionbias.papers.leakage import NO
from positionbias.papers.leakage.measured import (
    LeakageStudy,
    Training,
    measure_leakage,
    target_folds,
)
from positionbias.papers.leakage.memorisation import leaked_pairs, with_leaked
from positionbias.papers.leakage.settings import LeakageSettings

__all__ = ["NOTES", "run_study"]

NOTES = (
    (
        "The training sets are drawn once, by the study's seed; the trainings' seeds shuffle them "
        "and draw the first weights, as in the paper."
    ),
    "A topic's value is its mean over the training seeds, before a size is chosen.",
    "Bonferroni's correction is over all models and leakages of a measure.",
    (
        "MFR is the arithmetic mean of the first relevant rank, the number of candidates + 1 where "
        "none is relevant."
    ),
)


def run_study(collection: Collection, settings: LeakageSettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: a missing split, given candidates of another collection, a set that cannot be
            built, fewer topics than folds, or a fold without relevant passages.
        SettingError: a size without room for the leaked queries.
    """
    return _Study(collection, settings, workspace).run()


class _Study:
    def __init__(
        self, collection: Collection, settings: LeakageSettings, workspace: Workspace
    ) -> None:
        self.collection, self.settings, self.workspace = collection, settings, workspace
        self.checksum = workspace.checksum(collection.path)
        self._check()
        self.runs = {split: self._candidates(split) for split in settings.splits}
        self.inputs = self._inputs({split: self.runs[split] for split in settings.sources})

    def _inputs(self, candidates: Mapping[str, Path | None]) -> LeakedInputs:
        return LeakedInputs(
            collection=self.collection,
            targets=(self.settings.target,),
            candidates=candidates,
            pairs=self.settings.leaking.files,
            prefixes=self.settings.leaking.id_prefixes,
            settings=self.settings.leaking.counted,
        )

    def _check_sets(self, inputs: LeakedInputs) -> Material:
        """Return the material of the sets, and report faults of any set before the first is
        made.
        """
        found = inputs.material()
        for wanted in self.settings.sets().values():
            check_set(found, wanted)
        return found

    def _check(self) -> None:
        wanted = self.settings.splits
        if missing := [split for split in wanted if split not in self.collection.splits]:
            raise InputError(
                f"{self.collection.path}: wanted the splits {', '.join(wanted)}; found no "
                f"{', '.join(missing)} (there are {', '.join(self.collection.splits) or 'none'}); "
                "where source and target are two collections, join them first: posbias merge"
            )
        target_folds(self.collection, self.settings)
        for place in self.settings.leaking.files:
            for _ in read_pairs(place):
                pass  # report faults of a line before anything is made
        check_candidates(self.settings.candidates, self.collection)
        # report faults that no candidates could fix before they are retrieved
        self._check_sets(
            self._inputs(
                {split: self.settings.candidates.get(split) for split in self.settings.sources}
            )
        )

    def _candidates(self, split: str) -> Path:
        given = self.settings.candidates.get(split)
        depth = (
            self.settings.depth
            if split == self.settings.target
            else self.settings.leaking.counted.train_depth
        )
        return (
            given
            if given is not None
            else self.workspace.candidates(self.collection.path, split, depth, self.settings.bm25)
        )

    @cached_property
    def material(self) -> Material:
        """Return the material of the sets, read once and on use."""
        return self._check_sets(self.inputs)

    def run(self) -> Path:
        """Run all steps in order."""
        settings = self.settings
        trainsets = {key: self._trainset(key, of) for key, of in settings.sets().items()}
        to_score = self._to_score([path for (kind, _), path in trainsets.items() if kind != NO])
        # one seed after another, the smallest sets first, so that an interrupted study has whole
        # comparisons
        wanted = [
            (model, Training(model.kind, kind, size, seed), trainsets[kind, size])
            for seed, size, model in product(
                settings.seeds, sorted(settings.sizes), settings.models
            )
            for kind in settings.kinds
        ]
        one = partial(_scored, self.workspace, self.collection.path, settings.target, to_score)
        scored = dict(self.workspace.side_by_side(one, wanted, settings.models))
        study = LeakageStudy(
            self.collection.path, settings, self.runs[settings.target], to_score, trainsets, scored
        )
        return self.workspace.results(
            f"Leakage: {settings.target} of {self.collection.name}",
            "study leakage",
            {**settings.record(), "collection": dict(self.collection.manifest.settings)},
            study.inputs(),
            lambda: measure_leakage(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _trainset(self, key: tuple[str, int], wanted: LeakedSettings) -> Path:
        kind, size = key
        place = self.workspace.folder / "trainsets" / f"{kind}-{size}"
        pairs = {
            f"pairs {number}": sha256_file(pairs_file(path))
            for number, path in enumerate(self.settings.leaking.files, 1)
        }
        runs = {
            f"candidates {split}": self.workspace.checksum(self.runs[split])
            for split in self.settings.sources
        }
        record = {**self.inputs.record(), "set": asdict(wanted)}

        def make() -> None:
            write_leaked_set(place, self.inputs, wanted, material=self.material, overwrite=True)

        inputs = {"collection": self.checksum, **pairs, **runs}
        return self.workspace.steps.make(
            f"{self.workspace.prefix}trainset-{kind}-{size}",
            place,
            record,
            inputs,
            make,
        )

    def _to_score(self, leaked: Sequence[Path]) -> Path:
        """Return the target's candidates with the leaked passages that were not retrieved."""
        target = self.settings.target
        candidates = self.runs[target]

        def made() -> Run:
            held = read_run(candidates)
            passages = [
                (pair.query_id, passage)
                for path in leaked
                for pair in leaked_pairs(Groups(path))
                if pair.query_id in held
                for passage in (pair.positive, pair.negative)
            ]
            return with_leaked(held, passages, name="to-score")

        inputs = {
            "collection": self.collection.path,
            "candidates": candidates,
            **{path.name: path for path in leaked},
        }
        return self.workspace.derived_run(
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
