"""A TripClick study without a training: made-up runs in which each query's only relevant passage stands at a chosen rank."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.result import Facts
from positionbias.core.run import write_run
from positionbias.report.tripclick_select import ENSEMBLE, REGENERATED, RERANKER, RETRIEVER
from positionbias.studies.model_settings import ModelSettings
from positionbias.studies.tripclick_sets import write_study_set
from positionbias.studies.tripclick_settings import JudgedSplit, Negatives, TripClickSettings
from positionbias.studies.tripclick_trials import Trial, TripClickStudy

from .contaminating import DEPTH, run_of

QUERIES = 20
TK = Facts(model="tk", variant=REGENERATED, role=RERANKER)
CAT = Facts(model="bert_cat", pretrained="scibert", variant=REGENERATED, role=RERANKER)
DOT = Facts(model="bert_dot", pretrained="scibert", variant=REGENERATED, role=RETRIEVER)
TOGETHER = Facts(model="ensemble", variant=REGENERATED, role=ENSEMBLE)
ORIGINAL = Facts(model="bert_cat", pretrained="scibert", variant="original", role=RERANKER)
NAMES: Mapping[Facts, str] = {TK: "tk", CAT: "bert_cat", DOT: "bert_dot", TOGETHER: ENSEMBLE, ORIGINAL: "bert_cat"}
Rank = Callable[[Facts, int, str, int], int]  # system, seed, split, query → rank of what is relevant


def made_up(
    folder: Path, rank: Rank, *, tests: Sequence[str] = ("head_test:dctr", "tail_test"), seeds: Sequence[int] = (1, 2)
) -> TripClickStudy:
    """Every query has ten candidates: the relevant one (BM25 has it at rank 7), four that are judged not relevant, five that nobody judged."""
    folder.mkdir()
    settings = TripClickSettings(
        tests=tuple(map(JudgedSplit.read, tests)),
        models=(ModelSettings("tk"), *(ModelSettings(kind, encoder="scibert") for kind in ("bert_cat", "bert_dot"))),
        others=(Negatives("original", "passed-over"),),
        truth="true",
        ensemble=("tk", "bert_cat"),
        compared=("bert_cat",),
        negatives=2,
        train_depth=DEPTH,
        depth=6,
        depths=(3, 6, DEPTH),
        retrieval_depth=DEPTH,
        seeds=tuple(seeds),
    )
    splits = list(dict.fromkeys(test.split for test in settings.tests))
    collection = _collection(folder / "invented", splits)
    first = {split: folder / f"bm25-{split}.run" for split in ("train", *splits)}
    for split, place in first.items():
        write_run(place, run_of(split, [7 if split == "train" else 5] * QUERIES))
    sets = {of.name: write_study_set(folder / of.name, collection, first, of, settings).path for of in settings.sets}
    trials = []
    for seed in seeds:
        for facts, name in NAMES.items():
            runs = {split: folder / f"{name}-{facts.variant}-{seed}-on-{split}.run" for split in splits}
            for split, place in runs.items():
                write_run(place, run_of(split, [rank(facts, seed, split, query) for query in range(QUERIES)]))
            trials.append(Trial(name, facts, seed, runs, None))
    return TripClickStudy(collection.path, settings, {split: first[split] for split in splits}, sets, trials)


def _collection(place: Path, splits: Sequence[str]) -> Collection:
    """Passages 0 to 9 of a query: 0 was clicked, 1 to 4 are judged, 5 is relevant in truth and was passed over."""
    with create_collection(place) as writer:
        for split in ("train", *splits):
            ids = [f"{split}-{query}" for query in range(QUERIES)]
            writer.add_passages(Passage(f"{name}-{n}", f"passage {n} of {name}") for name in ids for n in range(DEPTH))
            judged = [Qrel(name, f"{name}-{n}", int(n == 0)) for name in ids for n in range(5)]
            writer.add_split(split, [Query(name, f"what is {name}") for name in ids], judged)
            writer.add_qrels(split, "dctr", judged)
            writer.add_qrels(split, "true", [Qrel(name, f"{name}-{n}", int(n in (0, 5))) for name in ids for n in range(DEPTH)])
            writer.add_qrels(split, "passed-over", [Qrel(name, f"{name}-{n}", int(n == 0)) for name in ids for n in (0, 4, 5)])
        writer.finish(name="invented", command="a test", settings={})
    return Collection(place)
