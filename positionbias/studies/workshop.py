"""What all studies make: rotated collections, candidates, trained models, re-ranked runs, probes, results.

Each is a restartable step (``studies.step``) that leaves an artefact with its manifest in the study's folder:

    rotated-SEED/              a collection rotated by one draw
    runs/bm25-SPLIT.run        candidates
    models/NAME/               checkpoints
    taught/NAME-on-SPLIT/      a model's scores of training candidates, for others to learn from
    runs/NAME-on-TEST.run      candidates re-ranked by a model, or by position alone
    probes/NAME-on-TEST/       MATS of a model
    results/                   what was measured
    steps/                     receipts

Steps take and give paths: what a step needs is opened while it is made, so a study holds one model at a time, and a dry run can
follow a study through artefacts that are not there yet.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.files import read_json, sha256_file
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    read_manifest,
    write_manifest,
)
from positionbias.core.result import Facts, Result, save_results
from positionbias.core.run import read_run, write_run
from positionbias.core.shard_work import MapShards
from positionbias.engine.local import map_shards
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import FACTS, Checkpoint, load_checkpoint
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.probe.term_vectors import probe_model
from positionbias.ranking.config import pick_device
from positionbias.ranking.rerank import rerank_run
from positionbias.ranking.teach import teach
from positionbias.studies import estimate
from positionbias.studies.by_position import position_only_run
from positionbias.studies.calibrate import Calibration
from positionbias.studies.step import Planned, Steps
from positionbias.training.plan import INPUTS, TrainPlan
from positionbias.training.state import unfinished
from positionbias.training.train import train_model

__all__ = ["Workshop"]


class Workshop:
    """A study's folder and the steps made in it. With ``dry_run`` nothing is made or written: ``planned`` says what would be."""

    def __init__(
        self, folder: Path, tell: Callable[[str], None] = lambda line: None, *, workers: int = 1, dry_run: bool = False
    ) -> None:
        self.folder, self.workers, self.prefix = folder, workers, ""
        self.steps = Steps(folder, tell, dry_run=dry_run)
        self._sources: dict[Path, Path] = {}  # a rotated collection → the one it is made from, for its numbers in a dry run
        self._plans: dict[Path, TrainPlan] = {}  # a model → how it is trained
        self._calibration = Calibration()

    def within(self, name: str) -> Workshop:
        """The same workshop in the subfolder ``name``: for a study of several collections."""
        part = object.__new__(Workshop)
        part.__dict__.update(self.__dict__, folder=self.folder / name, prefix=f"{self.prefix}{name}/")
        return part

    @property
    def map_shards(self) -> MapShards:
        """Works on shards in the study's number of processes."""
        return partial(map_shards, workers=self.workers)

    @property
    def planned(self) -> Sequence[Planned]:
        """The steps that a dry run has met, in their order."""
        return self.steps.planned

    def checksum(self, artefact: Path) -> str | None:
        """What stands for an artefact in receipts: its content and what made it; None of what a dry run has not made."""
        if artefact in self.steps.unmade:
            return None
        if artefact.is_file():
            return sha256_file(artefact)
        manifest = read_manifest(artefact)
        if manifest.kind == "collection":
            return str(manifest.content["checksum"])
        # another training may end in the same weights by another way: its log counts as well
        log = artefact / "training.json"
        made = [manifest.comparable(), sha256_file(log) if log.exists() else None]
        return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()

    def _made(self, *artefacts: Path) -> bool:
        return not self.steps.unmade.intersection(artefacts)

    def stands_for(self, made: Path, source: Path) -> None:
        """Say that ``made`` has about as many passages and queries as ``source``: for a dry run, which has not made it."""
        self._sources[made] = source

    def counted(self, collection: Path) -> Collection:
        """A collection with about the numbers of this one, which a dry run may not have made."""
        while collection in self.steps.unmade:
            collection = self._sources[collection]
        return Collection(collection)

    # -- steps ------------------------------------------------------------------------------------------------

    def rotated(self, collection: Path, rotation: Rotation) -> Path:
        """The collection with every passage rotated once, as ``debias``; named for the draw."""
        place = self.folder / f"rotated-{rotation.seed}"
        self.stands_for(place, collection)

        def make() -> None:
            source = Collection(collection)
            debias(
                source,
                place,
                rotation,
                map_shards=self.map_shards,
                overwrite=True,
                name=f"{source.name}-rotated-{rotation.seed}",
                provenance={"workers": self.workers},
            )

        inputs = {"collection": self.checksum(collection)}
        work = estimate.rotating(self.counted(collection), rotation)
        return self.steps.make(f"{self.prefix}rotate-{rotation.seed}", place, asdict(rotation), inputs, make, work=work)

    def candidates(self, collection: Path, split: str, depth: int, bm25: Bm25Settings) -> Path:
        """A BM25 run of the split's queries."""
        place = self.folder / "runs" / f"bm25-{split}.run"

        def make() -> None:
            retrieve_run(Collection(collection), split, depth, bm25, place, overwrite=True, workers=self.workers)

        settings = {"split": split, "depth": depth, **asdict(bm25)}
        inputs = {"collection": self.checksum(collection)}
        work = estimate.retrieving(self.counted(collection), split)
        return self.steps.make(f"{self.prefix}bm25-{split}", place, settings, inputs, make, work=work)

    def trained(self, name: str, collection: Path, plan: TrainPlan, *, groups: int | None = None) -> Path:
        """The checkpoint of a training; one that was interrupted goes on. ``groups`` is how many its training set has, for a dry run."""
        place = self.folder / "models" / name
        files = (getattr(plan, role) for role in INPUTS)
        made = self._made(collection, *(path for path in files if path is not None))

        def make() -> None:
            train_model(Collection(collection), plan, place, resume=unfinished(place) is not None, overwrite=True)

        settings = plan.settings(Collection(collection)) if made else {}
        inputs = {"collection": self.checksum(collection) if made else None}
        self._plans[place] = plan
        work, note = estimate.training(self.counted(collection), plan, unfinished(place), self._calibration, groups)
        return self.steps.make(f"{self.prefix}train-{name}", place, settings, inputs, make, work=work, note=note)

    def taught(
        self, model: Path, collection: Path, split: str, candidates: Path, depth: int | None, *, relevant_from: int = 1
    ) -> Path:
        """The model's scores of the first ``depth`` candidates (None: all) and of the passages judged relevant; a run that was stopped
        goes on."""
        label = f"{model.name}-on-{split}"
        place = self.folder / "taught" / label
        settings = {"split": split, "depth": depth, "relevant_from": relevant_from}

        def make() -> None:
            asked = partial(teach, depth=depth, relevant_from=relevant_from, overwrite=True)
            asked(_at_work(model), Collection(collection), split, candidates, place)

        weights = read_manifest(model).content["checksum"] if self._made(model) else None
        inputs = {"model": weights, "collection": self.checksum(collection), "candidates": self.checksum(candidates)}
        plan = self._plans.get(model)
        deepest = depth or (plan.training.most_depth if plan else 1)
        work = estimate.reranking(self.counted(collection), split, plan, deepest, self._calibration)
        return self.steps.make(f"{self.prefix}teach-{label}", place, settings, inputs, make, work=work)

    def reranked(
        self, model: Path, collection: Path, split: str, candidates: Path, *, on: str = "", depth: int | None = None
    ) -> Path:
        """The candidates in the model's order, down to ``depth``, by default the tuned one. ``on`` names the test passages in the run's
        file name, where there are several."""
        label = f"{model.name}-on-{on}-{split}" if on else f"{model.name}-on-{split}"
        place = self.folder / "runs" / f"{label}.run"

        def make() -> None:
            run = read_run(candidates)
            rerank_run(_at_work(model), Collection(collection), split, run, candidates, place, depth=reach, overwrite=True)

        # the weights and the depth, not how they came to be: a training that ends where it ended before leaves nothing to do
        weights, tuned = (read_manifest(model).content["checksum"], _depth(model)) if self._made(model) else (None, None)
        reach = tuned if depth is None else depth
        inputs = {"model": weights, "collection": self.checksum(collection), "candidates": self.checksum(candidates)}
        plan = self._plans.get(model)
        deepest = reach or (plan.training.most_depth if plan else 1)
        work = estimate.reranking(self.counted(collection), split, plan, deepest, self._calibration)
        return self.steps.make(f"{self.prefix}rerank-{label}", place, {"split": split, "depth": reach}, inputs, make, work=work)

    def by_position(self, collection: Path, split: str, candidates: Path, *, on: str) -> Path:
        """The candidates in the order of a scorer that knows position only (``text.overlap.position_only``)."""
        label = f"position-only-on-{on}-{split}"
        place = self.folder / "runs" / f"{label}.run"
        inputs = {"collection": self.checksum(collection), "candidates": self.checksum(candidates)}

        def make() -> None:
            run = position_only_run(Collection(collection), split, read_run(candidates))
            write_run(place, run, overwrite=True)
            content = {"checksum": sha256_file(place), "queries": len(run), "pairs": run.pairs}
            named = {"collection": collection, "candidates": candidates}
            manifest = self._manifest(place, "run", "position only", {"split": split}, named)
            write_manifest(manifest_path(place), replace(manifest, name=run.name, content=content))

        work = estimate.ordering(self.counted(collection), split)
        return self.steps.make(f"{self.prefix}{label}", place, {"split": split}, inputs, make, work=work)

    def probed(self, model: Path, collection: Path, *, on: str, passages: int | None, seed: int, facts: Facts) -> Path:
        """MATS and the ATS curve of a model with term vectors, on the passages called ``on``: a folder of one Result."""
        place = self.folder / "probes" / f"{model.name}-on-{on}"

        def make() -> None:
            (result,) = probe_model(load_checkpoint(model), Collection(collection), passages=passages, seed=seed)
            self._save(place, [replace(result, facts=facts)], "mats", settings, {"model": model, "collection": collection})

        settings = {"passages": passages, "seed": seed, "facts": asdict(facts)}
        weights = read_manifest(model).content["checksum"] if self._made(model) else None
        inputs = {"model": weights, "collection": self.checksum(collection)}
        work = estimate.probing(self.counted(collection), passages, self._plans.get(model), self._calibration)
        return self.steps.make(f"{self.prefix}probe-{model.name}-on-{on}", place, settings, inputs, make, work=work)

    def results(
        self,
        title: str,
        command: str,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Path],
        measure: Callable[[], Sequence[Result]],
        *,
        notes: Sequence[str] = (),
        seed: int | None = None,
    ) -> Path:
        """The study's results, in ``results``; ``measure()`` opens what it reads itself, all of it named in ``inputs``.

        ``settings`` are JSON-ready, and recorded in the manifest under "study"; the licences are those of the inputs.
        """
        place = self.folder / "results"

        def make() -> None:
            self._save(place, measure(), command, {"study": settings}, inputs, title=title, notes=notes, seed=seed)

        sums = {role: self.checksum(path) for role, path in inputs.items()}
        work = estimate.measuring(self._collection_among(inputs.values()), len(inputs))
        record = {"title": title, "study": settings, "seed": seed}
        return self.steps.make(f"{self.prefix}measure", place, record, sums, make, work=work)

    def _collection_among(self, artefacts: Iterable[Path]) -> Collection | None:
        for path in artefacts:
            if path in self._sources or (path.is_dir() and read_manifest(path).kind == "collection"):
                return self.counted(path)
        return None

    def _save(
        self,
        place: Path,
        results: Sequence[Result],
        command: str,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Path],
        *,
        title: str = "",
        notes: Sequence[str] = (),
        seed: int | None = None,
    ) -> None:
        manifest = self._manifest(place, "results", command, settings, inputs)
        save_results(place, results, replace(manifest, name=title or place.name, notes=tuple(notes), seed=seed), overwrite=True)

    def _manifest(
        self, place: Path, kind: str, command: str, settings: Mapping[str, Any], inputs: Mapping[str, Path]
    ) -> Manifest:
        licences = dict.fromkeys(read_manifest(path).licence for path in inputs.values() if manifest_path(path).is_file())
        return Manifest(
            kind=kind,
            name=place.name,
            command=command,
            settings=settings,
            inputs=tuple(input_ref(role, path, self.checksum(path) or "", artefact=place) for role, path in inputs.items()),
            licence="; ".join(filter(None, licences)),
            versions=package_versions("torch", "numpy", "bm25s", "ir_measures", "scipy"),
            provenance=provenance(),
        )


def _at_work(model: Path) -> Checkpoint:
    """The checkpoint, on the GPU where there is one."""
    checkpoint = load_checkpoint(model)
    checkpoint.model.to(pick_device("auto"))
    return checkpoint


def _depth(model: Path) -> int | None:
    depth = read_json(model / FACTS, what="a checkpoint's facts").get("depth")
    return None if depth is None else int(depth)
