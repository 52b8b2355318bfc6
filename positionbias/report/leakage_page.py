"""The sections of a page that a leakage study fills: effectiveness by condition and size, orders of models, what is remembered."""

from __future__ import annotations

from collections.abc import Callable

from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.leakage import (
    leakage_sentence,
    leakage_table,
    leakage_tests_table,
    orders_table,
    sizes_table,
    trainsets_table,
)
from positionbias.report.leakage_figure import sizes_caption, sizes_figure
from positionbias.report.load import Study
from positionbias.report.memories import memory_tables
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.leakage import leakage_models, leaked_sizes

__all__ = ["LEAKAGE_SECTIONS"]


def _sheets(study: Study, *tables: Table) -> list[Sheet]:
    return [Sheet(f"table-{table.name}-{study.number}", table) for table in tables if table.rows]


def _effectiveness(study: Study, published: Published | None) -> Block:
    block, results = Block(study.title), study.results
    if not leakage_models(results):
        return block
    if sentence := leakage_sentence(results):
        block.sentences.append(sentence)
    if leaked_sizes(results):
        caption = sizes_caption(results)
        block.drawings = [Drawing("leakage-sizes", lambda width: sizes_figure(results, width=width), caption, "y")]
    tables = (leakage_table(results, published), leakage_tests_table(results), sizes_table(results), orders_table(results))
    block.sheets = _sheets(study, *tables, trainsets_table(results))
    return block


def _memories(study: Study, published: Published | None) -> Block:
    block = Block(study.title)
    block.sheets = _sheets(study, *memory_tables(study.results, published))
    return block


LEAKAGE_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    (
        "leakage",
        "Effectiveness with and without leakage",
        "Each model was trained on sets that differ in a fixed number of leaked queries alone: none; training queries that near-duplicate "
        "the test queries (MSM leakage); the test queries themselves, with their judged passages (test leakage), which bounds what leakage can do.",
        _effectiveness,
    ),
    (
        "memories",
        "What the models remember of leaked passages",
        "Where the passages of leaked training instances stand among a test query's candidates, in models that were trained on them and in "
        "models that were not. Remembering lifts the relevant passage, lowers the other, and widens the gap between them.",
        _memories,
    ),
)
