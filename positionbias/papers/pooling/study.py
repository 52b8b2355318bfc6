"""Run the study of pools: can collections made by one kind of system judge another (test-collection
paper, §3)?

For each task: runs and judgements → documents found by each kind → pools of one kind against the
gold → the effect of kind, by permuted kinds → groups left out → depth and number of groups → wrong
labels; then all together. Every step is restartable (``experiments.step``) and leaves results:

    TASK/coverage/ TASK/reliability/ TASK/kinds/ TASK/left-out/ TASK/curves/ TASK/relabelled/
    results/                   all of them, with published figures
    steps/                     receipts

There are no models, and nothing here imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path

from positionbias.core import rows
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, input_ref, package_versions, provenance
from positionbias.core.progress import track
from positionbias.core.qrels import read_qrels
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.experiments.step import Steps
from positionbias.papers.pooling import PAPER, paper_task
from positionbias.papers.pooling.settings import PoolingSettings, PoolingTask
from positionbias.pooling.curves import curve_depths, depth_curve, groups_curve
from positionbias.pooling.judged_runs import JudgedRuns, judge_runs
from positionbias.pooling.kind_effects import PERMUTATIONS, POOLS, kind_effects
from positionbias.pooling.leave_out import leave_out
from positionbias.pooling.measured import (
    coverage_rows,
    curve_rows,
    kind_rows,
    left_out_rows,
    pool_rows,
    relabelled_rows,
    reliability_rows,
    task_rows,
)
from positionbias.pooling.pools import NOTES, pool_kinds
from positionbias.pooling.relabelled import relabelled
from positionbias.pooling.reliability import Reliability, reliability
from positionbias.pooling.scores import PoolMeasure, pool_measures
from positionbias.pooling.settings import CoverageSettings
from positionbias.pooling.systems import (
    RunFiles,
    System,
    find_runs,
    kinds_of,
    read_runs,
    read_systems,
    runs_checksum,
)
from positionbias.report.load import load_studies, rows_together

__all__ = ["run_study"]

PUBLISHED = Path(__file__).with_name("published.csv")


def run_study(settings: PoolingSettings, steps: Steps) -> Path:
    """Run the study in the folder of ``steps``; return the folder of its results.

    Raises:
        InputError: runs, judgements or a table of systems that are missing, malformed or do not fit
            together, or fewer than two kinds.
    """
    # all files are checked before the first is read
    tasks = [_Task(task, settings, steps) for task in settings.tasks]
    parts = {task.given.name: task.run() for task in tasks}
    inputs = {
        f"{name}/{part}": _checksum(path, steps)
        for name, of_task in parts.items()
        for part, path in of_task.items()
    }
    place = steps.folder / "results"

    def make() -> None:
        folders = [path for of_task in parts.values() for path in of_task.values()]
        every, values = rows_together(load_studies(folders))
        refs = [ref for task in tasks for ref in task.inputs(place)]
        name = f"Pools: {', '.join(parts)}"
        manifest = _manifest(name, settings.record(), refs, settings.pools.seed)
        rows.save(place, every, manifest, values, overwrite=True)

    return steps.make("measure", place, settings.record(), inputs, make)


def _checksum(place: Path, steps: Steps) -> str | None:
    return None if place in steps.unmade else sha256_file(place / rows.ROWS)


def _manifest(name: str, settings: JsonObject, inputs: Sequence[InputRef], seed: int) -> Manifest:
    return Manifest(
        kind="results",
        name=name,
        command="study pooling",
        settings={"study": settings},
        seed=seed,
        inputs=tuple(inputs),
        notes=NOTES,
        versions=package_versions("numpy", "scipy", "ir_measures", "pytrec-eval-terrier"),
        provenance=provenance(),
    )


class _Task:
    """One task: its files, and the parts of the study on them. Runs are read once, when the first
    part is made.
    """

    def __init__(self, given: PoolingTask, settings: PoolingSettings, steps: Steps) -> None:
        self.given, self.settings, self.steps = given, settings, steps
        self.table = read_systems(given.systems)
        self.found: RunFiles = find_runs(given.runs, self.table, table=given.systems)
        pool_kinds(list(self.found.files))
        self.level = settings.level(given.name)
        self.measures: list[PoolMeasure] = pool_measures(settings.measures, self.level)
        if self.found.absent and not steps.dry_run:
            names = f"{len(self.found.absent):,} lines have no run in {given.runs} and were skipped"
            steps.tell(f"{given.systems}: {names}, the first {self.found.absent[0].run!r}")
        self.checksums = {
            "runs": runs_checksum(self.found.files.values()),
            "qrels": sha256_file(given.qrels),
            "systems": sha256_file(given.systems),
        }

    def inputs(self, place: Path) -> list[InputRef]:
        """Return the files as inputs in the manifest of ``place``."""
        paths = {"runs": self.given.runs, "qrels": self.given.qrels, "systems": self.given.systems}
        return [
            input_ref(f"{self.given.name}/{role}", path, self.checksums[role], artefact=place)
            for role, path in paths.items()
        ]

    @cached_property
    def qrels(self) -> list[Qrel]:
        return read_qrels(self.given.qrels)

    @cached_property
    def judged(self) -> JudgedRuns:
        return judge_runs(
            track(self._runs(), f"runs of {self.given.name}", len(self.found.files), unit="runs"),
            self.qrels,
        )

    def _runs(self) -> Iterator[tuple[System, Run]]:
        return read_runs(self.found.files)

    def run(self) -> dict[str, Path]:
        """Return every part's results, by name."""
        chosen, level = self.settings, self.level
        pools = asdict(chosen.pools) | {"measures": list(chosen.measures), "relevant_from": level}
        parts: dict[str, tuple[JsonObject, Callable[[Collected], None]]] = {
            "coverage": (
                {"depth": chosen.pools.depth, "deepest": chosen.deepest, "relevant_from": level},
                self._coverage,
            ),
            "reliability": (pools, self._reliability),
            "kinds": (pools | {"permutations": PERMUTATIONS, "pools": POOLS}, self._kinds),
            "left-out": (pools, self._left_out),
            "curves": (pools, self._curves),
        }
        if chosen.relabel:
            again = {"relabel": chosen.relabel, "repeats": chosen.repeats}
            parts["relabelled"] = (pools | again, self._relabelled)
        return {name: self._part(name, *part) for name, part in parts.items()}

    def _part(self, name: str, settings: JsonObject, measure: Callable[[Collected], None]) -> Path:
        place = self.steps.folder / self.given.name / name

        def make() -> None:
            manifest = _manifest(
                f"{self.given.name}: {name}", settings, self.inputs(place), self.settings.pools.seed
            )
            made = pool_rows(self.given.name)
            measure(made)
            rows.save(place, made.rows, manifest, made.values, overwrite=True)

        return self.steps.make(f"{self.given.name}/{name}", place, settings, self.checksums, make)

    def _coverage(self, made: Collected) -> None:
        settings = CoverageSettings(self.settings.pools.depth, self.settings.deepest, self.level)
        coverage_rows(made, self.judged, settings)

    @cached_property
    def _measured(self) -> Reliability:
        return reliability(self.judged, self.measures, self.settings.pools, level=self.level)

    def _reliability(self, made: Collected) -> None:
        task_rows(made, self.judged, self.level)
        reliability_rows(made, self._measured, self.judged)
        task, why = paper_task(self.qrels, kinds_of(self.judged.systems), self.settings.pools)
        if not task:
            why = f"it is not a task of {PAPER}: {why}"
            made.add("τ", "published figures", None, reason=why)
            return
        for cell in rows.printed_cells(PUBLISHED):
            if cell.pop("collection") == task:
                made.add(**cell)

    def _kinds(self, made: Collected) -> None:
        kind_rows(made, kind_effects(self.judged, self.measures, self.settings.pools))

    def _left_out(self, made: Collected) -> None:
        left = leave_out(self.judged, self.measures, self.settings.pools, level=self.level)
        left_out_rows(made, left)

    def _curves(self, made: Collected) -> None:
        pools = self.settings.pools
        deep = depth_curve(self.judged, self.measures, pools, curve_depths(pools), level=self.level)
        curve_rows(made, "depth", deep, self.judged)
        wide = groups_curve(self.judged, self.measures, pools, level=self.level)
        curve_rows(made, "groups", wide, self.judged)

    def _relabelled(self, made: Collected) -> None:
        chosen, level = self.settings, self.level
        again = relabelled(
            self.judged,
            self.measures,
            chosen.pools,
            share=chosen.relabel,
            repeats=chosen.repeats,
            level=level,
        )
        share, drawn = chosen.relabel, chosen.repeats
        relabelled_rows(made, self._measured, again, share=share, drawn=drawn)
