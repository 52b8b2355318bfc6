"""Duet: the sum of an exact-match model and one of words' character n-graphs (Mitra, Diaz and
Craswell 2017).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import bad_input
from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject, read_as
from positionbias.core.publish import write_json
from positionbias.models.linear import FastLinear
from positionbias.models.ngraphs import NGraphs
from positionbias.models.protocols import Role, Tokens, pad_rows
from positionbias.models.shapes import DuetConfig
from positionbias.models.tensors import FIX, load_weights, read_shape, save_tensors
from positionbias.text.vocabulary import PADDING, words_of

GRAPHS = "ngraphs.json"
DROPOUT = 0.2  # before the last layer, in training
KEY = 1 << 24  # bound of the two parts of a word's key, which float32 holds exactly
KNOWN_WORDS = 1 << 16  # words with cached n-graphs


class Duet(nn.Module):
    """The model: s = s_local + s_distributed, each the output of tanh layers, so that s lies
    between −2 and 2.

    Local: X_ij = 1 where the words of query and passage are the same; filters as long as the
    passage, then dense layers. Distributed: each word by its n-graph counts; filters over
    ``window`` words; pooling, for a query over all places, for a passage over each
    ``pooling_window`` of them; one more layer each; their products in each window through dense
    layers.

    A text is padded to its length with zeros, as in the paper, so that a score does not depend on
    the batch. Words need no vocabulary: equal words match. The distributed model sees nothing of a
    query without words [decision].
    """

    kind: ClassVar[str] = "duet"

    def __init__(self, config: DuetConfig, graphs: NGraphs) -> None:
        super().__init__()
        self.config, self.graphs = config, graphs
        size, filters = config.filters, (len(graphs), config.window * config.filters)
        # a row has an n-graph's weights in all filters at each place of the window, so that a
        # convolution over counts is a sum of rows
        self.query_filters = nn.Parameter(nn.init.xavier_uniform_(torch.empty(filters)))
        self.passage_filters = nn.Parameter(nn.init.xavier_uniform_(torch.empty(filters)))
        self.query_bias, self.passage_bias = (
            nn.Parameter(torch.zeros(size)),
            nn.Parameter(torch.zeros(size)),
        )
        self.query_dense, self.passage_dense = FastLinear(size, size), FastLinear(size, size)
        self.local_filters = FastLinear(config.passage_length, size)
        self.local_score = _Score(config.query_length * size, size)
        self.distributed_score = _Score(config.windows * size, size)
        self._known = lru_cache(KNOWN_WORDS)(self._key_and_graphs)

    # -- reading -----------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The maximum of words read of a passage."""
        return self.config.passage_length

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return queries' words, cut at ``query_length``, each as the number of its bytes."""
        return [_spelled(text, self.config.query_length) for text in texts]

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return passages' words, cut at ``passage_length``, each as the number of its bytes."""
        return [_spelled(text, self.config.passage_length) for text in texts]

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: a batch's distinct words are numbered from 1, 0 is padding.

        ``queries (n, query_len)``, ``passages (m, passage_len)``: word numbers;
        ``keys (words + 1, 2)``: each word's key; ``graphs (all,)``, ``starts (words + 1,)``: the
        concatenated n-graphs of all words, and each word's start.
        """
        numbers: dict[int, int] = {}
        rows = [
            [[numbers.setdefault(word, len(numbers) + 1) for word in row] for row in side]
            for side in (queries, passages)
        ]
        known = [((0, 0), ()), *(self._known(word) for word in numbers)]
        graphs = [graph for _, own in known for graph in own]
        starts = np.cumsum([0, *(len(own) for _, own in known[:-1])])
        return {
            "queries": pad_rows(rows[0]),
            "passages": pad_rows(rows[1]),
            "keys": torch.tensor([key for key, _ in known], dtype=torch.float32),
            "graphs": torch.tensor(graphs, dtype=torch.int64),
            "starts": torch.from_numpy(starts),
        }

    def _key_and_graphs(self, word: int) -> tuple[tuple[int, int], tuple[int, ...]]:
        spelled = word.to_bytes(-(-word.bit_length() // 8), "big")[1:]
        key = int.from_bytes(hashlib.blake2b(spelled, digest_size=6).digest(), "big")
        return divmod(key, KEY), tuple(self.graphs.encode(spelled.decode("utf-8", "surrogatepass")))

    # -- scoring -----------------------------------------------------------------------------------

    def forward(
        self, queries: Tensor, passages: Tensor, keys: Tensor, graphs: Tensor, starts: Tensor
    ) -> Tensor:
        """Return scores ``(k·n,)`` of the tensors of ``inputs``: n queries, each against k
        passages.
        """
        query = self._query_vectors(queries, keys, graphs, starts)
        passage = self._passage_vectors(passages, keys, graphs, starts)
        asked = torch.arange(len(passages), device=passages.device) % max(1, len(queries))
        query_mask = (queries != PADDING).index_select(0, asked)
        return self.interact(
            query.index_select(0, asked), query_mask, passage, _mask(passages, passage.shape[1])
        )

    def _query_vectors(
        self, numbers: Tensor, keys: Tensor, graphs: Tensor, starts: Tensor
    ) -> Tensor:
        """Return ``(n, query_len, 2 + filters)``: each word's key, and in every row the query's
        distributed representation.
        """
        places = _filtered(
            numbers, self.config.query_length, graphs, starts, self.query_filters, self.query_bias
        )
        pooled = torch.tanh(self.query_dense(places.amax(dim=1)))  # (n, filters)
        every = pooled.float().unsqueeze(1).expand(-1, numbers.shape[1], -1)
        return torch.cat([_looked_up(keys, numbers), every], dim=-1)

    def _passage_vectors(
        self, numbers: Tensor, keys: Tensor, graphs: Tensor, starts: Tensor
    ) -> Tensor:
        """Return ``(n, passage_length, 2 + filters)``: in row j the key of word j, and window j
        while there are windows.
        """
        length = self.config.passage_length
        places = _filtered(numbers, length, graphs, starts, self.passage_filters, self.passage_bias)
        pooled = F.max_pool1d(
            places.transpose(1, 2), self.config.pooling_window, stride=1
        ).transpose(1, 2)
        windows = torch.tanh(self.passage_dense(pooled)).float()  # (n, windows, filters)
        filled = F.pad(windows, (0, 0, 0, length - windows.shape[1]))
        return torch.cat([_looked_up(keys, _filled(numbers, length)), filled], dim=-1)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(n,)`` of encoded queries and passages; a query batch of 1 serves all
        passages.
        """
        config, n = self.config, len(passage)
        query, query_mask = query.expand(n, -1, -1), query_mask.expand(n, -1)
        same = (query[:, :, None, :2] == passage[:, None, :, :2]).all(dim=-1)
        # (n, query_len, passage_length)
        same = same & query_mask.unsqueeze(2) & passage_mask.unsqueeze(1)
        matches = F.pad(same.to(passage.dtype), (0, 0, 0, config.query_length - same.shape[1]))
        local = self.local_score(torch.tanh(self.local_filters(matches)).flatten(1))
        asked = (query[:, :1, 2:] * query_mask[:, :1, None]).to(passage.dtype)
        products = asked * passage[:, : config.windows, 2:]  # (n, windows, filters)
        return local + self.distributed_score(products.flatten(1))

    # -- encoding once, and keeping ----------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.query_bias.device

    @property
    def dimension(self) -> int:
        """The width of a row: a word's key, and the filters."""
        return 2 + self.config.filters

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_queries``."""
        read = {name: part.to(self.device) for name, part in self.inputs(queries, []).items()}
        numbers = read["queries"]
        return self._query_vectors(
            numbers, read["keys"], read["graphs"], read["starts"]
        ), numbers != PADDING

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_passages``, always with the maximum number of rows."""
        read = {name: part.to(self.device) for name, part in self.inputs([], passages).items()}
        numbers = read["passages"]
        vectors = self._passage_vectors(numbers, read["keys"], read["graphs"], read["starts"])
        return vectors, _mask(numbers, vectors.shape[1])

    # -- training and keeping ----------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Give all weights one role."""
        return {"embedding": [], "kernels": [], "body": list(self.parameters())}

    def save(self, folder: Path) -> None:
        """Save the weights, and the n-graphs in order."""
        save_tensors(folder / "model.safetensors", self.state_dict())
        write_json(folder / GRAPHS, self.graphs.graphs)

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        try:
            place = folder / GRAPHS
            graphs = NGraphs(
                read_as(list[str], read_json(place, what="a checkpoint's n-graphs"), place, do=FIX)
            )
        except (TypeError, ValueError) as error:
            raise bad_input(
                folder / GRAPHS, wanted="a checkpoint's n-graphs", found=str(error), do=FIX
            ) from error
        model = cls(read_shape(DuetConfig, shape, folder), graphs)
        load_weights(model, folder / "model.safetensors")
        return model


