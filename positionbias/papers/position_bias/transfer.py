"""Run the transfer study (position-bias paper, Table 5): does training on another collection first
help, and more so on rotated passages?

    a  target alone;   b  source, then target;   c  source rotated, then target
    all tested on the target's original passages

Each collection has candidates, validation and settings of its own; a training on the target
continues from the checkpoint of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.convergence import ended_name
from positionbias.core.errors import SettingError
from positionbias.core.json_text import JsonObject
from positionbias.core.settings import flags_as
from positionbias.evaluation.significance import adjust, clusters_by_passage, compare
from positionbias.experiments.artefacts import as_ended
from positionbias.experiments.model_settings import ModelSettings
from positionbias.experiments.over_trainings import BASELINE_FACTS, over_trainings
from positionbias.experiments.sample import judgements
from positionbias.experiments.systems import (
    FIRST_STAGE,
    Subject,
    SystemRuns,
    curve_of,
    evaluated,
    finding,
    split_label,
    values_of,
)
from positionbias.experiments.workspace import Workspace
from positionbias.papers.position_bias.findings import (
    against_transfer,
    baselines,
    idle_trainings,
    trainings,
)
from positionbias.papers.position_bias.settings import SOURCE_FLAGS, GridSettings, TransferSettings
from positionbias.papers.position_bias.study import candidate_runs, check_splits, test_runs
from positionbias.positions.debias import rotation_result
from positionbias.results.payloads import Comparison, Finding
from positionbias.results.result import Facts, Result
from positionbias.text.statistics import collection_counts

__all__ = ["run_transfer"]

NOTES = (
    (
        "The training on the target goes on from the source's checkpoint, with an optimiser of its "
        "own."
    ),
    "One re-ranking depth a model, tuned on the target's validation queries.",
    "Every training seed meets every rotation draw; a seed is that of both trainings.",
)


@dataclass(frozen=True)
class _Artefacts:
    """The input artefacts of measuring."""

    source: Path
    target: Path
    rotated: Mapping[int, Path]
    tests: tuple[str, ...]
    candidates: tuple[Path, ...]
    tested: Sequence[SystemRuns]
    first: Sequence[Subject]
    subjects: Sequence[Subject]

    def inputs(self) -> dict[str, Path]:
        return {
            "target": self.target,
            "source": self.source,
            **{f"source rotated {draw}": path for draw, path in self.rotated.items()},
            **{
                f"candidates {split}": path
                for split, path in zip(self.tests, self.candidates, strict=True)
            },
            **{path.stem: path for item in self.tested for path in item.runs},
            **{f"source {subject.path.name}": subject.path for subject in self.first},
            **{subject.path.name: subject.path for subject in self.subjects},
        }


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
    found = list(workspace.side_by_side(study.tested, study.rows(source.path, rotated), models))
    first = [one.first for one in found if one.first is not None]
    subjects, tested = [one.subject for one in found], [one.runs for one in found]
    candidates = tuple(asked.values())
    artefacts = _Artefacts(
        source.path, target.path, rotated, settings.tests, candidates, tested, first, subjects
    )
    record = {"target": settings.record(), "source": before.record()}
    return workspace.results(
        f"Transfer: {source.name} to {target.name}",
        "study transfer",
        {**record, "collections": [dict(source.manifest.settings), dict(target.manifest.settings)]},
        artefacts.inputs(),
        lambda: _measure(artefacts, settings),
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


class _Tested(NamedTuple):
    """A row's model after the source and after the target, with the latter's runs."""

    first: Subject | None
    subject: Subject
    runs: SystemRuns


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

    def tested(self, row: _Row) -> _Tested:
        """Train as the row has it, and re-rank the target's test passages."""
        first, subject = (
            self._alone(row) if row.passages is None else self._after(row, row.passages)
        )
        at = self.target.path
        done = tuple(
            self.here.reranked(subject.path, at, split, run, on="original")
            for split, run in self.asked.items()
        )
        return _Tested(first, subject, SystemRuns(subject.system, subject.facts, done))

    def _alone(self, row: _Row) -> tuple[None, Subject]:
        kind, model, seed = row.model.kind, row.model, row.seed
        facts = Facts(
            model=kind, training="original", test="original", seed=seed, pretrained=model.pretrained
        )
        path = self._on_target(f"{kind}-seed-{seed}", model, seed, None)
        return None, _subject(f"{kind}-{self.target.name}", facts, path)

    def _after(self, row: _Row, passages: Path) -> tuple[Subject, Subject]:
        kind, text, draw, seed, pretrained = (
            row.model.kind,
            row.text,
            row.draw,
            row.seed,
            row.first_model.pretrained,
        )
        rest = f"{text}-seed-{seed}" if draw is None else f"{text}-{draw}-seed-{seed}"
        start = self._on_source(f"{kind}-{rest}", passages, row.first_model, seed)
        system = f"{kind}-{self.source.name}-{text}"
        began = Facts(model=kind, training=text, rotation=draw, seed=seed, pretrained=pretrained)
        ended = replace(
            began,
            training="original",
            test="original",
            source=self.source.name,
            source_training=text,
        )
        path = self._on_target(f"{kind}-after-{rest}", row.model, seed, start)
        return _subject(system, began, start), _subject(
            f"{system}-to-{self.target.name}", ended, path, start
        )

    def _on_source(self, name: str, passages: Path, model: ModelSettings, seed: int) -> Path:
        split, runs = self.before.validation, self.source_runs
        return self.there.trained(
            name,
            passages,
            model.plan(runs["train"], runs[split], seed=seed, validation_split=split),
        )

    def _on_target(self, name: str, model: ModelSettings, seed: int, start: Path | None) -> Path:
        split, runs = self.settings.validation, self.target_runs
        plan = model.plan(
            runs["train"], runs[split], seed=seed, start=start, validation_split=split
        )
        return self.here.trained(name, self.target.path, plan)


