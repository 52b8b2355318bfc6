"""An invented audit: verdicts of systems that lean by a set amount.

Nothing here was measured. ``lean`` 1 loses 0.1 of nDCG@10 from the first bucket to the last, and 45
% of its worth where its evidence moves there; 0 has no preference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from positionbias.audit.answers import READ_WHOLE, Contrast, Effect, Preference, Question, Verdict
from positionbias.audit.audit import EVIDENCE
from positionbias.audit.measured import raw_rows
from positionbias.audit.systems import RERANKER, RUN, Rows, counted
from positionbias.audit.two_runs import by_query
from positionbias.core import rows as of_rows
from positionbias.core.manifest import Manifest
from positionbias.core.rows import Collected
from tests.audit.figures import Figures, audit_rows

NDCG, QUALITY = "nDCG@10", 0.8
QUERIES = 5_928
TASK: Any = SimpleNamespace(query_ids=["q1", "q2", "q3"], clusters=["c1", "c2", "c3"])
ONE = {"minilm": 0.9}
FOUR = {
    "minilm": 0.9,
    "tk trained on rotated passages": 0.05,
    "bert_cat-original": 1.6,
    "models/a-long-name-of-a-model-v2": 0.4,
}


def effect(
    contrast: Contrast,
    unit: str,
    value: float,
    half: float,
    *,
    queries: int = 1_944,
    subset: str = "",
) -> Effect:
    """An effect with an interval of ± half."""
    return Effect(contrast, unit, value, value - half, value + half, 1.4 * half, queries, subset)


def passage_verdict(lean: float) -> Verdict:
    """−45 % of the worth at a lean of 1, within what the system reads."""
    value = -0.45 * lean
    effects = [
        effect(Contrast.ENDS, "worth", value, 0.05, subset=READ_WHOLE),
        effect(Contrast.ENDS, "ranks", 5 * value, 0.5, subset=READ_WHOLE),
        effect(Contrast.ENDS, "nDCG@10", value / 5, 0.012, subset=READ_WHOLE),
        effect(Contrast.MIDDLE, "worth", 0.1 * value, 0.06, subset=READ_WHOLE),
        effect(Contrast.ROTATION, "worth", 0.7 * value, 0.09, queries=1_204, subset=READ_WHOLE),
        effect(Contrast.ENDS, "worth", 1.2 * value, 0.045, queries=2_201),
        effect(Contrast.ENDS, "nDCG@10", value / 4, 0.012, queries=2_201),
    ]
    prefers = value + 0.05 < 0
    return Verdict(
        Question.PASSAGE,
        Preference.FRONT if prefers else Preference.NONE,
        effects,
        0.1,
        1_944,
        reads=180.0,
        unread=0.117,
        drawn=2_201,
        depth=30,
        among="bm25",
    )


def list_verdict(listwise: bool) -> Verdict:
    """The order in the list: +1.3 ranks if ``listwise``."""
    if not listwise:
        return Verdict(Question.LIST, Preference.NONE, margin=0.5)
    order = [effect(Contrast.ORDER, "ranks", 1.3, 0.4, queries=150)]
    return Verdict(Question.LIST, Preference.FIRST, order, 0.5, 150, drawn=150)


def of_run(system: str = "splade.run", verdict: Verdict | None = None) -> Figures:
    """The verdict on a run: from two runs, by default −0.03 nDCG@10."""
    effects = [
        effect(Contrast.RUNS, "nDCG@10", -0.03, 0.01, queries=900),
        effect(Contrast.RUNS, "ranks", -0.6, 0.4, queries=900),
    ]
    usual = Verdict(Question.PASSAGE, Preference.FRONT, effects, 0.02, 900, drawn=900, rotations=1)
    return Figures(system, RUN, verdict or usual)


def verdicts(systems: Mapping[str, float]) -> list[Figures]:
    """The verdicts on these systems."""
    return [
        Figures(system, RERANKER, verdict)
        for system, lean in systems.items()
        for verdict in (passage_verdict(lean), list_verdict(system.startswith("bert_cat")))
    ]


def single_queries(lean: float) -> Rows:
    """Three queries, of which the second changes most."""
    moved = {
        (Contrast.ENDS, ""): {"q1": -1.0, "q2": -2.0 * lean},
        (Contrast.WORTH, ""): {"q1": 4.0, "q2": 4.0},
    }
    after = np.array([1.0, 0.5 - 0.1 * lean, 0.5])
    return [
        *by_query(TASK, NDCG, np.array([1.0, 1.0, 0.5]), after),
        *raw_rows(TASK, moved, passage_verdict(lean)),
    ]


def audit(systems: Mapping[str, float] = ONE) -> list[Figures]:
    """All that one audit of these systems measured, by how far each leans to the front."""
    made = verdicts(systems)
    made.append(Figures("bm25", "", counted(EVIDENCE, {"queries audited": QUERIES})))
    for system, lean in systems.items():
        made.append(Figures(system, RERANKER, single_queries(lean)))
    return made


def collected(found: Sequence[Figures], *, collection: str = "squad") -> Collected:
    """The rows of these measurements, on three queries."""
    task: Any = SimpleNamespace(
        collection=SimpleNamespace(name=collection),
        split="test",
        rule="",
    )
    return audit_rows(task, found)


def manifest(name: str = "Audit on squad") -> Manifest:
    return Manifest(
        kind="results",
        name=name,
        command="posbias audit squad --split test --model minilm --out audit",
        settings={"draws": 4, "minimum_bucket": 20},
        seed=1,
        versions={"python": "3.12.3", "positionbias": "0.1.0"},
    )


def save(folder: Path, found: Sequence[Figures], *, name: str = "Audit on squad") -> Path:
    """Save these measurements as a folder of rows."""
    made = collected(found)
    of_rows.save(folder, made.rows, manifest(name), made.values)
    return folder


def save_audit(folder: Path, systems: Mapping[str, float] = ONE) -> Path:
    """Save a whole audit."""
    return save(folder, audit(systems))


def save_verdicts(
    folder: Path, systems: Mapping[str, float] = ONE, *, name: str = "Audit on squad"
) -> Path:
    """Save the verdicts of an audit."""
    return save(folder, verdicts(systems), name=name)
