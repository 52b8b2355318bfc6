"""Loading of the studies of a report: a folder of results each, with its manifest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.report.published import Published
from positionbias.results.result import RESULTS, Result, load_results

__all__ = ["Study", "load_studies"]


@dataclass(frozen=True, slots=True)
class Study:
    """One folder of results; ``number`` counts from 1 and keeps its parts of a page apart from the
    others'.

    ``published`` are a paper's figures about its collections.
    """

    number: int
    title: str
    folder: str
    results: list[Result]
    manifest: Manifest
    published: Published | None = None


def load_studies(folders: Sequence[Path | str]) -> list[Study]:
    """Read each folder, or the ``results`` in a study's. Titles are the manifests' names, made
    distinct where they repeat.

    Raises:
        InputError: no folder, or one without results.
    """
    if not folders:
        raise InputError(
            "report: wanted at least one folder of results; found none; give the --out of a "
            "measuring command"
        )
    studies = []
    for number, place in enumerate(map(Path, folders), 1):
        folder = (
            place / "results"
            if not (place / RESULTS).is_file() and (place / "results" / RESULTS).is_file()
            else place
        )
        results, manifest = load_results(folder), read_manifest(folder)
        studies.append(Study(number, manifest.name or place.name, place.name, results, manifest))
    return _distinguished(studies)


def _distinguished(studies: list[Study]) -> list[Study]:
    """Add the folder's name to titles that repeat, and the number where that repeats too."""
    for more in ("folder", "number"):
        titles = Counter(study.title for study in studies)
        studies = [
            replace(study, title=f"{study.title} ({getattr(study, more)})")
            if titles[study.title] > 1
            else study
            for study in studies
        ]
    return studies
