"""The common part of word-level models (TK, KNRM, PACRR): a vocabulary, its vectors, and texts as
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from positionbias.core.files import read_json
from positionbias.core.json_text import JsonObject, read_as
from positionbias.core.publish import write_json
from positionbias.models.protocols import Role, Tokens, pad_rows
from positionbias.models.tensors import FIX, load_weights, read_shape, save_tensors
from positionbias.text.vocabulary import PADDING, Vocabulary

# passages processed together on a CPU: few enough for a layer's output to stay in the processor's
# cache
GROUP = 8
# their width is a multiple of this: oneDNN takes longer to prepare a product of a new size than to
# compute it
WIDTH = 8


DEVIATION = 0.4  # of randomly initialised word vectors [decision]


class WordModel(nn.Module):
    """A model over word vectors. It reads word numbers of its vocabulary; 0 is padding and is
    masked everywhere.

    The sides are encoded separately (``query_vectors``, ``passage_vectors``) and compared by
    ``interact``. Unknown words share one vector, so that two of them count as the same word.
    """

    kind: ClassVar[str]
    shape: ClassVar[type]
    # the tensors with a row for each word
    per_word: ClassVar[tuple[str, ...]] = ("embedding.weight",)

    def __init__(
        self, config: Any, vocabulary: Vocabulary, word_vectors: np.ndarray | None = None
    ) -> None:
        """``word_vectors (len(vocabulary), dimension)`` initialise the embedding; None: normal,
        with ``DEVIATION``.
        """
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.embedding = nn.Embedding(
            len(vocabulary), config.dimension, padding_idx=PADDING, sparse=True
        )
        with torch.no_grad():
            if word_vectors is None:
                self.embedding.weight.normal_(0.0, DEVIATION)
            else:
                self.embedding.weight.copy_(
                    torch.from_numpy(np.asarray(word_vectors, dtype=np.float32))
                )
            self.embedding.weight[PADDING] = 0.0

    # -- reading -----------------------------------------------------------------------------------

    @property
    def room(self) -> int:
        """The maximum of words read of a passage."""
        return int(self.config.passage_length)

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return queries' word numbers, cut at ``query_length``."""
        return [self.vocabulary.encode(text, self.config.query_length) for text in texts]

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return passages' word numbers, cut at ``passage_length``."""
        return [self.vocabulary.encode(text, self.config.passage_length) for text in texts]

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Implement ``Ranker.inputs``: padded word numbers of both sides."""
        return {"queries": pad_rows(queries), "passages": pad_rows(passages)}

    # -- scoring -----------------------------------------------------------------------------------

    def query_vectors(self, numbers: Tensor) -> Tensor:
        """Represent a query's words, by default by their vectors:
        ``(batch, query_len) → (batch, query_len, dim)``.
        """
        vectors: Tensor = self.embedding(numbers)
        return vectors

    def passage_vectors(self, numbers: Tensor) -> Tensor:
        """Represent a passage's words, by default by their vectors:
        ``(batch, passage_len) → (batch, passage_len, dim)``.
        """
        vectors: Tensor = self.embedding(numbers)
        return vectors

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Implement ``PassageEncoder.interact``."""
        raise NotImplementedError

    def forward(self, queries: Tensor, passages: Tensor) -> Tensor:
        """Return scores ``(k·n,)`` of padded word numbers: queries ``(n, query_len)``, each against
        k passages ``(k·n, passage_len)``.

        Passages are processed in groups of similar length, so that hardly any padding is computed;
        no score depends on it.
        """
        query, query_mask = self.query_vectors(queries), queries != PADDING
        scores, order = [], []
        for index, numbers in _groups(passages):
            asked = index % max(1, len(queries))
            passage = self.passage_vectors(numbers)  # (group, its longest, dim)
            # index_select, as its gradient is summed in a fixed order
            scores.append(
                self.interact(
                    query.index_select(0, asked), query_mask[asked], passage, numbers != PADDING
                )
            )
            order.append(index)
        return torch.cat(scores)[torch.cat(order).argsort()]

    # -- encoding once, and keeping ----------------------------------------------------------------

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self.embedding.weight.device

    @property
    def dimension(self) -> int:
        """The width of a word's vector."""
        return int(self.config.dimension)

    def encode_queries(self, queries: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_queries``."""
        numbers = pad_rows(queries).to(self.device)
        return self.query_vectors(numbers), numbers != PADDING

    def encode_passages(self, passages: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_passages``."""
        numbers = pad_rows(passages).to(self.device)
        return self.passage_vectors(numbers), numbers != PADDING

    # -- training and keeping ----------------------------------------------------------------------

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Return the roles: word vectors are updated sparsely or not at all, and kernel weights
        have their own learning rate.
        """
        named = [(name, p) for name, p in self.named_parameters() if p.requires_grad]
        return {
            "embedding": [p for name, p in named if name.startswith("embedding")],
            "kernels": [p for name, p in named if name.startswith("pooling")],
            "body": [p for name, p in named if not name.startswith(("embedding", "pooling"))],
        }

    def grown(self, words: Sequence[str], rows: np.ndarray) -> Self:
        """Return this model with further words appended, and their vectors
        ``(len(words), dimension)``.
        """
        own = self.embedding.weight.detach().numpy()
        model = type(self)(
            self.config, Vocabulary([*self.vocabulary.words, *words]), np.concatenate([own, rows])
        )
        state, made = self.state_dict(), model.state_dict()
        for name in self.per_word:
            state[name] = torch.cat([state[name], made[name][len(own) :]])
        model.load_state_dict(state)
        return model

    def save(self, folder: Path) -> None:
        """Save the weights, and the words in order."""
        save_tensors(folder / "model.safetensors", self.state_dict())
        write_json(folder / "vocabulary.json", self.vocabulary.words)

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Load weights, as ``Ranker.load`` does."""
        place = folder / "vocabulary.json"
        words = read_as(list[str], read_json(place, what="a checkpoint's words"), place, do=FIX)
        model = cls(read_shape(cls.shape, shape, folder), Vocabulary(words))
        load_weights(model, folder / "model.safetensors")
        return model


def _groups(passages: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Group passages of similar length, longest first: their indices in the batch, and their word
    numbers with hardly any padding.

    On a GPU all are one group, as small pieces cost more than padding.
    """
    if not passages.is_cpu or len(passages) <= 1:
        yield torch.arange(len(passages), device=passages.device), passages
        return
    lengths = (passages != PADDING).sum(dim=1)
    for index in lengths.argsort(descending=True, stable=True).split(GROUP):
        longest = max(1, int(lengths[index[0]]))
        yield index, passages[index, : -(-longest // WIDTH) * WIDTH]
