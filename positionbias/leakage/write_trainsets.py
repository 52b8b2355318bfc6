"""Training sets with leaked queries on disk: one, or a folder of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
from pandas import DataFrame

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, write_groups
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, input_ref, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.rows import write_into
from positionbias.core.run import read_run
from positionbias.core.shard_work import resumable_folder
from positionbias.leakage.measured import collected
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.leakage.settings import LeakedSettings, MaterialSettings
from positionbias.leakage.trainsets import LeakedSet, Material, leaked_groups, read_material

__all__ = ["LeakedInputs", "write_leaked_set", "write_leaked_sets"]

COMMAND = "trainset leaked"
_AT_ONCE = 16_384  # groups per shard
_NOTES = (
    (
        "Leaked queries come first, the filling after them; a smaller set is the beginning of a "
        "larger one."
    ),
    "Sets of every kind name the splits of source and target, so that all vocabularies are equal.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakedInputs:
    """The inputs of sets: a collection, its target splits, a run for each source split, files of
    pairs.

    ``prefixes`` are put before the training and test ids of the pairs, as in a merged collection:
    ("msm:", "robust:").
    """

    collection: Collection
    targets: Sequence[str]
    candidates: Mapping[str, Path]
    pairs: Sequence[Path]
    prefixes: tuple[str, str] = ("", "")
    settings: MaterialSettings = field(default_factory=MaterialSettings)

    def material(self) -> Material:
        """Read all inputs.

        Raises:
            InputError: an unreadable file, and as ``read_material``.
            SettingError: as ``read_material``.
        """
        runs = {split: read_run(path) for split, path in self.candidates.items()}
        return read_material(
            self.collection,
            targets=self.targets,
            candidates=runs,
            pairs=self.read_pairs(),
            settings=self.settings,
        )

    def read_pairs(self) -> Iterator[Pair]:
        """Read the pairs, under the ids of the collection."""
        train, test = self.prefixes
        for pair in (pair for place in self.pairs for pair in read_pairs(place)):
            ids = {"train_id": f"{train}{pair.train_id}", "test_id": f"{test}{pair.test_id}"}
            yield msgspec.structs.replace(pair, **ids)

    def refs(self, artefact: Path) -> list[InputRef]:
        """Return the inputs for the manifest of ``artefact``."""
        files = [(f"candidates of {split}", path) for split, path in self.candidates.items()]
        files += [("pairs", pairs_file(place)) for place in self.pairs]
        collection = self.collection.path, self.collection.checksum
        return [
            input_ref("collection", *collection, artefact=artefact),
            *(input_ref(role, path, sha256_file(path), artefact=artefact) for role, path in files),
        ]

    def record(self) -> JsonObject:
        """Return the settings for a manifest."""
        return {
            "targets": list(self.targets),
            "sources": list(self.candidates),
            "prefixes": list(self.prefixes),
            **asdict(self.settings),
        }

    def manifest(self, kind: str, name: str, inputs: Sequence[InputRef], **more: Any) -> Manifest:
        """Return the manifest of a set, or of a folder of them."""
        licence = self.collection.manifest.licence
        common: dict[str, Any] = {
            "command": COMMAND,
            "inputs": tuple(inputs),
            "licence": licence,
            "notes": _NOTES,
        }
        return Manifest(kind=kind, name=name, **common, **more)


def write_leaked_set(
    out: Path,
    inputs: LeakedInputs,
    settings: LeakedSettings,
    *,
    material: Material | None = None,
    overwrite: bool = False,
) -> Groups:
    """Write one set to ``out``, whole or not at all, and open it; ``material`` is that of
    ``inputs`` if already read.

    The first ``manifest.content["leaked"]`` groups leak; ``content["leaks"]`` names the test
    queries.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: what cannot be read or built, as ``LeakedInputs.material`` and
            ``leaked_groups``.
        SettingError: as these.
    """
    refuse_existing(out, overwrite=overwrite)
    material = inputs.material() if material is None else material
    drawn, refs = leaked_groups(material, settings), inputs.refs(out)
    with resumable_folder(out, _job(inputs, refs, [settings]), overwrite=overwrite) as folder:
        _write(folder, out.name, inputs, material, settings, drawn, refs)
    return Groups(out)


def write_leaked_sets(
    out: Path, inputs: LeakedInputs, wanted: Sequence[LeakedSettings], *, overwrite: bool = False
) -> DataFrame:
    """Write a folder of sets, each under its ``name``, with the rows that count them, and return
    these; an interrupted run is resumed.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: what cannot be read or built, as ``LeakedInputs.material`` and
            ``leaked_groups``.
        SettingError: as these; the same set twice.
    """
    refuse_existing(out, overwrite=overwrite)
    if len(set(wanted)) != len(wanted):
        raise SettingError(
            "--leakage, --size, --repeats: wanted each once; found one twice; drop it"
        )
    material, refs = inputs.material(), inputs.refs(out)
    within = [replace(item, path=f"../{item.path}") for item in refs]
    made = collected(inputs.collection.name)
    with resumable_folder(out, _job(inputs, refs, wanted), overwrite=overwrite) as folder:
        for settings in track(wanted, "writing training sets", unit="sets"):
            drawn = leaked_groups(material, settings)
            _write(folder / settings.name, settings.name, inputs, material, settings, drawn, within)
            numbers = {
                "instances": settings.instances,
                "leaked": drawn.leaked,
                "leaked share": drawn.leaked / settings.queries,
                "filling": settings.queries - drawn.leaked,
            }
            for statistic, number in numbers.items():
                cells: dict[str, Any] = {"variant": settings.name, "seed": settings.seed}
                made.add("training set", statistic, number, **cells)
        manifest = inputs.manifest(
            "results",
            out.name,
            refs,
            settings={**inputs.record(), "sets": [settings.name for settings in wanted]},
            versions=package_versions("pyarrow"),
            provenance=provenance(),
        )
        write_into(folder, made.rows, manifest)
    return made.rows


def _job(
    inputs: LeakedInputs, refs: Sequence[InputRef], wanted: Sequence[LeakedSettings]
) -> JsonObject:
    """Return the record that determines the content, with inputs by checksum."""
    checksums = [[item.role, item.checksum] for item in refs]
    sets = [asdict(settings) for settings in wanted]
    return {"command": COMMAND, **inputs.record(), "inputs": checksums, "sets": sets}


def _write(
    folder: Path,
    name: str,
    inputs: LeakedInputs,
    material: Material,
    settings: LeakedSettings,
    drawn: LeakedSet,
    refs: Sequence[InputRef],
) -> None:
    record = asdict(settings)
    seed = record.pop("seed")
    leaks = {
        group.query_id: sorted(material.leaks[group.query_id])
        for group in drawn.groups[: drawn.leaked]
    }
    manifest = inputs.manifest(
        KIND,
        name,
        refs,
        settings={**inputs.record(), **record},
        seed=seed,
        content={"leaked": drawn.leaked, "leaks": leaks},
    )
    splits = (*material.sources, *material.targets)
    write_groups(folder, list, _blocks(drawn.groups), manifest, splits=splits)


def _blocks(groups: Sequence[TrainingGroup]) -> Iterator[Sequence[TrainingGroup]]:
    return (groups[start : start + _AT_ONCE] for start in range(0, len(groups), _AT_ONCE))