def _subject(system: str, facts: Facts, path: Path, *before: Path) -> Subject:
    """Return a trained model that also depends on the trainings ``before``."""
    facts = as_ended(facts, path, *before)
    return Subject(ended_name(system, facts.unfinished), facts, path)


def _measure(artefacts: _Artefacts, settings: GridSettings) -> list[Result]:
    source, target = Collection(artefacts.source), Collection(artefacts.target)
    qrels = judgements(target, artefacts.tests, settings.test_queries, settings.seed)
    clusters = clusters_by_passage(qrels, level=settings.test_relevant_from)
    label, seed = split_label(artefacts.tests), settings.seed
    baseline = SystemRuns(
        FIRST_STAGE, Facts(model=FIRST_STAGE, test="original"), artefacts.candidates
    )
    where = {"collection": target.name, "split": label}
    found = [
        (item, evaluated(item, qrels, settings.measures, clusters=clusters, seed=seed, **where))
        for item in (baseline, *artefacts.tested)
    ]
    effectiveness = [result for _, results in found for result in results]
    names = list(dict.fromkeys(result.measure for result in effectiveness))
    compared = list(_compared(found, names, clusters, seed))
    curves = [curve_of(subject, source.name) for subject in artefacts.first]
    curves += [curve_of(subject, target.name) for subject in artefacts.subjects]
    results = [
        *collection_counts(source),
        *collection_counts(target),
        *(rotation_result(Collection(path)) for path in artefacts.rotated.values()),
        *effectiveness,
        *compared,
        *curves,
    ]
    results += over_trainings(idle_trainings(results)[1], clusters=clusters, seed=seed)
    sentences = [
        finding(target.name, label, item, seed) for item in _findings(results, curves, names[0])
    ]
    return [*sentences, *(replace(result, seed=seed) for result in results)]


def _compared(
    found: Sequence[tuple[SystemRuns, list[Result]]],
    names: Sequence[str],
    clusters: Mapping[str, str],
    seed: int,
) -> Iterator[Result]:
    """Compare rows b and c with a, c with b, and each with the first stage; corrected within axis,
    measure, seed and draw.
    """
    (baseline, first), *others = found
    repeats: dict[tuple[int | None, int | None], None] = {}
    for item, _ in others:
        if item.facts.rotation is not None:
            repeats[item.facts.seed, item.facts.rotation] = None
    seen = set()
    for axis in ("trainings", "baseline"):
        for name in names:
            for repeat in repeats:
                rows = [
                    (i, r)
                    for i, r in others
                    if i.facts.seed == repeat[0] and i.facts.rotation in (None, repeat[1])
                ]
                pairs = (
                    [((baseline, first), row) for row in rows]
                    if axis == "baseline"
                    else [
                        (one, two)
                        for n, two in enumerate(rows)
                        for one in rows[:n]
                        if _alike(one[0].facts, two[0].facts)
                    ]
                )
                family = [_comparison(axis, name, *pair, clusters, seed) for pair in pairs]
                for (one, two), comparison in zip(
                    pairs, adjust(family) if family else [], strict=True
                ):
                    if (key := (axis, name, one[0], two[0])) not in seen:
                        seen.add(key)
                        yield _as_result(name, comparison, two, seed)


def _alike(one: Facts, two: Facts) -> bool:
    """Return True if two trainings can be compared: they have one model, and both are finished or
    both are not.
    """
    return (one.model, one.unfinished) == (two.model, two.unfinished)


def _comparison(
    axis: str,
    measure: str,
    one: tuple[SystemRuns, list[Result]],
    two: tuple[SystemRuns, list[Result]],
    clusters: Mapping[str, str],
    seed: int,
) -> Comparison:
    columns = [values_of(results)[measure] for _, results in (one, two)]
    names = [item.system for item, _ in (one, two)]
    notes: JsonObject = {
        "axis": axis,
        "systems": names,
        "test_sets": ["original", "original"],
        BASELINE_FACTS: asdict(one[0].facts),
    }
    return compare(*columns, names=names, clusters=clusters, seed=seed, notes=notes)


def _as_result(
    measure: str, comparison: Comparison, row: tuple[SystemRuns, list[Result]], seed: int
) -> Result:
    item, results = row
    count, interval = comparison.noted.queries, comparison.difference_interval
    where = (results[0].collection, results[0].split)
    return Result(
        measure,
        *where,
        item.system,
        seed,
        comparison.difference,
        interval,
        count,
        comparison,
        item.facts,
    )


def _findings(results: Sequence[Result], curves: Sequence[Result], measure: str) -> list[Finding]:
    rows = {
        result.system: result
        for result in results
        if result.kind == "per_query" and result.measure == measure
    }
    idle, spoken = idle_trainings(results)

    def against(_: Result, comparison: Comparison, __: str, better: bool | None) -> list[Finding]:
        one, other = (rows[system] for system in comparison.noted.systems)
        return against_transfer(results, measure, one, other, better)

    return [*idle, *trainings(spoken, measure, against), *baselines(results, measure)]
