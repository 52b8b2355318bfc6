"""Sections of a report: figures, tables and sentences made from each study's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from positionbias.report.blocks import Block, Drawing, Picture, Section
from positionbias.report.figure import WIDE, inline_svg, same_scale
from positionbias.report.load import Study
from positionbias.report.presentation import presentations, shown_in
from positionbias.report.table import Table

__all__ = ["build_sections", "drawings_of", "open_tables"]

BESIDE = 5.0  # inches: a figure beside another study's


def _found(study: Study) -> Block:
    findings = [one for shown, rows in shown_in(study) for one in shown.findings(rows)]
    return Block(study.title, study.number, findings=findings)


def _run(study: Study) -> Block:
    sentences = [sentence for shown, rows in shown_in(study) for sentence in shown.run(rows)]
    nothing = ["This folder holds no results."] if study.rows.empty else []
    return Block(study.title, study.number, sentences=[*sentences, *nothing])


def _sections(studies: Sequence[Study]) -> Iterator[Section]:
    yield Section("found", "What was found", "", list(map(_found, studies)))
    yield Section("run", "What was run", "", list(map(_run, studies)))
    for shown in presentations().values():
        own = [study for study in studies if (study.rows["study"] == shown.study).any()]
        for section in shown.sections:
            blocks = [section.block(study, shown.rows_of(study)) for study in own]
            yield Section(section.anchor, section.title, section.introduction, blocks)


def build_sections(studies: Sequence[Study], *, draw: bool = True) -> list[Section]:
    """Return every section with content; each shows several studies side by side. Figures only with
    ``draw``.
    """
    sections = []
    for section in _sections(studies):
        if draw:
            _draw(section.blocks)
        blocks = [block for block in section.blocks if block.has_more_than_tables or block.sheets]
        if blocks:
            sections.append(Section(section.anchor, section.title, section.introduction, blocks))
    return sections


def _draw(blocks: Sequence[Block]) -> None:
    """Draw the figures of every block; those of one name have one scale across studies."""
    width = WIDE if len(blocks) == 1 else BESIDE
    drawn = [(block, one, one.draw(width)) for block in blocks for one in block.drawings]
    for name in {one.name for _, one, _ in drawn} if len(blocks) > 1 else ():
        alike = [(figure, one.same) for _, one, figure in drawn if one.name == name]
        same_scale([figure for figure, _ in alike], alike[0][1])
    for block, one, figure in drawn:
        anchor = f"{one.name}-{block.number}"
        svg = inline_svg(figure, anchor, one.caption)
        block.pictures.append(Picture(one.name, f"figure-{anchor}", svg, one.caption))


def drawings_of(study: Study) -> dict[str, Drawing]:
    """Return every figure of the page about one study by its name, in the page's order."""
    blocks = (block for section in _sections([study]) for block in section.blocks)
    return {drawing.name: drawing for block in blocks for drawing in block.drawings}


def open_tables(study: Study) -> list[Table]:
    """Return the tables of the page about one study that are not folded, in the page's order."""
    sections = build_sections([study], draw=False)
    sheets = [sheet for section in sections for _, sheet in section.sheets]
    return [sheet.table for sheet in sheets if not sheet.folded]
