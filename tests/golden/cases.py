"""The cases: what each command that measures something gives at toy size, without a training.

A case takes the shared inputs and an empty folder, and returns results. ``WITH_MODEL`` names the
cases whose numbers come from scores of a model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import positionbias as pb
from positionbias import settings as s
from positionbias.probe.settings import ProbeSettings
from positionbias.report.showing import rows_of
from tests.audit import scorers

from .inputs import Inputs

Case = Callable[[Inputs, Path], Sequence[Any]]
AUDIT = s.AuditSettings()


def shown(inputs: Inputs, out: Path) -> Sequence[Any]:
    return [pb.show(inputs.planted.path).rows, pb.show(inputs.clicked.path).rows]


def histogram(inputs: Inputs, out: Path) -> Sequence[Any]:
    middle = s.HistogramOptions(point="midpoint", bins=7)
    return [
        pb.histogram([inputs.planted, inputs.rotated]).to_frame(),
        pb.histogram([inputs.planted], splits=["test"], options=middle).to_frame(),
    ]


def changed_collections(inputs: Inputs, out: Path) -> Sequence[Any]:
    """What debias, select and place count, and the collections of merge, sample and attach."""
    front = s.Selection(s.AnswerRange.parse("0:0.2"))
    selected = pb.select(inputs.planted, selection=front, out=out / "selected")
    placed = pb.place(
        inputs.planted, placing=s.Placing(s.Density.parse("front:0.8")), out=out / "placed"
    )
    merged = pb.merge([f"A={inputs.planted.path}", f"B={inputs.clicked.path}"], out=out / "merged")
    sampled = pb.sample(inputs.planted, queries=5, passages=60, out=out / "sampled")
    sentences = pb.debias(
        inputs.planted, rotation=s.Rotation(mode="sentences"), out=out / "sentences"
    )
    collections = [inputs.rotated, sentences, selected, placed, merged, sampled]
    return [rows_of(collection) for collection in collections]


def exported_and_imported(inputs: Inputs, out: Path) -> Sequence[Any]:
    exported = [_export(inputs, form, out) for form in ("msmarco", "beir", "trec")]
    imported = [
        pb.import_msmarco([out / "msmarco"], out=out / "from-msmarco"),
        pb.import_beir(out / "beir", out=out / "from-beir"),
    ]
    return [*exported, *map(rows_of, imported)]


def _export(inputs: Inputs, form: Any, out: Path) -> Any:
    return pb.export(inputs.planted, to=form, out=out / form).rows


def debiased_bytes(inputs: Inputs, out: Path) -> Sequence[Any]:
    """The SHA-256 of what debias writes: of TSV and JSON lines, and of the passages and answers of
    a collection.
    """
    passages = list(inputs.planted.passages())
    tsv, lines = out / "passages.tsv", out / "passages.jsonl"
    tsv.write_text("".join(f"{passage_id}\t{text}\n" for passage_id, text in passages))
    lines.write_text(
        "".join(
            json.dumps({"id": passage_id, "text": text}) + "\n" for passage_id, text in passages
        )
    )
    written = {}
    for place in (tsv, lines):
        for mode in ("words", "sentences"):
            pb.debias(
                place, rotation=s.Rotation(mode=mode, seed=3), out=out / f"{mode}{place.suffix}"
            )
            written[f"{mode}{place.suffix}"] = (out / f"{mode}{place.suffix}").read_bytes()
    for mode in ("words", "sentences"):
        rotated = pb.debias(
            inputs.planted, rotation=s.Rotation(mode=mode, seed=3), out=out / f"rotated-{mode}"
        )
        held = (
            [tuple(passage) for passage in rotated.passages()],
            [tuple(answer) for answer in rotated.answers("test")],
        )
        written[f"{mode} of a collection"] = json.dumps(held).encode()
    return [
        {"what": name, "answer": hashlib.sha256(content).hexdigest()}
        for name, content in written.items()
    ]


def evaluate(inputs: Inputs, out: Path) -> Sequence[Any]:
    """Three runs and their fusions against a collection, with a cut-off and graded measures."""
    runs = [inputs.runs["test"], inputs.reversed_run, inputs.rotated_run]
    names = ("bm25", "reversed", "over rotated")
    named = [
        pb.Run(name, pb.Run.from_file(path).rankings())
        for name, path in zip(names, runs, strict=True)
    ]
    fused = pb.ensemble(runs[:2], out=out / "fused.run").run
    ranks = pb.ensemble(
        runs[:2], fusing=s.Fusing("reciprocal-ranks"), name="ranks", out=out / "ranks.run"
    ).run
    measuring = s.Measuring(measures=("nDCG@10", "RR@3", "AP", "P@5"))
    found = pb.evaluate([*named, fused, ranks], collection=inputs.planted, measuring=measuring)
    return [found.to_frame()]


def evaluate_leaked(inputs: Inputs, out: Path) -> Sequence[Any]:
    """Leaked less clean queries, and the order of the runs on both."""
    runs = [inputs.runs["test"], inputs.reversed_run]
    return [pb.evaluate(runs, collection=inputs.planted, leaked=inputs.leaks).to_frame()]


def audit_of_runs(inputs: Inputs, out: Path) -> Sequence[Any]:
    audited = s.Audited(rotated=[(inputs.rotated, inputs.rotated_run)])
    return [pb.audit_systems(inputs.planted, [inputs.runs["test"]], audited=audited).to_frame()]


def audit_of_functions(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A blind scorer, one that prefers the front, one that prefers the first of a list."""
    audited = s.Audited(
        models=[scorers.blind, scorers.front_lover, scorers.first_placed],
        candidates=inputs.runs["test"],
    )
    return [pb.audit_systems(inputs.planted, audited=audited, settings=AUDIT).to_frame()]


