"""Run the TripClick study: re-rankers and dense retrieval on clicks, and the effect of their
training negatives.

    BM25 candidates → training sets: BM25's negatives, and others → models
    → each test's candidates re-ranked, an ensemble; the collection encoded, searched
    → measures, tests, depth curves → report

Every step is restartable (``experiments.step``). The collection and the given files are checked
before the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.groups import Groups
from positionbias.dense.approximate import check_faiss
from positionbias.experiments.artefacts import as_ended
from positionbias.experiments.candidates import LOOKED_AT, check_candidates
from positionbias.experiments.measured import Trial
from positionbias.experiments.workspace import Workspace
from positionbias.models.encoder_source import MINILM, encoder_folder
from positionbias.papers.tripclick import ENSEMBLE, REGENERATED, RERANKER, RETRIEVER
from positionbias.papers.tripclick.measured import TripClickStudy, measure_tripclick
from positionbias.papers.tripclick.settings import (
    OWN_JUDGEMENTS,
    JudgedSplit,
    Negatives,
    Ranker,
    TripClickSettings,
)
from positionbias.papers.tripclick.trainsets import drawn_from, write_study_set
from positionbias.results.result import Facts

__all__ = ["NOTES", "check_study", "run_study"]

NOTES = (
    (
        "Training sets are drawn once, by the study's seed; a training's seed draws its first "
        "weights and orders its triples."
    ),
    (
        "Re-rankers reorder BM25's candidates down to one depth, the same for all; no depth is "
        "tuned (TripClick paper, §4.1)."
    ),
    "A query's value is its mean over training seeds, before anything else is computed.",
    (
        "An ensemble's score is the mean of its models' scores, each at mean 0 and deviation 1 "
        "within a query."
    ),
)


def run_study(collection: Collection, settings: TripClickSettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError, SettingError, DependencyError: as ``check_study``.
    """
    return _Study(collection, settings, workspace).run()


