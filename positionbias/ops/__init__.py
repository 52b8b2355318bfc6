"""One public function a command: settings in, an artefact or measurements out. ``positionbias.NAME`` is each of them.

A new command is a function in a module here, its line in ``COMMANDS``, and its import for type checkers. A new ``import_NAME`` needs neither:
those of ``ops.imports`` are found.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing's own costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

    from positionbias.ops.artefacts import export as export, make_report as make_report, push as push, verify as verify
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
    from positionbias.ops.encoders import distil_vectors as distil_vectors, make_encoder as make_encoder
    from positionbias.ops.evaluation import ensemble as ensemble, evaluate as evaluate
    from positionbias.ops.imports import *
    from positionbias.ops.leakage import clean_leakage as clean_leakage, find_leakage as find_leakage
    from positionbias.ops.leakage_labels import (
        calibrate_leakage as calibrate_leakage,
        review_pairs as review_pairs,
        sample_pairs as sample_pairs,
    )
    from positionbias.ops.pools import (
        pool_coverage as pool_coverage,
        pool_reliability as pool_reliability,
        pool_verdict as pool_verdict,
    )
    from positionbias.ops.positions import debias as debias, histogram as histogram
    from positionbias.ops.probe import ats as ats, mats as mats
    from positionbias.ops.ranking import rerank as rerank
    from positionbias.ops.retrieval import encode as encode, retrieve as retrieve
    from positionbias.ops.studies import demo as demo, study as study
    from positionbias.ops.training import teach as teach, train as train
    from positionbias.ops.trainsets import (
        draw_clicks as draw_clicks,
        draw_contaminated as draw_contaminated,
        draw_leaked as draw_leaked,
    )

# command -> (module here, function, one line of help), in the order of ``posbias --help``; import has every ``import_NAME`` of its module
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "demo": ("studies", "demo", "The whole study in miniature, in under five minutes."),
    "import": ("imports", "", "Bring a data set in as a collection."),
    "export": ("artefacts", "export", "Write a collection in a published form."),
    "attach": ("collections", "attach", "A collection with answers from a table of their own."),
    "merge": ("collections", "merge", "Several collections as one, for training across corpora."),
    "sample": ("collections", "sample", "A smaller collection that keeps what is judged."),
    "show": ("collections", "show", "What a collection holds: its Table 1."),
    "histogram": ("positions", "histogram", "Where answers sit in their passages."),
    "debias": ("positions", "debias", "Rotate every passage at a random word."),
    "place": ("collections", "place", "Put answering sentences where a density says."),
    "select": ("collections", "select", "Only the queries whose answers lie in one part of their passages."),
    "retrieve": ("retrieval", "retrieve", "Rank passages for each query by BM25, or by vectors."),
    "encode": ("retrieval", "encode", "A collection's passages as vectors, for dense retrieval."),
    "vectors distil": ("encoders", "distil_vectors", "Word vectors from a pre-trained encoder."),
    "encoder": ("encoders", "make_encoder", "A small encoder to start from, with random weights."),
    "trainset leaked": ("trainsets", "draw_leaked", "Sets with a known number of queries that leak test queries."),
    "trainset contaminated": (
        "trainsets",
        "draw_contaminated",
        "A set with judgements of a test split in it, for a teacher that saw the test.",
    ),
    "trainset clicks": ("trainsets", "draw_clicks", "Shuffled triples of clicked passages and sampled candidates."),
    "teach": ("training", "teach", "A teacher's scores of training passages, for distillation."),
    "train": ("training", "train", "Train a re-ranker."),
    "rerank": ("ranking", "rerank", "Re-rank candidates with a trained model."),
    "ensemble": ("evaluation", "ensemble", "Several runs as one, by z-scores or ranks."),
    "evaluate": ("evaluation", "evaluate", "Measure runs, and test their differences."),
    "ats": ("probe", "ats", "Average term similarity by distance in position."),
    "mats": ("probe", "mats", "One number for position dependence (MATS)."),
    "audit": ("audit", "audit_systems", "Is any model, or a run, position-biased?"),
    "check": ("audit", "check", "Hold models to limits on position bias: pass, fail or cannot tell."),
    "leakage find": ("leakage", "find_leakage", "Which training queries near-duplicate which test queries."),
    "leakage calibrate": ("leakage_labels", "calibrate_leakage", "From which score on a pair is a leak, by labelled pairs."),
    "leakage sample": ("leakage_labels", "sample_pairs", "Draw pairs to label, so that a threshold can be set."),
    "leakage review": ("leakage_labels", "review_pairs", "The most similar pairs for people to look at, and what they said."),
    "leakage clean": ("leakage", "clean_leakage", "A collection without the training queries that leak."),
    "pool coverage": ("pools", "pool_coverage", "Relevant documents that each kind of system finds, by pool depth."),
    "pool reliability": (
        "pools",
        "pool_reliability",
        "How pools made from one kind of system judge systems of each kind.",
    ),
    "pool verdict": ("pools", "pool_verdict", "Can an existing collection judge this one new run?"),
    "contamination suspect": ("contamination", "suspect_contamination", "Is a model suspiciously good on a public test set?"),
    "push": ("artefacts", "push", "A checkpoint on the Hugging Face Hub, with its model card."),
    "study": ("studies", "study", "A paper's study, end to end, on your collection."),
    "verify": ("artefacts", "verify", "Are artefacts what they were when they were written?"),
    "report": ("artefacts", "make_report", "One self-contained HTML page from results."),
}