class _Score(nn.Module):
    """The end of both halves, ``(n, width) → (n,)``: two tanh layers, dropout, and one to the score
    in full precision.
    """

    def __init__(self, width: int, size: int) -> None:
        super().__init__()
        self.hidden = nn.Sequential(
            FastLinear(width, size),
            nn.Tanh(),
            FastLinear(size, size),
            nn.Tanh(),
            nn.Dropout(DROPOUT),
        )
        self.last = nn.Linear(size, 1)

    def forward(self, features: Tensor) -> Tensor:
        hidden = self.hidden(features)
        with torch.autocast(hidden.device.type, enabled=False):
            return torch.tanh(self.last(hidden.to(self.last.weight.dtype))).squeeze(1)


def _spelled(text: str, limit: int) -> list[int]:
    # a leading byte of 1, so that no byte of 0 is lost
    return [
        int.from_bytes(b"\1" + word.encode("utf-8", "surrogatepass"), "big")
        for word in words_of(text)[:limit]
    ]


def _filled(numbers: Tensor, length: int) -> Tensor:
    return F.pad(numbers, (0, length - numbers.shape[1]))


def _mask(numbers: Tensor, length: int) -> Tensor:
    return _filled(numbers, length) != PADDING


def _looked_up(rows: Tensor, numbers: Tensor) -> Tensor:
    # index_select, as its gradient is summed in a fixed order
    return rows.index_select(0, numbers.flatten()).view(*numbers.shape, -1)


def _filtered(
    numbers: Tensor, length: int, graphs: Tensor, starts: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """Return tanh of a convolution over words' n-graph counts:
    ``(n, up to length) → (n, length − window + 1, filters)``.

    Each distinct word's part at each place of a window is computed once.
    """
    size = len(bias)
    # (words + 1, window · filters); padding has no n-graphs
    parts = F.embedding_bag(graphs, weight, starts, mode="sum")
    window = parts.shape[1] // size
    numbers = _filled(numbers, length)
    places = length - window + 1
    summed = sum(
        _looked_up(parts[:, place * size : (place + 1) * size], numbers[:, place : place + places])
        for place in range(window)
    )
    return torch.tanh(summed + bias)
