"""Results as text for a terminal, by one function for each kind of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from positionbias.core.screen import wrapped
from positionbias.report.load import Study
from positionbias.report.presentation import shown_in
from positionbias.results.result import Result

__all__ = ["TEXTS", "VERDICTS", "text_of", "verdict_of"]

# first payload, or requested form (a command's last word) -> the module, and its function there
# that writes all of them
TEXTS = {
    "BM25Figures": ("report.artefact_text", "candidates_text"),
    "DenseFigures": ("report.artefact_text", "candidates_text"),
    "VectorFigures": ("report.artefact_text", "vectors_text"),
    "CandidateCounts": ("leakage.text", "candidates_text"),
    "DrawnSet": ("leakage.text", "leaked_text"),
    "LeakShare": ("leakage.text", "calibration_text"),
    "ExportCounts": ("report.artefact_text", "export_text"),
    "EnsembleFigures": ("report.evaluation_text", "ensemble_text"),
    "RemedyFigures": ("report.model_text", "remedy_text"),
    "LeaksRemoved": ("overlap.removed_text", "removed_text"),
    "OverlapFigures": ("overlap.text", "overlap_text"),
    "PassageFigures": ("report.collection_text", "collection_text"),
    "PlacementFigures": ("report.collection_text", "placement_text"),
    "Plan": ("report.plan_text", "plan_text"),
    "QueriesRemoved": ("leakage.text", "removed_text"),
    "RerankingFigures": ("report.model_text", "reranking_text"),
    "ReviewFigures": ("leakage.text", "review_text"),
    "RotationFigures": ("report.collection_text", "rotation_text"),
    "SampleFigures": ("leakage.text", "sample_text"),
    "SelectionFigures": ("report.collection_text", "selection_text"),
    "TeachingFigures": ("report.model_text", "teaching_text"),
    "WordVectorFigures": ("report.model_text", "vectors_text"),
}

# first payload -> the module, and its function there that says in sentences what they conclude
VERDICTS = {
    "CandidateCounts": ("leakage.text", "candidates_verdict"),
    "LeakShare": ("leakage.text", "calibration_verdict"),
    "OverlapFigures": ("overlap.text", "overlap_verdict"),
}


def text_of(results: Sequence[Result], form: str = "") -> str:
    """Return the results in words and tables, in the named form where there is one, else that of
    the first payload.
    """
    module, name = TEXTS[form if form in TEXTS else type(results[0].payload).__name__]
    text: str = getattr(import_module(f"positionbias.{module}"), name)(results)
    return text if name.endswith("_csv") else wrapped(text)


def verdict_of(study: Study) -> list[str]:
    """Return what a study concludes, a line for each sentence; none where it only measures."""
    lines: list[str] = []
    for shown, rows in shown_in(study):
        lines += shown.headline(rows)
        lines += [line for one in shown.findings(rows) for line in one.text.splitlines()]
    results = study.results
    if results and (at := VERDICTS.get(type(results[0].payload).__name__)):
        lines += getattr(import_module(f"positionbias.{at[0]}"), at[1])(results)
    return lines
