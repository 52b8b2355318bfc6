"""Limits that a model must keep: they break only where even the lower bound of what was measured lies beyond them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from positionbias.audit.by_position import PSI
from positionbias.audit.rotations import GAP
from positionbias.core.errors import SettingError
from positionbias.core.formatting import decimal
from positionbias.core.payloads import PositionBuckets, Statistics
from positionbias.core.result import Result

__all__ = ["Limits", "broken_limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest PSI beyond chance, and the largest mean change by rotation in either direction; None: no limit.

    Raises:
        SettingError: a limit below 0, or none at all.
    """

    max_psi: float | None = None
    max_rotation_gap: float | None = None

    def __post_init__(self) -> None:
        for name in ("max_psi", "max_rotation_gap"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise SettingError(f"--{name.replace('_', '-')}: wanted 0 or more; found {value}; raise it")
        if self.max_psi is None and self.max_rotation_gap is None:
            raise SettingError("check: wanted a limit; found none; give --max-psi, --max-rotation-gap or both")


def broken_limits(results: Sequence[Result], limits: Limits) -> list[str]:
    """Why a system fails, a line a broken limit; of the first measure, over all passages, on every scale."""
    reasons = []
    measure = next((r.payload.quality for r in results if isinstance(r.payload, PositionBuckets) and r.measure == PSI), None)
    for result in results:
        payload = result.payload
        if result.facts.model == "first stage":
            continue
        if result.measure == PSI and isinstance(payload, PositionBuckets) and limits.max_psi is not None:
            low = payload.figures.get("excess_low")
            if payload.quality == measure and not payload.group and low is not None and low > limits.max_psi:
                reasons.append(
                    f"{result.system}: PSI of {measure} ({payload.scale} position) is at least {low:.3f} without what chance makes of it "
                    f"(measured {payload.figures['excess']:.3f} above chance); the limit is {limits.max_psi:g}"
                )
        if result.measure == GAP and isinstance(payload, Statistics) and limits.max_rotation_gap is not None:
            bounds = result.interval
            if payload.rows["quality"] != measure or bounds is None or result.value is None:
                continue
            least = max(bounds.low, -bounds.high, 0.0)
            if least > limits.max_rotation_gap:
                reasons.append(
                    f"{result.system}: rotating passages changes {measure} by at least {least:.3f} (measured {decimal(result.value, sign=True)}); "
                    f"the limit is {limits.max_rotation_gap:g}"
                )
    return reasons
