"""A collection, and the effects of a rotation, selection or placement on it, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from positionbias.core.manifest import input_name
from positionbias.core.screen import line_width
from positionbias.report.headlines import collection_headlines
from positionbias.report.layout import Grid, lay_out
from positionbias.report.placement import moves_table, places_table
from positionbias.report.table import as_text
from positionbias.results.collections import (
    Origin,
    PassageFigures,
    PlacementFigures,
    QueryFigures,
    RotationFigures,
    SelectionFigures,
)
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["aligned", "collection_text", "placement_text", "rotation_text", "selection_text"]


def collection_text(results: Sequence[Result]) -> str:
    """Return the collection's name, passages and a row per split; where measured, lengths and the
    collection's origin.
    """
    ((_, passages),) = of_type(results, PassageFigures)
    if passages.lengths is None:
        return "\n\n".join(
            (f"{results[0].collection}: {results[0].count:,} passages", _counts(results))
        )
    return "\n\n".join(
        (
            *collection_headlines(results),
            _counts(results),
            _lengths(results),
            _origin(passages.manifest),
        )
    )


def _counts(results: Sequence[Result]) -> str:
    header = ("split", "queries", "judgements", "answers")
    splits = [(result.split, figures) for result, figures in of_type(results, QueryFigures)]
    rows = [(split, f"{f.queries:,}", f"{f.judgements:,}", f"{f.answers:,}") for split, f in splits]
    lines = [aligned([header, *rows])]
    for split, figures in splits:
        further = figures.further_judgements or {}
        lines += [
            f"{split}: {count:,} judgements more, {name!r}" for name, count in further.items()
        ]
        if absent := figures.absent:
            lines.append(
                f"{split}: {absent.judgements:,} judgements are of passages that are not in the "
                f"collection ({absent.passages:,} passages)"
            )
    return "\n".join(lines)


def _lengths(results: Sequence[Result]) -> str:
    rows: list[tuple[str, ...]] = []
    for result in results:
        if (
            not isinstance(figures := result.payload, PassageFigures | QueryFigures)
            or (words := figures.lengths) is None
        ):
            continue
        rows = rows or [("words", *words.words_quantiles, "mean", "empty", "over")]
        quantiles = (_number(value) for value in words.words_quantiles.values())
        name = f"{result.measure} {result.split}".strip()
        over = f"{words.share_over:.1%} over {words.READ}" if words.share_over is not None else "-"
        rows.append(
            (name, *quantiles, _number(words.mean_words, ".1f"), f"{words.without_words:,}", over)
        )
    return aligned(rows)


def _origin(made: Origin) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in made.settings.items())
    version = made.versions.get("positionbias", "?")
    rows = [("made by", f"{made.command} ({settings or 'no settings'})")]
    rows += [("", f"{made.created}, positionbias {version}")]
    rows += [
        (f"input {item.role}", f"{input_name(item.path)} (checksum {item.checksum[:16]}…)")
        for item in made.inputs
    ]
    rows += [("licence", made.licence or "not stated")]
    rows += _flat(made.content)
    rows += [("note", note) for note in made.notes]
    return aligned(rows, left=2)


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Flatten nested figures to lines ``name, figure``; plain lists go on one line."""
    if isinstance(value, Mapping) and any(
        isinstance(item, Mapping | list) for item in value.values()
    ):
        return [
            line
            for key, item in value.items()
            for line in _flat(item, f"{name} {key}".strip().replace("_", " "))
        ]
    if isinstance(value, Mapping):
        return [
            (
                name,
                ", ".join(
                    f"{key.replace('_', ' ')} {_number(item)}" for key, item in value.items()
                ),
            )
        ]
    if isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        return [(name, ", ".join(map(_number, value)))] if value else []
    if isinstance(value, list):
        return [line for item in value for line in _flat(item, name)]
    return [(name, _number(value))]


def _number(value: Any, form: str = ",") -> str:
    if value is None:
        return "-"
    return (
        f"{value:{form}}"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else str(value)
    )


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return rows as lines of equal columns; the first ``left`` columns flush left, the others
    flush right.

    They fit the terminal: a text wraps, and columns for which there is no room stand below, beside
    the first ones again.
    """
    columns = len(rows[0])
    right = [at >= left for at in range(columns)]
    return "\n".join(lay_out(Grid(rows, right, min(left, columns - 1)), line_width()))


def rotation_text(results: Sequence[Result]) -> str:
    """Return how many passages were rotated, and what became of their answers."""
    ((result, figures),) = of_type(results, RotationFigures)
    lines = [
        (
            f"{result.collection}: {result.count:,} passages, rotated {result.system}, seed "
            f"{result.seed}"
        )
    ]
    lines += [f"  {name.replace('_', ' ')}: {count:,}" for name, count in figures.passages.items()]
    if (share := figures.share_without_inner_sentence_boundary) is not UNSET:
        lines.append(
            f"  {share:.1%} of the passages have no inner sentence boundary, and cannot be rotated "
            "by sentences"
        )
    for split, counts in figures.answers.items():
        if counts.answers:
            cut = f"cut through and dropped {counts.cut:,} ({counts.cut / counts.answers:.1%})"
            lines.append(f"  answers of {split}: {counts.answers:,}; {cut}")
    if figures.sha256:
        lines.append(f"  SHA-256 of the file, uncompressed: {figures.sha256}")
    if figures.passages_checksum:
        lines.append(f"  checksum of the passages: {figures.passages_checksum}")
    return "\n".join(lines)


def selection_text(results: Sequence[Result]) -> str:
    """Return how many queries a selection kept, and why it dropped the others."""
    ((result, found),) = of_type(results, SelectionFigures)
    lines = [
        (
            f"{result.collection}: {found.kept:,} of the {found.queries:,} {result.split} queries, "
            f"{result.system}"
        ),
        f"  without known position: {found.without_known_position:,}",
        f"  outside: {found.outside:,}",
        f"  inside in part: {found.inside_in_part:,}",
        f"  inside: {found.inside:,}",
        f"  answers: {found.answers['answers']:,}",
    ]
    lines += [
        f"    {name.replace('_', ' ')}: {n:,}"
        for name, n in found.answers.items()
        if n and name != "answers"
    ]
    lines += [f"    unmatched, {cause}: {n:,}" for cause, n in (found.unmatched or {}).items()]
    return "\n".join(lines)


def placement_text(results: Sequence[Result]) -> str:
    """Return what a placement kept and moved: counts, places reached beside those intended, and
    distances moved.
    """
    ((result, figures),) = of_type(results, PlacementFigures)
    lines = [
        (
            f"{result.collection}: {result.count:,} passages, evidence placed {result.system}, "
            f"seed {result.seed}"
        )
    ]
    lines += [f"  {name.replace('_', ' ')}: {count:,}" for name, count in figures.passages.items()]
    for split, counts in figures.questions.items():
        dropped = [
            f"    dropped, {why}: {n:,}"
            for why, n in counts.items()
            if n and why not in ("questions", "kept")
        ]
        lines += [
            f"  {split}: {counts['kept']:,} of {counts['questions']:,} questions kept",
            *dropped,
        ]
        if (answers := figures.splits.get(split)) and answers.cut:
            lines.append(f"    answers taken apart and dropped: {answers.cut:,}")
        if not counts["kept"]:
            lines.append("    left out, as it has no question")
    return "\n\n".join(
        ("\n".join(lines), as_text(places_table(results)), as_text(moves_table(results)))
    )
