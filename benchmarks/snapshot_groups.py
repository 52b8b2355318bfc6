"""The commands whose output ``snapshots.py`` records, in groups: each plants its small input in the current folder and calls them.

Untrained things have their numbers compared; of models (``model=True``) only the shape of what is printed is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from snapshots import Recorder

Group = Callable[["Recorder"], None]
GROUPS: dict[str, Group] = {}


def group(function: Group) -> Group:
    GROUPS[function.__name__.strip("_").replace("_", "-")] = function
    return function


@group
def help_(record: Recorder) -> None:
    for name, text in record.help_texts():
        record.write_raw(name, text)


SMALL = ("dimension=8", "layers=1", "heads=2", "head_size=3", "feed_forward=6")  # tests.tiny.TINY
TK = tuple(word for part in SMALL for word in (f"--{part.split('=')[0].replace('_', '-')}", part.split("=")[1]))
STEPS = ("--max-steps", 2, "--validate-every", 1, "--batch-size", 4, "--threads", 1)


def planted(place: str = "planted", **settings: Any) -> Any:
    """A small planted collection with a BM25 run of each split beside it: train.run, test.run …"""
    from positionbias.planted.generator import PlantedSettings
    from tests import tiny

    shape = {"queries": 60, "passages": 150, "test_share": 0.3, "validation_share": 0.2}
    collection = tiny.planted(Path(place), PlantedSettings(**{**shape, **settings}))
    tiny.candidates(collection, Path(place).parent)
    return collection


def given(option: str, values: Iterable[object]) -> list[object]:
    return [word for value in values for word in (option, value)]


@group
def collections(record: Recorder) -> None:
    make = ("import", "planted", "--queries", 60, "--passages", 210)
    record.run("import", *make, "--out", "./OUT")
    record.call(*make, "--out", "./planted")
    record.run("show", "show", "./planted")
    record.run("histogram", "histogram", "./planted", "--resamples", 100, "--out", "./OUT")
    record.run("debias", "debias", "./planted", "--out", "./OUT")
    record.call("debias", "./planted", "--out", "./rotated")
    record.run(
        "histogram-of-two", "histogram", "./planted", "./rotated", "--split", "test", "--resamples", 100, "--out", "./OUT"
    )
    record.run("place", "place", "./planted", "--density", "front:0.8", "--out", "./OUT")
    record.run("select", "select", "./planted", "--answers-in", "0:0.5", "--out", "./OUT")
    record.run("sample", "sample", "./planted", "--queries", 5, "--passages", 60, "--out", "./OUT")
    record.run("merge", "merge", "A=./planted", "B=./rotated", "--out", "./OUT")
    for form in ("msmarco", "beir", "trec"):
        record.run(f"export-{form}", "export", "./planted", "--to", form, "--out", "./OUT")
    record.run("verify", "verify", "./planted", "./rotated")
    record.run("missing", "show", "./nowhere", exits=2)


@group
def search(record: Recorder) -> None:
    from tests.dense.conftest import saved_dot

    planted()
    saved_dot(Path("dot"))
    record.run("bm25", "retrieve", "./planted", "--split", "test", "--depth", 6, "--out", "./OUT")
    record.run("encode", "encode", "./planted", "--model", "dot", "--out", "./OUT")
    record.call("encode", "./planted", "--model", "dot", "--out", "./vectors")
    dense = ("retrieve", "./planted", "--vectors", "vectors", "--model", "dot", "--split", "test", "--depth", 6)
    record.run("dense", *dense, "--out", "./OUT", model=True)
    record.call(*dense, "--out", "./dense.run")
    record.run("ensemble", "ensemble", "test.run", "dense.run", "--out", "./OUT")
    record.run("ensemble-by-ranks", "ensemble", "test.run", "dense.run", "--by", "reciprocal-ranks", "--out", "./OUT")
    record.run("encoder", "encoder", "./planted", "--layers", 1, "--width", 8, "--heads", 2, "--pieces", 90, "--out", "./OUT")
    record.call("encoder", "./planted", "--layers", 1, "--width", 8, "--heads", 2, "--pieces", 90, "--out", "./small")
    distil = ("vectors", "distil", "./planted", "--encoder", "small", "--dimension", 4, "--threads", 1)
    record.run("vectors", *distil, "--out", "./OUT", model=True)


@group
def models(record: Recorder) -> None:
    planted()
    runs = ("--candidates", "train.run", "--validation-candidates", "validation.run")
    train = ("train", "tk", "./planted", *runs, *TK, *STEPS, "--probe-passages", 20)
    record.run("train", *train, "--out", "./OUT", model=True)
    record.run("train-rotated", *train, "--rotate-at-reading", "--seed", 2, "--out", "./OUT", model=True)
    record.call(*train, "--out", "./tk.ckpt")
    of = ("--model", "tk.ckpt")
    record.run("rerank", "rerank", "./planted", *of, "--candidates", "test.run", "--depth", 6, "--out", "./OUT", model=True)
    record.run("teach", "teach", "./planted", *of, "--candidates", "train.run", "--depth", 4, "--out", "./OUT", model=True)
    record.run("mats", "mats", "./planted", *of, "--minimum-terms", 1, "--out", "./OUT", model=True)
    record.run("ats", "ats", "./planted", *of, "--minimum-terms", 1, "--out", "./OUT", model=True)
    record.call("rerank", "./planted", *of, "--candidates", "test.run", "--depth", 6, "--out", "./tk.run")
    record.run("evaluate", "evaluate", "test.run", "tk.run", "--collection", "./planted", "--out", "./OUT", model=True)


@group
def evaluate(record: Recorder) -> None:
    from positionbias.core.run import read_run, write_run

    collection = planted()
    run = read_run(Path("test.run"))
    write_run(Path("short.run"), run.top(2).only(sorted(run)[:15], "short"))
    pairs = [{"train_id": f"t{n}", "test_id": query} for n, query in enumerate(sorted(run)[:8])]
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    base = ("--collection", "./planted")
    record.run("one-run", "evaluate", "test.run", *base, "--out", "./OUT")
    record.run("two-runs", "evaluate", "test.run", "short.run", *base, "-m", "nDCG@10", "-m", "AP", "--out", "./OUT")
    record.call(
        "retrieve", collection.path, "--split", "test", "--k1", 0, "--name", "flat", "--depth", 6, "--out", "./flat.run"
    )
    three = ("test.run", "short.run", "flat.run")
    record.run("leaked", "evaluate", *three, *base, "--leaked", "pairs.jsonl", "--all-swaps", "./OUT.tsv", "--out", "./OUT")
    record.run("no-such-measure", "evaluate", "test.run", *base, "-m", "quality", exits=2)
    record.report("two-folders", Path("out-one-run"), Path("out-two-runs"))


@group
def audit(record: Recorder) -> None:
    from tests import tiny

    collection = planted(queries=200, passages=400, test_share=0.6, validation_share=0.1, front_loading=0.9)
    tiny.saved_tk(Path("tk.ckpt"), collection)
    front, blind = ("--model", "tests.audit.scorers:front_lover"), ("--model", "tests.audit.scorers:blind")
    quick = "--buckets 0,0.33,0.66,1 --minimum 3 --permutations 100 --draws 2 --depth 6 --candidates test.run".split()
    little = ("--needles", 20, "--segments", 0)
    record.run("run", "audit", "./planted", "test.run", *quick[:-2], "--out", "./OUT")
    record.run("scorers", "audit", "./planted", *front, *blind, *quick, *little, "--out", "./OUT")
    record.run("tk", "audit", "./planted", "--model", "tk.ckpt", *quick, *little, "--out", "./OUT", model=True)
    files = ("--junit", "OUT.xml", "--summary", "OUT.md")
    record.run("check-fails", "check", "./planted", *front, *blind, *quick, "--max-rotation-gap", 0.05, *files, exits=1)
    record.write("check-fails.junit", Path("out-check-fails.xml").read_text("utf-8"))
    record.write("check-fails.summary", Path("out-check-fails.md").read_text("utf-8"))
    record.run("check-cannot-tell", "check", "./planted", *blind, *quick, "--max-psi", 0.9, exits=3)


@group
def leakage(record: Recorder) -> None:
    from tests.dense.conftest import saved_dot

    planted(passages=240, leaked_queries=20)
    find = ("leakage", "find", "./planted:train", "./planted:test")
    record.run("find", *find, "--detector", "lexical", "--truth", "./planted", "--out", "./OUT")
    saved_dot(Path("dot"))
    record.run("find-by-meaning", *find, "--encoder", "dot", "--threshold", 0.99, "--out", "./OUT", model=True)
    texts = [("q1", "q3", 0.99), ("q1", "q4", 0.95), ("q2", "q4", 0.93), ("q9", "q3", 0.85)]
    row = {"source": "s", "field": "query"}
    rows = [{**row, "train_id": a, "test_id": b, "train_text": a, "test_text": b, "cosine": cosine} for a, b, cosine in texts]
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(pair)}\n" for pair in rows))
    record.run("sample", "leakage", "sample", "pairs.jsonl", "--sample-size", 2, "--strata", 2, "--out", "./OUT.tsv")
    record.run("review", "leakage", "review", "pairs.jsonl", "--out", "./OUT.tsv")
    head, *lines = Path("out-review.tsv").read_text("utf-8").splitlines()
    for name, labels in (("one", "identical no different specialization"), ("two", "identical no identical specialization")):
        filled = [head, *map(str.__add__, lines, labels.split())]
        Path(f"{name}.tsv").write_text("\n".join(filled) + "\n")
    record.run("agreement", "leakage", "review", "pairs.jsonl", "--filled", "one.tsv", "--filled", "two.tsv")
    calibrate = ("leakage", "calibrate", "one.tsv", "--apply", 0.95)
    record.run("calibrate", *calibrate)
    record.run("calibrate-paper", *calibrate, "--rule", "paper", "--least-precision", 0.6, "--wrong", 3)
    record.run("clean", "leakage", "clean", "./planted", "--pairs", "planted", "--out", "./OUT")
    record.run("clean-by-words", "leakage", "clean", "./planted", "--against", "./planted:test", "--detector", "lexical",
               "--lexical", "--out", "./OUT")  # fmt: skip
    leaked = ("trainset", "leaked", "./planted", "--target", "test", "--pairs", "planted", "--candidates", "train.run")
    record.run("trainset", *leaked, "--size", 24, "--size", 40, "--repeats", 2, "--leaked-queries", 10, "--out", "./OUT")


@group
def contamination(record: Recorder) -> None:
    from tests import tiny

    collection = planted(queries=40, passages=240, fresh_queries=10, paraphrased=True, sentences=(2, 2))
    for seed in range(1, 7):
        tiny.saved_tk(Path(f"m{seed}.ckpt"), collection, seed=seed)
    Path("bank.txt").write_text("m5.ckpt\nm6.ckpt\n")
    pairs = [{"train_id": "t", "test_id": query.query_id} for query in collection.queries("test")[:5]]
    Path("pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    suspect = ("contamination", "suspect", "./planted", "--candidates", "test.run", "--model", "m1.ckpt")
    controls = [*given("--control", ("m2.ckpt", "m3.ckpt", "m4.ckpt")), "--configuration", "tiny TKs"]
    fresh = ("--fresh", "fresh", "--fresh-candidates", "fresh.run")
    record.run("suspect", *suspect, *fresh, *controls, "--out", "./OUT", model=True)
    more = ("--pairs", "pairs.jsonl", "--fresh", "paraphrased", "--bank", "bank.txt", "--model", "m4.ckpt")
    record.run("suspect-two", *suspect, *more, *controls[:4], *controls[6:], "--out", "./OUT", model=True)
    record.run("suspect-alone", *suspect, "--fresh", "paraphrased", "--out", "./OUT", model=True)
    contaminated = ("trainset", "contaminated", "./planted", "--contaminate", "test", "--target-relevant-from", 1)
    record.run("trainset", *contaminated, "--candidates", "train.run", "--share", 0.5, "--out", "./OUT")


@group
def clicks(record: Recorder) -> None:
    planted(passages=300, answers_each=3, test_share=0.4, validation_share=0.05)
    draw = ("trainset", "clicks", "./planted", "--candidates", "train.run", "--negatives", 2, "--train-depth", 6)
    record.run("trainset", *draw, "--out", "./OUT", results="quality")
    record.run(
        "trainset-true", *draw, "--qrels-name", "true", "--triples", 40, "--as", "ids", "--out", "./OUT", results="quality"
    )


@group
def pool(record: Recorder) -> None:
    from dataclasses import replace

    from positionbias.core.qrels import write_qrels
    from positionbias.core.run import write_run
    from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs

    simulation = Simulation(rate=0.5, queries=6, groups=3)
    systems = list(simulated_runs(simulation))
    for system, run in systems:
        write_run(Path("runs", f"{system.run}.run"), run)
    table = ["run\tgroup\tkind", *("\t".join(system) for system, _ in systems), "absent\tg\tneural"]
    Path("systems.tsv").write_text("\n".join(table) + "\n")
    write_qrels(Path("qrels.txt"), simulated_qrels(simulation))
    of_old = [run for system, run in systems if system.kind == "traditional"]
    pooled = {(one.query_id, passage) for run in of_old for one in run.rankings() for passage in one.passage_ids}
    write_qrels(Path("pool.txt"), [qrel for qrel in simulated_qrels(simulation) if qrel[:2] in pooled])
    write_run(Path("new.run"), list(simulated_runs(replace(simulation, seed=9)))[-1][1])
    of, knows = ("runs", "qrels.txt", "--systems", "systems.tsv"), ("--pool-runs", "runs", "--systems", "systems.tsv")
    record.run("coverage", "pool", "coverage", *of, "--depth", 5, "--out", "./OUT")
    more = ("--leave-out", "--curves", "--relabel", 0.2, "--repeats", 2)
    record.run("reliability", "pool", "reliability", *of, "--pools", 4, *more, "--out", "./OUT")
    verdict = ("pool", "verdict", "new.run", "pool.txt")
    record.run("verdict", *verdict, *knows, "-m", "P@10", "--judge-next", "./OUT.tsv", "--out", "./OUT")
    record.run("verdict-alone", *verdict, "-m", "AP", "-m", "RBP", "--out", "./OUT")


STUDY = (*STEPS, "--depth", 3, "--train-depth", 3, "--seeds", 1, "--rotations", 1)


def study(record: Recorder, name: str, *arguments: object, model: bool = True) -> None:
    """A study's plan, its steps and its report."""
    command = ("study", name, *arguments, "--out", "./OUT")
    record.run("plan", *command, "--dry-run")
    record.run("study", *command, model=model, again=True, results="results")


