"""sentence-transformers' encoders as ``PassageEncoder``, with their own prompts, lengths, pooling
and similarity.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from positionbias.core.errors import bad_input
from positionbias.models.libraries import transformers_library
from positionbias.models.prompts import OWN, Prompts, heard_prompt, remark_prompts
from positionbias.models.protocols import CutSide

# of the largest number: smaller changes of an output with the others in its batch are rounding
_SAME = 1e-3
_PROBE = "the lamp of the hall"


def check_padding(tokenizer: Any, output: Callable[[list[str]], Tensor], folder: Path) -> None:
    """Check that a model whose tokenizer pads on the left gives a text the same ``output (n, …)``
    beside a longer one.

    Left padding moves the positions of encoders that count them from the batch's first column.

    Raises:
        InputError: it does not.
    """
    if getattr(tokenizer, "padding_side", "right") != "left":
        return
    alone, beside = output([_PROBE])[0], output([_PROBE, " ".join([_PROBE] * 3)])[0]
    if float((alone - beside).abs().max()) > _SAME * float(alone.abs().max()):
        raise bad_input(
            folder,
            wanted="scores that do not depend on the other texts in a batch",
            found=(
                'a tokenizer that pads on the left ("padding_side": "left"), which moves this '
                "encoder's positions"
            ),
            do='write "right" there in a copy of the model',
        )


@dataclass(frozen=True, slots=True)
class ReadText:
    """A text and the number of tokens that the model reads of it."""

    text: str
    tokens: int

    def __len__(self) -> int:
        return self.tokens


class LibraryEncoder:
    """A ``PassageEncoder`` over one of the library's encoders. It reads whole texts, which the
    library cuts.
    """

    kind: ClassVar[str]
    library_class: ClassVar[str]

    def __init__(self, model: Any, folder: Path, prompts: Prompts = OWN) -> None:
        known = transformers_library().PreTrainedTokenizerBase
        self._model = model
        tokenizer = model.tokenizer
        # a copy: texts are read in a thread while the model works, and calling a tokenizer sets its
        # padding and truncation
        self._counting = deepcopy(tokenizer) if isinstance(tokenizer, known) else None
        self.cut_side: CutSide = getattr(self._counting, "truncation_side", "right")
        self.prompts = prompts.or_else(
            lambda: heard_prompt(model, model.encode_query, "a"),
            lambda: heard_prompt(model, model.encode_document, "a"),
        )
        remark_prompts(folder.name, self.prompts, model.prompts if prompts != self.prompts else {})
        check_padding(
            tokenizer, lambda texts: self._rows(self._passages(texts))[0].sum(dim=1), folder
        )

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return self._model.device

    def to(self, device: torch.device) -> Self:
        """Move the weights."""
        self._model.to(device)
        return self

    @cached_property
    def dimension(self) -> int:
        """The width of a vector, found by encoding a word if the model does not name it."""
        return self._model.get_embedding_dimension() or int(
            self.encode_passages([ReadText("a", 1)])[0].shape[-1]
        )

    @property
    def room(self) -> int:
        """The maximum of tokens read of a passage, including special ones; beyond any text if
        unknown.
        """
        return self._limit("document_length")

    def _limit(self, side: str) -> int:
        limits = (getattr(self._model[0], side, None), self._model.max_seq_length)
        # "inf" is no limit
        return int(
            min((limit for limit in limits if limit and limit < sys.maxsize), default=sys.maxsize)
        )

    def read_queries(self, texts: Sequence[str]) -> list[ReadText]:
        """Return queries with their lengths in tokens, with their prompt; 0 for an empty text."""
        return self._read(texts, self._limit("query_length"), self.prompts.query)

    def read_passages(self, texts: Sequence[str]) -> list[ReadText]:
        """Return passages with their lengths in tokens, with their prompt; 0 for an empty text."""
        return self._read(texts, self.room, self.prompts.passage)

    def _read(self, texts: Sequence[str], limit: int, prompt: str | None) -> list[ReadText]:
        if self._counting is not None and texts:
            whole = [f"{prompt}{text}" for text in texts]
            lengths = [
                len(row)
                for row in self._counting(whole, verbose=False, truncation=False)["input_ids"]
            ]
        else:  # word vectors without an encoder: lengths only matter for batches
            lengths = [len(text.split()) for text in texts]
        return [
            ReadText(text, min(length, limit) if text.strip() else 0)
            for text, length in zip(texts, lengths, strict=True)
        ]

    def encode_queries(self, queries: Sequence[ReadText]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_queries``."""
        encode = partial(self._model.encode_query, prompt=self.prompts.query)
        return self._rows(self._encode(encode, [query.text for query in queries]))

    def encode_passages(self, passages: Sequence[ReadText]) -> tuple[Tensor, Tensor]:
        """Implement ``PassageEncoder.encode_passages``."""
        return self._rows(self._passages([passage.text for passage in passages]))

    def _passages(self, texts: list[str]) -> Any:
        return self._encode(
            partial(self._model.encode_document, prompt=self.prompts.passage), texts
        )

    def _encode(self, encode: Any, texts: list[str]) -> Any:
        return encode(texts, batch_size=max(1, len(texts)), show_progress_bar=False)

    def _rows(self, encoded: Any) -> tuple[Tensor, Tensor]:
        """Return vectors ``(n, rows, dim)`` and mask ``(n, rows)`` from the library's output for
        ``n`` texts.
        """
        raise NotImplementedError

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Implement ``PassageEncoder.interact``."""
        raise NotImplementedError


class BiEncoder(LibraryEncoder):
    """``SentenceTransformer``: one vector a text, compared by the model's similarity (by default
    cosine).
    """

    kind = "bi-encoder"
    library_class = "SentenceTransformer"

    @property
    def vector_similarity(self) -> str:
        """The model's similarity, by default cosine."""
        return str(self._model.similarity_fn_name)

    def _encode(self, encode: Any, texts: list[str]) -> Tensor:
        return encode(
            texts, batch_size=max(1, len(texts)), show_progress_bar=False, convert_to_tensor=True
        )

    def _rows(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        return encoded.unsqueeze(1), torch.ones(
            len(encoded), 1, dtype=torch.bool, device=encoded.device
        )

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return the model's own similarity ``(n,)``, in full precision."""
        with torch.autocast(query.device.type, enabled=False):
            sides = query[:, 0].float().expand(len(passage), -1), passage[:, 0].float()
            return self._model.similarity_pairwise(*sides)


class MultiVector(LibraryEncoder):
    """``MultiVectorEncoder`` (ColBERT): a vector a token, compared by the sum of each query
    vector's best match.
    """

    kind = "multi-vector"
    library_class = "MultiVectorEncoder"

    def _rows(self, encoded: list[Tensor]) -> tuple[Tensor, Tensor]:
        return _padded(encoded)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return the model's own similarity ``(n,)``, in full precision."""
        with torch.autocast(query.device.type, enabled=False):
            many = len(passage)
            return self._model.similarity_pairwise(
                query.float().expand(many, -1, -1),
                passage.float(),
                a_mask=query_mask.expand(many, -1),
                b_mask=passage_mask,
            )


class Sparse(LibraryEncoder):
    """``SparseEncoder`` (SPLADE): weights for few dimensions, compared by dot product or cosine.

    A text's rows are its non-zero dimensions as (number, weight); a vector of the vocabulary's
    width would be nearly all zeros.
    """

    kind = "sparse"
    library_class = "SparseEncoder"

    def __init__(self, model: Any, folder: Path, prompts: Prompts = OWN) -> None:
        super().__init__(model, folder, prompts)
        if model.similarity_fn_name not in ("dot", "cosine"):
            found = f"{model.similarity_fn_name} similarity"
            raise bad_input(
                folder,
                wanted="a sparse encoder that compares by dot product or cosine",
                found=found,
                do="give another model",
            )
        self._normalize = model.similarity_fn_name == "cosine"

    @cached_property
    def dimension(self) -> int:
        """2: a row is a number and a weight."""
        return 2

    def _encode(self, encode: Any, texts: list[str]) -> Tensor:
        given = {"convert_to_tensor": True, "convert_to_sparse_tensor": False}
        return encode(texts, batch_size=max(1, len(texts)), show_progress_bar=False, **given)

    def _rows(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        dense = F.normalize(encoded.float(), dim=-1) if self._normalize else encoded.float()
        rows = [vector.nonzero()[:, 0] for vector in dense]  # numbers below 2^24, exact as float32
        pairs = [
            torch.stack([numbers.float(), vector[numbers]], dim=1)
            for numbers, vector in zip(rows, dense, strict=True)
        ]
        return _padded(pairs)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return dot products ``(n,)`` over the dimensions that both sides have, in full
        precision.
        """
        with torch.autocast(query.device.type, enabled=False):
            # a text's numbers ascend, so each of the query's is searched among the passage's
            numbers = passage[..., 0].masked_fill(~passage_mask, torch.inf)
            asked = query[..., 0].expand(len(passage), -1).contiguous()
            # (n, query rows)
            places = torch.searchsorted(numbers, asked).clamp(max=numbers.shape[1] - 1)
            both = (numbers.gather(1, places) == asked) & query_mask
            return (query[..., 1] * passage[..., 1].gather(1, places) * both).sum(dim=1)


def _padded(rows: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Pad matrices ``(rows, dim)`` to one tensor ``(n, most rows, dim)`` of at least one row, and
    return its mask, too.
    """
    vectors = nn.utils.rnn.pad_sequence(list(rows), batch_first=True)
    if not vectors.shape[1]:
        vectors = vectors.new_zeros(len(rows), 1, vectors.shape[2])
    lengths = torch.tensor([len(row) for row in rows], device=vectors.device)
    return vectors, torch.arange(vectors.shape[1], device=vectors.device) < lengths[:, None]
