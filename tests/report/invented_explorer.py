"""Invented queries of an audit, with the collection that their texts come from: figures by query, set by hand or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.results.query_effects import BY_QUERY, QueryEffects
from positionbias.results.result import Facts, Result, save_results

from . import invented_audit

MILL = "The old mill was built in 1784 by two brothers. It ground flour until the railway came. A fire took its roof."


def collection_of(place: Path, texts: Mapping[str, str], queries: Mapping[str, tuple[str, str, str]]) -> Collection:
    """A collection of these passages, and of queries by id: text, passage, and the answer in it."""
    with create_collection(place) as writer:
        writer.add_passages([Passage(name, text) for name, text in texts.items()])
        answers = [
            Answer(query_id, passage, answer, texts[passage].index(answer), texts[passage].index(answer) + len(answer))
            for query_id, (_, passage, answer) in queries.items()
        ]
        asked = [Query(query_id, text) for query_id, (text, _, _) in queries.items()]
        writer.add_split("test", asked, [Qrel(name, passage, 1) for name, (_, passage, _) in queries.items()], answers)
        writer.finish(Manifest("collection", "invented", "a test", seed=1, licence="invented"))
    return Collection(place)


def effects(
    queries: Mapping[str, tuple[str, str, str]],
    texts: Mapping[str, str],
    cuts: Mapping[str, int],
    after: Sequence[float],
    moved: Sequence[float | None],
) -> QueryEffects:
    """The figures of these queries: before 1.0 at rank 1, after as given; the rank after is 2 where the value falls."""
    starts = [texts[passage].index(answer) for _, passage, answer in queries.values()]
    return QueryEffects(
        "nDCG@10",
        query_ids=list(queries),
        passage_ids=[passage for _, passage, _ in queries.values()],
        starts=starts,
        ends=[start + len(answer) for start, (_, _, answer) in zip(starts, queries.values(), strict=True)],
        places=[start / len(texts[passage]) for start, (_, passage, _) in zip(starts, queries.values(), strict=True)],
        words=[len(texts[passage].split()) for _, passage, _ in queries.values()],
        cuts=[cuts[passage] for _, passage, _ in queries.values()],
        before=[1.0] * len(queries),
        after=list(after),
        ranks_before=[1] * len(queries),
        ranks_after=[1 if value == 1.0 else 2 for value in after],
        moved={"end − front": list(moved)},
    )


def result(payload: QueryEffects, system: str = "minilm") -> Result:
    facts = Facts(model="bert_dot")
    return Result(BY_QUERY, "squad", "test", system, None, None, None, len(payload.query_ids), payload, facts)


def save(folder: Path, found: Sequence[Result], collection: Collection | None, *, name: str = "Audit on squad") -> Path:
    """An audit of one verdict and these figures by query, whose manifest names the collection."""
    refs = () if collection is None else (input_ref("collection", collection.path, collection.checksum, artefact=folder),)
    made = Manifest(kind="results", name=name, command="audit", inputs=refs, seed=1)
    save_results(folder, [*invented_audit.verdict("minilm", 0.9), *found], made)
    return folder


def many(count: int, *, seed: int = 1) -> QueryEffects:
    """Drawn figures of this many queries with ids and passage ids as SQuAD's are."""
    random = np.random.default_rng(seed)
    places = random.beta(0.8, 1.6, count)
    before = random.choice([0.0, 0.3333, 0.5, 0.6309, 1.0], count, p=[0.1, 0.1, 0.1, 0.2, 0.5])
    after = np.where(random.random(count) < 0.6, before, random.choice([0.0, 0.3869, 0.5, 0.6309, 1.0], count))
    ranks = random.integers(1, 31, (2, count))
    return QueryEffects(
        "nDCG@10",
        query_ids=[random.bytes(12).hex() for _ in range(count)],
        passage_ids=[f"An_Article_Of_Some_Length_{number // 50}:{number // 5 % 10}" for number in range(count)],
        starts=random.integers(0, 500, count).tolist(),
        ends=random.integers(500, 600, count).tolist(),
        places=np.round(places, 6).tolist(),
        words=random.integers(20, 400, count).tolist(),
        cuts=random.integers(0, 900, count).tolist(),
        before=before.tolist(),
        after=after.tolist(),
        ranks_before=ranks[0].tolist(),
        ranks_after=ranks[1].tolist(),
        moved={
            name: np.round(random.normal(0, 0.4, count), 6).tolist()
            for name in ("end − front", "middle − ends", "rotated to the end − to the front")
        },
    )
