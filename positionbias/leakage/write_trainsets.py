"""Write training sets with leakage: their inputs by path, one set as a folder, or a folder of
many.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.files import sha256_file
from positionbias.core.groups import KIND, Groups, TrainingGroup, write_groups
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, input_ref, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.run import read_run
from positionbias.core.shard_work import resumable_folder
from positionbias.leakage.material import Material, read_material
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs
from positionbias.leakage.settings import LeakedSettings, MaterialSettings
from positionbias.leakage.trainsets import LeakedSet, check_set, leaked_groups
from positionbias.results.leakage import DRAWN_SET
from positionbias.results.result import Result, write_results

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
    """The inputs of sets: a collection, its target splits, a run for each source split (None: not
    known yet), files of pairs.

    ``prefixes`` are put before the training and test ids of the pairs, as in a merged collection:
    ("msm:", "robust:").
    """

    collection: Collection
    targets: Sequence[str]
    candidates: Mapping[str, Path | None]
    pairs: Sequence[Path]
    prefixes: tuple[str, str] = ("", "")
    settings: MaterialSettings = field(default_factory=MaterialSettings)

    def material(self) -> Material:
        """Read all inputs.

        Raises:
            InputError: an unreadable file, and as ``read_material``.
            SettingError: as ``read_material``.
        """
        runs = {
            split: None if path is None else read_run(path)
            for split, path in self.candidates.items()
        }
        return read_material(
            self.collection,
            targets=self.targets,
            candidates=runs,
            pairs=self._pairs(),
            settings=self.settings,
        )

    def _pairs(self) -> Iterator[Pair]:
        train, test = self.prefixes
        for place in self.pairs:
            for pair in read_pairs(place):
                yield replace(
                    pair, train_id=f"{train}{pair.train_id}", test_id=f"{test}{pair.test_id}"
                )

    def refs(self, artefact: Path) -> list[InputRef]:
        """Return the inputs for the manifest of ``artefact``."""
        files = [
            (f"candidates of {split}", path)
            for split, path in self.candidates.items()
            if path is not None
        ]
        files += [("pairs", pairs_file(place)) for place in self.pairs]
        collection = input_ref(
            "collection", self.collection.path, self.collection.checksum, artefact=artefact
        )
        return [
            collection,
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

    def job(self, refs: Sequence[InputRef]) -> JsonObject:
        """Return the record that determines the content, with inputs by checksum."""
        return {
            "command": COMMAND,
            **self.record(),
            "inputs": [[item.role, item.checksum] for item in refs],
        }


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
    with resumable_folder(
        out, {**inputs.job(refs), "set": asdict(settings)}, overwrite=overwrite
    ) as folder:
        _write(folder, out.name, inputs, material, settings, drawn, refs)
    return Groups(out)


def write_leaked_sets(
    out: Path, inputs: LeakedInputs, wanted: Sequence[LeakedSettings], *, overwrite: bool = False
) -> list[Result]:
    """Write a folder of sets, each under its ``name``, with their results; an interrupted run is
    resumed.

    All sets are checked before the first one is written.

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
    material = inputs.material()
    for settings in wanted:
        check_set(material, settings)
    results, refs = [], inputs.refs(out)
    within = [replace(item, path=f"../{item.path}") for item in refs]
    job = {**inputs.job(refs), "sets": [asdict(settings) for settings in wanted]}
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        for settings in track(wanted, "writing training sets", unit="sets"):
            drawn = leaked_groups(material, settings)
            _write(folder / settings.name, settings.name, inputs, material, settings, drawn, within)
            results.append(_result(inputs, material, settings, drawn))
        manifest = Manifest(
            kind="results",
            name=out.name,
            command=COMMAND,
            settings={**inputs.record(), "sets": [settings.name for settings in wanted]},
            inputs=tuple(refs),
            licence=inputs.collection.manifest.licence,
            notes=_NOTES,
            versions=package_versions("pyarrow"),
            provenance=provenance(),
        )
        write_results(folder, results, manifest)
    return results


def _write(
    folder: Path,
    name: str,
    inputs: LeakedInputs,
    material: Material,
    settings: LeakedSettings,
    drawn: LeakedSet,
    refs: Sequence[InputRef],
) -> None:
    write_groups(
        folder,
        list,
        _blocks(drawn.groups),
        Manifest(
            kind=KIND,
            name=name,
            command=COMMAND,
            settings={
                **inputs.record(),
                **{name: value for name, value in asdict(settings).items() if name != "seed"},
            },
            seed=settings.seed,
            inputs=tuple(refs),
            licence=inputs.collection.manifest.licence,
            notes=_NOTES,
            content={**drawn.figures.to_rows(), "leaks": _leaks(material, drawn)},
        ),
        splits=material.splits,
    )


def _leaks(material: Material, drawn: LeakedSet) -> dict[str, list[str]]:
    """Return each leaked query with the test queries that it leaks."""
    return {
        group.query_id: sorted(material.tests[group.query_id])
        for group in drawn.groups[: drawn.figures.leaked]
    }


def _blocks(groups: Sequence[TrainingGroup]) -> Iterator[Sequence[TrainingGroup]]:
    return (groups[start : start + _AT_ONCE] for start in range(0, len(groups), _AT_ONCE))


def _result(
    inputs: LeakedInputs, material: Material, settings: LeakedSettings, drawn: LeakedSet
) -> Result:
    """Return the result of a set; its value is the share of leaked queries."""
    splits = " + ".join(source.split for source in material.sources)
    share, count = drawn.figures.leaked_share, len(drawn.groups)
    name = inputs.collection.name
    return Result(
        DRAWN_SET, name, splits, settings.name, settings.seed, share, None, count, drawn.figures
    )
