"""The TripClick study: "Establishing Strong Baselines for TripClick Health Retrieval" (ECIR 2022),
Tables 1 and 2, and §3.1 on training data.
"""

from __future__ import annotations

from enum import StrEnum

HEADLINE, JUDGED = "nDCG@10", "Judged@10"
REGENERATED = "regenerated"  # the training set with BM25's negatives
RERANKER, ENSEMBLE, RETRIEVER = "re-ranker", "ensemble", "retriever"  # roles


class Fall(StrEnum):
    """The answer on a change from one re-ranking depth to a deeper one."""

    RISES = "it still rises"
    NONE = "no fall beyond 3\u00a0%"
    FALLS = "it falls"
    UNKNOWN = "cannot tell"
