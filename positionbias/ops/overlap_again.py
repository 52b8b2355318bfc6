"""Make a search for overlap again, for its counts alone: what ``leakage clean`` and ``leakage check-card`` share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from positionbias.core.extras import models_extra
from positionbias.core.files import remove
from positionbias.core.manifest import Manifest
from positionbias.core.shard_work import MapShards
from positionbias.ops.query_encoder import Encoder
from positionbias.overlap.find import find_overlap
from positionbias.overlap.settings import MEANING, EvidenceSettings, OverlapSettings
from positionbias.overlap.sources import TextSet
from positionbias.results.result import Result

__all__ = ["search_again"]


def search_again(
    work: Path,
    training: Sequence[TextSet],
    tests: Sequence[TextSet],
    settings: OverlapSettings,
    encoder: Encoder,
    map_shards: MapShards,
) -> list[Result]:
    """Return the results of a search, whose files stand at ``work`` until it ends.

    Raises:
        InputError, SettingError: as ``find_overlap``, or an encoder that cannot be opened.
        DependencyError: the extra ``models`` is not installed, and meaning is looked at.
    """
    opened = None
    if MEANING in settings.detectors:
        with models_extra("--detector meaning"):
            semantic = encoder.semantic(settings.threshold)
        settings = replace(settings, threshold=semantic.threshold)
        opened = semantic.opened
    made = Manifest(kind="results", name="searched again", command="leakage overlap")
    try:
        results, _ = find_overlap(
            work, training, tests, settings, lambda *_: made,
            evidence=EvidenceSettings(), encoder=opened, map_shards=map_shards, overwrite=True,
        )  # fmt: skip
        return results
    finally:
        remove(work)
