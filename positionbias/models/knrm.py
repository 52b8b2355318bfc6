"""KNRM: cosines of word vectors, kernel pooling, one layer to the score (Xiong, Dai, Callan, Liu
and Power 2017).
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from positionbias.models.kernels import EXACT_SIGMAS, KernelPooling, cosine_matrix
from positionbias.models.shapes import KNRMConfig
from positionbias.models.word_model import WordModel
from positionbias.text.vocabulary import Vocabulary

LOG_SHARE = 0.01  # the authors' factor of the logarithm, so that tanh does not saturate


class KNRM(WordModel):
    """The model: s = tanh(w · φ + b), φ_k = 0.01 · Σ_i log max(Σ_j exp(−(M_ij − µ_k)² / 2σ_k²),
    1e-10) (Eqs. 2–6; the 0.01 is of the authors' code). The word vectors are learned; w starts by
    Glorot's rule, b at 0.

    A score lies between −1 and 1. It has no vectors for the position probe, as a word's vector is
    the same at any position.
    """

    kind: ClassVar[str] = "knrm"
    shape: ClassVar[type] = KNRMConfig
    config: KNRMConfig

    def __init__(
        self, config: KNRMConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(config, vocabulary, word_vectors)
        spread = math.sqrt(6 / (len(EXACT_SIGMAS) + 1))
        self.pooling = KernelPooling(sigmas=EXACT_SIGMAS, scaled=False, spread=spread)
        self.bias = nn.Parameter(torch.zeros(()))

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(batch,)`` from word vectors ``(batch, len, dim)`` and masks; a query
        batch of 1 serves all passages.
        """
        # a half-precision cosine of 1 is off by a thousandth
        with torch.autocast(query.device.type, enabled=False):
            # (batch, query_len, passage_len)
            cosines = cosine_matrix(query.float(), passage.float())
            return torch.tanh(
                LOG_SHARE * self.pooling(cosines, query_mask, passage_mask) + self.bias
            )
