"""Sections of a report: figures, tables and sentences made from each study's results."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from positionbias.core.formatting import percent, slug
from positionbias.report import captions, plots, tables
from positionbias.report.architecture import architecture_table
from positionbias.report.audit_page import COMPARED, compared_block
from positionbias.report.audit_select import is_of_audit
from positionbias.report.audit_verdict_page import verdict_cards
from positionbias.report.audit_verdict_tables import verdict_tables
from positionbias.report.blocks import Block, Drawing, Picture, Section, Sheet, draw_blocks
from positionbias.report.doses import dose_caption, dose_table, doses_of, shows_doses
from positionbias.report.embed import inline_svg
from positionbias.report.figure import NARROW, WIDE
from positionbias.report.leaked_order import order_findings
from positionbias.report.load import Study, dose_of
from positionbias.report.parts import general_comparisons, general_systems, own_sections, parts
from positionbias.report.placement import moves_table, places_table
from positionbias.report.pool_text import task_sentences
from positionbias.report.published import Published
from positionbias.report.suspicion_cards import suspicion_cards, suspicions
from positionbias.report.table import Table
from positionbias.results.collections import COLLECTION_MEASURES
from positionbias.results.payloads import Finding, PerQuery
from positionbias.results.pools import is_of_pools
from positionbias.results.result import Result
from positionbias.results.select import ALL_QUERIES, AXES, BASELINES, axis_of, comparisons, distinct, of_kind, repeat_of
from positionbias.results.suspicion import LIMITS

__all__ = ["PublishedFor", "build_sections"]

BESIDE = 5.0  # inches: a figure beside another study's
PublishedFor = Callable[[Study], Published | None] | None  # published figures of a study's collections


class _Maker:
    """Maker of one study's part of each section; anchors carry the study's number and so are unique."""

    def __init__(self, study: Study, published_for: PublishedFor) -> None:
        self.study = study
        self.published = published_for(study) if published_for else None
        self.results = [result for result in study.results if not is_of_pools(result)]  # those have sections of their own

    def block(self) -> Block:
        return Block(self.study.title)

    def sheet(self, table: Table) -> list[Sheet]:
        return [Sheet(f"table-{table.name}-{self.study.number}", table)] if table.rows else []

    def found(self) -> Block:
        block = self.block()
        block.cards = [*verdict_cards(self.results), *suspicion_cards(self.results)]
        block.findings = [r.payload for r in of_kind(self.results, "finding") if isinstance(r.payload, Finding)]
        block.findings += order_findings(self.results)
        block.sheets = [sheet for table in verdict_tables(self.results) for sheet in self.sheet(table)]
        if any(suspicions(self.results)):
            block.sentences += LIMITS
        if block.findings and (basis := _basis(self.results)):
            block.sentences.append(basis)
        return block

    def run(self) -> Block:
        block = self.block()
        pooled = task_sentences(self.study.results)
        block.sentences = [*([_counts(self.results)] if self.results or not pooled else []), *pooled]
        block.sheets = self.sheet(tables.collection_table(self.results, self.published))
        elsewhere = {*COLLECTION_MEASURES, *(measure for part in parts() for measure in part.measures)}
        others = [r for r in of_kind(self.results, "statistics") if r.measure not in elsewhere]
        for measure in distinct(result.measure for result in others):
            chosen = [result for result in others if result.measure == measure]
            name = f"statistics-{slug(measure)}"
            block.sheets += self.sheet(tables.statistics_table(chosen, name=name, title=measure.capitalize()))
        return block

    def answers(self) -> Block:
        block = self.block()
        if of_kind(self.results, "histogram"):
            caption = captions.positions_caption(self.results)
            block.drawings = [Drawing("answers", lambda w: plots.answer_positions(self.results, width=w), caption, "y")]
            block.sheets = [
                *self.sheet(tables.positions_table(self.results)),
                *self.sheet(tables.outcomes_table(self.results)),
            ]
        block.sheets += [*self.sheet(places_table(self.results)), *self.sheet(moves_table(self.results))]
        return block

    def effectiveness(self) -> Block:
        block = self.block()
        found = comparisons(self.results, "test sets")
        if any(payload.relative is not None and result.system not in BASELINES for result, payload in found):
            caption = captions.change_caption(self.results)
            block.drawings = [Drawing("change", lambda w: plots.relative_change(self.results, width=w), caption, "x")]
        for table in tables.retrieval_tables(self.results, self.published):
            block.sheets += self.sheet(table)
        for subset in distinct(payload.subset for _, payload in found):
            block.sheets += self.sheet(tables.effectiveness_table(self.results, subset=subset))
        return block

    def doses(self) -> Block:
        block = self.block()
        found = [result.measure for result, _ in comparisons(self.results, "test sets") if result.facts.variant]
        if found and doses_of(self.results):
            if shows_doses(self.results, found[0]):
                caption = dose_caption(self.results, found[0])
                block.drawings = [
                    Drawing("doses", lambda w: plots.dose_figure(self.results, measure=found[0], width=w), caption, "y")
                ]
            block.sheets = self.sheet(dose_table(self.results, found[0]))
        return block

    def architecture(self) -> Block:
        block = self.block()
        block.sheets = self.sheet(architecture_table(self.results))
        return block

    def transfer(self) -> Block:
        block = self.block()
        for table in tables.transfer_tables(self.results, self.published):
            block.sheets += self.sheet(table)
        return block

    def baselines(self) -> Block:
        block = self.block()
        systems = general_systems(self.results)
        block.sheets = [*self.sheet(tables.baseline_table(self.results)), *self.sheet(tables.systems_table(systems))]
        return block

    def trainings(self) -> Block:
        block = self.block()
        block.sheets = self.sheet(tables.significance_table(self.results))
        rest = general_comparisons([r for r in of_kind(self.results, "comparison") if not axis_of(r)])
        block.sheets += self.sheet(tables.significance_table(rest, "", name="comparisons", title="Paired comparisons"))
        return block

    def similarity(self) -> Block:
        block = self.block()
        if of_kind(self.results, "ats"):
            caption = captions.ats_caption(self.results)
            if any(len(r.payload.deltas) for r in of_kind(self.results, "ats")):  # type: ignore[union-attr]
                block.drawings = [Drawing("ats", lambda w: plots.ats_curves(self.results, width=w), caption, "xy")]
            block.sheets = self.sheet(tables.mats_table(self.results, self.published))
        return block

    def training(self) -> Block:
        block = self.block()
        if of_kind(self.results, "training"):
            caption = captions.training_caption(self.results)
            block.drawings = [Drawing("training", lambda w: plots.training_curves(self.results, width=w), caption, "xy")]
            block.sheets = self.sheet(tables.training_table(self.results))
        return block


def _basis(results: Sequence[Result]) -> str:
    """Say in one sentence how the intervals were made."""
    bounds = [result.interval for result in results if result.interval is not None and isinstance(result.payload, PerQuery)]
    bounds += [p.difference_interval for axis in (*AXES, "") for _, p in comparisons(results, axis) if p.difference_interval]
    levels, methods = distinct(b.level for b in bounds), distinct(b.method for b in bounds if b.method)
    if not levels:
        return ""
    how = f" ({'; '.join(methods)})" if methods else ""
    return f"Intervals are {' and '.join(percent(level, 0) for level in levels)} intervals{how}."


def _counts(results: Sequence[Result]) -> str:
    """Say in one sentence what was measured: collections, systems, measures, seeds."""
    ranked = [
        result for result in results if result.kind in ("per_query", "comparison", "ats", "response") or is_of_audit(result)
    ]
    parts = []
    for word, items in (
        ("collections", distinct(result.collection for result in results)),
        ("systems", distinct(result.system for result in ranked if result.facts.share is None)),  # levels stand in tables
        ("measures", distinct(result.measure for result in ranked if result.kind != "verdict")),
        ("seeds", distinct(str(seed) for result in results if (seed := repeat_of(result)[0]) is not None)),
        ("rotation draws", distinct(str(draw) for result in results if (draw := repeat_of(result)[1]) is not None)),
    ):
        named = [item for item in items if item]
        if named:
            parts.append(f"{word.removesuffix('s') if len(named) == 1 else word} {', '.join(named)}")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]}." if text else "These folders hold no results."


def _own(build: Callable[[Study, Published | None], Block]) -> Callable[[_Maker], Block]:
    return lambda maker: build(maker.study, maker.published)


_Sections = tuple[tuple[str, str, str, Callable[[_Maker], Block]], ...]
FIRST: _Sections = (
    ("found", "What was found", "", _Maker.found),
    ("run", "What was run", "", _Maker.run),
)
GENERAL: _Sections = (  # after those of the parts
    (
        "answers",
        "Where answers sit",
        "An answer of several words cannot start in the last few, so a flat histogram is not what an unbiased collection shows.",
        _Maker.answers,
    ),
    (
        "effectiveness",
        "Effectiveness on original and rotated passages",
        "Each model re-ranks the same candidates twice: with the passages as they are, and with every passage rotated. "
        "What a model loses by the rotation is what it owed to position. A rotation can also cut through an answer; "
        "the queries whose answer was left whole leave that out.",
        _Maker.effectiveness,
    ),
    (
        "doses",
        "Levels of front-loading",
        "Each model was trained on as many queries, but with their answers in one part of the passages. Where it leans on position, it "
        "does so the more, the more of the answers that it was shown stood in front; validation and test queries stay the same.",
        _Maker.doses,
    ),
    (
        "architecture",
        "Changing the model, or rotating the data",
        "The same model with other positions, each trained on the original and on the rotated passages. A model that knows no absolute "
        "place might not need rotated data, if it ranks as well.",
        _Maker.architecture,
    ),
    (
        "transfer",
        "Trained elsewhere first",
        "Each model was trained on these passages alone, and on another collection's, original or rotated, before. The test is on "
        "original passages.",
        _Maker.transfer,
    ),
    (
        "baselines",
        "Against the baselines",
        "A model that beats neither BM25 nor position alone shows nothing.",
        _Maker.baselines,
    ),
    ("trainings", "Trainings compared", "Two trainings of one model on the same queries.", _Maker.trainings),
    (
        "similarity",
        "Term similarity by distance",
        "How alike a model's vectors for one word are in different passages, by how far apart their positions are. "
        "The more they fall apart with distance, the more position they carry.",
        _Maker.similarity,
    ),
    ("training", "How the trainings went", "", _Maker.training),
)


def build_sections(studies: Sequence[Study], published_for: PublishedFor = None, *, draw: bool = True) -> list[Section]:
    """Return every section with content; each shows several studies side by side. Figures only with ``draw``.

    ``published_for`` returns, for a study, the figures that a paper prints about its collections, shown beside ours.
    """
    makers = [_Maker(study, published_for) for study in studies]
    own = ((anchor, title, introduction, _own(build)) for anchor, title, introduction, build in own_sections())
    sections = []
    for anchor, title, introduction, build in (*FIRST, *own, *GENERAL):
        blocks = [build(maker) for maker in makers]
        if draw:
            draw_blocks(blocks, WIDE if len(studies) == 1 else BESIDE)
        blocks = [block for block in blocks if block.has_more_than_tables or block.sheets]
        if blocks:
            sections.append(Section(anchor, title, introduction, blocks))
        if anchor == "found" and (compared := compared_block(studies)):
            if draw:
                draw_blocks([compared], WIDE)
            sections.append(Section(*COMPARED, [compared]))
        if draw and anchor == "effectiveness" and (section := _dose_section(studies)):
            sections.append(section)
    return sections


def _dose_section(studies: Sequence[Study]) -> Section | None:
    """Return change against front-loading, where three studies or more differ in the level of their collection."""
    by_dose: dict[float, list[Result]] = {}
    for study in studies:
        dose = dose_of(study)
        shown = [result for result in study.results if result.system not in BASELINES]
        if dose is not None and comparisons(shown, "test sets", subset=ALL_QUERIES):
            by_dose.setdefault(dose, []).extend(shown)
    if len(by_dose) < 3:
        return None
    measures = [{r.measure for r, _ in comparisons(results, "test sets")} for results in by_dose.values()]
    shared = [
        r.measure for r, _ in comparisons(next(iter(by_dose.values())), "test sets") if all(r.measure in m for m in measures)
    ]
    if not shared:
        return None
    caption = captions.dose_caption(sorted(by_dose), shared[0])
    figures = [plots.dose_response(by_dose, measure=shared[0], width=width) for width in (WIDE, NARROW)]
    wide, narrow = (inline_svg(figure, f"dose-{form}", caption) for figure, form in zip(figures, "wn", strict=True))
    block = Block("", pictures=[Picture("figure-dose", wide, narrow, caption)])
    introduction = "The same study on collections whose answers were front-loaded to different degrees."
    return Section("dose", "Change against front-loading", introduction, [block])
