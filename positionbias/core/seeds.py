"""Random draws keyed by (seed, purpose, id), independent of order, shard, worker and other draws.

A draw is a pure function of its key, so any number of workers in any order gets the same numbers,
and removing an item changes no other draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
TEXT = "row's text"  # the purpose of hashes used as ids

_TWO_64 = 1 << 64


@lru_cache(maxsize=256)
def _state(seed: int, purpose: str) -> hashlib.blake2b:
    return hashlib.blake2b(f"{seed}\x1f{purpose}\x1f".encode(), digest_size=16)


def _digest(seed: int, purpose: str, parts: tuple[str | int, ...]) -> bytes:
    state = _state(seed, purpose).copy()
    # our readers check UTF-8, so "replace" is only for lone surrogates of other callers
    state.update("\x1f".join(map(str, parts)).encode("utf-8", "replace"))
    return state.digest()


def key64(seed: int, purpose: str, *parts: str | int) -> int:
    """Return a 64-bit integer, uniform over keys: BLAKE2b of (seed, purpose, parts)."""
    return int.from_bytes(_digest(seed, purpose, parts)[:8], "little")


def text_id(letter: str, text: str) -> str:
    """Make an id for a text without one, a letter and a hash of the text: the same in tables, data
    sets and strings.
    """
    return f"{letter}{key64(0, TEXT, text):016x}"


def drawn_order(ids: Iterable[str], seed: int, purpose: str, *parts: str | int) -> list[str]:
    """Return the ids in a uniform random order, keyed by (seed, purpose, parts, id), so that
    shorter samples are prefixes of longer ones.
    """
    return sorted(ids, key=lambda one: (key64(seed, purpose, *parts, one), one))


def below(bound: int, seed: int, purpose: str, *parts: str | int) -> int:
    """Draw an integer uniform on {0 … bound−1}, without modulo bias (multiply-shift with
    rejection).

    Raises:
        ValueError: ``bound`` is below 1.
    """
    if bound < 1:
        raise ValueError(f"bound must be at least 1, got {bound}")
    draw = key64(seed, purpose, *parts)
    product = draw * bound
    if product % _TWO_64 < bound:
        threshold = _TWO_64 % bound
        retry = 0
        while product % _TWO_64 < threshold:
            retry += 1
            product = key64(seed, purpose, *parts, retry) * bound
    return product // _TWO_64


def choose(count: int, size: int, seed: int, purpose: str, *parts: str | int) -> list[int]:
    """Draw ``size`` different integers of {0 … count−1}, or all if fewer, in a uniform random
    order; the first is ``below``'s.
    """
    order: dict[int, int] = {}  # the shuffled range where it differs from the identity
    chosen = []
    for place in range(min(size, count)):
        other = place + below(count - place, seed, purpose, *parts, *([place] if place else []))
        chosen.append(order.get(other, other))
        order[other] = order.get(place, place)
    return chosen


def _numpy() -> Any:
    """Return numpy, which single draws never need."""
    import numpy

    return numpy


def keys64(seed: int, purpose: str, keys: Sequence[bytes]) -> np.ndarray:
    """``key64`` for many keys of one UTF-8 part each: ``(len(keys),)`` uint64."""
    np = _numpy()
    state, digests = _state(seed, purpose), []
    for key in keys:
        digest = state.copy()
        digest.update(key)
        digests.append(digest.digest())
    return np.frombuffer(b"".join(digests), "<u8")[::2]  # a digest has 128 bits


def below_many(
    bounds: np.ndarray, draws: np.ndarray, seed: int, purpose: str, keys: Sequence[bytes]
) -> np.ndarray:
    """``below`` for many bounds, ``(len(keys),)`` int64, from the ``keys64`` of the keys; a bound
    below 1 gives 0.

    Bounds stay under 2³².
    """
    np = _numpy()
    bound = np.maximum(bounds, 1).astype(np.uint64)
    half = np.uint64(32)
    drawn = (
        (draws >> half) * bound + ((draws & np.uint64(0xFFFFFFFF)) * bound >> half) >> half
    ).astype(np.int64)
    # the low half of the product decides whether to redraw: at most one key in 2³²
    for place in np.flatnonzero(draws * bound < bound).tolist():
        drawn[place] = below(int(bound[place]), seed, purpose, keys[place].decode())
    return drawn


def generator(seed: int, purpose: str, *parts: str | int) -> np.random.Generator:
    """Return a NumPy generator for one key, for items that need many draws."""
    np = _numpy()
    return np.random.default_rng(int.from_bytes(_digest(seed, purpose, parts), "little"))
