"""Run the TripClick study: re-rankers and dense retrieval on clicks, and the effect of their
training negatives.

    BM25 candidates → training sets: BM25's negatives, and others → models
    → each test's candidates re-ranked, an ensemble; the collection encoded, searched
    → measures, tests, depth curves → report

Every step is restartable (``experiments.step``); what is given is checked before the first.

The paper's rule for training sets (§3.1) draws for each (query, clicked passage) up to N negatives,
without replacement, from the query's candidates that are not judged relevant at any grade; each
makes a triple. All drawn sets follow it, so they differ only in the source of negatives. Unlike in
``posbias model trainset clicks`` only the split's own judgements count as relevant, as a complete
set would remove the false negatives that the study is about [decision].
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.json_text import JsonObject
from positionbias.core.records import relevant_passages
from positionbias.core.run_files import read_rankings
from positionbias.corpora.drawn_set import drawn_set
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import Trial, as_ended, check_candidates, check_splits
from positionbias.experiments.step import record_of
from positionbias.experiments.workspace import Workspace
from positionbias.papers.tripclick import ENSEMBLE, REGENERATED, RERANKER, RETRIEVER
from positionbias.papers.tripclick.measured import TripClickStudy, measure_tripclick
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.training.negatives import drawn_groups

OWN_JUDGEMENTS = "own"  # the name of a split's own, unnamed set of judgements
SHARD = 1 << 18  # groups

NOTES = (
    "Training sets are drawn once; a training's seed draws first weights and orders its triples.",
    "Re-rankers reorder BM25's candidates down to one depth for all, which is not tuned (§4.1).",
    "A query's value is its mean over training seeds, before anything else is computed.",
    "An ensemble's score is the mean of its models' z-scores within a query.",
)


def run_study(collection: Collection, settings: TripClickSettings, workspace: Workspace) -> Path:
    """Run the study on ``collection`` in the workspace; return the folder of its results.

    Raises:
        InputError: as ``check_study``.
    """
    check_study(collection, settings)
    return _Study(collection, settings, workspace).run()


class _Study:
    def __init__(
        self, collection: Collection, settings: TripClickSettings, workspace: Workspace
    ) -> None:
        self.collection, self.settings, self.workspace = collection, settings, workspace
        self.runs = {split: self._candidates(split) for split in settings.splits}

    def run(self) -> Path:
        """Run all steps, one seed after another, and one model on all its training sets, so that an
        interrupted study has comparisons.
        """
        settings = self.settings
        self.trainsets = {name: self._trainset(name) for name in settings.sets}
        asked = (
            (name, trainset, seed)
            for seed in settings.training_seeds
            for name in settings.named
            for trainset in settings.trained_on(name)
        )
        trials = list(self.workspace.side_by_side(self._trial, asked, settings.models))
        members = [
            trial
            for trial in trials
            if trial.name in settings.ensemble and trial.facts.variant == REGENERATED
        ]
        for seed in settings.training_seeds if members else ():
            own = [trial for trial in members if trial.seed == seed]
            trials.append(self._ensemble(own, seed))
        candidates = {split: self.runs[split] for split in settings.test_splits}
        study = TripClickStudy(self.collection.path, settings, candidates, self.trainsets, trials)
        return self.workspace.results(
            f"TripClick: {self.collection.name}",
            "study tripclick",
            {
                "settings": record_of(settings),
                "collection": dict(self.collection.manifest.settings),
            },
            study.inputs(),
            lambda: measure_tripclick(study),
            notes=NOTES,
            seed=settings.seed,
        )

    def _candidates(self, split: str) -> Path:
        settings = self.settings
        if split in settings.candidates:
            return settings.candidates[split]
        depth = settings.train_depth if split == settings.source else settings.retrieval_depth
        return self.workspace.candidates(self.collection.path, split, depth, settings.bm25)

    def _trainset(self, name: str) -> Path:
        settings, workspace, run = self.settings, self.workspace, self.runs[self.settings.source]
        if name in settings.trainsets:
            return settings.trainsets[name]
        place = workspace.folder / "trainsets" / name
        return workspace.make(
            f"trainset-{name}",
            place,
            drawn_from(name, settings),
            {"collection": self.collection.path, "candidates": run},
            lambda: write_study_set(place, self.collection, run, name, settings),
        )

    def _trial(self, asked: tuple[str, str, int]) -> Trial:
        name, trainset, seed = asked
        settings, model = self.settings, self.settings.named[name]
        split = settings.validation
        plan = model.plan(
            trainset=self.trainsets[trainset],
            seed=seed,
            validation=None if split is None else (self.runs[split], split),
            words_of=(settings.source,),
        )
        stem = re.sub(r"[^\w.-]+", "-", name).strip("-")
        label = f"{stem}-{trainset}-seed-{seed}"
        place = self.workspace.trained(label, self.collection.path, plan)
        dense = settings.dense(name)
        facts = Facts(
            model=model.kind,
            pretrained=model.pretrained,
            variant=trainset,
            role=RETRIEVER if dense else RERANKER,
        )
        runs = self._retrieved(place) if dense else self._reranked(place)
        return Trial(name, as_ended(facts, place), seed, runs, place)

    def _reranked(self, model: Path) -> dict[str, Path]:
        """Return candidates in a model's order by split, down to the deepest depth needed."""
        at, reach = self.collection.path, self.settings.reach
        return {
            split: self.workspace.reranked(model, at, split, self.runs[split], depth=reach(split))
            for split in self.settings.test_splits
        }

    def _retrieved(self, model: Path) -> dict[str, Path]:
        """Return a model's retrieval from the whole collection by split."""
        depth, at = self.settings.retrieval_depth, self.collection.path
        vectors = self.workspace.encoded(model, at)
        return {
            split: self.workspace.retrieved_dense(model, vectors, at, split, depth)
            for split in self.settings.test_splits
        }

    def _ensemble(self, members: Sequence[Trial], seed: int) -> Trial:
        """Return the ensemble of one seed's re-rankers, within their re-ranking depth."""
        runs = {
            split: self.workspace.ensembled(
                f"ensemble-seed-{seed}-on-{split}",
                {trial.name: trial.runs[split] for trial in members},
                self.runs[split],
                split=split,
                depth=self.settings.depth,
            )
            for split in self.settings.test_splits
        }
        facts = Facts(model="ensemble", variant=REGENERATED, role=ENSEMBLE)
        trained = [trial.trained for trial in members if trial.trained is not None]
        return Trial(ENSEMBLE, as_ended(facts, *trained), seed, runs, None)


