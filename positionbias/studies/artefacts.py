"""A study's folder: what stands in it, by its checksums; how a dry run follows what is not there yet; how results are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending
from positionbias.core.files import read_json, sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, read_manifest
from positionbias.core.shard_work import MapShards
from positionbias.engine.local import map_shards
from positionbias.models.checkpoint import LOG, ending_of, read_log
from positionbias.models.tensors import FACTS
from positionbias.results.result import Facts
from positionbias.studies.step import Planned, Steps
from positionbias.training.plan import TrainPlan

__all__ = ["Artefacts", "as_ended", "checkpoint_facts", "ending_at"]


class Artefacts:
    """A study's folder and the steps made in it. With ``dry_run`` nothing is made or written: ``planned`` says what would be."""

    def __init__(
        self, folder: Path, tell: Callable[[str], None] = lambda line: None, *, workers: int = 1, dry_run: bool = False
    ) -> None:
        self.folder, self.workers, self.prefix = folder, workers, ""
        self.steps = Steps(folder, tell, dry_run=dry_run)
        self._sources: dict[Path, Path] = {}  # a rotated collection → the one it is made from, for its numbers in a dry run
        self._plans: dict[Path, TrainPlan] = {}  # a model → how it is trained
        self._drawn: dict[Path, int] = {}  # a run of some queries → of how many

    def within(self, name: str) -> Self:
        """The same workshop in the subfolder ``name``: for a study of several collections."""
        part = object.__new__(type(self))
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
            return manifest.checksum
        # another training may end in the same weights by another way: its log counts as well
        log = artefact / "training.json"
        made = [manifest.comparable(), sha256_file(log) if log.exists() else None]
        return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()

    def scorer(self, model: Path) -> str | None:
        """What a model's scores depend on, weights, kind and shape, and not how these came to be: a training that ends where it ended
        before leaves nothing to do. None of what a dry run has not made."""
        if not self._made(model):
            return None
        facts = checkpoint_facts(model)
        weights = read_manifest(model).checksum
        return hashlib.sha256(json.dumps([weights, facts["kind"], facts["shape"]], sort_keys=True).encode()).hexdigest()

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

    def _collection_among(self, artefacts: Iterable[Path]) -> Collection | None:
        for path in artefacts:
            if path in self._sources or (path.is_dir() and read_manifest(path).kind == "collection"):
                return self.counted(path)
        return None

    def _manifest(self, place: Path, kind: str, command: str, settings: JsonObject, inputs: Mapping[str, Path]) -> Manifest:
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


def as_ended(facts: Facts, *models: Path) -> Facts:
    """The facts of what rests on these trainings, which say where one of them is not finished; of what a dry run has not made they say nothing."""
    return replace(facts, unfinished=facts.unfinished or any(ending_at(model).unfinished for model in models))


def ending_at(model: Path) -> Ending:
    """How the training of a checkpoint ended; the model itself is not loaded."""
    log = model / LOG
    if not log.is_file():
        return Ending()
    return ending_of(model, read_log(model), checkpoint_facts(model)["depth"])


def checkpoint_facts(model: Path) -> Mapping[str, Any]:
    """What a checkpoint says of itself: kind, shape, re-ranking depth."""
    return read_json(model / FACTS, what="a checkpoint's facts")
