"""Measure the share of each third in a passage's vector, by the cosine of the passage's vector with
those of its thirds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.audit.perturb import thirds
from positionbias.core.progress import track
from positionbias.evaluation.bootstrap import bootstrap_mean
from positionbias.evaluation.described import SegmentBuckets
from positionbias.models.protocols import PassageEncoder
from positionbias.ranking.batches import TokenBudget
from positionbias.ranking.config import RankingConfig
from positionbias.ranking.scored import PassageTexts
from positionbias.text.words import WordMethod

__all__ = ["segment_similarity"]

READ_PASSAGES = 64


@torch.inference_mode()
def segment_similarity(
    model: PassageEncoder,
    collection: PassageTexts,
    passage_ids: Sequence[str],
    *,
    config: RankingConfig,
    words: WordMethod,
    seed: int,
) -> SegmentBuckets:
    """Return mean cosines of the first, middle and last third with the whole, and 95 % bootstrap
    intervals over passages.

    Several vectors a text are replaced by their mean [decision]. Passages of fewer than three
    words, or with a third without tokens, are skipped and counted.
    """
    cosines = np.array(
        list(_cosines(model, collection, passage_ids, config, words)), np.float64
    ).reshape(-1, 3)
    columns = [cosines[:, 0], cosines[:, 1], cosines[:, 2]]
    intervals = [bootstrap_mean(column, None, seed=seed) for column in columns]
    difference = cosines[:, 0] - cosines[:, 2]
    interval = bootstrap_mean(difference, None, seed=seed)
    found = len(cosines)
    return SegmentBuckets(
        count=found,
        means=[float(column.mean()) if found else None for column in columns],
        lows=[item.low if item else None for item in intervals],
        highs=[item.high if item else None for item in intervals],
        difference=float(difference.mean()) if found else None,
        bounds=interval,
        left_out=len(passage_ids) - found,
    )


def _cosines(
    model: PassageEncoder,
    collection: PassageTexts,
    passage_ids: Sequence[str],
    config: RankingConfig,
    words: WordMethod,
) -> Iterator[list[float]]:
    waiting = iter(track(passage_ids, "encoding thirds", len(passage_ids), unit="passages"))
    while block := list(islice(waiting, READ_PASSAGES)):
        parts = [[text, *thirds(text, words)] for text in collection.texts(block)]
        whole = [part for part in parts if len(part) == 4]
        rows = model.read_passages([text for part in whole for text in part])
        if not whole:
            continue
        vectors = _vectors(model, rows, config).reshape(len(whole), 4, -1)
        found = F.cosine_similarity(vectors[:, :1], vectors[:, 1:], dim=-1)  # (passages, 3)
        for index, cosines in enumerate(found.tolist()):
            if all(len(row) for row in rows[4 * index : 4 * index + 4]):
                yield cosines


def _vectors(model: PassageEncoder, rows: Sequence[Sequence[Any]], config: RankingConfig) -> Tensor:
    """Return one vector a text ``(texts, dim)``, in full precision, on the CPU."""
    found: dict[int, Tensor] = {}
    budget = TokenBudget(config.tokens(model.device))

    def encode(batch: np.ndarray) -> None:
        vectors, mask = model.encode_passages([rows[index] for index in batch])
        weights = mask.unsqueeze(-1).float()
        pooled = (vectors.float() * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
        found.update(zip(batch.tolist(), pooled.cpu(), strict=True))

    with config.autocast(model.device):
        budget.work(np.fromiter(map(len, rows), np.int64, len(rows)), encode)
    return torch.stack([found[index] for index in range(len(rows))])
