"""A study's folder: checksums of its artefacts, stand-ins for those that a dry run does not make,
and results.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar

from positionbias.core.collection import Collection
from positionbias.core.convergence import Ending
from positionbias.core.files import read_json, sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    package_versions,
    provenance,
    read_manifest,
)
from positionbias.engine.choose import Engine
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.parts import in_parts
from positionbias.experiments.step import Planned, Steps
from positionbias.models.checkpoint import LOG, read_log
from positionbias.models.remedied import trained_folder
from positionbias.models.tensors import FACTS
from positionbias.results.result import Facts
from positionbias.training.plan import TrainPlan

__all__ = ["Artefacts", "as_ended", "checkpoint_facts", "ending_at"]

Item = TypeVar("Item")
Out = TypeVar("Out")


class Artefacts:
    """A study's folder and the steps made in it. With ``dry_run`` nothing is made or written:
    ``planned`` lists the steps.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str], None] = lambda line: None,
        *,
        engine: Engine | None = None,
        dry_run: bool = False,
    ) -> None:
        self.folder, self.engine, self.prefix = folder, engine or Engine(), ""
        self.steps = Steps(folder, tell, dry_run=dry_run)
        # a rotated collection → its source, for its size in a dry run
        self._sources: dict[Path, Path] = {}
        self._plans: dict[Path, TrainPlan] = {}  # a model → its training
        self._drawn: dict[Path, int] = {}  # a run of some queries → their number

    def within(self, name: str) -> Self:
        """Return the same workspace in the subfolder ``name``, for a study of several
        collections.
        """
        part = object.__new__(type(self))
        part.__dict__.update(
            self.__dict__, folder=self.folder / name, prefix=f"{self.prefix}{name}/"
        )
        return part

    def __getstate__(self) -> dict[str, object]:
        # in another process, which is one of the engine's
        return {**self.__dict__, "engine": Engine()}

    def map_shards(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Work on shards by the study's engine."""
        with self.engine.open() as map_shards:
            yield from map_shards(function, items)

    def side_by_side(
        self,
        function: Callable[[Item], Out],
        items: Iterable[Item],
        models: Sequence[ModelSettings],
    ) -> Iterator[Out]:
        """Yield ``function`` of every item, in order; it makes the steps of these ``models`` in
        this workspace, as ``in_parts``.
        """
        return in_parts(self.engine, self.steps, function, items, models)

    @property
    def planned(self) -> Sequence[Planned]:
        """Return the steps that a dry run has met, in their order."""
        return self.steps.planned

    def checksum(self, artefact: Path) -> str | None:
        """Return an artefact's checksum for receipts, of its content and origin; None if a dry run
        has not made it.
        """
        if artefact in self.steps.unmade:
            return None
        if artefact.is_file():
            return sha256_file(artefact)
        manifest = read_manifest(artefact)
        if manifest.kind == "collection":
            return manifest.checksum
        # another training may reach the same weights in another way, so its log counts too
        log = artefact / "training.json"
        made = [manifest.comparable(), sha256_file(log) if log.exists() else None]
        return hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()

    def scorer(self, model: Path) -> str | None:
        """Return a checksum of what a model's scores depend on (weights, kind and shape), so that a
        training with the same result needs no new scores; None if a dry run has not made it."""
        if not self._made(model):
            return None
        facts = checkpoint_facts(model)
        weights = read_manifest(model).checksum
        return hashlib.sha256(
            json.dumps([weights, facts["kind"], facts["shape"]], sort_keys=True).encode()
        ).hexdigest()

    def _made(self, *artefacts: Path) -> bool:
        return not self.steps.unmade.intersection(artefacts)

    def stands_for(self, made: Path, source: Path) -> None:
        """Let ``made``, missing in a dry run, count as many passages and queries as ``source``."""
        self._sources[made] = source

    def counted(self, collection: Path) -> Collection:
        """Return this collection or, if a dry run has not made it, one of about its size."""
        while collection in self.steps.unmade:
            collection = self._sources[collection]
        return Collection(collection)

    def _collection_among(self, artefacts: Iterable[Path]) -> Collection | None:
        for path in artefacts:
            if path in self._sources or (
                path.is_dir() and read_manifest(path).kind == "collection"
            ):
                return self.counted(path)
        return None

    def _manifest(
        self, place: Path, kind: str, command: str, settings: JsonObject, inputs: Mapping[str, Path]
    ) -> Manifest:
        licences = dict.fromkeys(
            made.licence for path in inputs.values() if (made := manifest_if_any(path)) is not None
        )
        return Manifest(
            kind=kind,
            name=place.name,
            command=command,
            settings=settings,
            inputs=tuple(
                input_ref(role, path, self.checksum(path) or "", artefact=place)
                for role, path in inputs.items()
            ),
            licence="; ".join(filter(None, licences)),
            versions=package_versions("torch", "numpy", "bm25s", "ir_measures", "scipy"),
            provenance=provenance(),
        )


def as_ended(facts: Facts, *models: Path) -> Facts:
    """Mark facts as unfinished if one of these trainings is; a model that a dry run has not made
    changes nothing.
    """
    return replace(
        facts, unfinished=facts.unfinished or any(ending_at(model).unfinished for model in models)
    )


def ending_at(model: Path) -> Ending:
    """Return how the training of a checkpoint ended, without loading the model."""
    own = trained_folder(model)
    return read_log(own).ending if (own / LOG).is_file() else Ending()


def checkpoint_facts(model: Path) -> Mapping[str, Any]:
    """Return a checkpoint's own record: kind, shape, re-ranking depth."""
    return read_json(trained_folder(model) / FACTS, what="a checkpoint's facts")
