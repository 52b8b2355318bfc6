"""Token numbers of many texts in one array, and batches of them put together on the model's device.

A batch is gathered from texts that lie on the device already, so the host sends a few numbers a
text and no tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import overload

import numpy as np
import torch

from positionbias.models.encoder_template import Frame, Template
from positionbias.models.packed import PackedBatch
from positionbias.models.transfer import send


@dataclass(frozen=True, slots=True, eq=False)
class TokenRows(Sequence[np.ndarray]):
    """Texts as token numbers: text ``i`` is ``tokens[offsets[i] : offsets[i + 1]]``, int32."""

    tokens: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]]) -> TokenRows:
        """Copy rows of numbers."""
        held = list(rows)
        lengths = np.fromiter(map(len, held), np.int64, len(held))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return cls(np.fromiter(chain.from_iterable(held), np.int32, int(offsets[-1])), offsets)

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each text, ``(n,)`` int64."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> list[np.ndarray]: ...
    def __getitem__(self, index: int | slice) -> np.ndarray | list[np.ndarray]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self.tokens[self.offsets[place] : self.offsets[place + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter(np.split(self.tokens, self.offsets[1:-1])) if len(self) else iter(())


class TokenSource:
    """Texts, or both sides of pairs, on a device, from which batches are packed."""

    def __init__(
        self, template: Template, sides: Sequence[TokenRows], device: torch.device
    ) -> None:
        self.frame: Frame = template.single if len(sides) == 1 else template.pair
        self.typed, self.device = template.typed, device
        special = np.fromiter(chain.from_iterable(self.frame.special), np.int32)
        begins = np.cumsum([0, len(special), *(len(side.tokens) for side in sides)])
        self._special = np.cumsum([0, *map(len, self.frame.special)])[:-1]
        self._starts = [
            side.offsets[:-1] + begin for side, begin in zip(sides, begins[1:-1], strict=True)
        ]
        self._tokens = send(np.concatenate([special, *(side.tokens for side in sides)]), device)
        kinds = [kind[0] if kind else 0 for kind in self.frame.special_types]
        types = [
            kinds[0],
            *(kind for pair in zip(self.frame.text_types, kinds[1:], strict=True) for kind in pair),
        ]
        self._types = torch.tensor(types, dtype=torch.int32, device=device)

    def pack(self, indices: Sequence[np.ndarray], lengths: Sequence[np.ndarray]) -> PackedBatch:
        """Pack texts by their ``indices (n,)`` on each side, the first ``lengths (n,)`` tokens of
        each.
        """
        pieces = len(self.frame.special) + len(indices)
        starts = np.empty((len(indices[0]), pieces), np.int64)
        counts = np.empty_like(starts)
        starts[:, ::2], counts[:, ::2] = self._special, list(map(len, self.frame.special))
        for side, (which, length) in enumerate(zip(indices, lengths, strict=True)):
            starts[:, 2 * side + 1], counts[:, 2 * side + 1] = self._starts[side][which], length
        ends = counts.cumsum()  # of the pieces
        offsets = np.concatenate([[0], ends[pieces - 1 :: pieces]])
        total = int(offsets[-1])
        # all that depends on the piece, in one copy: where it begins, less where it goes; its
        # text's place; its length
        sent = send(
            np.stack(
                [
                    starts.ravel() - (ends - counts.ravel()),
                    np.repeat(offsets[:-1], pieces),
                    counts.ravel(),
                ]
            ),
            self.device,
        )
        # given its size, nothing waits for the device
        piece = torch.repeat_interleave(sent[2], output_size=total)
        place = torch.arange(total, device=self.device)
        return PackedBatch(
            numbers=self._tokens[sent[0][piece] + place],
            types=self._types[piece % pieces] if self.typed else None,
            positions=place - sent[1][piece],
            offsets=send(offsets.astype(np.int32), self.device),
            longest=int(counts.sum(axis=1).max(initial=0)),
        )


def cut_pairs(first: np.ndarray, second: np.ndarray, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of pairs cut to ``limit`` tokens together, as ``longest_first`` does for
    one pair.
    """
    long = first + second > limit
    short = np.minimum(np.minimum(first, second), limit // 2)
    swapped = first > second
    return (
        np.where(long, np.where(swapped, limit - short, short), first),
        np.where(long, np.where(swapped, short, limit - short), second),
    )
