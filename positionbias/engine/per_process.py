"""What each process of an engine makes once for itself, such as a loaded model: only how to make it
is sent there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

Made = TypeVar("Made")


class PerProcess(Generic[Made]):
    """Calling it returns ``made`` in this process; in others what ``make()`` returns, called once
    in each, which keeps the last one made.

    ``make`` must be hashable and picklable, as a frozen dataclass is; None if no other process
    takes part.
    """

    def __init__(self, make: Callable[[], Made] | None, made: Made | None = None) -> None:
        self._make, self._made = make, made

    def __reduce__(self) -> tuple[type[PerProcess[Made]], tuple[Callable[[], Made] | None]]:
        return type(self), (self._make,)

    def __call__(self) -> Made:
        if self._made is None:
            assert self._make is not None
            self._made = _made(self._make)
        return self._made


@lru_cache(maxsize=1)
def _made(make: Callable[[], Any]) -> Any:
    return make()
