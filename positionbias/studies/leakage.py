"""The leakage study: what near-duplicates of the test queries among the training queries do to re-rankers (leakage paper, §4).

    BM25 candidates of source and target → training sets without and with leakage, by size → each model trained on each set →
    the target's candidates re-ranked, leaked passages scored beside them → measures, tests, memories → report

Every step is restartable (``studies.step``). All kinds of set at one size differ in the leaked queries alone. There is no validation: one
epoch over the set, the last weights, all candidates re-ranked; the size is chosen by cross-validation over the topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.groups import Groups
from positionbias.core.run import Run, read_run
from positionbias.evaluation.cross_validation import FOLDS
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.memorisation import with_leaked
from positionbias.firststage.bm25 import Bm25Settings
from positionbias.leakage.material import Material, MaterialSettings
from positionbias.leakage.pairs import pairs_file, read_pairs
from positionbias.leakage.trainsets import KINDS, SIZES, Kind, LeakedSettings, check_set
from positionbias.leakage.write_trainsets import LeakedInputs, write_leaked_set
from positionbias.studies.estimate import Work
from positionbias.studies.leakage_measured import measure_leakage
from positionbias.studies.leakage_trials import NO, LeakageStudy, Trial, leaked_pairs, target_folds
from positionbias.studies.model_settings import ModelSettings
from positionbias.studies.workshop import Workshop, drawing

__all__ = ["NOTES", "LeakageSettings", "leakage"]

NOTES = (
    "The training sets are drawn once, by the study's seed; the trainings' seeds shuffle them and draw the first weights, as in the paper.",
    "A topic's value is its mean over the training seeds, before a size is chosen [decision].",
    "Bonferroni's correction is over all models and leakages of a measure [decision].",
    "MFR is the arithmetic mean of the first relevant rank, the number of candidates + 1 where none is relevant [decision].",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageSettings:
    """What the study is run with.

    ``sources`` are the splits that are trained on, ``target`` the one that is tested on, of one collection (merged, where they are two
    corpora); ``pairs`` name what leaks. ``leaked_queries`` is as in ``LeakedSettings``, ``material`` says what counts as a leak and as
    relevant. ``depth`` is that of the target's candidates, ``candidates`` are runs to take instead of BM25's, by split. ``seeds`` are those of
    the trainings, ``seed`` that of the sets, the folds and the bootstrap.
    """

    target: str
    sources: tuple[str, ...]
    pairs: tuple[Path, ...]
    models: tuple[ModelSettings, ...] = (ModelSettings(),)
    kinds: tuple[Kind, ...] = KINDS
    sizes: tuple[int, ...] = SIZES
    seeds: tuple[int, ...] = (1,)
    leaked_queries: int | None = None
    prefixes: tuple[str, str] = ("", "")
    material: MaterialSettings = field(default_factory=MaterialSettings)
    bm25: Bm25Settings = field(default_factory=Bm25Settings)
    depth: int = 100
    candidates: Mapping[str, Path] = field(default_factory=dict)
    folds: int = FOLDS
    seed: int = 1

    def __post_init__(self) -> None:
        listed = {"--models": [model.kind for model in self.models], "--kinds": self.kinds, "--sizes": self.sizes}
        listed |= {"--seeds": self.seeds, "--source": self.sources, "--pairs": self.pairs}
        for flag, values in listed.items():
            if not values or len(set(values)) < len(values):
                found = ", ".join(map(str, values)) or "none"
                raise SettingError(f"{flag}: wanted at least one, each once; found {found}; give each once")
        if NO not in self.kinds or len(self.kinds) < 2:
            found = ", ".join(self.kinds)
            raise SettingError(
                f"--kinds: wanted {NO}, and a leakage to set against it (msm, test); found {found}; add what is missing"
            )
        for flag, number, least in (("--depth", self.depth, 1), ("--folds", self.folds, 2)):
            if number < least:
                raise SettingError(f"{flag}: wanted at least {least}; found {number}; raise it")
        if unused := [split for split in self.candidates if split not in (*self.sources, self.target)]:
            splits = ", ".join((*self.sources, self.target))
            raise SettingError(f"--candidates: wanted splits of the study ({splits}); found {unused[0]!r}; name one of these")
        if self.target in self.sources:
            raise SettingError(f"--target, --source: wanted different splits; found {self.target!r} as both; name others")
        self.sets()  # a size or kind that does not do shows before the study begins
        once = [replace(model, training=_one_epoch(model, self.depth)) for model in self.models]
        object.__setattr__(self, "models", tuple(once))

    def sets(self) -> dict[tuple[str, int], LeakedSettings]:
        """The settings of each training set, by kind and size."""
        return {
            (kind, size): LeakedSettings(kind, size, self.seed, None if kind == NO else self.leaked_queries)
            for kind, size in product(self.kinds, self.sizes)
        }

    def record(self) -> dict[str, Any]:
        """As the manifest has it: JSON-ready, files by name."""
        plain = ("target", "leaked_queries", "depth", "folds", "seed")
        return {
            "models": [model.record() for model in self.models],
            **{name: list(getattr(self, name)) for name in ("sources", "kinds", "sizes", "seeds", "prefixes")},
            "pairs": [path.name for path in self.pairs],
            "material": asdict(self.material),
            "bm25": asdict(self.bm25),
            "candidates": {split: path.name for split, path in self.candidates.items()},
            **{name: getattr(self, name) for name in plain},
        }


def _one_epoch(model: ModelSettings, depth: int) -> Any:
    """A model's training: one epoch where no other number is asked for (the paper's)."""
    return replace(model.training, epochs=model.training.epochs or 1, most_depth=depth)


def leakage(collection: Collection, settings: LeakageSettings, shop: Workshop) -> Path:
    """Run the study on ``collection`` in the workshop's folder; give back the folder of its results.

    Raises:
        InputError: a split that is not there, given candidates of another collection, a set that cannot be built, fewer topics than folds, a
            fold without relevant passages.
        SettingError: a size without room for what is to leak.
    """
    return _Study(collection, settings, shop).run()


class _Study:
    def __init__(self, collection: Collection, settings: LeakageSettings, shop: Workshop) -> None:
        self.collection, self.settings, self.shop = collection, settings, shop
        self.checksum = shop.checksum(collection.path)
        self._check()
        self.runs = {split: self._candidates(split) for split in (*settings.sources, settings.target)}
        self.inputs = LeakedInputs(
            collection=collection,
            targets=(settings.target,),
            candidates={split: self.runs[split] for split in settings.sources},
            pairs=settings.pairs,
            prefixes=settings.prefixes,
            settings=settings.material,
        )

    def _check(self) -> None:
        wanted = (*self.settings.sources, self.settings.target)
        if missing := [split for split in wanted if split not in self.collection.splits]:
            raise InputError(
                f"{self.collection.path}: wanted the splits {', '.join(wanted)}; found no {', '.join(missing)} (there are "
                f"{', '.join(self.collection.splits) or 'none'}); where source and target are two collections, join them first: posbias merge"
            )
        target_folds(
            self.collection,
            self.settings.target,
            relevant_from=self.settings.material.target_relevant_from,
            folds=self.settings.folds,
            seed=self.settings.seed,
        )
        for place in self.settings.pairs:
            for _ in read_pairs(place):
                pass  # what is wrong with a line shows before anything is made
        for split, path in self.settings.candidates.items():
            check_run(read_run(path), self.collection, split)

    def _candidates(self, split: str) -> Path:
        given = self.settings.candidates.get(split)
        depth = self.settings.depth if split == self.settings.target else self.settings.material.train_depth
        return given if given is not None else self.shop.candidates(self.collection.path, split, depth, self.settings.bm25)

    @cached_property
    def material(self) -> Material:
        """What the sets are drawn from; read once, and only where a set is made. Whether all can be built shows before the first."""
        found = self.inputs.material()
        for wanted in self.settings.sets().values():
            check_set(found, wanted)
        return found

    def run(self) -> Path:
        """All steps, in their order."""
        settings = self.settings
        trainsets = {key: self._trainset(key, of) for key, of in settings.sets().items()}
        to_score = self._to_score([path for (kind, _), path in trainsets.items() if kind != NO])
        # one seed after another, the smallest sets first: so that a study cut short has whole comparisons
        trials = [
            self._trial(model, key, seed, trainsets[key], to_score)
            for seed, size, model in product(settings.seeds, sorted(settings.sizes), settings.models)
            for key in ((kind, size) for kind in settings.kinds)
        ]
        study = LeakageStudy(
            self.collection.path,
            settings.target,
            self.runs[settings.target],
            to_score,
            trainsets,
            trials,
            settings.material.target_relevant_from,
            settings.folds,
            settings.seed,
        )
        return self.shop.results(
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
        place = self.shop.folder / "trainsets" / f"{kind}-{size}"
        pairs = {f"pairs {number}": sha256_file(pairs_file(path)) for number, path in enumerate(self.settings.pairs, 1)}
        runs = {f"candidates {split}": self.shop.checksum(self.runs[split]) for split in self.settings.sources}
        record = {**self.inputs.record(), "set": asdict(wanted)}

        def make() -> None:
            write_leaked_set(place, self.inputs, wanted, material=self.material, overwrite=True)

        inputs = {"collection": self.checksum, **pairs, **runs}
        return self.shop.steps.make(
            f"{self.shop.prefix}trainset-{kind}-{size}", place, record, inputs, make, work=drawing(size)
        )

    def _to_score(self, leaked: Sequence[Path]) -> Path:
        """The target's candidates with the leaked passages that were not retrieved."""
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

        inputs = {"collection": self.collection.path, "candidates": candidates, **{path.name: path for path in leaked}}
        work = Work("queries joined with leaked passages", self.collection.count_queries(target), by=3e-3)
        return self.shop.derived_run(f"to-score-{target}", "study leakage", {"split": target}, inputs, made, work=work)

    def _trial(self, model: ModelSettings, key: tuple[str, int], seed: int, trainset: Path, to_score: Path) -> Trial:
        kind, size = key
        name = f"{model.kind}-{kind}-{size}-seed-{seed}"
        place = self.shop.trained(name, self.collection.path, model.plan_on(trainset, seed=seed), groups=size // 2)
        target = self.settings.target
        return Trial(model.kind, kind, size, seed, self.shop.reranked(place, self.collection.path, target, to_score))