def check_study(collection: Collection, settings: TripClickSettings) -> None:
    """Check that splits, judgements and given runs exist and fit the collection; it reads the
    beginning of a training run.

    Raises:
        InputError: the first that is missing or does not fit.
    """
    check_splits(collection, settings.splits)
    validation = [JudgedSplit(settings.validation)] if settings.validation else []
    for test in (*settings.tests, *validation):
        own = {query_id for query_id, _ in collection.query_texts(test.split)}
        if not any(
            qrel.grade > 0 and qrel.query_id in own
            for qrel in collection.qrels(test.split, test.judgements)
        ):
            raise InputError(
                f"{collection.path}: wanted a relevant passage for a query of {test.label}; found "
                "none; name another split, or other judgements of it, as SPLIT:JUDGEMENTS"
            )
    for judgements in (*settings.negatives_of.values(), settings.complete_qrels):
        if judgements not in (None, OWN_JUDGEMENTS):
            collection.qrels(settings.source, judgements)
    check_candidates(settings.candidates, collection, large=(settings.source,))


def write_study_set(
    out: Path, collection: Collection, candidates: Path, name: str, settings: TripClickSettings
) -> Groups:
    """Write the triples of the set of this name to ``out``, replacing an existing one, and open it;
    ``candidates`` is a run of the training split.

    Raises:
        InputError: an unreadable run, missing judgements, or no triple at all.
    """
    triples = _triples(collection, candidates, name, settings)
    files, drawn = [("candidates", candidates)], drawn_from(name, settings)
    with drawn_set(
        out, collection, files, "study tripclick", drawn, seed=settings.seed, overwrite=True
    ) as (folder, manifest):
        shards = iter(lambda: list(islice(triples, SHARD)), [])
        if not write_groups(folder, list, shards, manifest, splits=(settings.source,)):
            raise bad_input(
                collection.path,
                wanted=f"negatives for training set {name!r}",
                found="none",
                do="check its candidates, or its judgements, which need passages of grade 0",
            )
    return Groups(out)


def drawn_from(name: str, settings: TripClickSettings) -> JsonObject:
    """Return the settings that a set depends on."""
    shared = ("source", "negatives", "train_depth", "seed")
    own: JsonObject = {"name": name, "judgements": settings.negatives_of.get(name)}
    return {**own, **{setting: getattr(settings, setting) for setting in shared}}


def _triples(
    collection: Collection, candidates: Path, name: str, settings: TripClickSettings
) -> Iterator[TrainingGroup]:
    relevant = relevant_passages(collection.qrels(settings.source))
    clicked = {query_id: sorted(passage_ids) for query_id, passage_ids in relevant.items()}
    absent = set(collection.absent(sorted({item for own in clicked.values() for item in own})))
    pools: Iterable[tuple[str, Sequence[str]]]
    if name not in settings.negatives_of:
        depth, rankings = settings.train_depth, read_rankings(candidates)
        pools = ((query_id, passage_ids[:depth]) for query_id, passage_ids, _ in rankings)
    else:
        pools = _judged(collection, settings.source, settings.negatives_of[name])
    for group in drawn_groups(pools, clicked, absent, settings.negatives, settings.seed):
        positive, *negatives = group.passage_ids
        for negative in negatives:
            yield TrainingGroup(group.query_id, (positive, negative), (1, 0))


def _judged(
    collection: Collection, split: str, judgements: str
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each query's judged non-relevant passages, both in the order of their ids, which is
    that of no file.
    """
    qrels = collection.qrels(split, None if judgements == OWN_JUDGEMENTS else judgements)
    pairs = sorted({(qrel.query_id, qrel.passage_id) for qrel in qrels if qrel.grade < 1})
    absent = set(collection.absent([passage_id for _, passage_id in pairs]))
    pools: dict[str, list[str]] = {}
    for query_id, passage_id in pairs:
        if passage_id not in absent:
            pools.setdefault(query_id, []).append(passage_id)
    yield from pools.items()
