"""Does an audit see what a model learnt? TK trained on planted collections of rising front-loading, all audited on one without any.

    python benchmarks/audit_doses.py FOLDER --dose 0 --dose 0.5 --dose 1     # writes benchmarks/results/audit_doses_HARDWARE_DATE.md

The collections are the demo's, alike but for the places of the answers; so is the training (a narrow TK, stopped on the validation queries of its own
collection). The test collection has its answers anywhere, so that all places can be compared; rotation moves none of its answers to worse places on
average, and so the rotation gap is also taken on the test queries of each model's own collection. Steps that are finished are skipped, so a stopped call goes on.
"""

from __future__ import annotations

import argparse
import platform
from dataclasses import replace
from datetime import date
from importlib.metadata import version
from pathlib import Path

from measuring import hardware, result_place

from positionbias.audit.audit import audit, make_task
from positionbias.audit.page import audit_figures
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core.collection import Collection
from positionbias.experiments.workspace import Workspace
from positionbias.firststage.bm25 import Bm25Settings, retrieve
from positionbias.models.checkpoint import load_checkpoint
from positionbias.papers.position_bias.study import DEMO_COLLECTION, DEMO_STUDY, run_study
from positionbias.planted.generator import write_planted
from positionbias.report.figure import save_figure
from positionbias.results.buckets import QueryBuckets
from positionbias.results.payloads import Contrast, Verdict
from positionbias.results.result import Result

FIGURES = Path(__file__).parents[1] / "figures"


def trained(folder: Path, dose: float, seed: int) -> Path:
    """The checkpoint of a TK trained on the original passages of its collection."""
    place = folder / f"planted-{dose:g}-seed-{seed}"
    if not place.exists():
        write_planted(place, replace(DEMO_COLLECTION, front_loading=dose, seed=seed), name=f"planted-{dose:g}")
    settings = replace(DEMO_STUDY, seed=seed, seeds=(seed,), draws=(seed,), trainings=("original",))
    workspace = Workspace(folder / f"study-{dose:g}-seed-{seed}", print)
    run_study(Collection(place), settings, workspace)
    return workspace.folder / "models" / f"tk-original-seed-{seed}"


def of(results: list[Result], measure: str, system: str) -> Result:
    return next(r for r in results if r.measure == measure and r.system == system and not getattr(r.payload, "group", ""))


def own_gap(folder: Path, dose: float, system: System, settings: AuditSettings) -> Result:
    """The rotation gap on the collection that the model was trained on."""
    collection = Collection(folder / f"planted-{dose:g}-seed-{settings.seed}")
    run = retrieve(collection, collection.queries("test"), settings.depth, Bm25Settings())
    task = make_task(collection, "test", run, settings)
    return of(audit(task, [system], replace(settings, needles=0, segments=0)), "rotation gap", system.name)


def row(results: list[Result], dose: float, system: str, own: Result) -> str:
    psi, gap, verdict = (of(results, measure, system) for measure in ("PSI", "rotation gap", "verdict"))
    assert isinstance(psi.payload, QueryBuckets)
    assert isinstance(verdict.payload, Verdict)
    slope = psi.payload.figures.slope

    def shown(value: float | None, low: float | None, high: float | None) -> str:
        return "–" if value is None or low is None or high is None else f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"

    def effect(contrast: Contrast, unit: str) -> str:
        found = [e for e in verdict.payload.effects if (e.contrast, e.unit, e.subset) == (contrast, unit, "")]
        return shown(found[0].value, found[0].low, found[0].high) if found else "–"

    cells = [
        f"{dose:g}",
        str(verdict.payload.preference),
        *(effect(contrast, "deviations") for contrast in (Contrast.ENDS, Contrast.MIDDLE, Contrast.ROTATION)),
        effect(Contrast.ENDS, "nDCG@10"),
        shown(slope.value, slope.low, slope.high),
        *(shown(found.value, found.interval.low, found.interval.high) for found in (gap, own) if found.interval),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dose", type=float, action="append")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    doses = given.dose or [0.0, 0.5, 1.0]
    systems = [
        System.of(load_checkpoint(trained(given.folder, dose, given.seed)), f"TK, front-loading {dose:g}") for dose in doses
    ]
    place = given.folder / f"planted-0-seed-{given.seed}"
    if not place.exists():
        write_planted(place, replace(DEMO_COLLECTION, front_loading=0.0, seed=given.seed), name="planted-0")
    collection = Collection(place)
    settings = AuditSettings(depth=10, seed=given.seed)
    run = retrieve(collection, collection.queries("test"), settings.depth, Bm25Settings())
    task = make_task(collection, "test", run, settings)
    first = System.of_candidates(task)
    results = audit(task, [first, *systems], settings, tell=print)
    gaps = [own_gap(given.folder, dose, system, settings) for dose, system in zip(doses, systems, strict=True)]
    for name, figure in audit_figures(results).items():
        if name in ("position-response", "compared"):
            save_figure(figure, FIGURES / f"audit-doses-{name}.svg", overwrite=True)
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "positionbias"))
    lines = [
        "# An audit of TK trained on rising front-loading",
        "",
        f"{hardware()}; Python {platform.python_version()}, {versions}; {date.today().isoformat()}; seed {given.seed}.",
        "",
        f"    python benchmarks/audit_doses.py FOLDER {' '.join(f'--dose {dose:g}' for dose in doses)} --seed {given.seed}",
        "",
        f"Audited on {len(task.query_ids):,} test queries of a planted collection without front-loading. nDCG@10; 95 % intervals.",
        "",
        "| front-loading of the training | verdict | end − front, deviations | middle − ends | rotated to the end − to the front | end − front, nDCG@10 | slope over the passage (description) | rotation gap (description) "
        "| rotation gap on its own collection |",
        "|---|---|---|---|---|---|---|---|---|",
        *(row(results, dose, system.name, own) for dose, system, own in zip(doses, systems, gaps, strict=True)),
        "",
        *(
            f"- {sentence}"
            for result in results
            if isinstance(result.payload, Verdict)
            for sentence in result.payload.sentences
        ),
    ]
    text = "\n".join(lines) + "\n"
    result_place("audit_doses").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
