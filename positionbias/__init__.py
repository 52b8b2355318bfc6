"""positionbias: find, measure and remove position bias in retrieval data and rankers.

The flow: raw release → Collection → (answer positions) → rotated Collection → candidates (Run) → training groups →
model → re-ranked Run → measures → report; a model's term vectors → ATS / MATS.

    >>> from positionbias import rotate
    >>> rotate("one two three four", passage_id="p1", seed=1)
    'two three four one '
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own costs milliseconds in which ``posbias`` could not yet answer a signal
if TYPE_CHECKING:
    from typing import Any

    from positionbias.core.collection import Collection
    from positionbias.core.records import Answer, Passage, Qrel, Query
    from positionbias.core.run import Run
    from positionbias.ops.artefacts import export, make_report, verify
    from positionbias.ops.audit import Audit, audit_model, audit_systems, check
    from positionbias.ops.collections import merge, place, sample, select, show
    from positionbias.ops.contamination import suspect_contamination
    from positionbias.ops.encoders import distil_vectors, make_encoder
    from positionbias.ops.evaluation import ensemble, evaluate
    from positionbias.ops.imports import (
        import_beir,
        import_irds,
        import_msmarco,
        import_msmarco_docs,
        import_msmarco_qa,
        import_orcas,
        import_planted,
        import_squad,
        import_trec,
        import_tripclick,
    )
    from positionbias.ops.leakage import clean_leakage, find_leakage
    from positionbias.ops.leakage_labels import calibrate_leakage, review_pairs, sample_pairs
    from positionbias.ops.pools import pool_coverage, pool_reliability, pool_verdict
    from positionbias.ops.positions import debias, histogram
    from positionbias.ops.probe import ats, mats
    from positionbias.ops.ranking import rerank
    from positionbias.ops.retrieval import encode, retrieve
    from positionbias.ops.studies import demo, study
    from positionbias.ops.training import teach, train
    from positionbias.ops.trainsets import draw_clicks, draw_contaminated, draw_leaked
    from positionbias.positions.rotate import rotate
    from positionbias.results.result import Result

__version__ = "0.1.0"

_PUBLIC = {
    "Answer": "core.records",
    "Audit": "ops.audit",
    "Collection": "core.collection",
    "Passage": "core.records",
    "Qrel": "core.records",
    "Query": "core.records",
    "Result": "results.result",
    "Run": "core.run",
    "ats": "ops.probe",
    "audit_model": "ops.audit",
    "audit_systems": "ops.audit",
    "calibrate_leakage": "ops.leakage_labels",
    "check": "ops.audit",
    "clean_leakage": "ops.leakage",
    "debias": "ops.positions",
    "distil_vectors": "ops.encoders",
    "demo": "ops.studies",
    "draw_clicks": "ops.trainsets",
    "draw_contaminated": "ops.trainsets",
    "draw_leaked": "ops.trainsets",
    "encode": "ops.retrieval",
    "ensemble": "ops.evaluation",
    "evaluate": "ops.evaluation",
    "export": "ops.artefacts",
    "find_leakage": "ops.leakage",
    "histogram": "ops.positions",
    "import_beir": "ops.imports",
    "import_irds": "ops.imports",
    "import_msmarco": "ops.imports",
    "import_msmarco_docs": "ops.imports",
    "import_msmarco_qa": "ops.imports",
    "import_orcas": "ops.imports",
    "import_planted": "ops.imports",
    "import_squad": "ops.imports",
    "import_trec": "ops.imports",
    "import_tripclick": "ops.imports",
    "make_encoder": "ops.encoders",
    "make_report": "ops.artefacts",
    "mats": "ops.probe",
    "merge": "ops.collections",
    "place": "ops.collections",
    "pool_coverage": "ops.pools",
    "pool_reliability": "ops.pools",
    "pool_verdict": "ops.pools",
    "rerank": "ops.ranking",
    "retrieve": "ops.retrieval",
    "review_pairs": "ops.leakage_labels",
    "rotate": "positions.rotate",
    "sample": "ops.collections",
    "sample_pairs": "ops.leakage_labels",
    "select": "ops.collections",
    "show": "ops.collections",
    "study": "ops.studies",
    "suspect_contamination": "ops.contamination",
    "teach": "ops.training",
    "train": "ops.training",
    "verify": "ops.artefacts",
}

__all__ = [
    "Answer",
    "Audit",
    "Collection",
    "Passage",
    "Qrel",
    "Query",
    "Result",
    "Run",
    "__version__",
    "ats",
    "audit_model",
    "audit_systems",
    "calibrate_leakage",
    "check",
    "clean_leakage",
    "debias",
    "demo",
    "distil_vectors",
    "draw_clicks",
    "draw_contaminated",
    "draw_leaked",
    "encode",
    "ensemble",
    "evaluate",
    "export",
    "find_leakage",
    "histogram",
    "import_beir",
    "import_irds",
    "import_msmarco",
    "import_msmarco_docs",
    "import_msmarco_qa",
    "import_orcas",
    "import_planted",
    "import_squad",
    "import_trec",
    "import_tripclick",
    "make_encoder",
    "make_report",
    "mats",
    "merge",
    "place",
    "pool_coverage",
    "pool_reliability",
    "pool_verdict",
    "rerank",
    "retrieve",
    "review_pairs",
    "rotate",
    "sample",
    "sample_pairs",
    "select",
    "show",
    "study",
    "suspect_contamination",
    "teach",
    "train",
    "verify",
]


def __getattr__(name: str) -> Any:
    # Imported when asked for: ``import positionbias`` stays quick, and no caller pays for pyarrow to rotate a text.
    if name not in _PUBLIC:
        raise AttributeError(f"module 'positionbias' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"positionbias.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return __all__