class _Study:
    def __init__(
        self, collection: Collection, settings: TripClickSettings, workspace: Workspace
    ) -> None:
        self.collection, self.settings, self.workspace = collection, settings, workspace
        self.checksum = workspace.checksum(collection.path)
        check_study(collection, settings, dry_run=workspace.steps.dry_run)
        self.runs = {split: self._candidates(split) for split in settings.splits}

    def run(self) -> Path:
        """Run all steps, one seed after another, and one model on all its training sets, so that an
        interrupted study has comparisons.
        """
        settings = self.settings
        self.trainsets = {of.name: self._trainset(of) for of in settings.sets}
        trials: list[Trial] = []
        wanted = [(ranker, of) for ranker in settings.rankers for of in settings.trained_on(ranker)]
        asked = ((*one, seed) for seed in settings.seeds for one in wanted)
        made = self.workspace.side_by_side(self._trial, asked, settings.models)
        for seed in settings.seeds:
            own = list(islice(made, len(wanted)))
            members = [
                t for t in own if t.name in settings.in_ensemble and t.facts.variant == REGENERATED
            ]
            trials += [*own, *([self._ensemble(members, seed)] if members else [])]
        study = TripClickStudy(
            self.collection.path,
            settings,
            {split: self.runs[split] for split in settings.test_splits},
            self.trainsets,
            trials,
        )
        return self.workspace.results(
            f"TripClick: {self.collection.name}",
            "study tripclick",
            {**settings.record(), "collection": dict(self.collection.manifest.settings)},
            study.inputs(),
            lambda: measure_tripclick(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _candidates(self, split: str) -> Path:
        settings = self.settings
        if split in settings.candidates:
            return settings.candidates[split]
        depth = settings.train_depth if split in settings.sources else settings.retrieval_depth
        return self.workspace.candidates(self.collection.path, split, depth, settings.bm25)

    def _trainset(self, of: Negatives) -> Path:
        if of.stored is not None and not of.cleaned:
            return of.stored
        settings, place = self.settings, self.workspace.folder / "trainsets" / of.name
        candidates = {split: self.runs[split] for split in settings.sources}

        def make() -> None:
            write_study_set(
                place,
                self.collection,
                candidates,
                of,
                settings,
                map_shards=self.workspace.map_shards,
            )

        inputs = {"collection": self.checksum}
        inputs |= {
            f"candidates {split}": self.workspace.checksum(path)
            for split, path in candidates.items()
        }
        if of.stored is not None:
            inputs["training set"] = Groups(of.stored).checksum
        name = f"{self.workspace.prefix}trainset-{of.name}"
        return self.workspace.steps.make(name, place, drawn_from(of, settings), inputs, make)

    def _trial(self, wanted: tuple[Ranker, Negatives, int]) -> Trial:
        ranker, of, seed = wanted
        settings, model = self.settings, ranker.model
        validation = (
            None
            if settings.validation is None
            else (self.runs[settings.validation], settings.validation)
        )
        plan = model.plan(
            trainset=self.trainsets[of.name],
            seed=seed,
            validation=validation,
            relevant_from=settings.relevant_from,
            words_of=settings.sources,
        )
        name = f"{ranker.stem(of)}-seed-{seed}"
        place = self.workspace.trained(name, self.collection.path, plan)
        facts = Facts(
            model=model.kind,
            pretrained=model.pretrained,
            variant=of.name,
            role=RETRIEVER if ranker.dense else RERANKER,
        )
        facts = as_ended(facts, place)
        return Trial(
            ranker.name,
            facts,
            seed,
            self._retrieved(place) if ranker.dense else self._reranked(place),
            place,
        )

    def _reranked(self, model: Path) -> dict[str, Path]:
        """Return candidates in a model's order by split, down to the deepest depth needed."""
        at, reach = self.collection.path, self.settings.reach
        splits = self.settings.test_splits
        return {
            split: self.workspace.reranked(model, at, split, self.runs[split], depth=reach(split))
            for split in splits
        }

    def _retrieved(self, model: Path) -> dict[str, Path]:
        """Return a model's retrieval from the whole collection by split."""
        settings, at = self.settings, self.collection.path
        vectors = self.workspace.encoded(model, at)
        return {
            split: self.workspace.retrieved_dense(
                model, vectors, at, split, settings.retrieval_depth, index=settings.index
            )
            for split in self.settings.test_splits
        }

    def _ensemble(self, members: Sequence[Trial], seed: int) -> Trial:
        """Return the ensemble of one seed's re-rankers, within their re-ranking depth."""
        runs = {}
        for split in self.settings.test_splits:
            of = {trial.name: trial.runs[split] for trial in members}
            runs[split] = self.workspace.ensembled(
                f"ensemble-seed-{seed}-on-{split}",
                of,
                self.runs[split],
                split=split,
                depth=self.settings.depth,
            )
        facts = Facts(model="ensemble", variant=REGENERATED, role=ENSEMBLE)
        trained = [trial.trained for trial in members if trial.trained is not None]
        return Trial(ENSEMBLE, as_ended(facts, *trained), seed, runs, None)


def check_study(
    collection: Collection, settings: TripClickSettings, *, dry_run: bool = False
) -> None:
    """Check that splits, judgements, given runs, training sets and models' starts exist and fit the
    collection.

    It reads the beginning of a training run and a sample of a training set; the rest is checked
    when used. A dry run does not contact the hub.

    Raises:
        InputError, SettingError, DependencyError: the first that is missing or does not fit.
    """
    _check_splits(collection, settings)
    _check_judgements(collection, settings)
    for of in settings.others:
        if of.stored is not None:
            _check_stored(of.stored, collection, settings)
    check_candidates(settings.candidates, collection, large=settings.sources)
    _check_encoders(settings, dry_run=dry_run)
    if settings.index != "exact":
        check_faiss(settings.index)


def _check_splits(found: Collection, settings: TripClickSettings) -> None:
    if missing := [split for split in settings.splits if split not in found.splits]:
        raise InputError(
            f"{found.path}: wanted the splits {', '.join(settings.splits)}; found no "
            f"{', '.join(missing)} (there are {', '.join(found.splits) or 'none'}); name others by "
            "--source, --test-split and --validation-split"
        )


def _check_judgements(found: Collection, settings: TripClickSettings) -> None:
    """Check that every named set exists, and that each measured one has a relevant passage."""
    named = [(split, of.judgements) for split in settings.sources for of in settings.others]
    asked = [(test.split, test.judgements) for test in settings.tests]
    asked += [(split, name) for split, name in named if name != OWN_JUDGEMENTS]
    asked += [(split, settings.complete_qrels) for split in settings.sources]
    for split, judgements in asked:
        if judgements is not None and judgements not in (names := found.qrels_names(split)):
            raise InputError(
                f"{found.path}: wanted judgements {judgements!r} of split {split!r}; found "
                f"{', '.join(names) or 'one set without a name'}; name one of these in "
                "--test-split, --negatives-of or --complete-qrels"
            )
    for split, name in named:
        if name == OWN_JUDGEMENTS and OWN_JUDGEMENTS in found.qrels_names(split):
            raise SettingError(
                f"--negatives-of: wanted {OWN_JUDGEMENTS!r} to mean the unnamed set of split "
                f"{split!r}; found a set of this name; rename it"
            )
    validation = (
        ()
        if settings.validation is None
        else (("--validation-split", JudgedSplit(settings.validation)),)
    )
    for flag, of in (*validation, *(("--test-split", test) for test in settings.tests)):
        own = {query_id for query_id, _ in found.query_texts(of.split)}
        if not any(
            qrel.grade > 0 and qrel.query_id in own for qrel in found.qrels(of.split, of.judgements)
        ):
            raise bad_input(
                found.path,
                wanted=f"{flag} {of.label} with a relevant passage for at least one of its queries",
                found="none",
                do=(
                    "name another split, or other judgements of it, as SPLIT:JUDGEMENTS in "
                    "--test-split"
                ),
            )


def _check_stored(stored: Path, collection: Collection, settings: TripClickSettings) -> None:
    groups = Groups(stored)
    if strange := set(groups.splits) - set(settings.sources):
        raise InputError(
            f"{stored}: wanted a training set of the splits {', '.join(settings.sources)}; found "
            f"one of {min(strange)!r}; give another, or that split by --source"
        )
    sample = groups.take(
        np.unique(
            np.linspace(0, max(0, len(groups) - 1), min(len(groups), LOOKED_AT)).astype(np.int64)
        )
    )
    unknown = {group.query_id for group in sample}
    for split in groups.splits:
        unknown.difference_update(query_id for query_id, _ in collection.query_texts(split))
    absent = collection.absent(
        list(dict.fromkeys(chain.from_iterable(group.passage_ids for group in sample)))
    )
    for what, ids in (("query", sorted(unknown)), ("passage", absent)):
        if ids:
            raise bad_input(
                stored,
                wanted=f"a training set of {collection.path}",
                found=f"the unknown {what} {ids[0]!r}",
                do="give a set made of this collection",
            )


def _check_encoders(settings: TripClickSettings, *, dry_run: bool) -> None:
    """Check encoders, which are fetched from the hub as for a training."""
    for model in settings.models:
        if model.encoder is not None and (
            not dry_run or model.encoder == MINILM or Path(model.encoder).expanduser().exists()
        ):
            encoder_folder(model.encoder)
