"""The TripClick study: re-rankers and dense retrieval on clicks, and what the negatives they are trained on make of them.

    BM25 candidates → training sets: BM25's negatives, and others → models → each test's candidates re-ranked, an ensemble; the collection
    encoded, searched → measures, tests, depth curves → report

"Establishing Strong Baselines for TripClick Health Retrieval" (ECIR 2022), Tables 1 and 2, and §3.1 on training data. Every step is
restartable (``studies.step``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.results.result import Facts, Result
from positionbias.results.tripclick import ENSEMBLE, REGENERATED, RERANKER, RETRIEVER
from positionbias.studies.artefacts import as_ended
from positionbias.studies.tripclick_checks import check_study
from positionbias.studies.tripclick_sets import drawn_from, write_study_set
from positionbias.studies.tripclick_settings import Negatives, Ranker, TripClickSettings
from positionbias.studies.tripclick_trials import Trial, TripClickStudy
from positionbias.studies.workshop import Workshop, drawing

__all__ = ["NOTES", "tripclick"]

NOTES = (
    "Training sets are drawn once, by the study's seed; a training's seed draws its first weights and orders its triples.",
    "Re-rankers reorder BM25's candidates down to one depth, the same for all; no depth is tuned (TripClick paper, §4.1).",
    "A query's value is its mean over training seeds, before anything else is computed [decision].",
    "An ensemble's score is the mean of its models' scores, each at mean 0 and deviation 1 within a query [decision].",
)


def tripclick(collection: Collection, settings: TripClickSettings, shop: Workshop) -> Path:
    """Run the study on ``collection`` in the workshop's folder; give back the folder of its results.

    Raises:
        InputError, SettingError, DependencyError: as ``check_study``.
    """
    return _Study(collection, settings, shop).run()


class _Study:
    def __init__(self, collection: Collection, settings: TripClickSettings, shop: Workshop) -> None:
        self.collection, self.settings, self.shop = collection, settings, shop
        self.checksum = shop.checksum(collection.path)
        check_study(collection, settings, dry_run=shop.steps.dry_run)
        self.runs = {split: self._candidates(split) for split in settings.splits}

    def run(self) -> Path:
        """All steps, in their order: one seed after another, and one model on all its training sets, so that a study cut short compares."""
        settings = self.settings
        self.trainsets = {of.name: self._trainset(of) for of in settings.sets}
        trials: list[Trial] = []
        for seed in settings.seeds:
            own = [self._trial(ranker, of, seed) for ranker in settings.rankers for of in settings.trained_on(ranker)]
            members = [t for t in own if t.name in settings.in_ensemble and t.facts.variant == REGENERATED]
            trials += [*own, *([self._ensemble(members, seed)] if members else [])]
        study = TripClickStudy(
            self.collection.path,
            settings,
            {test.split: self.runs[test.split] for test in settings.tests},
            self.trainsets,
            trials,
        )
        return self.shop.results(
            f"TripClick: {self.collection.name}",
            "study tripclick",
            {**settings.record(), "collection": dict(self.collection.manifest.settings)},
            study.inputs(),
            lambda: _measured(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _candidates(self, split: str) -> Path:
        settings = self.settings
        if split in settings.candidates:
            return settings.candidates[split]
        depth = settings.train_depth if split in settings.train else settings.retrieval_depth
        return self.shop.candidates(self.collection.path, split, depth, settings.bm25)

    def _trainset(self, of: Negatives) -> Path:
        if of.stored is not None and not of.cleaned:
            return of.stored
        settings, place = self.settings, self.shop.folder / "trainsets" / of.name
        candidates = {split: self.runs[split] for split in settings.train}

        def make() -> None:
            write_study_set(place, self.collection, candidates, of, settings, map_shards=self.shop.map_shards)

        inputs = {"collection": self.checksum}
        inputs |= {f"candidates {split}": self.shop.checksum(path) for split, path in candidates.items()}
        if of.stored is not None:
            inputs["training set"] = Groups(of.stored).checksum
        name = f"{self.shop.prefix}trainset-{of.name}"
        work = drawing(self._triples())
        return self.shop.steps.make(name, place, drawn_from(of, settings), inputs, make, work=work)

    def _triples(self) -> int:
        """About how many triples a set has, where each positive has all its negatives."""
        splits = self.collection.manifest.content["splits"]
        return sum(int(splits[split]["qrels"]) for split in self.settings.train) * self.settings.negatives

    def _trial(self, ranker: Ranker, of: Negatives, seed: int) -> Trial:
        settings, model = self.settings, ranker.model
        validation = None if settings.validation is None else (self.runs[settings.validation], settings.validation)
        plan = model.plan_on(
            self.trainsets[of.name],
            seed=seed,
            validation=validation,
            relevant_from=settings.relevant_from,
            words_of=settings.train,
        )
        name = f"{ranker.stem(of)}-seed-{seed}"
        place = self.shop.trained(name, self.collection.path, plan, groups=self._triples())
        facts = Facts(
            model=model.kind, pretrained=model.pretrained, variant=of.name, role=RETRIEVER if ranker.dense else RERANKER
        )
        facts = as_ended(facts, place)
        return Trial(ranker.name, facts, seed, self._retrieved(place) if ranker.dense else self._reranked(place), place)

    @property
    def _test_splits(self) -> list[str]:
        return list(dict.fromkeys(test.split for test in self.settings.tests))

    def _reranked(self, model: Path) -> dict[str, Path]:
        """By split its candidates in a model's order, down to the deepest depth that is looked at."""
        at, reach = self.collection.path, self.settings.reach
        return {
            split: self.shop.reranked(model, at, split, self.runs[split], depth=reach(split)) for split in self._test_splits
        }

    def _retrieved(self, model: Path) -> dict[str, Path]:
        """By split what a model finds in the whole collection."""
        settings, at = self.settings, self.collection.path
        vectors = self.shop.encoded(model, at)
        return {
            split: self.shop.retrieved_dense(model, vectors, at, split, settings.retrieval_depth, index=settings.index)
            for split in self._test_splits
        }

    def _ensemble(self, members: Sequence[Trial], seed: int) -> Trial:
        """The re-rankers of one seed together, within the depth that they re-rank to."""
        runs = {}
        for split in self._test_splits:
            of = {trial.name: trial.runs[split] for trial in members}
            runs[split] = self.shop.ensembled(
                f"ensemble-seed-{seed}-on-{split}", of, self.runs[split], split=split, depth=self.settings.depth
            )
        facts = Facts(model="ensemble", variant=REGENERATED, role=ENSEMBLE)
        trained = [trial.trained for trial in members if trial.trained is not None]
        return Trial(ENSEMBLE, as_ended(facts, *trained), seed, runs, None)


def _measured(study: TripClickStudy) -> Sequence[Result]:
    from positionbias.studies.tripclick_measured import measure_tripclick

    return measure_tripclick(study)
