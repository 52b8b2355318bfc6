"""An audit's page sections, and its figures by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from positionbias.report import audit_captions as captions
from positionbias.report.audit_curves import response_figure
from positionbias.report.audit_data import bucket_tables, gain_table, movement_table, response_places_table, segment_table
from positionbias.report.audit_forest import CARD, compare_figure, effects_figure, has_effects
from positionbias.report.audit_plots import gain_figure, length_figure, movement_figure, quality_figure, segment_figure
from positionbias.report.audit_select import (
    described_group,
    is_first_stage,
    is_of_audit,
    main_quality,
    models_of,
    query_buckets,
    system_of,
)
from positionbias.report.audit_tables import blind_table, gap_table, psi_tables, response_table
from positionbias.report.audit_verdict_tables import compared_table, effects_table
from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.curves import ats_curves
from positionbias.report.examples import example_groups
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.table import Table
from positionbias.results.buckets import GAIN, MOVEMENT, PSI, ResponseCurve, SegmentBuckets
from positionbias.results.payloads import AtsCurve
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AUDIT_SECTIONS", "COMPARED", "audit_figures", "compared_block", "description_tables"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of an audit's figures: when it exists, how it is drawn and captioned, and which axes studies share."""

    there: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], float], Figure]
    caption: Callable[[Sequence[Result]], str]
    same: str


def _has_scale(results: Sequence[Result], scale: str) -> bool:
    return bool(query_buckets(results, PSI, scale=scale, quality=main_quality(results), group=described_group(results)))


def _has_lengths(results: Sequence[Result]) -> bool:
    found = [p for _, p in query_buckets(results, PSI, scale="relative", quality=main_quality(results)) if p.group]
    return any(mean is not None for payload in found for mean in payload.means)


FIGURES: dict[str, _Kind] = {
    "compared": _Kind(
        lambda results: len(models_of(results)) > 1 and has_effects(results),
        lambda results, width: compare_figure(results, width=width),
        captions.compared_caption,
        "x",
    ),
    "effects": _Kind(
        lambda results: len(models_of(results)) == 1 and has_effects(results),
        lambda results, width: effects_figure(results, width=min(width, CARD)),
        captions.compared_caption,
        "",
    ),
    "position-response": _Kind(
        lambda results: bool(of_type(results, ResponseCurve)),
        lambda results, width: response_figure(results, width=width),
        captions.response_caption,
        "y",
    ),
    "quality-by-position": _Kind(
        lambda results: _has_scale(results, "relative"),
        lambda results, width: quality_figure(results, scale="relative", width=width),
        lambda results: captions.quality_caption(results, "relative"),
        "y",
    ),
    "quality-by-characters": _Kind(
        lambda results: _has_scale(results, "characters"),
        lambda results, width: quality_figure(results, scale="characters", width=width),
        lambda results: captions.quality_caption(results, "characters"),
        "y",
    ),
    "quality-within-lengths": _Kind(
        _has_lengths, lambda results, width: length_figure(results, width=width), captions.length_caption, "y"
    ),
    "gain-by-position": _Kind(
        lambda results: bool(query_buckets(results, GAIN)),
        lambda results, width: gain_figure(results, width=width),
        captions.gain_caption,
        "y",
    ),
    "rotation-gap-by-movement": _Kind(
        lambda results: bool(query_buckets(results, MOVEMENT)),
        lambda results, width: movement_figure(results, width=width),
        captions.movement_caption,
        "y",
    ),
    "segment-similarity": _Kind(
        lambda results: bool(of_type(results, SegmentBuckets)),
        lambda results, width: segment_figure(results, width=width),
        captions.segment_caption,
        "y",
    ),
}


