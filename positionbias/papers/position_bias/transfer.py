"""Run the transfer study (position-bias paper, Table 5): does training on another collection first
help, and more so on rotated passages?

    a  target alone;   b  source, then target;   c  source rotated, then target
    all tested on the target's original passages

Each collection has candidates, validation and settings of its own; a training on the target
continues from the checkpoint of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.settings import flags_as
from positionbias.evaluation.records import Facts
from positionbias.experiments.artefacts import as_ended
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias.measured import (
    ORIGINAL,
    PositionStudy,
    Trained,
    measure_positions,
)
from positionbias.papers.position_bias.settings import SOURCE_FLAGS, GridSettings, TransferSettings
from positionbias.papers.position_bias.study import candidate_runs, check_splits, test_runs

__all__ = ["run_transfer"]

NOTES = (
    (
        "The training on the target goes on from the source's checkpoint, with an optimiser of its "
        "own."
    ),
    "One re-ranking depth a model, tuned on the target's validation queries.",
    "Every training seed meets every rotation draw; a seed is that of both trainings.",
)


def run_transfer(
    source: Collection, target: Collection, settings: TransferSettings, workspace: Workspace
) -> Path:
    """Run the study in the workspace; return the folder of its results.

    Raises:
        SettingError: the collections are the same.
        InputError: as ``check_splits``.
    """
    before = settings.source
    if source.checksum == target.checksum:
        raise SettingError(
            f"transfer: wanted two collections; found {source.path} twice; give another SOURCE or "
            "TARGET"
        )
    check_splits(target, settings)
    with flags_as(SOURCE_FLAGS):
        check_splits(source, before)
    there, here = workspace.within("source"), workspace.within("target")
    rotated = {
        draw: there.rotated(source.path, rotation) for draw, rotation in settings.rotations.items()
    }
    given = candidate_runs(there, source.path, before, before.splits)
    runs = candidate_runs(here, target.path, settings, settings.splits)
    asked = test_runs(here, target.path, settings, runs)
    study = _Study(source, target, settings, before, there, here, given, runs, asked)
    models = (*settings.models, *before.models)
    trained = list(workspace.side_by_side(study.trained, study.rows(source.path, rotated), models))
    candidates = tuple(asked.values())
    measured = PositionStudy(
        target.path, settings, candidates, rotated, trained, source=source.path
    )
    record = {"target": settings.record(), "source": before.record()}
    return workspace.results(
        f"Transfer: {source.name} to {target.name}",
        "study transfer",
        {**record, "collections": [dict(source.manifest.settings), dict(target.manifest.settings)]},
        measured.inputs(),
        lambda: measure_positions(measured),
        notes=NOTES,
        seed=settings.seed,
    )


class _Row(NamedTuple):
    """A training on the target: after one on the source's ``passages``, or alone (None)."""

    seed: int
    model: ModelSettings
    first_model: ModelSettings
    text: str
    draw: int | None
    passages: Path | None


@dataclass(frozen=True)
class _Study:
    source: Collection
    target: Collection
    settings: GridSettings
    before: GridSettings
    there: Workspace
    here: Workspace
    source_runs: Mapping[str, Path]
    target_runs: Mapping[str, Path]
    asked: Mapping[str, Path]

    def rows(self, original: Path, rotated: Mapping[int, Path]) -> Iterator[_Row]:
        """Yield every training on the target with that on the source before it: row a, row b, then
        row c for each draw.
        """
        texts: list[tuple[str, int | None, Path | None]] = [
            ("", None, None),
            ("original", None, original),
        ]
        texts += [("rotated", draw, path) for draw, path in rotated.items()]
        for seed in self.settings.seeds:
            for models in zip(self.settings.models, self.before.models, strict=True):
                yield from (
                    _Row(seed, *models, text, draw, passages) for text, draw, passages in texts
                )

    def trained(self, row: _Row) -> Trained:
        """Train as the row has it, and re-rank the target's test passages."""
        facts = Facts(model=row.model.kind, training="original", seed=row.seed)
        first: tuple[Facts, Path] | None = None
        if row.passages is None:
            facts = replace(facts, pretrained=row.model.pretrained)
            path = self._on_target(f"{row.model.kind}-seed-{row.seed}", row.model, row.seed, None)
            facts = as_ended(facts, path)
        else:
            first = self._first(row, row.passages)
            began, start = first
            source = f"{self.source.name} ({row.text})"
            name = f"{row.model.kind}-after-{_rest(row)}"
            path = self._on_target(name, row.model, row.seed, start)
            facts = replace(facts, source=source, rotation=row.draw, pretrained=began.pretrained)
            facts = as_ended(facts, path, start)
        done = tuple(
            self.here.reranked(path, self.target.path, split, run, on="original-")
            for split, run in self.asked.items()
        )
        return Trained(facts, path, {ORIGINAL: done}, first=first)

    def _first(self, row: _Row, passages: Path) -> tuple[Facts, Path]:
        """Train on the source."""
        kind, model = row.model.kind, row.first_model
        facts = Facts(
            model=kind,
            training=row.text,
            rotation=row.draw,
            seed=row.seed,
            pretrained=model.pretrained,
            variant=f"on {self.source.name}",
        )
        path = self._on_source(f"{kind}-{_rest(row)}", passages, model, row.seed)
        return as_ended(facts, path), path

    def _on_source(self, name: str, passages: Path, model: ModelSettings, seed: int) -> Path:
        split, runs = self.before.validation, self.source_runs
        plan = model.plan(candidates=runs["train"], validation=(runs[split], split), seed=seed)
        return self.there.trained(name, passages, plan)

    def _on_target(self, name: str, model: ModelSettings, seed: int, start: Path | None) -> Path:
        split, runs = self.settings.validation, self.target_runs
        plan = model.plan(
            candidates=runs["train"], validation=(runs[split], split), seed=seed, start=start
        )
        return self.here.trained(name, self.target.path, plan)


def _rest(row: _Row) -> str:
    """Return the end of the names of a row's trainings."""
    rotated = "" if row.draw is None else f"-{row.draw}"
    return f"{row.text}{rotated}-seed-{row.seed}"
