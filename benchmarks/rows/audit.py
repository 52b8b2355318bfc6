"""An audit of BERT_CAT, against the same pairs asked of sentence-transformers in a plain loop."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.records import Peer, Row, Settings, Side
from harness.sides import SideFailed

from rows import squad

QUERIES = 20


def inputs(folder: Path, quick: bool) -> Settings:
    """The checkpoint, SQuAD, and the pairs that an audit scores, written down once by listening to
    it.
    """
    asked = QUERIES // 5 if quick else QUERIES
    settings = {
        "checkpoint": str(squad.bert_cat(folder)),
        "collection": str(squad.collection(folder)),
        "candidates": str(squad.candidates(folder, "test")),
        "queries": asked,
        "texts": str(folder / f"audited-{asked}.json"),
    }
    if not Path(settings["texts"]).exists():
        pairs = listened(settings)
        Path(settings["texts"]).write_text(json.dumps(pairs), "utf-8")
    return settings


def listened(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every pair that the audit has its model score.

    Raises:
        SideFailed: none was heard.
    """
    from positionbias.ranking import score

    pairs: list[tuple[str, str]] = []
    plain = score.score_by_pair

    def listening(
        model: Any, collection: Any, texts: Mapping[str, str], candidates: Any, *given: Any
    ) -> Any:
        for query_id, query in texts.items():
            pairs.extend(
                (query, passage) for passage in collection.texts(candidates[query_id].passage_ids)
            )
        return plain(model, collection, texts, candidates, *given)

    score.score_by_pair = listening
    try:
        audit(settings)
    finally:
        score.score_by_pair = plain
    if not pairs:
        raise SideFailed(
            "audit: wanted the pairs that it scores; heard none, as it scores them elsewhere now"
        )
    return pairs


def audit(settings: Mapping[str, Any]) -> Any:
    import positionbias

    names = ("checkpoint", "collection", "candidates")
    model, collection, candidates = (settings[name] for name in names)
    return positionbias.audit_model(
        model, collection, candidates=candidates, queries=settings["queries"]
    )


class Auditing:
    """``audit_model`` from start to verdict: texts made, pairs scored, statistics and intervals."""

    packages = ("positionbias", "torch", "transformers")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch

        torch.set_num_threads(settings["threads"])
        self.settings = settings
        self.facts = {
            "pairs": len(json.loads(Path(settings["texts"]).read_text("utf-8"))),
            "queries": settings["queries"],
        }

    def run(self) -> None:
        audit(self.settings)

    def proof(self) -> list[float]:
        return [0.0] * self.facts["pairs"]


def as_many(expected: Sequence[float], found: Sequence[float]) -> dict[str, float]:
    """The peer was asked the same pairs: those that were written down, as many as it has scores,
    all finite.
    """
    same = len(expected) == len(found) and all(map(math.isfinite, found))
    return {"apart": 0.0 if same else math.inf}


def peer(backend: str, label: str, goal: float) -> Peer:
    return Peer(
        f"sentence-transformers, {label}",
        backend,
        Side("peers.encoders:Rerank", {"backend": backend, "precision": "float32"}),
        goal=goal,
    )


ROWS = (
    Row(
        name="audit",
        work=f"audit of BERT_CAT, MiniLM, {QUERIES} questions of SQuAD, with its statistics",
        ours=Side("rows.audit:Auditing"),
        peers=(
            peer("torch", "torch, the pairs alone", 1.0),
            peer("openvino", "OpenVINO in float32, the pairs alone", 1.0),
        ),
        inputs=inputs,
        compare=as_many,
        bound=0.0,
    ),
)