def audit_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Return every figure of an audit's results, by name; ``width`` in inches.

    Names: compared (of several systems) or effects (of one), position-response; of the description quality-by-position,
    quality-by-characters, quality-within-lengths, gain-by-position, rotation-gap-by-movement, segment-similarity, term-similarity.
    What was not measured has no figure.
    """
    figures = {name: kind.draw(results, width) for name, kind in FIGURES.items() if kind.there(results)}
    if any(len(curve.deltas) for _, curve in of_type(results, AtsCurve)):
        figures["term-similarity"] = ats_curves(results, width=width)
    return figures


def description_tables(results: Sequence[Result]) -> list[Table]:
    """Return the descriptive tables that are not empty: sensitivity, rotation, response, thirds.

    The page has more: other qualities, lengths, and the figures' data.
    """
    tables = [*psi_tables(results, main_quality(results)), blind_table(results), gap_table(results), response_table(results)]
    return [table for table in [*tables, segment_table(results)] if table.rows]


def _block(study: Study, figures: Sequence[str], tables: Sequence[Table], more: Sequence[Table]) -> Block:
    """Return a study's part of a section: the figures that exist, the tables, and further ones (the figures' data) folded."""
    block = Block(study.title)
    results = study.results
    for name in figures:
        kind = FIGURES[name]
        if kind.there(results):
            block.drawings.append(
                Drawing(name, lambda width, kind=kind: kind.draw(results, width), kind.caption(results), kind.same)  # type: ignore[misc]
            )
    for folded, group in ((False, tables), (True, more)):
        block.sheets += [Sheet(f"table-{t.name}-{study.number}", t, folded) for t in group if t.rows]
    return block


def _sensitivity(study: Study) -> Block:
    names = ("quality-by-position", "quality-by-characters", "quality-within-lengths", "gain-by-position")
    results, main = study.results, main_quality(study.results)
    every = distinct(payload.quality for _, payload in query_buckets(results, PSI))
    overall, within = psi_tables(results, main), psi_tables(results, main, grouped=True)
    others = [
        table
        for quality in every
        if quality != main
        for way in (False, True)
        for table in psi_tables(results, quality, grouped=way)
    ]
    return _block(
        study, names, [*overall, blind_table(results)], [*within, *bucket_tables(results), gain_table(results), *others]
    )


def _gap(study: Study) -> Block:
    return _block(study, ["rotation-gap-by-movement"], [gap_table(study.results)], [movement_table(study.results)])


def _response(study: Study) -> Block:
    results = study.results
    return _block(
        study, ["position-response"], [effects_table(results)], [response_table(results), response_places_table(results)]
    )


def _segments(study: Study) -> Block:
    return _block(study, ["segment-similarity"], [segment_table(study.results)], [])


def _examples(study: Study) -> Block:
    return Block(study.title, examples=example_groups(study.results))


# anchor, title, introduction, and what makes a study's part of the section; conclusions come before descriptions
AUDIT_SECTIONS: tuple[tuple[str, str, str, Callable[[Study], Block]], ...] = (
    (
        "response",
        "The same evidence at another place",
        "Only the evidence moves: the words and the question stay. The verdicts rest on the effects in the table. The curve shows the places "
        "between, with the other sentences in their own order; nothing is concluded from it.",
        _response,
    ),
    (
        "sensitivity",
        "Description: quality by answer position",
        "Nothing is concluded from what follows: it groups different questions, so it mixes a system's preference with the questions' "
        "difficulty. The first stage, on the same queries, shows some of that difficulty.",
        _sensitivity,
    ),
    (
        "rotation-gap",
        "Description: rotating the whole collection",
        "Every passage is cut at a random word and its two parts are exchanged. Every query is compared with itself, but the change mixes "
        "the answer's new place with broken sentences and truncation.",
        _gap,
    ),
    (
        "segments",
        "Description: parts of a passage in its vector",
        "",
        _segments,
    ),
    (
        "examples",
        "Queries to look at",
        "The queries that lost most by rotation, with their relevant passage as it is and rotated; answers are marked. This section "
        "quotes the collection, whose licence covers these texts.",
        _examples,
    ),
)
COMPARED = (
    "compared",
    "The systems compared",
    "Every system's effects, with the same evidence at another place. An interval that leaves out 0 shows a preference.",
)


def compared_block(studies: Sequence[Study]) -> Block | None:
    """Return the systems of all studies in one figure and table, or None if fewer than two were audited."""
    results = _joined(studies)
    if not FIGURES["compared"].there(results):
        return None
    kind = FIGURES["compared"]
    drawing = Drawing("compared", lambda width: kind.draw(results, width), kind.caption(results), kind.same)
    return Block("", drawings=[drawing], sheets=[Sheet("table-audit-compared", compared_table(results))])


def _joined(studies: Sequence[Study]) -> list[Result]:
    """Join the audits of all studies; a system that several audited on one test set gets the study's title.

    The first stage is the same ranking in all of them and is kept once.
    """
    joined: list[Result] = []
    seen: dict[tuple[str, str, str], int] = {}
    for study in studies:
        audited = [result for result in study.results if is_of_audit(result)]
        known = {system for system, number in seen.items() if number != study.number}
        for result in audited:
            if system_of(result) not in known:
                joined.append(result)
            elif not is_first_stage(result):
                joined.append(replace(result, system=f"{result.system} ({study.title})"))
        seen |= {system_of(result): study.number for result in audited if system_of(result) not in seen}
    return joined
