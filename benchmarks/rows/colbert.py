"""Re-ranking by ColBERT, each passage encoded once, against sentence-transformers' own model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.agreement import numbers
from harness.records import Peer, Row, Settings, Side

from rows import squad


def inputs(folder: Path, quick: bool) -> Settings:
    """A ColBERT over MiniLM with a random layer (its scores are compared, not its ranking),
    questions, and their candidates.
    """
    place, questions = folder.parent / "colbert", 5 if quick else 40
    if not place.exists():
        partial = place.with_name("colbert.part")
        made().save(partial)
        partial.rename(place)
    asked = folder / f"colbert-{questions}.json"
    if not asked.exists():
        _write_asked(folder, asked, questions)
    return {
        "checkpoint": str(place),
        "asked": str(asked),
        "collection": str(squad.collection(folder)),
    }


def made() -> Any:
    """The same weights whenever it is called."""
    import torch

    from positionbias.models.colbert import ColBERT
    from positionbias.models.encoder import load_encoder
    from positionbias.models.shapes import ColBERTConfig

    torch.manual_seed(1)
    return ColBERT(ColBERTConfig(), load_encoder("minilm")).eval()


def _write_asked(folder: Path, asked: Path, questions: int) -> None:
    """``{"queries": {id: text}, "candidates": {id: [passage id]}, "passages": {id: text}}``."""
    from positionbias.core.collection import Collection
    from positionbias.core.run import Run

    source, run = (
        Collection(squad.collection(folder)),
        Run.from_file(squad.candidates(folder, "test")),
    )
    queries = {
        query.query_id: query.text for query in source.queries("test") if query.query_id in run
    }
    # neighbours share passages, as the questions of a real set do
    queries = dict(list(queries.items())[:questions])
    found = {query_id: list(run[query_id].passage_ids) for query_id in queries}
    ids = sorted({passage_id for of in found.values() for passage_id in of})
    passages = dict(zip(ids, source.texts(ids), strict=True))
    asked.write_text(
        json.dumps({"queries": queries, "candidates": found, "passages": passages}), "utf-8"
    )


class Rerank:
    """``ranking.rerank.rescore``, as ``rerank`` calls it."""

    packages = ("positionbias", "torch", "transformers")

    def __init__(self, settings: Mapping[str, Any]) -> None:
        import torch

        from positionbias.core.collection import Collection
        from positionbias.core.records import Query
        from positionbias.core.run import Run

        torch.set_num_threads(settings["threads"])
        asked = json.loads(Path(settings["asked"]).read_text("utf-8"))
        self.model, self.collection = made(), Collection(settings["collection"])
        self.queries = [Query(query_id, text) for query_id, text in asked["queries"].items()]
        self.candidates = asked["candidates"]
        self.run_of = Run(
            {
                q: {p: -float(rank) for rank, p in enumerate(of)}
                for q, of in self.candidates.items()
            },
            name="bm25",
        )
        self.found: Any = None
        self.facts = {
            "pairs": sum(map(len, self.candidates.values())),
            "passages": len(asked["passages"]),
        }

    def run(self) -> None:
        from positionbias.ranking.config import RankingConfig
        from positionbias.ranking.rerank import rescore

        config = RankingConfig(precision="float32")
        self.found = rescore(
            self.model, self.collection, self.queries, self.run_of, name="colbert", config=config
        ).run.to_dict()

    def proof(self) -> list[float]:
        return [
            self.found[query_id][passage_id]
            for query_id, of in self.candidates.items()
            for passage_id in of
        ]


ROWS = (
    Row(
        name="rerank_colbert",
        work="re-ranking by ColBERT, MiniLM, 40 questions × 20, float32",
        ours=Side("rows.colbert:Rerank"),
        peers=(
            Peer(
                "sentence-transformers, MultiVectorEncoder",
                "torch",
                Side("peers.colbert:MultiVector"),
                goal=1.0,
            ),
        ),
        inputs=inputs,
        compare=numbers,
        bound=1e-3,  # of sums over the words of a query
    ),
)
