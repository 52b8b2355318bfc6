"""Sections of a report: figures, tables and sentences made from each study's results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from positionbias.core.formatting import slug
from positionbias.report import tables
from positionbias.report.blocks import Block, Drawing, Section, draw_blocks
from positionbias.report.figure import WIDE
from positionbias.report.first_screen import answers_block
from positionbias.report.load import Study
from positionbias.report.parts import (
    PageSection,
    each,
    parts,
)
from positionbias.report.placement import moves_table, places_table
from positionbias.report.presentation import shown_in
from positionbias.report.table import Table
from positionbias.results.collections import COLLECTION_MEASURES
from positionbias.results.result import Result
from positionbias.results.select import (
    distinct,
    of_kind,
    repeat_of,
)

__all__ = ["build_sections", "drawings_of", "open_tables"]

STATISTICS = "statistics-"  # begins the names of tables that only list what a result counts
BESIDE = 5.0  # inches: a figure beside another study's


def _found(study: Study) -> Block:
    block = Block(study.title, study.number)
    block.findings = [one for shown, rows in shown_in(study) for one in shown.findings(rows)]
    return block


def _found_all(studies: Sequence[Study]) -> list[Block]:
    return [*each(_found)(studies), answers_block(studies)]


def _run(study: Study) -> Block:
    block, results = Block(study.title, study.number), study.results
    own = [sentence for shown, rows in shown_in(study) for sentence in shown.run(rows)]
    nothing = study.rows.empty and not own
    block.sentences = [*([_counts(results)] if results or nothing else []), *own]
    block.add(tables.collection_table(results))
    others = [r for r in of_kind(results, "statistics") if r.measure not in COLLECTION_MEASURES]
    for measure in distinct(result.measure for result in others):
        chosen = [result for result in others if result.measure == measure]
        block.add(
            tables.statistics_table(
                chosen, name=f"{STATISTICS}{slug(measure)}", title=measure.capitalize()
            ),
            folded=True,
        )
    return block


def _places(study: Study) -> Block:
    block = Block(study.title, study.number)
    block.add(places_table(study.results), moves_table(study.results))
    return block


def _counts(results: Sequence[Result]) -> str:
    """Say in one sentence what was measured: collections, systems, measures, seeds."""
    ranked = [result for result in results if result.kind == "per_query"]
    sentences = []
    for word, items in (
        ("collections", distinct(result.collection for result in results)),
        ("systems", distinct(result.system for result in ranked)),
        ("measures", distinct(result.measure for result in ranked)),
        (
            "seeds",
            distinct(str(seed) for result in results if (seed := repeat_of(result)[0]) is not None),
        ),
        (
            "rotation draws",
            distinct(str(draw) for result in results if (draw := repeat_of(result)[1]) is not None),
        ),
    ):
        named = [item for item in items if item]
        if named:
            sentences.append(
                f"{word.removesuffix('s') if len(named) == 1 else word} {', '.join(named)}"
            )
    text = "; ".join(sentences)
    return f"{text[:1].upper()}{text[1:]}." if text else "These folders hold no results."


GENERAL = (
    PageSection("found", "What was found", "", _found_all),
    PageSection("run", "What was run", "", each(_run)),
    PageSection("places", "Where evidence was placed", "", each(_places)),
)


def _sections() -> Iterator[PageSection]:
    """Yield the general sections, each behind those of the parts that precede it."""
    for general in GENERAL:
        yield from (
            section
            for part in parts()
            for section in part.sections
            if section.before == general.anchor
        )
        yield general


def build_sections(studies: Sequence[Study], *, draw: bool = True) -> list[Section]:
    """Return every section with content; each shows several studies side by side. Figures only with
    ``draw``.
    """
    sections = []
    for section in _sections():
        blocks = section.blocks(studies)
        if draw:
            draw_blocks(blocks, WIDE if len(blocks) == 1 else BESIDE)
        blocks = [block for block in blocks if block.has_more_than_tables or block.sheets]
        if blocks:
            sections.append(Section(section.anchor, section.title, section.introduction, blocks))
    return sections


def drawings_of(study: Study) -> dict[str, Drawing]:
    """Return every figure of the page about one study by its name, in the page's order."""
    found: dict[str, Drawing] = {}
    for block in (block for section in _sections() for block in section.blocks([study])):
        found |= {drawing.name: drawing for drawing in block.drawings}
    return found


def open_tables(study: Study) -> list[Table]:
    """Return the tables of the page about one study that are neither folded nor lists of counts, in
    the page's order.
    """
    sheets = [
        sheet for section in build_sections([study], draw=False) for _, sheet in section.sheets
    ]
    return [
        sheet.table
        for sheet in sheets
        if not sheet.folded and not sheet.table.name.startswith(STATISTICS)
    ]
