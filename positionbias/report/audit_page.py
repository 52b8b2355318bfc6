"""An audit on a page and in figures: which sections it has, and every figure by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from positionbias.core.payloads import Finding
from positionbias.core.result import Result
from positionbias.report import audit_captions as captions
from positionbias.report.audit_curves import compare_figure, effects_of, response_figure
from positionbias.report.audit_data import bucket_tables, gain_table, movement_table, response_places_table, segment_table
from positionbias.report.audit_plots import gain_figure, length_figure, movement_figure, quality_figure, segment_figure
from positionbias.report.audit_select import (
    AUDIT_MEASURES,
    GAIN,
    MOVEMENT,
    PSI,
    RESPONSE,
    SEGMENTS,
    buckets,
    described_group,
    is_first_stage,
    main_quality,
    models_of,
    of_measure,
    system_of,
)
from positionbias.report.audit_tables import compared_table, gap_table, psi_tables, response_table
from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.curves import ats_curves
from positionbias.report.examples import example_groups
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.select import distinct, of_kind
from positionbias.report.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["AUDIT_SECTIONS", "COMPARED", "audit_figures", "audit_tables", "compared_block", "verdicts"]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of an audit's figures: when there is one, how it is drawn and captioned, and which axes studies share."""

    there: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], float], Figure]
    caption: Callable[[Sequence[Result]], str]
    same: str


def _has_scale(results: Sequence[Result], scale: str) -> bool:
    return bool(buckets(results, PSI, scale=scale, quality=main_quality(results), group=described_group(results)))


def _has_lengths(results: Sequence[Result]) -> bool:
    found = [p for _, p in buckets(results, PSI, scale="relative", quality=main_quality(results)) if p.group]
    return any(mean is not None for payload in found for mean in payload.means)


FIGURES: dict[str, _Kind] = {
    "compared": _Kind(
        lambda results: len(models_of(results)) > 1 and bool(effects_of(results)),
        lambda results, width: compare_figure(results, width=width),
        captions.compared_caption,
        "x",
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
        lambda results: bool(buckets(results, GAIN)),
        lambda results, width: gain_figure(results, width=width),
        captions.gain_caption,
        "y",
    ),
    "rotation-gap-by-movement": _Kind(
        lambda results: bool(buckets(results, MOVEMENT)),
        lambda results, width: movement_figure(results, width=width),
        captions.movement_caption,
        "y",
    ),
    "position-response": _Kind(
        lambda results: bool(of_measure(results, RESPONSE)),
        lambda results, width: response_figure(results, width=width),
        captions.response_caption,
        "y",
    ),
    "segment-similarity": _Kind(
        lambda results: bool(buckets(results, SEGMENTS)),
        lambda results, width: segment_figure(results, width=width),
        captions.segment_caption,
        "y",
    ),
}


