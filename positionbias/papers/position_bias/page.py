"""Page of the studies of position: the general sections, beside the paper's Tables 1 to 5.

The paper calls rotated passages "debiased", and prints Δ = (debiased − original) / debiased.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.papers.position_bias.architecture import architecture_table
from positionbias.papers.position_bias.changes import (
    change_caption,
    changes_of_models,
    front_loading_caption,
    front_loading_figure,
    front_loading_of,
    relative_change,
)
from positionbias.papers.position_bias.doses import (
    dose_caption,
    dose_figure,
    dose_table,
    shows_doses,
)
from positionbias.papers.position_bias.effectiveness import effectiveness_table
from positionbias.papers.position_bias.published import CELLS, PRETRAINED, published_of
from positionbias.papers.position_bias.remedy_table import (
    remedy_caption,
    remedy_figure,
    remedy_table,
    shows_remedies,
)
from positionbias.papers.position_bias.retrieval import retrieval_tables, transfer_tables
from positionbias.papers.position_bias.tiles import position_tiles
from positionbias.report.blocks import Block, Drawing, FigureKind, block_of
from positionbias.report.load import Study
from positionbias.report.parts import PageSection, Part, each
from positionbias.results.result import Result
from positionbias.results.select import ALL_QUERIES, BASELINES, comparisons, distinct

__all__ = ["CELLS", "PART", "PRETRAINED", "published_of"]

CHANGE = FigureKind(
    lambda results: any(payload.relative is not None for _, payload in changes_of_models(results)),
    relative_change,
    change_caption,
    "x",
)
LEVELS = FigureKind(shows_doses, dose_figure, dose_caption, "y")
FRONT = FigureKind(shows_remedies, remedy_figure, remedy_caption)


def _effectiveness(study: Study) -> Block:
    results = study.results
    subsets = distinct(payload.subset for _, payload in comparisons(results, "test sets"))
    by_subset = (effectiveness_table(results, subset=subset) for subset in subsets)
    return block_of(
        study, {"change": CHANGE}, [*retrieval_tables(results, study.published), *by_subset]
    )


def _front_loading(studies: Sequence[Study]) -> list[Block]:
    """Draw change against front-loading, where three studies or more differ in the level of their
    collection.
    """
    by_level: dict[float, list[Result]] = {}
    for study in studies:
        level = front_loading_of(study)
        shown = [result for result in study.results if result.system not in BASELINES]
        if level is not None and comparisons(shown, "test sets", subset=ALL_QUERIES):
            by_level.setdefault(level, []).extend(shown)
    measures = [
        distinct(r.measure for r, _ in comparisons(results, "test sets"))
        for results in by_level.values()
    ]
    shared = (
        [measure for measure in measures[0] if all(measure in of for of in measures)]
        if len(measures) > 2
        else []
    )
    if not shared:
        return []
    caption = front_loading_caption(sorted(by_level), shared[0])
    drawing = Drawing(
        "dose",
        lambda width: front_loading_figure(by_level, measure=shared[0], width=width),
        caption,
        "",
    )
    return [Block("", drawings=[drawing])]


def _doses(study: Study) -> Block:
    return block_of(study, {"doses": LEVELS}, [dose_table(study.results)])


def _architecture(study: Study) -> Block:
    return block_of(study, tables=[architecture_table(study.results)])


def _remedies(study: Study) -> Block:
    return block_of(study, {"remedies": FRONT}, [remedy_table(study.results)])


def _transfer(study: Study) -> Block:
    return block_of(study, tables=transfer_tables(study.results, study.published))


PART = Part(
    sections=(
        PageSection(
            "effectiveness",
            "Effectiveness on original and rotated passages",
            "Each model re-ranks the same candidates twice: with the passages as they are, and "
            "with every passage rotated. What a model loses by the rotation is what it owed to "
            "position. A rotation can also cut through an answer; the queries whose answer was "
            "left whole leave that out.",
            each(_effectiveness),
            before="baselines",
        ),
        PageSection(
            "dose",
            "Change against front-loading",
            "The same study on collections whose answers were front-loaded to different degrees.",
            _front_loading,
            before="baselines",
        ),
        PageSection(
            "doses",
            "Levels of front-loading",
            "Each model was trained on as many queries, but with their answers in one part of the "
            "passages. Where it leans on position, it does so the more, the more of the answers "
            "that it was shown stood in front; validation and test queries stay the same.",
            each(_doses),
            before="baselines",
        ),
        PageSection(
            "architecture",
            "Changing the model, or rotating the data",
            "The same model with other positions, each trained on the original and on the rotated "
            "passages. A model that knows no absolute place might not need rotated data, if it "
            "ranks as well.",
            each(_architecture),
            before="baselines",
        ),
        PageSection(
            "remedies",
            "Remedies: quality and bias",
            "The same model with each remedy, in data, loss or model, or at inference. A remedy "
            "makes its own manipulation harmless by construction, so each is measured by two: "
            "rotated passages, and the answering sentence moved from the front to the end.",
            each(_remedies),
            before="baselines",
        ),
        PageSection(
            "transfer",
            "Trained elsewhere first",
            "Each model was trained on these passages alone, and on another collection's, original "
            "or rotated, before. The test is on original passages.",
            each(_transfer),
            before="baselines",
        ),
    ),
    tiles=position_tiles,
    published=published_of,
    figures=("change", "dose"),
    after_study=("retrieval", "transfer", "doses", "architecture", "remedies"),
    after_report=("effectiveness", "transfer"),
)
