"""Settings of run fusion: by z-scores or by reciprocal ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from positionbias.core.errors import SettingError
from positionbias.core.settings import check_settings, setting

Fusion = Literal["z-scores", "reciprocal-ranks"]
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
K = 60  # Cormack et al.'s


@dataclass(frozen=True, slots=True)
class Fusing:
    """A fusion method and its constant.

    Raises:
        SettingError: a setting outside its range, or ``k`` without reciprocal ranks.
    """

    by: Fusion = setting(
        "z-scores",
        "The mean of the runs' z-scores per query, or the sum of 1 / (k + rank).",
        choices=FUSIONS,
    )
    k: int | None = setting(None, "Constant k of reciprocal ranks.", least=0, absent=str(K))
    depth: int | None = setting(None, "Passages to take per run and query.", least=1, absent="all")

    def __post_init__(self) -> None:
        check_settings(self)
        if self.k is not None and self.by != "reciprocal-ranks":
            raise SettingError(
                f"--k: wanted --by reciprocal-ranks; found --by {self.by}; leave --k out"
            )

    @property
    def constant(self) -> int:
        """Return the k of reciprocal ranks."""
        return K if self.k is None else self.k
