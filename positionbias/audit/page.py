"""An audit's page sections, and its figures by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from positionbias.audit import captions
from positionbias.audit.curves import response_figure
from positionbias.audit.figure_tables import (
    bucket_tables,
    gain_table,
    movement_table,
    response_places_table,
    segment_table,
)
from positionbias.audit.forest import CARD, compare_figure, effects_figure, has_effects
from positionbias.audit.largest_effects import largest_block
from positionbias.audit.length_report import (
    grid_caption,
    grid_cells_table,
    grid_effects_table,
    grid_figure,
    grid_table,
)
from positionbias.audit.plots import (
    gain_figure,
    length_figure,
    movement_figure,
    quality_figure,
    segment_figure,
)
from positionbias.audit.select import (
    described_group,
    is_first_stage,
    is_of_audit,
    main_quality,
    models_of,
    query_buckets,
    system_of,
)
from positionbias.audit.tables import blind_table, gap_table, psi_tables, response_table
from positionbias.audit.tiles import verdict_tiles
from positionbias.audit.verdict_cards import verdict_cards
from positionbias.audit.verdict_tables import compared_table, effects_table, verdict_tables
from positionbias.report.blocks import Block, FigureKind, Sheet, block_of, figures_of
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.report.table import Table
from positionbias.results.audit import AUDIT_MEASURES
from positionbias.results.buckets import GAIN, MOVEMENT, PSI, ResponseCurve, SegmentBuckets
from positionbias.results.payloads import LengthGrid, Question
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PART", "audit_figures", "description_tables"]


def _has_scale(results: Sequence[Result], scale: str) -> bool:
    return bool(
        query_buckets(
            results, PSI, scale=scale, quality=main_quality(results), group=described_group(results)
        )
    )


def _has_lengths(results: Sequence[Result]) -> bool:
    found = [
        p
        for _, p in query_buckets(results, PSI, scale="relative", quality=main_quality(results))
        if p.group
    ]
    return any(mean is not None for payload in found for mean in payload.means)


def _quality(scale: str) -> FigureKind:
    drawn = partial(quality_figure, scale=scale)
    return FigureKind(
        partial(_has_scale, scale=scale), drawn, partial(captions.quality_caption, scale=scale), "y"
    )


COMPARED = FigureKind(
    lambda results: len(models_of(results)) > 1 and has_effects(results),
    compare_figure,
    captions.compared_caption,
    "x",
)
EFFECTS = FigureKind(
    lambda results: len(models_of(results)) == 1 and has_effects(results),
    lambda results, width: effects_figure(results, width=min(width, CARD)),
    captions.compared_caption,
)
RESPONSE = FigureKind(
    lambda results: of_type(results, ResponseCurve), response_figure, captions.response_caption, "y"
)
LENGTH = FigureKind(lambda results: of_type(results, LengthGrid), grid_figure, grid_caption)
QUALITY = {
    "quality-by-position": _quality("relative"),
    "quality-by-characters": _quality("characters"),
    "quality-within-lengths": FigureKind(_has_lengths, length_figure, captions.length_caption, "y"),
    "gain-by-position": FigureKind(
        lambda results: query_buckets(results, GAIN), gain_figure, captions.gain_caption, "y"
    ),
}
MOVED = FigureKind(
    lambda results: query_buckets(results, MOVEMENT),
    movement_figure,
    captions.movement_caption,
    "y",
)
SEGMENT = FigureKind(
    lambda results: of_type(results, SegmentBuckets), segment_figure, captions.segment_caption, "y"
)
FIGURES = {
    "compared": COMPARED,
    "effects": EFFECTS,
    "position-response": RESPONSE,
    "length-by-place": LENGTH,
    **QUALITY,
    "rotation-gap-by-movement": MOVED,
    "segment-similarity": SEGMENT,
}


def audit_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Return every figure of an audit's results, by name; ``width`` in inches. What was not
    measured has no figure.
    """
    return figures_of(FIGURES, results, width=width)


def description_tables(results: Sequence[Result]) -> list[Table]:
    """Return the descriptive tables that are not empty: sensitivity, rotation, response, lengths,
    thirds.

    The page has more: other qualities, lengths, and the figures' data.
    """
    tables = [
        *psi_tables(results, main_quality(results)),
        blind_table(results),
        gap_table(results),
        response_table(results),
    ]
    return [table for table in [*tables, grid_table(results), segment_table(results)] if table.rows]