def audit_by_terms(inputs: Inputs, out: Path) -> Sequence[Any]:
    """Evidence by query terms."""
    settings = replace(AUDIT, evidence="terms")
    audited = s.Audited(models=[scorers.end_lover], candidates=inputs.runs["test"])
    return [pb.audit_systems(inputs.planted, audited=audited, settings=settings).to_frame()]


def audit_of_a_model(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A TK."""
    audited = s.Audited(models=[inputs.tk()], candidates=inputs.runs["test"])
    return [pb.audit_systems(inputs.planted, audited=audited, settings=AUDIT).to_frame()]


def audit_of_a_retriever(inputs: Inputs, out: Path) -> Sequence[Any]:
    settings = replace(AUDIT, retrieve=True, depth=20)
    return [
        pb.audit_systems(
            inputs.planted, audited=s.Audited(models=[inputs.dot]), settings=settings
        ).to_frame()
    ]


def check(inputs: Inputs, out: Path) -> Sequence[Any]:
    limits = s.Limits(max_response=0.05, max_movement=0.1, max_order=1.0)
    audited = s.Audited(models=[scorers.blind, scorers.front_lover], candidates=inputs.runs["test"])
    checked = pb.check(inputs.planted, limits=limits, audited=audited)
    names = ("contrast", "unit", "value", "low", "high", "queries")
    return [
        {name: cell for name, cell in check.items() if name not in names}
        | {"measured": {name: check[name] for name in names} if check["contrast"] else None}
        for check in checked.to_json()["checks"]
    ]


def probe(inputs: Inputs, out: Path) -> Sequence[Any]:
    every = ProbeSettings(term_pairs="all", minimum_terms=5)
    return [
        pb.mats(inputs.planted, models=[inputs.tk(), inputs.tk(2)], curve=True).to_frame(),
        pb.mats(inputs.planted, models=[inputs.dot], settings=every).to_frame(),
    ]


def leakage_find(inputs: Inputs, out: Path) -> Sequence[Any]:
    settings = s.FindSettings("lexical")
    queries = [f"{inputs.planted.path}:train", f"{inputs.planted.path}:test"]
    return [pb.find_leakage(queries, settings=settings, out=out / "pairs").rows]


def leakage_find_by_meaning(inputs: Inputs, out: Path) -> Sequence[Any]:
    settings = s.FindSettings("semantic", threshold=0.5)
    queries = [f"{inputs.planted.path}:train", f"{inputs.planted.path}:test"]
    encoder = s.Encoder(str(inputs.encoder), kind="bi-encoder")
    found = pb.find_leakage(queries, settings=settings, encoder=encoder, out=out / "pairs")
    return [found.rows]


def leakage_labels(inputs: Inputs, out: Path) -> Sequence[Any]:
    """A sample to label, a filled sheet, and thresholds by both rules."""
    sample = s.SampleSettings(sample_size=10, strata=2)
    return [
        pb.label_pairs([inputs.labelled], settings=sample, out=out / "sheet.tsv").rows,
        pb.label_pairs([inputs.labelled], apply=0.7).rows,
        pb.label_pairs([inputs.labelled], rule="paper").rows.query(
            "measure not in ['reviewed pairs', 'reformulation types']"
        ),
    ]


def leakage_overlap(inputs: Inputs, out: Path) -> Sequence[Any]:
    settings = s.OverlapSettings(n=5)
    tests = [f"{inputs.planted.path}:test"]
    return [
        pb.overlap_leakage(
            [f"{inputs.planted.path}:train"], tests=tests, settings=settings, out=out / "pairs"
        ).to_frame()
    ]


def leakage_clean(inputs: Inputs, out: Path) -> Sequence[Any]:
    given = pb.clean_leakage(
        inputs.planted, counted=s.CountedPairs(pairs=inputs.planted.path), out=out / "given"
    )
    words = s.CountedPairs(lexical=True)
    test = f"{inputs.planted.path}:test"
    looked = pb.clean_leakage(
        inputs.planted, against=test, counted=words, detector="lexical", out=out / "looked"
    )
    return [given.rows, looked.rows]


def contamination(inputs: Inputs, out: Path) -> Sequence[Any]:
    pb.retrieve(inputs.planted, wanted=s.Retrieval("fresh", depth=6), out=out / "fresh.run")
    suspects = s.Suspects(
        models=[inputs.tk()],
        controls=[inputs.tk(2), inputs.tk(3)],
        candidates=[inputs.runs["test"], out / "fresh.run"],
        fresh="fresh",
    )
    found = pb.suspect_contamination(inputs.planted, suspects=suspects)
    return [found.to_frame()]


def training_sets(inputs: Inputs, out: Path) -> Sequence[Any]:
    """Sets with leaked queries, with test judgements, and of clicks."""
    leaking = s.LeakingPairs(pairs=[inputs.planted.path], leaked_queries=5)
    candidates = str(inputs.runs["train"])
    leaked = [
        pb.draw_leaked(
            inputs.planted,
            targets=["test"],
            candidates=[candidates],
            leakage=leakage,
            size=20,
            leaking=leaking,
            out=out / leakage,
        ).rows
        for leakage in ("no", "msm", "test")
    ]
    settings = s.ContaminatedSettings(targets=("test",), target_relevant_from=1)
    seen = pb.draw_contaminated(
        inputs.planted, candidates=candidates, settings=settings, out=out / "seen"
    )
    pb.retrieve(inputs.clicked, wanted=s.Retrieval("train", depth=10), out=out / "clicked.run")
    clicks = pb.draw_clicks(inputs.clicked, candidates=out / "clicked.run", out=out / "clicks")
    return [*leaked, seen.rows, clicks.rows]


def pools(inputs: Inputs, out: Path) -> Sequence[Any]:
    runs, qrels, systems = (inputs.pool / name for name in ("runs", "qrels.txt", "systems.tsv"))
    verdict = pb.pool_verdict(
        inputs.pool / "new.run", inputs.pool / "pool.txt", pool_runs=runs, systems=systems
    )
    coverage = pb.pool_coverage(runs, qrels, systems=systems)
    return [coverage.rows, pb.pool_reliability(runs, qrels, systems=systems).rows, verdict.rows]


def models_used(inputs: Inputs, out: Path) -> Sequence[Any]:
    """What rerank, encode, retrieve, teach, remedy and vectors give, and the quality
    of their runs.
    """
    depth = s.TaughtPassages(candidates=inputs.runs["train"], depth=4)
    test = inputs.runs["test"]
    rotated = pb.debias_model(inputs.tk(), remedy="rotate:3", out=out / "rotated-tk")
    words = pb.distil_vectors(
        [inputs.planted],
        encoder=str(inputs.encoder),
        settings=s.DistilSettings(dimension=4),
        out=out / "words",
    )
    vectors = pb.encode(inputs.planted, model=inputs.dot, out=out / "vectors")
    dense = s.ByVectors(vectors=out / "vectors", model=inputs.dot)
    made = [
        pb.rerank(inputs.planted, model=inputs.tk(), candidates=test, out=out / "tk.run"),
        pb.rerank(
            inputs.planted, model=out / "rotated-tk", candidates=test, out=out / "rotated-tk.run"
        ),
        pb.rerank(inputs.planted, model=inputs.dot, candidates=test, out=out / "dot.run"),
        pb.retrieve(
            inputs.planted, wanted=s.Retrieval("test", depth=10), dense=dense, out=out / "dense.run"
        ),
        pb.retrieve(inputs.planted, wanted=s.Retrieval("test", depth=10), out=out / "bm25.run"),
        pb.teach(
            inputs.planted, teacher=s.Teacher(model=inputs.tk()), passages=depth, out=out / "scores"
        ),
    ]
    runs = [
        pb.Run(name, pb.Run.from_file(out / f"{name}.run").rankings())
        for name in ("tk", "rotated-tk", "dot", "dense")
    ]
    rows = [outcome.rows for outcome in (rotated, words, vectors, *made)]
    return [*rows, pb.evaluate(runs, collection=inputs.planted).to_frame()]


WITHOUT_TRAINING: dict[str, Case] = {
    case.__name__.replace("_", "-"): case
    for case in (
        shown,
        histogram,
        changed_collections,
        debiased_bytes,
        exported_and_imported,
        evaluate,
        evaluate_leaked,
        audit_of_runs,
        audit_of_functions,
        audit_by_terms,
        audit_of_a_model,
        audit_of_a_retriever,
        check,
        probe,
        leakage_find,
        leakage_find_by_meaning,
        leakage_labels,
        leakage_overlap,
        leakage_clean,
        contamination,
        training_sets,
        pools,
        models_used,
    )
}
WITH_MODEL = {
    "audit-of-a-model",
    "audit-of-a-retriever",
    "probe",
    "leakage-find-by-meaning",
    "contamination",
    "models-used",
}
