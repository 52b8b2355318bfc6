"""ConvKNRM: convolutions turn word vectors into n-grams, and kernels pool the cosines between all
lengths (Dai, Xiong, Callan and Liu 2018).
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.models.kernels import EXACT_SIGMAS, KernelPooling, cosine_matrix
from positionbias.models.knrm import LOG_SHARE
from positionbias.models.shapes import ConvKNRMConfig
from positionbias.models.word_model import WordModel
from positionbias.text.vocabulary import Vocabulary


class ConvKNRM(WordModel):
    """The model, over the words' vectors t of a text.

    1. g^h_i = ReLU(W^h · [t_i … t_(i+h−1)] + b^h), the n-gram of h words that begins with word i,
       for h of 1 … H
    2. for each h of the query and each l of the passage φ^(h,l) as KNRM's, of the cosines of all
       g^h with all g^l
    3. s = tanh(Σ_(h,l) w^(h,l) · φ^(h,l) + b)

    An n-gram begins at each word, and none at padding. Beyond the text's last word it is filled
    with zeros [reference], so that a text shorter than h has n-grams of h words too, and a score
    does not depend on the batch. The word vectors are learned; w starts by Glorot's rule, b at 0. A
    score lies between −1 and 1.
    """

    kind: ClassVar[str] = "conv_knrm"
    shape: ClassVar[type] = ConvKNRMConfig
    config: ConvKNRMConfig

    def __init__(
        self, config: ConvKNRMConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(config, vocabulary, word_vectors)
        lengths = range(1, config.longest_ngram + 1)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(config.dimension, config.filters, length) for length in lengths
        )
        spread = math.sqrt(6 / (len(lengths) ** 2 * len(EXACT_SIGMAS) + 1))
        self.pooling = nn.ModuleList(  # of n-grams of h and l words at (h − 1) · H + l − 1
            KernelPooling(sigmas=EXACT_SIGMAS, scaled=False, spread=spread)
            for _ in range(len(lengths) ** 2)
        )
        self.bias = nn.Parameter(torch.zeros(()))

    @property
    def dimension(self) -> int:
        """The width of a word's representation: the n-grams of all lengths that begin with it."""
        return self.config.filters * self.config.longest_ngram

    def query_vectors(self, numbers: Tensor) -> Tensor:
        """Concatenate the n-grams of each length that begin with each word:
        ``(batch, len) → (batch, len, H · filters)``.
        """
        return self._ngrams(self.embedding(numbers))

    passage_vectors = query_vectors

    def _ngrams(self, words: Tensor) -> Tensor:
        # (batch, dim, len); padding's vector is zero, like the columns after the last
        columns = words.transpose(1, 2)
        made = [
            F.relu(layer(F.pad(columns, (0, beyond))))
            for beyond, layer in enumerate(self.convolutions)
        ]
        return torch.cat(made, dim=1).transpose(1, 2)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(batch,)`` from ``query_vectors``, ``passage_vectors`` and masks; a query
        batch of 1 serves all.
        """
        # a half-precision cosine of 1 is off by a thousandth
        with torch.autocast(query.device.type, enabled=False):
            asked = query.float().split(self.config.filters, dim=-1)
            found = passage.float().split(self.config.filters, dim=-1)
            pairs = ((one, other) for one in asked for other in found)
            pooled = [
                pooling(cosine_matrix(one, other), query_mask, passage_mask)
                for pooling, (one, other) in zip(self.pooling, pairs, strict=True)
            ]
            return torch.tanh(LOG_SHARE * torch.stack(pooled).sum(dim=0) + self.bias)
