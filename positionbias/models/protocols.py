"""The protocols that training, the re-ranker and the probe need. A model implements those it can.
Torch is imported on use.

Ranker          ours: can be trained and saved, and scores pairs of token numbers
PassageEncoder  encodes each side separately, so that a passage is encoded once for all queries
SingleVector    a PassageEncoder with one vector a text, which can search a whole collection
TextScorer      texts in, scores out, otherwise opaque
Served          behind an endpoint
VariantScorer   another model, over variants of each passage
TermEncoder     returns vectors of a passage's terms
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np

from positionbias.core.json_text import JsonObject

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Tokens = Sequence[int]
Role = Literal["embedding", "kernels", "body"]
CutSide = Literal["left", "right"]
TOKEN_CHARACTERS = 4  # roughly, per token of an endpoint
UNKNOWN_ROOM = sys.maxsize  # of encoders without a known limit


@runtime_checkable
class Ranker(Protocol):
    """Any model that tokenizes texts and scores (query, passage) pairs of token numbers.

    Reading and scoring are separate, so that texts are read once, ahead of the arithmetic, and
    batches have similar lengths.
    """

    kind: ClassVar[str]
    config: Any

    @property
    def device(self) -> torch.device: ...

    @property
    def room(self) -> int:
        """The maximum of tokens read of a passage (or query and passage, if read together), without
        special ones.
        """

    def read_queries(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of queries, cut at the model's limit, without special tokens;
        none for an empty text.
        """

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token numbers of passages, cut at the model's limit, without special tokens;
        none for an empty text.
        """

    def inputs(self, queries: Sequence[Tokens], passages: Sequence[Tokens]) -> dict[str, Tensor]:
        """Return the padded arguments of the model's call, on the CPU. Passage ``i`` is paired with
        query ``i % len(queries)``.
        """

    def __call__(self, **inputs: Tensor) -> Tensor:
        """Return scores ``(len(passages),)``."""

    def parameter_roles(self) -> dict[Role, list[Tensor]]:
        """Return all parameters by how they are trained: an embedding with sparse gradients, kernel
        weights, the rest.
        """

    def save(self, folder: Path) -> None:
        """Write the weights and all other files of the model, except its shape."""

    @classmethod
    def load(cls, folder: Path, shape: JsonObject) -> Self:
        """Return the model that ``save`` wrote.

        Raises:
            InputError: a missing or damaged file, or a tensor of another shape.
        """

    def to(self, device: torch.device) -> Any: ...

    def parameters(self) -> Any: ...

    def state_dict(self) -> Any: ...

    def load_state_dict(self, state: Any) -> Any: ...

    def train(self, mode: bool = True) -> Any: ...

    def eval(self) -> Any: ...


@runtime_checkable
class PassageEncoder(Protocol):
    """A model that encodes each side separately and then lets them interact (TK, BERT_DOT, ColBERT,
    SPLADE).

    The results of ``read_…`` are opaque; their lengths, those of the texts in tokens, serve to make
    batches of similar length.
    """

    kind: ClassVar[str]

    @property
    def device(self) -> torch.device: ...

    @property
    def dimension(self) -> int:
        """The width of a vector."""

    @property
    def room(self) -> int:
        """The maximum of tokens read of a passage."""

    def read_queries(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the input of ``encode_queries``, cut at the model's limit; of length 0 for an
        empty text.
        """

    def read_passages(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return the input of ``encode_passages``, cut at the model's limit; of length 0 for an
        empty text.
        """

    def encode_queries(self, queries: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def encode_passages(self, passages: Sequence[Any]) -> tuple[Tensor, Tensor]:
        """Vectors ``(n, rows, dim)`` and their mask ``(n, rows)``, on the model's device."""

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return scores ``(n,)``; a query batch of 1 serves all passages."""

    def to(self, device: torch.device) -> Any: ...


@runtime_checkable
class SingleVector(PassageEncoder, Protocol):
    """A ``PassageEncoder`` with one vector a text, compared by a product (BERT_DOT,
    sentence-transformers' bi-encoders).
    """

    @property
    def vector_similarity(self) -> str:
        """The similarity of ``interact``: "dot", "cosine", or another name from
        sentence-transformers.
        """


@runtime_checkable
class TextScorer(Protocol):
    """Anything that scores texts: a library's cross-encoder, a user's function."""

    kind: ClassVar[str]

    @property
    def device(self) -> torch.device: ...

    def score(self, query: str, passages: Sequence[str]) -> Any:
        """Return the scores of one query's passages in order: ``(len(passages),)`` numbers in any
        array or list.

        The caller checks their number and that they are finite (``ranking.texts``).
        """

    def to(self, device: torch.device) -> Any: ...


@runtime_checkable
class TokenReader(Protocol):
    """A reader of texts as a model reads them: a ranker or encoder itself, or the ``reader`` of a
    library's cross-encoder.
    """

    @property
    def room(self) -> int:
        """The maximum of tokens read of a passage (or query and passage, if read together), without
        special ones.
        """

    def read_queries(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return queries, each as long as the model reads of it, in tokens."""

    def read_passages(self, texts: Sequence[str]) -> Sequence[Any]:
        """Return passages, each as long as the model reads of it, in tokens."""


@runtime_checkable
class Served(Protocol):
    """A model behind an endpoint, which may charge for its work."""

    def begin(self, lists: Sequence[int]) -> None:
        """Announce a step's requests: the number of texts in each list."""

    @property
    def characters(self) -> int:
        """The characters sent since it was loaded."""


@runtime_checkable
class ServedScorer(TextScorer, Served, Protocol):
    """A ``TextScorer`` behind an endpoint: up to ``at_once`` lists are asked for together, and
    ``stop`` ends its waits.
    """

    @property
    def at_once(self) -> int: ...

    @property
    def stop(self) -> threading.Event: ...

    def remarks(self) -> Iterator[str]:
        """Yield remarks on the answers since the step began."""


@runtime_checkable
class VariantScorer(Protocol):
    """A model whose score of a passage is that of ``base`` over ``times`` variants of it, pooled by
    their mean or maximum.
    """

    kind: ClassVar[str]
    base: Any  # any model of these protocols

    @property
    def times(self) -> int: ...

    @property
    def maximum(self) -> bool: ...

    @property
    def device(self) -> torch.device: ...

    def variants(self, text: str) -> Sequence[str]:
        """Return the variants of a passage, ``times`` of them."""

    def to(self, device: torch.device) -> Any: ...


AnyRanker = Ranker | PassageEncoder | TextScorer | VariantScorer


def encodes_alone(model: Any) -> bool:
    """Return True if a model encodes passages alone; one over variants, if its base does."""
    return (
        encodes_alone(model.base)
        if isinstance(model, VariantScorer)
        else isinstance(model, PassageEncoder)
    )


@runtime_checkable
class TermEncoder(Protocol):
    """A model with vectors for a passage's terms, for the position probe.

    A passage's terms are numbers; 0 is padding and 1 unknown. ``term_layers`` lists the layers
    whose vectors it returns.
    """

    kind: ClassVar[str]

    @property
    def term_layers(self) -> Sequence[int]: ...

    @property
    def dimension(self) -> int:
        """The width of a vector."""

    @property
    def room(self) -> int:
        """The maximum of terms read of a passage."""

    def read_passages(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the terms of passages, cut at the model's limit."""

    def term_vectors(self, passages: Sequence[Tokens]) -> Tensor:
        """Return vectors ``(layers, n, longest, dim)`` of passages' terms, on the model's device;
        arbitrary after the last term.
        """


def known_room(model: AnyRanker) -> int | None:
    """Return the maximum of tokens that a model reads of a passage; None if unknown."""
    room = getattr(model, "room", UNKNOWN_ROOM)
    return None if room == UNKNOWN_ROOM else room


def token_reader(model: AnyRanker | None) -> TokenReader | None:
    """Return a reader that counts the tokens a model reads of a text; None if unknown."""
    found = getattr(model, "reader", model)
    return found if isinstance(found, TokenReader) and found.room != UNKNOWN_ROOM else None


def cut_side(model: AnyRanker | None) -> CutSide:
    """Return the side on which a model cuts a text beyond its limit: "left" loses the text's front,
    "right" its end.

    It is the tokenizer's ``truncation_side``, which only models run by sentence-transformers may
    have on the left; "right" if unknown.
    """
    while (base := getattr(model, "base", None)) is not None:  # of a model with a remedy
        model = base
    side: CutSide = getattr(getattr(model, "reader", model), "cut_side", "right")
    return side


def pad_rows(rows: Sequence[Tokens | np.ndarray], padding: int = 0) -> Tensor:
    """Pad token numbers of uneven length to one tensor ``(len(rows), longest)`` of at least one
    column.
    """
    import torch

    width = max(1, max(map(len, rows), default=1))
    out = np.full((len(rows), width), padding, dtype=np.int64)
    for index, row in enumerate(rows):
        out[index, : len(row)] = row
    return torch.from_numpy(out)


def as_array(given: Any) -> np.ndarray:
    """Convert a tensor, or a list of tensors or numbers, to an array; uneven rows give an array of
    objects.
    """
    if isinstance(given, list | tuple) and given and all(hasattr(item, "detach") for item in given):
        given = [as_array(item) for item in given]
    if hasattr(given, "detach"):  # a tensor, perhaps with gradients, on a GPU, or in bfloat16
        given = given.detach().cpu().float().numpy()
    try:
        return np.asarray(given)
    except ValueError:  # rows of uneven length
        return np.array([None])
