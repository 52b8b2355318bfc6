"""PACRR: convolutions over a matrix of cosines, their strongest signals, an LSTM over the query
(Hui, Yates, Berberich and de Melo 2017).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.models.kernels import cosine_matrix
from positionbias.models.shapes import PACRRConfig
from positionbias.models.word_model import WordModel
from positionbias.text.vocabulary import UNKNOWN, Vocabulary


def inverse_frequency(passages_with: int, passages: int) -> float:
    """Return ln((N + 1) / (n + 1)) for a word in n of N passages: finite for n = 0, and never below
    0 [decision].

    >>> inverse_frequency(1, 3)  # ln 2
    0.6931471805599453
    """
    return math.log((passages + 1) / (passages_with + 1))


class PACRR(WordModel):
    """The model, for a query of terms i and the matrix M of its words' cosines with a passage's.

    1. C^1 = M, and for each n of 2 … l_g: C^n_ij = max_f ReLU(filter f of n × n on M at i, j),
       zeros around the matrix
    2. for each C^n and query term the n_s largest over the passage, in order; 0 where the passage
       is shorter
    3. beside them softmax_i(IDF of the term); an LSTM of one unit reads the terms in order, and the
       score is its last output

    (§3 and §4.1; where the paper is silent, as the authors' code: the place of a filter, the forget
    gate's bias of 1.) The LSTM ends at the query's last term, so that padding does not affect a
    score [decision]. A score lies between −1 and 1; that of an empty query is 0. The IDF of each
    word is computed when the model is made, and saved with its weights.
    """

    kind: ClassVar[str] = "pacrr"
    shape: ClassVar[type] = PACRRConfig
    config: PACRRConfig
    per_word: ClassVar[tuple[str, ...]] = ("embedding.weight", "idf")
    idf: Tensor

    def __init__(
        self, config: PACRRConfig, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None
    ) -> None:
        super().__init__(config, vocabulary, word_vectors)
        self.embedding.weight.requires_grad_(False)
        self.register_buffer("idf", torch.zeros(len(vocabulary)))
        layers = [
            nn.Conv2d(1, config.filters, size) for size in range(2, config.longest_window + 1)
        ]
        self.convolutions = nn.ModuleList(layers)
        self.lstm = nn.LSTMCell(config.strongest * config.longest_window + 1, 1)
        with torch.no_grad():
            for layer in layers:
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
            nn.init.xavier_uniform_(self.lstm.weight_ih)
            nn.init.orthogonal_(self.lstm.weight_hh)
            self.lstm.bias_ih.zero_()
            self.lstm.bias_hh.zero_()
            self.lstm.bias_ih[1] = 1.0  # torch's order of gates: input, forget, cell, output

    def set_idf(
        self, passages_with: Mapping[str, int], passages: int, first: int = UNKNOWN
    ) -> None:
        """Set the IDF of words from number ``first`` on: ``passages_with`` of ``passages`` contain
        a word.
        """
        words = (self.vocabulary.word(number) for number in range(first, len(self.vocabulary)))
        found = [inverse_frequency(passages_with.get(word, 0), passages) for word in words]
        self.idf[first:] = torch.tensor(found, dtype=torch.float32)

    def query_vectors(self, numbers: Tensor) -> Tensor:
        """Append each query word's IDF to its vector:
        ``(batch, query_len) → (batch, query_len, dim + 1)``.
        """
        return torch.cat([self.embedding(numbers), self.idf[numbers].unsqueeze(-1)], dim=-1)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(batch,)`` from ``query_vectors``, ``passage_vectors`` and masks; a query
        batch of 1 serves all.
        """
        with torch.autocast(query.device.type, enabled=False):
            vectors, idf = query[..., :-1].float(), query[..., -1].float()
            cosines = cosine_matrix(vectors, passage.float())  # (batch, query_len, passage_len)
            idf, query_mask = idf.expand(len(cosines), -1), query_mask.expand(len(cosines), -1)
            # (batch, query_len, l_g · n_s)
            signals = self._signals(cosines, query_mask, passage_mask)
            # without terms: even, unused
            shares = torch.where(query_mask, idf, torch.finfo(idf.dtype).min).softmax(dim=1)
            return self._read(torch.cat([signals, shares.unsqueeze(-1)], dim=-1), query_mask)

    def _signals(self, cosines: Tensor, query_mask: Tensor, passage_mask: Tensor) -> Tensor:
        """Return the strongest signals over the passage for each window and query term."""
        both = query_mask.unsqueeze(2) & passage_mask.unsqueeze(1)
        matrix = torch.where(both, cosines, 0.0)
        found = [matrix]
        for size, layer in enumerate(self.convolutions, 2):
            before, after = (size - 1) // 2, size // 2  # the output is as large as the matrix
            padded = F.pad(matrix.unsqueeze(1), (before, after, before, after))
            found.append(F.relu(layer(padded)).amax(dim=1))  # (batch, query_len, passage_len)
        signals = torch.stack(found, dim=2)  # (batch, query_len, l_g, passage_len)
        # a filter's bias also acts outside the passage, where there is no signal
        signals = torch.where(passage_mask[:, None, None, :], signals, -torch.inf)
        missing = self.config.strongest - signals.shape[-1]
        if missing > 0:
            signals = F.pad(signals, (0, missing), value=-torch.inf)
        strongest = signals.topk(self.config.strongest, dim=-1).values
        return torch.where(strongest.isinf(), 0.0, strongest).flatten(2)

    def _read(self, terms: Tensor, mask: Tensor) -> Tensor:
        """Return the LSTM's output ``(batch,)`` after the last term of each query;
        ``terms (batch, query_len, signals)``.
        """
        output = cell = terms.new_zeros(len(terms), 1)
        for place in range(terms.shape[1]):
            stands = mask[:, place, None]
            after = self.lstm(terms[:, place], (output, cell))
            output, cell = (
                torch.where(stands, after[0], output),
                torch.where(stands, after[1], cell),
            )
        return output.squeeze(1)
