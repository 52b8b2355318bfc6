"""Candidates in the order of a scorer that knows position only: what a study's models are held against."""

from __future__ import annotations

from positionbias.core.collection import Collection
from positionbias.core.progress import track
from positionbias.core.run import Run
from positionbias.text.overlap import position_only

__all__ = ["position_only_run"]


def position_only_run(collection: Collection, split: str, candidates: Run) -> Run:
    """The candidates ordered by how far in front the query is met, and by nothing else."""
    texts = {query.query_id: query.text for query in collection.queries(split)}
    rankings = (
        (r.query_id, r.passage_ids, [position_only(texts[r.query_id], text) for text in collection.texts(r.passage_ids)])
        for r in track(candidates.rankings(), "position only", len(candidates), unit="queries")
    )
    return Run("position-only", rankings)
