"""Results as text for a terminal, by one function for each kind of measurement."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from positionbias.results.result import Result

__all__ = ["TEXTS", "text_of"]

# first payload, or requested form -> the module in this part, and its function that writes all of them
TEXTS = {
    "BM25Figures": ("artefact_text", "candidates_text"),
    "DenseFigures": ("artefact_text", "candidates_text"),
    "VectorFigures": ("artefact_text", "vectors_text"),
    "CandidateCounts": ("leakage_text", "candidates_text"),
    "ContaminatedSet": ("trainset_text", "contaminated_text"),
    "DrawnSet": ("trainset_text", "leaked_text"),
    "LeakShare": ("leakage_text", "calibration_text"),
    "Verdict": ("audit_text", "audit_text"),
    "AtsCurve": ("probe_text", "mats_text"),
    "ats": ("probe_text", "ats_text"),
    "ats_csv": ("probe_text", "ats_csv"),
    "ExportCounts": ("artefact_text", "export_text"),
    "EnsembleFigures": ("evaluation_text", "ensemble_text"),
    "NewEncoderFigures": ("model_text", "encoder_text"),
    "PassageFigures": ("collection_text", "collection_text"),
    "PerQuery": ("evaluation_text", "evaluation_text"),
    "PlacementFigures": ("collection_text", "placement_text"),
    "Plan": ("plan_text", "plan_text"),
    "PositionHistogram": ("position_text", "positions_text"),
    "QueriesRemoved": ("leakage_text", "removed_text"),
    "RerankingFigures": ("model_text", "reranking_text"),
    "ReviewFigures": ("leakage_text", "review_text"),
    "RotationFigures": ("collection_text", "rotation_text"),
    "SampleFigures": ("leakage_text", "sample_text"),
    "SelectionFigures": ("collection_text", "selection_text"),
    "Suspicion": ("suspicion_text", "suspicion_text"),
    "TaskFigures": ("pool_text", "pools_text"),
    "TeachingFigures": ("model_text", "teaching_text"),
    "TrainingCurve": ("model_text", "training_text"),
    "TripleFigures": ("trainset_text", "clicks_text"),
    "WordVectorFigures": ("model_text", "vectors_text"),
    "verdict": ("pool_text", "verdict_text"),
}


def text_of(results: Sequence[Result], form: str = "") -> str:
    """Return the results in words and tables, in the named form, or that of the first payload."""
    module, name = TEXTS[form or type(results[0].payload).__name__]
    text: str = getattr(import_module(f"positionbias.report.{module}"), name)(results)
    return text
