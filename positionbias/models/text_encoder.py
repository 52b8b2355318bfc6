"""Encoders from texts to arrays: a user's function, an object with a method for each side, or an
endpoint.

Everything they return is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from positionbias.core.errors import InputError, PositionBiasError, TextError, where_raised
from positionbias.models.prompts import Prompts
from positionbias.models.protocols import UNKNOWN_ROOM, as_array

AT_ONCE = 256  # texts in one call [decision]
SAME = 0.01  # share of a vector's length: smaller changes between calls are rounding [decision]
_PROBES = ["the lamp of the hall", "iron gate"]
_SIMILARITIES = ("dot", "cosine")
_SIDES = (
    ("encode_queries", "encode_passages"),
    ("encode_query", "encode_document"),
    ("encode", "encode"),
)

Encode = Callable[[list[str]], Any]


@dataclass(frozen=True, slots=True)
class _Shape:
    """The settings that vectors depend on, beside the code or the server."""

    name: str
    similarity: str


@dataclass(frozen=True, slots=True)
class _Row:
    """A text. Its length in tokens is unknown, so it counts as one, and an empty text as none."""

    text: str

    def __len__(self) -> int:
        return 1 if self.text.strip() else 0


class TextEncoder:
    """A ``SingleVector`` over functions from lists of texts to arrays ``(n, dim)``; it chooses its
    own device.

    When made, it encodes two texts in both orders and one of them alone. This gives the width, and
    refuses a function whose vectors change from call to call, depend on the other texts of a call,
    or are not in the texts' order.

    Raises:
        InputError: a function fails, or returns a wrong shape, values that are not finite, other
            vectors on repeat, or queries of another width.
    """

    kind: ClassVar[str] = "encoder"
    # an endpoint's vectors may be missing, rows of NaN, if it is asked for them so
    may_lack = False
    room: ClassVar[int] = UNKNOWN_ROOM

    def __init__(
        self,
        name: str,
        queries: Encode,
        passages: Encode,
        *,
        similarity: str = "dot",
        at_once: int = AT_ONCE,
    ) -> None:
        self.config, self.prompts = _Shape(name, similarity), Prompts("", "")
        self.encode, self._queries, self._passages, self._at_once = (
            passages,
            queries,
            passages,
            at_once,
        )
        self._dimension: int | None = None
        for side, encode in [
            ("queries", queries),
            *([("passages", passages)] if passages != queries else []),
        ]:
            first, again = (
                self._call(encode, side, _PROBES),
                self._call(encode, side, _PROBES[::-1])[::-1],
            )
            self._dimension = first.shape[1]
            # the longer one, which is padded in neither call
            alone = self._call(encode, side, _PROBES[:1])
            changes = np.linalg.norm(np.concatenate([first - again, first[:1] - alone]), axis=1)
            change = changes.max() / max(float(np.linalg.norm(first, axis=1).max()), 1e-30)
            if change > SAME:
                raise InputError(
                    f"{name}: wanted the same vectors for the same {side}, in the order of the "
                    f"texts; found a change of {change:.0%} between two calls; return them in "
                    "order, whatever else is in the call, and turn dropout or sampling off"
                )

    @property
    def device(self) -> torch.device:
        """The CPU, where the vectors arrive."""
        return torch.device("cpu")

    def to(self, device: torch.device) -> Self:
        """Do nothing."""
        return self

    @property
    def dimension(self) -> int:
        """The width of a vector."""
        assert self._dimension is not None
        return self._dimension

    @property
    def vector_similarity(self) -> str:
        """The similarity that the object names; "dot" for a function."""
        return self.config.similarity

    def read_queries(self, texts: Sequence[str]) -> list[_Row]:
        """Wrap the texts."""
        return [_Row(text) for text in texts]

    read_passages = read_queries

    def encode_queries(self, queries: Sequence[_Row]) -> tuple[Tensor, Tensor]:
        """Call the function of queries: ``(n, 1, dim)`` and ``(n, 1)``."""
        return self._encode(self._queries, "queries", queries, self.prompts.query)

    def encode_passages(self, passages: Sequence[_Row]) -> tuple[Tensor, Tensor]:
        """Call the function of passages: ``(n, 1, dim)`` and ``(n, 1)``."""
        return self._encode(self._passages, "passages", passages, self.prompts.passage)

    def interact(
        self, query: Tensor, query_mask: Tensor, passage: Tensor, passage_mask: Tensor
    ) -> Tensor:
        """Return the similarities ``(n,)``."""
        if self.config.similarity == "cosine":
            query, passage = F.normalize(query, dim=-1), F.normalize(passage, dim=-1)
        return (query[:, 0] * passage[:, 0]).sum(dim=-1)

    def _encode(
        self, encode: Encode, side: str, rows: Sequence[_Row], prompt: str | None
    ) -> tuple[Tensor, Tensor]:
        texts = [f"{prompt or ''}{row.text}" for row in rows]
        try:
            parts = [
                self._call(encode, side, texts[at : at + self._at_once])
                for at in range(0, len(texts), self._at_once)
            ]
        except TextError as error:  # named by its id, without the prompt
            error.text = error.text.removeprefix(prompt or "")
            raise
        return torch.from_numpy(np.concatenate(parts))[:, None], torch.ones(
            len(texts), 1, dtype=torch.bool
        )

    def _call(self, encode: Encode, side: str, texts: list[str]) -> np.ndarray:
        """Return checked vectors ``(len(texts), dim)`` float32."""
        name, wanted = self.config.name, f"vectors of {len(texts):,} {side}"
        try:
            given = as_array(encode(list(texts)))
        except (PositionBiasError, torch.OutOfMemoryError):  # a smaller batch may fit
            raise
        except (Exception, SystemExit) as error:
            raise InputError(
                f"{name}: wanted {wanted}; found that it raised {where_raised(error)}; fix it"
            ) from error
        width = self._dimension or "dim"
        if given.dtype.kind not in "fiub":
            found = (
                "values that are not numbers"
                if given.dtype.kind == "O"
                else f"{given.dtype} values"
            )
        elif (
            given.ndim != 2
            or len(given) != len(texts)
            or not given.shape[1]
            or given.shape[1] != (self._dimension or given.shape[1])
        ):
            found = f"{given.shape}"
        elif not (usable := np.isfinite(given := given.astype(np.float32)) | self.may_lack).all():
            found = f"{given[~usable][0]} for text {int(np.argmin(usable.all(axis=1))) + 1}"
        else:
            return given
        raise InputError(
            f"{name}: wanted {wanted}, ({len(texts)}, {width}) finite numbers; found {found}; fix "
            "what encodes"
        )


def encoder_of_object(found: Any, name: str) -> TextEncoder | None:
    """Wrap an object with ``encode_queries`` and ``encode_passages``, sentence-transformers'
    ``encode_query`` and ``encode_document``, or ``encode``; None if it has none of these.

    The similarity is its ``similarity_fn_name``, as in sentence-transformers, else the dot product
    [decision].

    Raises:
        InputError: another similarity, or as ``TextEncoder``.
    """
    for queries, passages in _SIDES:
        if callable(getattr(found, queries, None)) and callable(getattr(found, passages, None)):
            named = getattr(found, "similarity_fn_name", None) or "dot"
            similarity = str(getattr(named, "value", named))  # also of an enum
            if similarity not in _SIMILARITIES:
                wanted = f"a similarity_fn_name of {' or '.join(_SIMILARITIES)}"
                raise InputError(
                    f"{name}: wanted {wanted}; found {similarity!r}; give another, or a function "
                    "(query, passages) → scores"
                )
            return TextEncoder(
                name, getattr(found, queries), getattr(found, passages), similarity=similarity
            )
    return None
