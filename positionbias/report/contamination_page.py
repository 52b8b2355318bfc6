"""The section of a page that a contamination study fills: effectiveness, what contamination changes, doses, training sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.contamination import contamination_table, sources_table
from positionbias.report.contamination_figure import (
    dosed,
    doses_caption,
    doses_figure,
    inflated,
    inflation_caption,
    inflation_figure,
)
from positionbias.report.contamination_tables import (
    beyond_table,
    doses_table,
    inflation_table,
    inherited_table,
    sets_table,
    standard_table,
    trained_table,
)
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.results.contamination import distilled
from positionbias.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CONTAMINATION_SECTIONS", "contamination_figures"]


def _contamination(study: Study, published: Published | None) -> Block:
    block, results = Block(study.title), study.results
    if not distilled(results):
        return block
    if inflated(results):
        caption = inflation_caption(results)
        block.drawings.append(Drawing("inflation", lambda width: inflation_figure(results, width=width), caption, "x"))
    if dosed(results):
        caption = doses_caption(results)
        block.drawings.append(Drawing("contamination-doses", lambda width: doses_figure(results, width=width), caption, "y"))
    shown = [contamination_table(results, published), sources_table(results, published), inflation_table(results)]
    shown += [inherited_table(results), beyond_table(results), sets_table(results), trained_table(results)]
    folded = [standard_table(results), doses_table(results)]
    block.sheets = [
        Sheet(f"table-{table.name}-{study.number}", table, folded=place >= len(shown))
        for place, table in enumerate([*shown, *folded])
        if table.rows
    ]
    return block


def contamination_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Every figure of a contamination study that the results have anything for, by name."""
    found = {}
    if inflated(results):
        found["inflation"] = inflation_figure(results, width=width)
    if dosed(results):
        found["doses"] = doses_figure(results, width=width)
    return found


CONTAMINATION_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    (
        "contamination",
        "Teachers that saw the test, and their students",
        "Each contaminated teacher was trained on a target's own judgements beside its other training data; its students were trained on its "
        "scores alone. What a contaminated system gains on that target over its clean twin is inflation: it says nothing of other queries.",
        _contamination,
    ),
)