@group
def study_position_bias(record: Recorder) -> None:
    planted(queries=20, passages=40, test_share=0.4)
    shape = given("--set", (f"tk.{part}" for part in SMALL))
    study(record, "position-bias", "./planted", *STUDY, *shape, "--probe-passages", 10, "--test-queries", 7)


@group
def study_models(record: Recorder) -> None:
    from tests.tiny import tiny_encoder

    planted(queries=20, passages=40, test_share=0.4)
    tiny_encoder(Path("encoder"))
    settings = (*(f"tk.{part}" for part in SMALL), "bert_cat.pair_length=30", "bert_dot.passage_length=20", "probe_passages=0")
    chosen = [*given("--models", ("tk", "bert_cat", "bert_dot")), "--encoder", "encoder", *given("--set", settings)]
    study(record, "position-bias", "./planted", *STUDY, *chosen, "-m", "nDCG@10", "--probe-passages", 10)


@group
def study_transfer(record: Recorder) -> None:
    planted("away/far", queries=20, passages=40, test_share=0.4, seed=5)
    planted(queries=20, passages=40, test_share=0.4)
    study(record, "transfer", "./away/far", "./planted", *STUDY, *given("--set", SMALL), "--set-source", "max_steps=1")


@group
def study_dose(record: Recorder) -> None:
    planted()
    study(record, "dose", "./planted", *given("--answers-in", ("0:0.4", "0:1")), *STUDY, *given("--set", SMALL),
          "--only", "original", "--probe-passages", 20)  # fmt: skip


