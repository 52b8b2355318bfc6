"""Artefacts compared with the digests in their manifests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas

from positionbias.core.errors import InputError
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Verified, manifests_in, verify
from positionbias.core.outcome import Judgement
from positionbias.core.progress import track


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Judgement):
    """The findings on each artefact; nothing is measured."""

    artefacts: Sequence[Verified]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each artefact."""
        return pandas.DataFrame(self.to_json()["artefacts"])

    def __str__(self) -> str:
        lines = []
        for one in self.artefacts:
            more = f" ({one.strange:,} files more than its manifest names)" if one.strange else ""
            size = f"{one.files:>5,} files {one.bytes / 1e6:>10,.1f} MB"
            state = "damaged" if one.fault else "whole"
            lines.append(f"{state:<11} {one.kind:<14} {size}  {one.path}{more}")
            lines += [f"    {one.fault}"] if one.fault else []
        return "\n".join(lines)

    def to_json(self) -> JsonObject:
        """Return what was found of each artefact."""
        return {"artefacts": [{**asdict(one), "path": str(one.path)} for one in self.artefacts]}

    def check(self) -> None:
        """Refuse artefacts that are damaged.

        Raises:
            InputError: at least one is.
        """
        if damaged := sum(bool(found.fault) for found in self.artefacts):
            raise InputError(
                f"wanted {len(self.artefacts):,} artefacts as they were written; found {damaged:,} "
                "damaged; restore them from a copy, or make them again"
            )


def verify_all(places: Sequence[Path]) -> Verification:
    """Compare all artefacts at these places.

    Raises:
        InputError: no artefact at one of them.
    """
    manifests = [manifest for place in places for manifest in manifests_in(place)]
    return Verification(
        [verify(manifest) for manifest in track(manifests, "verifying", unit="artefacts")]
    )
