"""Figures that the papers print, to stand beside ours."""

from __future__ import annotations

from collections.abc import Mapping

from positionbias.core.collection import Collection

__all__ = ["published_mats", "published_mats_of"]

# position-bias paper, Table 2: import command -> system -> (MATS, standard deviation)
_MATS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "import msmarco": {"tk-original": (0.176, 0.046), "tk-rotated": (0.021, 0.006)},
    "import squad": {"tk-original": (0.056, 0.014), "tk-rotated": (0.007, 0.002)},
}


def published_mats(collection: Collection) -> Mapping[str, tuple[float, float]] | None:
    """The paper's MATS and deviation by system for this kind of collection; None where the paper has none."""
    return published_mats_of(collection.manifest.command)


def published_mats_of(command: str) -> Mapping[str, tuple[float, float]] | None:
    """As ``published_mats``, by the command that made the collection."""
    return _MATS.get(command)
