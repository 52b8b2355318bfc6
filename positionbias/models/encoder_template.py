"""The special tokens that a tokenizer puts around one text or a pair, to be added to texts
tokenized earlier.

    single:  start, text, end                 [CLS] q [SEP]
    pair:    start, first, middle, second, end [CLS] q [SEP] p [SEP];
                                               RoBERTa: <s> q </s> </s> p </s>

Frames are derived from the tokenizer's output for a sample, never hard-coded. ``check_reading``
compares texts put together so with the tokenizer's own call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from positionbias.models.protocols import Tokens

_MOST_SAMPLE = 20_000  # numbers counted up in a long sample


class ReadsOtherwise(ValueError):
    """An encoder that reads texts otherwise than ours; the message says how."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Special tokens around one or two texts, and the token types of all parts (empty where the
    tokenizer gives none).
    """

    special: tuple[tuple[int, ...], ...]
    special_types: tuple[tuple[int, ...], ...]
    text_types: tuple[int, ...]

    @property
    def added(self) -> int:
        """The number of special tokens in the frame."""
        return sum(map(len, self.special))


@dataclass(frozen=True, slots=True)
class Template:
    """Both frames, and the padding number."""

    single: Frame
    pair: Frame
    padding: int
    padding_type: int
    typed: bool

    def assemble(self, texts: Sequence[tuple[Tokens, ...]]) -> dict[str, Tensor]:
        """Return input tensors ``(n, longest)`` of texts or pairs that already fit; no mask without
        padding.
        """
        lengths = [sum(map(len, parts)) + self._frame(parts).added for parts in texts]
        width = max(lengths, default=1)
        numbers = np.full((len(texts), width), self.padding, dtype=np.int64)
        types = (
            np.full((len(texts), width), self.padding_type, dtype=np.int64) if self.typed else None
        )
        for row, parts in enumerate(texts):
            _fill(numbers[row], None if types is None else types[row], parts, self._frame(parts))
        inputs = {"input_ids": torch.from_numpy(numbers)}
        if types is not None:
            inputs["token_type_ids"] = torch.from_numpy(types)
        if texts and min(lengths) < width:
            mask = np.arange(width) < np.asarray(lengths)[:, None]
            inputs["attention_mask"] = torch.from_numpy(mask.astype(np.int64))
        return inputs

    def _frame(self, parts: tuple[Tokens, ...]) -> Frame:
        return self.single if len(parts) == 1 else self.pair


def _fill(
    numbers: np.ndarray, types: np.ndarray | None, parts: tuple[Tokens, ...], frame: Frame
) -> None:
    place = 0
    for index, special in enumerate(frame.special):
        end = place + len(special)
        numbers[place:end] = special
        if types is not None:
            types[place:end] = frame.special_types[index]
        place = end
        if index < len(parts):
            end = place + len(parts[index])
            numbers[place:end] = parts[index]
            if types is not None:
                types[place:end] = frame.text_types[index]
            place = end


def longest_first(first: int, second: int, limit: int) -> tuple[int, int]:
    """Return the lengths of two texts cut to ``limit`` tokens together, the longer first.

    As ``longest_first`` of the tokenizers library: the shorter keeps up to half, and the odd token
    goes to the longer (of equal ones, to the second).
    """
    if first + second <= limit:
        return first, second
    short = min(min(first, second), limit // 2)
    return (short, limit - short) if first <= second else (limit - short, short)


def read_template(tokenizer: Any) -> Template:
    """Derive the template of a tokenizer.

    Raises:
        ReadsOtherwise: it puts nothing before a text (no [CLS]), has no padding, or mixes the texts
            of a pair.
    """
    typed = "token_type_ids" in tokenizer.model_input_names
    single = _frame_of(tokenizer("a"), texts=1, typed=typed)
    pair = _frame_of(tokenizer("a", "a"), texts=2, typed=typed)
    if not single.special[0] or single.special[0] != pair.special[0]:
        raise ReadsOtherwise("a tokenizer that puts no special token before a text")
    if tokenizer.pad_token_id is None:
        raise ReadsOtherwise("a tokenizer without a padding token")
    return Template(single, pair, tokenizer.pad_token_id, tokenizer.pad_token_type_id, typed)


def check_reading(tokenizer: Any, limit: int, *, texts: int) -> None:
    """Compare samples read by ``plain_read`` and a template with the tokenizer's own call, of
    ``limit`` tokens.

    Samples are empty, short, longer than the limit by either text of a pair or both, and hold
    capitals, accents, white space and special tokens.

    Raises:
        ReadsOtherwise: the call gives other tokens for one of them, or cuts or pads on the left.
    """
    _check_sides(tokenizer)
    template = read_template(tokenizer)
    long = " ".join(map(str, range(min(limit, _MOST_SAMPLE))))
    short = f"  A Café\tin ÉCOLE\u2019s  {tokenizer.cls_token or ''}x {tokenizer.unk_token or ''}\n"
    samples: list[tuple[str, ...]] = [("",), (short,), (f"{short}{long}",)]
    if texts == 2:
        longer = f"{long} {long}"
        samples = [
            (short, "b"),
            ("b", short),
            (short, long),
            (long, "b"),
            (long, longer),
            (longer, long),
            (long, long),
        ]
    for sample in samples:
        wanted = dict(
            tokenizer(*sample, truncation="longest_first", max_length=limit, verbose=False)
        )
        given = assemble(
            template, *([row] for row in plain_read(tokenizer, sample, None)), limit=limit
        )
        if any(wanted[name] != tensor[0].tolist() for name, tensor in given.items()):
            raise ReadsOtherwise("a tokenizer whose own call gives other tokens")


def _check_sides(tokenizer: Any) -> None:
    """Check that a tokenizer cuts and pads texts on the right.

    Raises:
        ReadsOtherwise: it cuts or pads them on the left.
    """
    for what in ("truncation_side", "padding_side"):
        if (side := getattr(tokenizer, what, "right")) != "right":
            raise ReadsOtherwise(f"a tokenizer with {what} {side!r}")


def assemble(
    template: Template,
    first: Sequence[Tokens],
    second: Sequence[Tokens] | None = None,
    *,
    limit: int,
) -> dict[str, Tensor]:
    """Return input tensors ``(n, longest)`` of texts or pairs, cut to ``limit`` tokens including
    special ones, pairs longest first.
    """
    if second is None:
        room = limit - template.single.added
        return template.assemble([(text[:room],) for text in first])
    room = limit - template.pair.added
    pairs: list[tuple[Tokens, ...]] = []
    for query, passage in zip(first, second, strict=True):
        keep, keep_second = longest_first(len(query), len(passage), room)
        pairs.append((query[:keep], passage[:keep_second]))
    return template.assemble(pairs)


def plain_read(tokenizer: Any, texts: Sequence[str], limit: int | None) -> list[list[int]]:
    """Return the token numbers of texts, the first ``limit`` of each, without special tokens."""
    if not texts:
        return []
    fast = whole_texts(tokenizer)
    if fast is None:
        return [
            row[:limit]
            for row in tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        ]
    return [
        encoding.ids[:limit]
        for encoding in fast.encode_batch_fast(list(texts), add_special_tokens=False)
    ]


def whole_texts(tokenizer: Any) -> Any:
    """Return the fast tokenizer, if any, with truncation and padding off, which its file or another
    call may have set.
    """
    fast = getattr(tokenizer, "backend_tokenizer", None)
    # set only where needed: another thread may be reading
    if fast is not None and (fast.truncation or fast.padding):
        fast.no_truncation()
        fast.no_padding()
    return fast


def _frame_of(encoding: Any, *, texts: int, typed: bool) -> Frame:
    numbers, owners = encoding["input_ids"], encoding.sequence_ids(0)
    types = encoding["token_type_ids"] if typed else [0] * len(numbers)
    special: list[list[int]] = [[]]
    special_types: list[list[int]] = [[]]
    text_types: list[int] = []
    for number, owner, kind in zip(numbers, owners, types, strict=True):
        if owner is None:
            special[-1].append(number)
            special_types[-1].append(kind)
        elif owner == len(text_types):  # the text's first token
            text_types.append(kind)
            special.append([])
            special_types.append([])
        elif owner != len(text_types) - 1 or special[-1]:
            raise ReadsOtherwise("a tokenizer that mixes the texts of a pair")
    if len(text_types) != texts:
        raise ReadsOtherwise(f"a tokenizer that makes {len(text_types)} texts of {texts}")
    return Frame(tuple(map(tuple, special)), tuple(map(tuple, special_types)), tuple(text_types))
