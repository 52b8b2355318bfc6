"""Batches of similar length under a budget of padded tokens, which shrinks when the device runs out
of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from positionbias.core.errors import SettingError


def length_batches(
    lengths: Sequence[int] | np.ndarray, budget: TokenBudget
) -> Iterator[np.ndarray]:
    """Yield indices in batches of similar length, longest first, each under the current budget of
    padded tokens.
    """
    lengths = np.asarray(lengths)
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, budget.tokens // max(1, int(lengths[order[start]])))
        yield order[start : start + size]
        start += size


class TokenBudget:
    """A limit on padded tokens per batch. ``shrunk`` is true if the given limit exceeded the
    device's memory.
    """

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.shrunk = False

    def work(self, lengths: Sequence[int] | np.ndarray, work: Callable[[np.ndarray], None]) -> None:
        """Do ``work`` on batches of indices of similar ``lengths``, longest first.

        A batch too large for the device's memory is halved and repeated, and the budget stays at
        the lower value. So ``work`` must leave nothing behind when it fails.

        Raises:
            SettingError: a batch of one does not fit.
        """
        for batch in length_batches(lengths, self):
            self._fitting(batch, work, max(1, int(lengths[batch[0]])))

    def _fitting(self, batch: np.ndarray, work: Callable[[np.ndarray], None], longest: int) -> None:
        waiting = [batch]
        while waiting:
            part = waiting.pop()
            if _fits(work, part):
                continue
            if len(part) == 1:
                raise SettingError(
                    f"--device: wanted memory for one text of {longest:,} tokens; found the "
                    "device's too small for it; free some of it, give --device cpu, or take a "
                    "smaller model"
                )
            half = (len(part) + 1) // 2
            self.tokens, self.shrunk = min(self.tokens, half * longest), True
            waiting += [part[half:], part[:half]]


def _fits(work: Callable[[np.ndarray], None], batch: np.ndarray) -> bool:
    try:
        work(batch)
    except torch.OutOfMemoryError:
        pass  # the failed batch is freed when this handler ends, with its frames
    else:
        return True
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return False
