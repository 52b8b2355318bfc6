"""A TripClick study without a training: made-up runs in which each query's only relevant passage
stands at a chosen rank.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import Trial
from positionbias.experiments.models import ModelSettings
from positionbias.papers.tripclick import ENSEMBLE, REGENERATED, RERANKER, RETRIEVER
from positionbias.papers.tripclick.measured import TripClickStudy
from positionbias.papers.tripclick.settings import JudgedSplit, TripClickSettings
from positionbias.papers.tripclick.study import write_study_set
from tests.papers.contamination.contaminating import DEPTH, run_of

QUERIES = 20
TK = Facts(model="tk", variant=REGENERATED, role=RERANKER)
CAT = Facts(model="bert_cat", pretrained="scibert", variant=REGENERATED, role=RERANKER)
DOT = Facts(model="bert_dot", pretrained="scibert", variant=REGENERATED, role=RETRIEVER)
TOGETHER = Facts(model="ensemble", variant=REGENERATED, role=ENSEMBLE)
ORIGINAL = Facts(model="bert_cat", pretrained="scibert", variant="original", role=RERANKER)
NAMES: Mapping[Facts, str] = {
    TK: "tk",
    CAT: "bert_cat",
    DOT: "bert_dot",
    TOGETHER: ENSEMBLE,
    ORIGINAL: "bert_cat",
}
# system, seed, split, query → rank of what is relevant
Rank = Callable[[Facts, int, str, int], int]


def made_up(
    folder: Path,
    rank: Rank,
    *,
    tests: Sequence[str] = ("head_test:dctr", "tail_test"),
    seeds: Sequence[int] = (1, 2),
    reach: int = DEPTH,
    **changes: Any,
) -> TripClickStudy:
    """Every query has ten candidates: the relevant one (BM25 has it at rank 7), four that are
    judged not relevant, five that nobody judged.

    ``reach``: less than all are given as candidates of the tests.
    """
    folder.mkdir()
    splits = list(dict.fromkeys(JudgedSplit.parse(test).split for test in tests))
    first = {split: folder / f"bm25-{split}.run" for split in ("train", *splits)}
    given = {} if reach == DEPTH else {split: first[split] for split in splits}
    settings = TripClickSettings(
        tests=tuple(map(JudgedSplit.parse, tests)),
        models=(
            ModelSettings("tk"),
            *(ModelSettings(kind, encoder="scibert") for kind in ("bert_cat", "bert_dot")),
        ),
        negatives_of={"original": "passed-over"},
        complete_qrels="true",
        ensemble=("tk", "bert_cat"),
        compared=("bert_cat",),
        negatives=2,
        train_depth=DEPTH,
        depth=6,
        depths=(3, 6, DEPTH),
        retrieval_depth=1000,  # BM25 finds no more than ten
        seeds=len(seeds),
        candidates=given,
    )
    settings = replace(settings, **changes)
    collection = _collection(folder / "invented", splits)
    for split, place in first.items():
        run = run_of(split, [7 if split == "train" else 5] * QUERIES)
        (run if split == "train" else run.top(reach)).save(place)
    sets = {
        name: write_study_set(folder / name, collection, first["train"], name, settings).path
        for name in settings.sets
    }
    trials = []
    for seed in seeds:
        for facts, name in NAMES.items():
            runs = {
                split: folder / f"{name}-{facts.variant}-{seed}-on-{split}.run" for split in splits
            }
            for split, place in runs.items():
                run_of(split, [rank(facts, seed, split, query) for query in range(QUERIES)]).save(
                    place
                )
            trials.append(Trial(name, facts, seed, runs, None))
    return TripClickStudy(
        collection.path, settings, {split: first[split] for split in splits}, sets, trials
    )


def _collection(place: Path, splits: Sequence[str]) -> Collection:
    """Passages 0 to 9 of a query: 0 was clicked, 1 to 4 are judged, 5 is relevant in truth and was
    skipped.
    """
    with create_collection(place) as writer:
        for split in ("train", *splits):
            ids = [f"{split}-{query}" for query in range(QUERIES)]
            writer.add_passages(
                Passage(f"{name}-{n}", f"passage {n} of {name}")
                for name in ids
                for n in range(DEPTH)
            )
            judged = [Qrel(name, f"{name}-{n}", int(n == 0)) for name in ids for n in range(5)]
            writer.add_split(split, [Query(name, f"what is {name}") for name in ids], judged)
            writer.add_qrels(split, "dctr", judged)
            writer.add_qrels(
                split,
                "true",
                [Qrel(name, f"{name}-{n}", int(n in (0, 5))) for name in ids for n in range(DEPTH)],
            )
            writer.add_qrels(
                split,
                "passed-over",
                [Qrel(name, f"{name}-{n}", int(n == 0)) for name in ids for n in (0, 4, 5)],
            )
        writer.finish(Manifest("collection", "invented", "a test"))
    return Collection(place)


def judged_collection(place: Path, order: int = 1) -> tuple[Collection, Path]:
    """Clicks of five queries on passage 0; judged not relevant are 1 to 3 (q1), 1 (q2), none (q3);
    in ``more`` 4 and 5 of every query are. q4's clicked passage
    is not there, q5 has no click. With candidates, which judged sets need none of."""
    split = "train"
    with create_collection(place) as writer:
        names = ["q1", "q2", "q3", "q4", "q5"]
        writer.add_passages(
            Passage(f"{q}-{n}", f"passage {n} of {q}")
            for q in names
            for n in range(6)
            if (q, n) != ("q4", 0)
        )
        own = [
            ("q1", 0, 1),
            ("q1", 1, 0),
            ("q1", 2, 0),
            ("q1", 3, 0),
            ("q2", 0, 1),
            ("q2", 1, 0),
            ("q3", 0, 1),
            ("q4", 0, 1),
            ("q4", 1, 0),
        ]
        qrels = [Qrel(q, f"{q}-{n}", grade) for q, n, grade in own][::order]
        writer.add_split(split, [Query(q, f"what is {q}") for q in names], qrels)
        writer.add_qrels(
            split, "more", [Qrel(q, f"{q}-{n}", 0) for q in names for n in (4, 5)][::order]
        )
        writer.add_qrels(
            split,
            "truth",
            [Qrel(q, f"{q}-0", 1) for q in names[:4]] + [Qrel("q2", f"q2-{n}", 1) for n in (1, 4)],
        )
        writer.finish(Manifest("collection", "judged", "a test"), allow_absent=True)
    run = place.with_suffix(".run")
    Run("bm25", [("q1", ["q1-0", "q1-1"], [2.0, 1.0])]).save(run)
    return Collection(place), run