def audit_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Every figure that an audit's results give, by name; ``width`` in inches.

    Names: compared (of several systems), quality-by-position, quality-by-characters, quality-within-lengths, gain-by-position,
    rotation-gap-by-movement, position-response, segment-similarity, term-similarity. What was not measured has no figure.
    """
    figures = {name: kind.draw(results, width) for name, kind in FIGURES.items() if kind.there(results)}
    if any(len(result.payload.deltas) for result in of_kind(results, "ats")):  # type: ignore[union-attr]
        figures["term-similarity"] = ats_curves(results, width=width)
    return figures


def audit_tables(results: Sequence[Result]) -> list[Table]:
    """What an audit found, in tables: of several systems the comparison, sensitivity, rotation gap, response, thirds; none is empty.

    The page has further ones: other qualities, lengths, and the figures' data.
    """
    several = [compared_table(results)] if FIGURES["compared"].there(results) else []
    tables = [*several, *psi_tables(results, main_quality(results)), gap_table(results), response_table(results)]
    return [table for table in [*tables, segment_table(results)] if table.rows]


def verdicts(results: Sequence[Result]) -> list[Finding]:
    """The findings among the results; an audit's verdict begins with its system's name."""
    named = []
    for result in of_kind(results, "finding"):
        finding = result.payload
        assert isinstance(finding, Finding)
        if result.measure == "verdict" and not finding.text.startswith(result.system):
            finding = replace(finding, text=f"{result.system}: {finding.text}")
        named.append(finding)
    return named


def _block(study: Study, figures: Sequence[str], tables: Sequence[Table], more: Sequence[Table]) -> Block:
    """A study's part of a section: these figures if there are such, the tables, and further ones (the figures' data) folded away."""
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
    every = distinct(payload.quality for _, payload in buckets(results, PSI))
    overall, within = psi_tables(results, main), psi_tables(results, main, grouped=True)
    others = [
        table
        for quality in every
        if quality != main
        for way in (False, True)
        for table in psi_tables(results, quality, grouped=way)
    ]
    return _block(study, names, overall, [*within, *bucket_tables(results), gain_table(results), *others])


def _gap(study: Study) -> Block:
    return _block(study, ["rotation-gap-by-movement"], [gap_table(study.results)], [movement_table(study.results)])


def _response(study: Study) -> Block:
    return _block(study, ["position-response"], [response_table(study.results)], [response_places_table(study.results)])


def _segments(study: Study) -> Block:
    return _block(study, ["segment-similarity"], [segment_table(study.results)], [])


def _examples(study: Study) -> Block:
    return Block(study.title, examples=example_groups(study.results))


# anchor, title, introduction, and what makes a study's part of the section
AUDIT_SECTIONS: tuple[tuple[str, str, str, Callable[[Study], Block]], ...] = (
    (
        "sensitivity",
        "Quality by where the answer is",
        "Queries are parted by where their answer starts in its passage. A model that looks everywhere alike answers all of them "
        "equally well, but for the difficulty of the queries, which the first stage shows.",
        _sensitivity,
    ),
    (
        "rotation-gap",
        "What rotation changes",
        "Each passage is cut at random words and its parts are exchanged: the words and their relevance stay, the answer ends up "
        "elsewhere. Every query is compared with itself.",
        _gap,
    ),
    (
        "response",
        "The same evidence at another place",
        "Only the answering sentence moves. What the score does then is the model's own preference, whatever the queries are.",
        _response,
    ),
    (
        "segments",
        "Which part of a passage its vector stands for",
        "",
        _segments,
    ),
    (
        "examples",
        "Queries to look at",
        "The queries that rotation harmed most, with their relevant passage as it is and rotated; answers are marked. This section "
        "holds texts of the collection: its licence is that of the texts.",
        _examples,
    ),
)
COMPARED = (
    "compared",
    "The systems compared",
    "Every system on the same queries. Intervals that keep off 0 are preferences that chance does not explain.",
)


def compared_block(studies: Sequence[Study]) -> Block | None:
    """The systems of all studies in one figure and table; None where fewer than two were audited."""
    results = _joined(studies)
    if not FIGURES["compared"].there(results):
        return None
    kind = FIGURES["compared"]
    drawing = Drawing("compared", lambda width: kind.draw(results, width), kind.caption(results), kind.same)
    return Block("", drawings=[drawing], sheets=[Sheet("table-audit-compared", compared_table(results))])


def _joined(studies: Sequence[Study]) -> list[Result]:
    """The audits' results of all studies; a model that several studies audited on one test set gets their titles to tell it apart.

    The first stage is the same ranking in each of them, and is kept once.
    """
    joined: list[Result] = []
    seen: dict[tuple[str, str, str], int] = {}
    for study in studies:
        audited = [result for result in study.results if result.measure in AUDIT_MEASURES]
        known = {system for system, number in seen.items() if number != study.number}
        for result in audited:
            if system_of(result) not in known:
                joined.append(result)
            elif not is_first_stage(result):
                joined.append(replace(result, system=f"{result.system} ({study.title})"))
        seen |= {system_of(result): study.number for result in audited if system_of(result) not in seen}
    return joined
