"""What made the results of a page: command, settings, inputs, licences, versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from positionbias.core.formatting import count, setting
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_name
from positionbias.report.load import Study
from positionbias.results.collections import PassageFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["KIND_NAMES", "facts_of"]

KIND_NAMES = {
    "statistics": "statistics",
    "histogram": "histograms",
    "places": "histograms of places",
    "moves": "sentence moves",
    "position_buckets": "qualities by position",
    "length_grid": "grids of length and place",
    "response": "position responses",
    "per_query": "measures of a system",
    "query_effects": "effects by query",
    "comparison": "comparisons",
    "ats": "ATS curves",
    "training": "training curves",
    "finding": "findings",
    "verdict": "verdicts",
    "leaked_order": "orders on leaked and clean queries",
    "suspicion": "suspicions",
}


def facts_of(study: Study) -> list[tuple[str, str, bool]]:
    """Return the provenance of these results, as (name, value, whether it is code)."""
    manifest = study.manifest
    facts = [("Command", manifest.command, True)]
    facts += [(key, value, False) for key, value in _flat(manifest.settings)]
    if manifest.seed is not None:
        facts.append(("seed", str(manifest.seed), False))
    facts += [
        (f"input: {item.role}", f"{input_name(item.path)} (checksum {item.checksum[:16]}…)", True)
        for item in manifest.inputs
    ]
    facts += _origins(study.results)
    if study.results:
        facts.append(("Results read", _kinds(study.results), False))
    elif len(study.rows):
        facts.append(("Rows read", count(len(study.rows)), False))
    facts += [("Decision", note, False) for note in manifest.notes]
    if manifest.licence:
        facts.append(("Licence", manifest.licence, False))
    facts.append(
        (
            "Versions",
            ", ".join(f"{name} {version}" for name, version in manifest.versions.items()),
            False,
        )
    )
    facts.append(("Provenance", setting(dict(manifest.provenance)), False))
    return [
        (name.replace("_", " ").capitalize() if not as_code else name.capitalize(), value, as_code)
        for name, value, as_code in facts
        if value
    ]


def _flat(settings: JsonObject, name: str = "") -> list[tuple[str, str]]:
    flat = []
    for key, value in settings.items():
        full = f"{name} {key}".strip()
        flat += _flat(value, full) if isinstance(value, Mapping) else [(full, setting(value))]
    return flat


def _origins(results: Sequence[Result]) -> list[tuple[str, str, bool]]:
    """Return the origins of the collections, where their own manifests came with the results."""
    facts: list[tuple[str, str, bool]] = []
    for result, figures in of_type(results, PassageFigures):
        facts.append((f"Collection {result.collection}", figures.manifest.command, True))
        facts += (
            [(f"Licence of {result.collection}", figures.manifest.licence, False)]
            if figures.manifest.licence
            else []
        )
    return facts


def _kinds(results: Sequence[Result]) -> str:
    kinds = Counter(KIND_NAMES[result.kind] for result in results)
    return (
        f"{count(len(results))} "
        f"({', '.join(f'{name}: {count(number)}' for name, number in kinds.items())})"
    )