@group
def study_architecture(record: Recorder) -> None:
    planted()
    study(record, "architecture", "./planted", *given("--positions", ("sinusoid", "none")), *STUDY, *given("--set", SMALL),
          "--only", "original", "--probe-passages", 20)  # fmt: skip


@group
def study_leakage(record: Recorder) -> None:
    from tests.papers.leakage.leaking import leaking_collection, leaking_pairs

    leaking_pairs(Path("pairs.jsonl"), leaking_collection(Path()))
    little = ("--leaked-queries", 4, "--folds", 3, "--threads", 1, "--batch-size", 4, "--seeds", 1, "--depth", 6)
    chosen = [*given("--size", (12, 20)), *given("--models", ("tk", "knrm"))]
    chosen += given("--set", (*(f"tk.{part}" for part in SMALL), "knrm.dimension=8"))
    study(record, "leakage", "./leaking", "--pairs", "pairs.jsonl", "--target", "topics", "--source", "train", *little, *chosen)


@group
def study_contamination(record: Recorder) -> None:
    from positionbias.models.new_encoder import make_encoder
    from positionbias.models.settings import EncoderSettings

    make_encoder([planted(validation_share=0.25)], Path("small"), EncoderSettings(layers=1, width=8, heads=2, pieces=120))
    little = ("--depth", 6, "--train-depth", 8, "--threads", 1, "--batch-size", 8, "--seeds", 1, "--learning-rate", 1e-3)
    chosen = [*given("--models", ("tk", "bert_dot")), *given("--set", (f"tk.{part}" for part in SMALL))]
    study(record, "contamination", "./planted", "--target", "test", "--target-relevant-from", 1, *little, "--loss", "kl",
          "--max-steps", 2, "--encoder", "./small", *chosen)  # fmt: skip


