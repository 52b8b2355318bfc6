"""A map from hashes to values for streams of millions of keys, in sorted arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Seen(NamedTuple):
    """Masks of a batch, ``(n,)`` bool: keys that are new, and keys whose value differs from their
    first.
    """

    new: np.ndarray
    clash: np.ndarray


class KeyMap:
    """The first value of each key of a stream; takes 8 bytes a key and the size of the value.

    Keys are 64-bit hashes. Among ten million, two collide with a chance of 1 in 370,000.
    """

    def __init__(self, values: type[np.generic] = np.uint64) -> None:
        self._kind = values
        # sorted arrays, each less than half as long as the one before
        self._runs: list[tuple[np.ndarray, np.ndarray]] = []

    def add(self, keys: np.ndarray, values: np.ndarray | None = None) -> Seen:
        """Take a batch, ``(n,)`` uint64 with ``(n,)`` values, and compare it with all before and
        within itself.
        """
        values = np.zeros(len(keys), self._kind) if values is None else values.astype(self._kind)
        order = np.argsort(keys, kind="stable")
        starts = (
            np.flatnonzero(np.concatenate([[True], keys[order][1:] != keys[order][:-1]]))
            if len(keys)
            else order
        )
        first = order[starts]  # the first position of each key in the batch
        known, before = self.find(keys[first])
        kept = np.where(known, before, values[first])
        sizes = np.diff(starts, append=len(keys))
        new, clash = np.zeros(len(keys), bool), np.empty(len(keys), bool)
        new[first] = ~known
        clash[order] = values[order] != np.repeat(kept, sizes)
        self._keep(keys[first][~known], values[first][~known])
        return Seen(new, clash)

    def contains(self, keys: np.ndarray) -> np.ndarray:
        """Mark the keys that were added: ``(n,)`` bool."""
        return self.find(keys)[0]

    def find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mark the keys that were added, ``(n,)`` bool, with their values, ``(n,)``, 0 where there
        is none.
        """
        known, values = np.zeros(len(keys), bool), np.zeros(len(keys), self._kind)
        for run, kept in self._runs:
            place = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            here = run[place] == keys
            values[here] = kept[place[here]]
            known |= here
        return known, values

    def _keep(self, keys: np.ndarray, values: np.ndarray) -> None:
        if len(keys):
            self._runs.append((keys, values))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (one, own), (other, its) = self._runs.pop(), self._runs.pop()
            keys, values = np.concatenate([other, one]), np.concatenate([its, own])
            order = np.argsort(keys, kind="stable")
            self._runs.append((keys[order], values[order]))


class KeyNumbers:
    """Numbers from 0 for the keys of a stream, by first appearance; takes 12 bytes a key, for fewer
    than 2³² keys.
    """

    def __init__(self) -> None:
        self._numbers = KeyMap(np.uint32)
        self.count = 0

    def add(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Take a batch, ``(n,)`` uint64; return the number of each key, ``(n,)`` uint32, and a mask
        of new ones, ``(n,)`` bool.
        """
        distinct, first, places = np.unique(keys, return_index=True, return_inverse=True)
        known, numbers = self._numbers.find(distinct)
        fresh = np.flatnonzero(~known)
        fresh = fresh[np.argsort(first[fresh])]
        numbers[fresh] = np.arange(self.count, self.count + len(fresh))
        self._numbers.add(distinct[fresh], numbers[fresh])
        self.count += len(fresh)
        new = np.zeros(len(keys), bool)
        new[first[fresh]] = True
        return numbers[places], new
