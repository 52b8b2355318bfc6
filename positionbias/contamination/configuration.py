"""What a model is a training of: whether a control is a training of the same configuration as the model beside it."""

from __future__ import annotations

from dataclasses import dataclass

from positionbias.core.json_text import JsonObject

__all__ = ["Configuration"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """What a checkpoint says of how it was made, but for its seed and its data: kind and ``shape``, and the ``training``'s settings. None: it does not say."""

    shape: JsonObject | None = None
    training: JsonObject | None = None

    @property
    def stated(self) -> bool:
        """Whether all of it is known."""
        return self.shape is not None and self.training is not None

    def differs(self, other: Configuration) -> bool:
        """Whether a part that is known of both is not the same."""
        pairs = ((self.shape, other.shape), (self.training, other.training))
        return any(own is not None and others is not None and own != others for own, others in pairs)
