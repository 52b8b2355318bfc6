"""What pools fill of a page, and their figures by name: what kinds find, what pools of one do to the others, one new run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from positionbias.core.formatting import slug
from positionbias.report import pool_captions as captions
from positionbias.report.blocks import Block, Drawing, Sheet
from positionbias.report.figure import WIDE
from positionbias.report.load import Study
from positionbias.report.pool_curves import curve_figure, curves_of, verdict_figure
from positionbias.report.pool_data import comparisons_table, coverage_data, curve_data, scatter_data, verdict_table
from positionbias.report.pool_figures import bias_figure, coverage_figure, scatter_figure
from positionbias.report.pool_left_out import left_out_by_kind_table, left_out_runs_table, left_out_table
from positionbias.report.pool_tables import (
    agreement_table,
    bias_table,
    effects_table,
    order_table,
    relabelled_table,
    task_table,
)
from positionbias.report.published import Published
from positionbias.report.table import Table
from positionbias.results.pool_verdict import ScoreFigures
from positionbias.results.pools import ChangeFigures, CoverageFigures, OnePoolFigures, OrderFigures, PoolFigures, by_task
from positionbias.results.result import Result
from positionbias.results.select import of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["POOL_SECTIONS", "pool_figures", "pool_sentences"]


Tables = Callable[[list[Result]], Sequence[Table]]  # of one task's results


@dataclass(frozen=True, slots=True)
class _Kind:
    """One of the figures: when there is one, how it is drawn and captioned, which axes studies share; of one task, or of all."""

    there: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], float], Figure]
    caption: Callable[[Sequence[Result]], str]
    same: str = ""
    of_all: bool = False


def _has(kind: type[PoolFigures]) -> Callable[[Sequence[Result]], bool]:
    return lambda results: bool(of_type(results, kind))


def _curve(axis: str) -> _Kind:
    return _Kind(
        lambda results: bool(curves_of(results, axis)),
        lambda results, width: curve_figure(results, axis, width=width),
        lambda results: captions.curve_caption(results, axis),
        "y",
    )


FIGURES: dict[str, _Kind] = {
    "coverage": _Kind(
        _has(CoverageFigures),
        lambda results, width: coverage_figure(results, width=width),
        captions.coverage_caption,
        of_all=True,
    ),
    "scatter": _Kind(
        _has(OnePoolFigures), lambda results, width: scatter_figure(results, width=width), captions.scatter_caption
    ),
    "bias": _Kind(_has(ChangeFigures), lambda results, width: bias_figure(results, width=width), captions.bias_caption, "x"),
    "depth": _curve("depth"),
    "groups": _curve("groups"),
    "verdict": _Kind(_has(ScoreFigures), lambda results, width: verdict_figure(results, width=width), captions.verdict_caption),
}


def pool_figures(results: Sequence[Result], *, width: float = WIDE) -> dict[str, Figure]:
    """Every figure about pools that the results give, by name; ``width`` in inches.

    Names: coverage, scatter, bias, depth, groups, verdict; with several tasks all but the first end in ``-TASK``.
    """
    return {name: kind.draw(chosen, width) for name, kind, chosen in _figures(results, tuple(FIGURES))}


def _figures(results: Sequence[Result], names: Sequence[str]) -> list[tuple[str, _Kind, list[Result]]]:
    tasks = by_task(results)
    found = []
    for name in names:
        kind = FIGURES[name]
        parts = (
            {name: [r for own in tasks.values() for r in own]}
            if kind.of_all
            else {_named(name, t, tasks): own for t, own in tasks.items()}
        )
        found += [(full, kind, own) for full, own in parts.items() if kind.there(own)]
    return found


def _named(name: str, task: str, tasks: Collection[str]) -> str:
    return f"{name}-{slug(task)}" if len(tasks) > 1 else name


def pool_sentences(study: Study) -> list[str]:
    """What each task consists of, where that was told."""
    return [text for task, results in by_task(study.results).items() if (text := captions.task_sentence(results, task))]


def _block(study: Study, figures: Sequence[str], tables: Tables, folded: Tables) -> Block:
    """A study's part of a section: its figures, then every task's tables, then those that are folded away (the figures' data)."""
    block = Block(study.title)
    for name, kind, chosen in _figures(study.results, figures):
        block.drawings.append(Drawing(f"pool-{name}", partial(kind.draw, chosen), kind.caption(chosen), kind.same))
    tasks = by_task(study.results)
    for away, make in ((False, tables), (True, folded)):
        for task, results in tasks.items():
            for table in make(results):
                if len(tasks) > 1:
                    table = replace(table, name=_named(table.name, task, tasks), title=f"{table.title}: {task}")
                block.sheets += [Sheet(f"table-{table.name}-{study.number}", table, away)] if table.rows else []
    return block


def _nothing(results: list[Result]) -> Sequence[Table]:
    return ()


def _coverage(study: Study, published: Published | None) -> Block:
    return _block(study, ["coverage"], _nothing, lambda results: [coverage_data(results)])


def _order(study: Study, published: Published | None) -> Block:
    return _block(
        study,
        ["scatter"],
        lambda results: [order_table(results, published), *([task_table(results)] if of_type(results, OrderFigures) else [])],
        lambda results: [agreement_table(results), scatter_data(results)],
    )


def _bias(study: Study, published: Published | None) -> Block:
    return _block(study, ["bias"], lambda results: [effects_table(results), bias_table(results)], _nothing)


def _curves(study: Study, published: Published | None) -> Block:
    return _block(
        study, ["depth", "groups"], _nothing, lambda results: [curve_data(results, axis) for axis in ("depth", "groups")]
    )


def _left_out(study: Study, published: Published | None) -> Block:
    return _block(
        study,
        [],
        lambda results: [left_out_by_kind_table(results), left_out_table(results)],
        lambda results: [left_out_runs_table(results)],
    )


def _labels(study: Study, published: Published | None) -> Block:
    return _block(study, [], lambda results: [relabelled_table(results)], _nothing)


def _verdict(study: Study, published: Published | None) -> Block:
    return _block(study, ["verdict"], lambda results: [verdict_table(results)], lambda results: [comparisons_table(results)])


POOL_SECTIONS: tuple[tuple[str, str, str, Callable[[Study, Published | None], Block]], ...] = (
    (
        "pool-coverage",
        "What each kind of system finds",
        "If the pool of a test collection were made of one kind of system alone, these relevant documents would be in it.",
        _coverage,
    ),
    (
        "pool-order",
        "Do pools of one kind put systems in the right order?",
        "Half of the groups of one kind feed a pool; its judgements rank the systems that did not feed it, and their order is held against that by "
        "the gold judgements. A τ of 1 is the same order, of 0 an order by chance.",
        _order,
    ),
    (
        "pool-bias",
        "Whom pools of one kind underestimate",
        "A system that did not feed a pool has documents in it that nobody judged, and they count as not relevant: every unseen system loses. The pool is "
        "unfair to a kind where it loses more than equally good unseen systems of the pool's own kind do, and more than it would if kinds were permuted among the groups.",
        _bias,
    ),
    (
        "pool-curves",
        "Deeper pools, more groups",
        "What a collection's makers can do about it: judge deeper, or let more groups take part.",
        _curves,
    ),
    (
        "pool-left-out",
        "Each group left out of the pool",
        "The judgements that only one group brought in are taken out, and its runs are scored again: what would have become of them had they come too late.",
        _left_out,
    ),
    ("pool-labels", "What wrong labels do", "Which kind a system is of is often read from a short description.", _labels),
    (
        "pool-verdict",
        "Can the collection judge this run?",
        "The run did not help to make the pool. What it would score, had it, is predicted from the pooled runs, each group of which is left out in turn; beside "
        "that stand bounds that hold whatever the unjudged documents are.",
        _verdict,
    ),
)