@group
def study_tripclick(record: Recorder) -> None:
    from positionbias.models.new_encoder import make_encoder
    from positionbias.models.settings import EncoderSettings

    collection = planted(passages=300, answers_each=3, test_share=0.4, validation_share=0.05)
    make_encoder([collection], Path("small"), EncoderSettings(layers=1, width=8, heads=2, pieces=120))
    little = ("--depth", 5, "--retrieval-depth", 8, *given("--depths", (2, 8)), "--train-depth", 12, "--negatives", 2, *STEPS)
    chosen = [*given("--models", ("tk", "bert_dot")), "--encoder", "./small", *given("--set", (f"tk.{part}" for part in SMALL))]
    study(record, "tripclick", "./planted", "--test-split", "test:true", *little, "--seeds", 1, "--complete-qrels", "true",
          "--negatives-of", "original=passed-over", *chosen)  # fmt: skip


@group
def study_pooling(record: Recorder) -> None:
    from positionbias.core.qrels import write_qrels
    from positionbias.core.run import Run, write_run
    from positionbias.papers.pooling import TOPICS
    from positionbias.pooling.simulated import Simulation, simulated_qrels, simulated_runs

    simulation, topics = Simulation(queries=43, groups=2), dict(enumerate(sorted(TOPICS)))

    def document(name: str) -> str:
        what, _, number = name.partition("-")
        return f"D{('common', 'hidden', 'other').index(what)}{number}"

    table = ["run\tgroup\tkind"]
    for system, run in simulated_runs(simulation):
        rankings = [(topics[int(one.query_id)], [*map(document, one.passage_ids)], list(one.scores)) for one in run.rankings()]
        write_run(Path("runs", f"{system.run}.run"), Run(system.run, rankings))
        table.append("\t".join(system))
    Path("systems.tsv").write_text("\n".join(table) + "\n")
    qrels = simulated_qrels(simulation)
    renamed = [one._replace(query_id=topics[int(one.query_id)], passage_id=document(one.passage_id)) for one in qrels]
    write_qrels(Path("qrels.txt"), renamed)
    task = ("--task", "docs", "runs", "qrels.txt", "systems.tsv")
    study(record, "pooling", *task, "--pools", 2, "--repeats", 2, "--deepest", 10, model=False)
