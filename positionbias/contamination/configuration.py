"""Describe the configuration of a training, to compare a control with a model."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.json_text import JsonObject

__all__ = ["Configuration"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A checkpoint's configuration without seed and data: kind and ``shape``, and the
    ``training``'s settings; None if unknown.
    """

    shape: JsonObject | None = None
    training: JsonObject | None = None

    @property
    def stated(self) -> bool:
        """Return True if all parts are known."""
        return self.shape is not None and self.training is not None

    def differs(self, other: Configuration) -> bool:
        """Return True if a part that is known of both differs."""
        pairs = ((self.shape, other.shape), (self.training, other.training))
        return any(
            own is not None and others is not None and own != others for own, others in pairs
        )