def _found(block: Block, results: Sequence[Result]) -> None:
    block.cards += verdict_cards(results)
    block.add(*verdict_tables(results))


def _response(study: Study) -> Block:
    results = study.results
    data = [response_table(results), response_places_table(results)]
    return block_of(study, {"position-response": RESPONSE}, [effects_table(results)], data)


def _lengths(study: Study) -> Block:
    data = [grid_cells_table(study.results), grid_effects_table(study.results)]
    return block_of(study, {"length-by-place": LENGTH}, [grid_table(study.results)], data)


def _text_order(study: Study) -> Block:
    return block_of(study, {}, [effects_table(study.results, Question.TEXT)])


def _sensitivity(study: Study) -> Block:
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
    data = [*within, *bucket_tables(results), gain_table(results), *others]
    return block_of(study, QUALITY, [*overall, blind_table(results)], data)


def _gap(study: Study) -> Block:
    data = [movement_table(study.results)]
    return block_of(study, {"rotation-gap-by-movement": MOVED}, [gap_table(study.results)], data)


def _segments(study: Study) -> Block:
    return block_of(study, {"segment-similarity": SEGMENT}, [segment_table(study.results)])


def _compared(studies: Sequence[Study]) -> list[Block]:
    """Return the systems of all studies in one figure and table, or nothing if fewer than two were
    audited.
    """
    results = _joined(studies)
    if not COMPARED.there(results):
        return []
    sheet = Sheet("table-audit-compared", compared_table(results))
    return [Block("", drawings=[COMPARED.drawing("compared", results)], sheets=[sheet])]


def _joined(studies: Sequence[Study]) -> list[Result]:
    """Join the audits of all studies; a system that several audited on one test set gets the
    study's title.

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
        seen |= {
            system_of(result): study.number for result in audited if system_of(result) not in seen
        }
    return joined


PART = Part(
    sections=(
        PageSection(
            "compared",
            "The systems compared",
            "Every system's effects, with the same evidence at another place. An interval that "
            "leaves out 0 shows a preference, but that of a size of change has no side.",
            _compared,
            before="run",
        ),
        PageSection(
            "response",
            "The same evidence at another place",
            "Only the evidence moves: the words and the question stay. The verdicts rest on the "
            "effects in the table. The curve shows the places between, with the other sentences in "
            "their own order; nothing is concluded from it.",
            each(_response),
        ),
        PageSection(
            "length-by-place",
            "The same evidence in longer texts",
            "The evidence, with the sentences around it, stands at five places of texts padded to "
            "each length by other passages. Every length and place has the same evidence and "
            "fillers, so the effects of place, of length and of truncation are apart. No verdict "
            "rests on them.",
            each(_lengths),
        ),
        PageSection(
            "text-order",
            "A passage's text in another order",
            "No answer of these queries is known, so a change has no side. Its size, whichever "
            "way, is measured where a relevant passage is rotated at a drawn word or its halves "
            "are exchanged, beside an irrelevant candidate of the same query. A small size leaves "
            "no room for a preference; a large one may come from the place of the evidence, from "
            "text broken at the cut, or from the order of words.",
            each(_text_order),
        ),
        PageSection(
            "queries",
            "Single queries",
            "What a change of its passage does to each query. One query says little: scores change "
            "for many reasons, and the verdict rests on all of them.",
            each(largest_block),
        ),
        PageSection(
            "sensitivity",
            "Description: quality by answer position",
            "Nothing is concluded from what follows: it groups different questions, so it mixes a "
            "system's preference with the questions' difficulty. The first stage, on the same "
            "queries, shows some of that difficulty.",
            each(_sensitivity),
        ),
        PageSection(
            "rotation-gap",
            "Description: rotating the whole collection",
            "Every passage is cut at a random word and its two parts are exchanged. Every query is "
            "compared with itself, but the change mixes the answer's new place with broken "
            "sentences and truncation.",
            each(_gap),
        ),
        PageSection(
            "segments",
            "Description: parts of a passage in its vector",
            "",
            each(_segments),
        ),
    ),
    tiles=verdict_tiles,
    found=_found,
    names_system=is_of_audit,
    measures=AUDIT_MEASURES,
    figures=("compared", "position-response", "effects"),
)
