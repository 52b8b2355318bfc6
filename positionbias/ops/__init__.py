"""One public function a command: settings in, an artefact or measurements out.
``positionbias.NAME`` is each of them.

A new command is a function in a module here, its line in ``COMMANDS``, and its import for type
checkers. A new ``import_NAME`` needs neither: those of ``ops.imports`` are found.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

    from positionbias.ops.artefacts import (
        export as export,
        make_report as make_report,
        push as push,
        verify as verify,
    )
    from positionbias.ops.audit import audit_systems as audit_systems, check as check
    from positionbias.ops.collections import (
        attach as attach,
        merge as merge,
        place as place,
        sample as sample,
        select as select,
        show as show,
    )
    from positionbias.ops.contamination import suspect_contamination as suspect_contamination
    from positionbias.ops.models import distil_vectors as distil_vectors
    from positionbias.ops.evaluation import ensemble as ensemble, evaluate as evaluate
    from positionbias.ops.imports import *
    from positionbias.ops.leakage import find_leakage as find_leakage
    from positionbias.ops.leakage import clean_leakage as clean_leakage
    from positionbias.ops.leakage import label_pairs as label_pairs
    from positionbias.ops.leakage import overlap_leakage as overlap_leakage
    from positionbias.ops.pools import (
        pool_coverage as pool_coverage,
        pool_reliability as pool_reliability,
        pool_verdict as pool_verdict,
    )
    from positionbias.ops.positions import debias as debias, histogram as histogram
    from positionbias.ops.probe import mats as mats
    from positionbias.ops.retrieval import rerank as rerank
    from positionbias.ops.models import debias_model as debias_model
    from positionbias.ops.retrieval import encode as encode, retrieve as retrieve
    from positionbias.ops.studies import demo as demo, study as study
    from positionbias.ops.training import teach as teach, train as train
    from positionbias.ops.trainsets import (
        draw_clicks as draw_clicks,
        draw_contaminated as draw_contaminated,
        draw_leaked as draw_leaked,
    )

# the words of a command -> (module here, function, one line of help), in the order of the help;
# import has every ``import_NAME`` of its module
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "demo": ("studies", "demo", "Run the whole study in miniature, in under five minutes."),
    "import": ("imports", "", "Bring a data set in as a collection."),
    "histogram": ("positions", "histogram", "Show where answers sit in their passages."),
    "audit": ("audit", "audit_systems", "Find out whether a model or run is position-biased."),
    "check": ("audit", "check", "Hold models to limits: pass, fail or cannot tell."),
    "debias": ("positions", "debias", "Rotate every passage at a random word."),
    "mats": ("probe", "mats", "Measure how a model's term vectors depend on position."),
    "train": ("training", "train", "Train a re-ranker."),
    "rerank": ("retrieval", "rerank", "Re-rank candidates with a trained model."),
    "retrieve": ("retrieval", "retrieve", "Rank passages for each query by BM25, or by vectors."),
    "evaluate": ("evaluation", "evaluate", "Measure runs, and test their differences."),
    "study": ("studies", "study", "Run a paper's study, end to end, on your collection."),
    "collection show": ("collections", "show", "Show what a collection holds: its Table 1."),
    "collection attach": ("collections", "attach", "Add answers from a table to a collection."),
    "collection merge": ("collections", "merge", "Merge collections, to train across corpora."),
    "collection sample": (
        "collections",
        "sample",
        "Draw a smaller collection that keeps what is judged.",
    ),
    "collection select": (
        "collections",
        "select",
        "Keep the queries whose answers lie in one part.",
    ),
    "collection place": ("collections", "place", "Put answering sentences where a density says."),
    "collection export": ("artefacts", "export", "Write a collection in a published form."),
    "collection verify": (
        "artefacts",
        "verify",
        "Compare artefacts with their manifests' digests.",
    ),
    "model vectors": ("models", "distil_vectors", "Make word vectors from an encoder."),
    "model encode": ("retrieval", "encode", "Encode passages as vectors, for dense retrieval."),
    "model trainset leaked": (
        "trainsets",
        "draw_leaked",
        "Draw sets with a known number of leaked queries.",
    ),
    "model trainset contaminated": (
        "trainsets",
        "draw_contaminated",
        "Draw a set with judgements of a test split in it.",
    ),
    "model trainset clicks": (
        "trainsets",
        "draw_clicks",
        "Draw triples of clicked passages and candidates.",
    ),
    "model teach": ("training", "teach", "Score training passages by a teacher, to distil it."),
    "model remedy": (
        "models",
        "debias_model",
        "Give a model a remedy for position bias, without training.",
    ),
    "model ensemble": ("evaluation", "ensemble", "Fuse several runs, by z-scores or ranks."),
    "model push": ("artefacts", "push", "Upload a checkpoint to the Hugging Face Hub."),
    "leakage find": (
        "leakage",
        "find_leakage",
        "Find training queries that near-duplicate test queries.",
    ),
    "leakage label": (
        "leakage",
        "label_pairs",
        "Draw pairs to label, or say what their labels tell.",
    ),
    "leakage overlap": (
        "leakage",
        "overlap_leakage",
        "Find passages and queries of test sets in training.",
    ),
    "leakage clean": (
        "leakage",
        "clean_leakage",
        "Write a collection or training set without what leaks.",
    ),
    "pool coverage": (
        "pools",
        "pool_coverage",
        "Count relevant documents that each kind finds, by depth.",
    ),
    "pool reliability": (
        "pools",
        "pool_reliability",
        "Measure how pools of one kind judge systems of each kind.",
    ),
    "pool verdict": ("pools", "pool_verdict", "Say whether a collection can judge one new run."),
    "contamination suspect": (
        "contamination",
        "suspect_contamination",
        "Say whether a model is suspiciously good on a test set.",
    ),
    "report": ("artefacts", "make_report", "Write one HTML page about results."),
}
