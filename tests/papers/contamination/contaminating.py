"""A contamination study without a training: made-up runs in which each query's only relevant
passage stands at a chosen rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.contamination.trainsets import write_contaminated_set
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, write_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.core.seal import MANIFEST
from positionbias.evaluation.records import Facts
from positionbias.experiments.measured import Trial
from positionbias.papers.contamination.measured import ContaminationStudy

DEPTH = 10
TEACHER = ("teacher", "bert_cat", "lce")
System = tuple[str, str, str]  # role, model, loss
Rank = Callable[[System, str, int, str, int], int]
# system, source, seed, target, query → rank of what is relevant


def contaminated_study(
    folder: Path,
    rank: Rank,
    *,
    targets: Sequence[str] = ("dl19", "dl20"),
    systems: Sequence[System] = (TEACHER, ("student", "tk", "kl")),
    seeds: Sequence[int] = (1, 2),
    queries: int = 8,
) -> ContaminationStudy:
    """Every query has ten candidates, the first judged 2, the others 0; BM25 has the relevant one
    at rank 7.
    """
    folder.mkdir()
    collection = _collection(folder / "invented", targets, queries)
    first = {split: folder / f"bm25-{split}.run" for split in ("train", *targets)}
    for split, place in first.items():
        run_of(split, [7] * queries).save(place)
    trainsets = {}
    for source in ("", *targets):
        place = trainsets[source] = folder / f"set-{source or 'clean'}"
        settings = ContaminatedSettings(
            split="train", targets=(source,) if source else (), relevant_from=2
        )
        write_contaminated_set(place, collection, first["train"], settings)
    trials = []
    for system, source, seed in product(systems, trainsets, seeds):
        name = "-".join((*system, source or "clean", str(seed)))
        runs = {target: folder / f"{name}-on-{target}.run" for target in targets}
        for target, place in runs.items():
            run_of(target, [rank(system, source, seed, target, q) for q in range(queries)]).save(
                place
            )
        role, model, loss = system
        facts = Facts(model=model, role=role, loss=loss, source=source)
        trials.append(Trial(model, facts, seed, runs, _checkpoint(folder / name, 100 * seed)))
    candidates = {target: first[target] for target in targets}
    return ContaminationStudy(collection.path, tuple(targets), candidates, trainsets, trials)


def run_of(split: str, ranks: Sequence[int]) -> Run:
    """The relevant passage of each query at its rank, the others in their order."""

    def ranking(query: int, rank: int) -> tuple[str, list[str], list[float]]:
        others = [f"{split}-{query}-{number}" for number in range(1, DEPTH)]
        ids = [*others[: rank - 1], f"{split}-{query}-0", *others[rank - 1 :]]
        return f"{split}-{query}", ids, [float(DEPTH - place) for place in range(DEPTH)]

    return Run(split, (ranking(query, rank) for query, rank in enumerate(ranks)))


def _collection(place: Path, targets: Sequence[str], queries: int) -> Collection:
    with create_collection(place) as writer:
        for split in ("train", *targets):
            ids = [f"{split}-{query}" for query in range(queries)]
            writer.add_passages(
                Passage(f"{name}-{n}", f"passage {n} of {name}")
                for name in ids
                for n in range(DEPTH)
            )
            qrels = [Qrel(name, f"{name}-{n}", 0 if n else 2) for name in ids for n in range(DEPTH)]
            writer.add_split(split, [Query(name, f"what is {name}") for name in ids], qrels)
        writer.finish(Manifest("collection", "invented", "a test"))
    return Collection(place)


def _checkpoint(place: Path, steps: int) -> Path:
    place.mkdir()
    content = {
        "steps": steps,
        "best_step": steps // 2,
        "stopped": "patience",
        "depth": 10,
        "validation_ndcg@10": steps / 1000,
    }
    write_manifest(place / MANIFEST, Manifest("checkpoint", place.name, "train", content=content))
    return place
