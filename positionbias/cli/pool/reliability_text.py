"""What ``posbias pool reliability`` prints: whether kind matters, the order of systems, the change of their scores, and what was asked for beside."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.interval import Interval
from positionbias.report.collection_text import aligned
from positionbias.results.payloads import Finding
from positionbias.results.pools import (
    ChangeFigures,
    CurveFigures,
    LeftOutByKind,
    LeftOutFigures,
    OrderFigures,
    RelabelledFigures,
    Spread,
    TaskFigures,
    kind_effects_of,
    tests_in,
)
from positionbias.results.result import Result
from positionbias.results.select import distinct, of_type

__all__ = ["reliability_text"]

MOST = 10  # groups that are listed
POINTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)  # of a curve, beside its last


def reliability_text(results: Sequence[Result]) -> str:
    """One line a finding; the effects of kinds, Tables 1 and 2, the change of scores."""
    [(_, task)] = of_type(results, TaskFigures)
    sentences = "\n".join(finding.text for _, finding in of_type(results, Finding))
    tables = (_effects, _order, _change, _left_out, _left_out_by_kind, _curves, _relabelled)
    return "\n\n".join(filter(None, [_collection(task), sentences, *(table(results) for table in tables)]))


def _collection(task: TaskFigures) -> str:
    kinds = ", ".join(f"{found.systems} {kind} of {found.groups} groups" for kind, found in task.kinds.items())
    gold = f"gold: {task.sizes['gold'].judgements:,.0f} judgements, {task.sizes['gold'].relevant:,.0f} relevant"
    pools = "; ".join(
        f"{kind} pools: {size.judgements:,.0f}, {size.relevant:,.0f}" for kind, size in task.sizes.items() if kind != "gold"
    )
    relevant = f"relevant is grade {task.relevant_from} or more"
    mixed = f"; {task.mixed_groups} groups have runs of several kinds" if task.mixed_groups else ""
    return (
        f"{task.systems} systems ({kinds}{mixed}), {task.queries} queries; depth {task.depth}; {relevant}.\n"
        f"{gold}; {pools} (means of {task.pools} pools)."
    )


def _effects(results: Sequence[Result]) -> str:
    found = kind_effects_of(results)
    if not found:
        return ""
    heads = ("effect of kind by", "pool", "test", "against", "answer", "gap", "permuted kinds", "effect", "p (Holm)")
    lines: list[tuple[str, ...]] = [(*heads, "false alarms", "power")]
    for result, own in found:
        alarms = own.alarms
        lines.append(
            (
                *(own.measure, own.pool, own.test, own.contrast, own.answer),
                _number(own.gap, "+.3f"),
                _number(own.by_chance, "+.3f"),
                _signed(result),
                _number(own.p_holm, ".3f"),
                "-" if alarms is None else f"{alarms.value:.1%} [{alarms.low:.1%}, {alarms.high:.1%}]",
                _number(own.power, ".0%"),
            )
        )
    note = f'effect: the gap less its mean under permuted kinds; false alarms: "worse" or "better" where kinds are permuted; power: at a gap of {found[0][1].planted}.'
    return f"{aligned(lines, left=5)}\n{note}"


def _order(results: Sequence[Result]) -> str:
    found = of_type(results, OrderFigures)
    tests = tests_in(found)
    cells = {(own.measure, own.pool, own.test): _tau(result) for result, own in found}
    lines = [("Kendall's tau by", "pool", *tests)]
    for measure, pool in distinct((own.measure, own.pool) for _, own in found):
        lines.append((measure, pool, *(cells[measure, pool, test] for test in tests)))
    undefined = sum(own.undefined for _, own in found)
    note = f"\n{undefined} taus are undefined (equal scores, or fewer than two systems) and left out." if undefined else ""
    return aligned(lines, left=2) + note


def _tau(result: Result) -> str:
    return "undefined" if result.value is None else f"{result.value:.3f}{_bounds(result.interval, '.3f')}"


def _change(results: Sequence[Result]) -> str:
    heads = ("change of score by", "pool", "test", "systems", "gold", "pool's", "change", "of the score")
    lines = [(*heads, "judged", "residual")]
    for result, own in of_type(results, ChangeFigures):
        scores = (_number(own.gold, ".3f"), _number(own.estimated, ".3f"))
        known = (_number(own.judged, ".1%"), _number(own.residual, ".3f"))
        named = (own.measure, own.pool, own.test, f"{own.systems:.1f}")
        lines.append((*named, *scores, _signed(result), _number(own.relative, "+.1%"), *known))
    return f"{aligned(lines, left=3)}\njudged: of the first ranks, under the pool; residual: of RBP (p = 0.8), what its judgements leave open."


def _left_out(results: Sequence[Result]) -> str:
    found = sorted((own for _, own in of_type(results, LeftOutFigures)), key=lambda own: (-own.relevant, own.group))
    if not found:
        return ""
    lines = [("left out", "runs", "unique judgements", "unique relevant")]
    lines += [(own.group, f"{len(own.runs)}", f"{own.unique:,}", f"{own.relevant:,}") for own in found[:MOST]]
    more = f"\n… and {len(found) - MOST} groups with fewer." if len(found) > MOST else ""
    return aligned(lines) + more


def _left_out_by_kind(results: Sequence[Result]) -> str:
    lines = [("left out with their group, by", "kind", "mean change", "largest fall", "ranks lost", "at most")]
    for result, own in of_type(results, LeftOutByKind):
        figures = (_signed(result), f"{own.largest_fall:+.3f}", f"{own.ranks_lost:.1f}", f"{own.most_ranks_lost}")
        lines.append((own.measure, own.kind, *figures))
    return aligned(lines, left=2) if len(lines) > 1 else ""


def _curves(results: Sequence[Result]) -> str:
    found = [own for _, own in of_type(results, CurveFigures)]
    texts = []
    for axis in distinct(own.axis for own in found):
        of_axis = [own for own in found if own.axis == axis]
        known = sorted({at for own in of_axis for at in own.at})
        points = [at for at in known if at in POINTS or at == known[-1]]
        lines = [(f"change by {axis} of pools", "pool", "test", *map(str, points))]
        for own in of_axis:
            by_point = dict(zip(own.at, own.change, strict=True))
            lines.append((own.measure, own.pool, own.test, *(_number(by_point.get(at), "+.3f") for at in points)))
        texts.append(aligned(lines, left=3))
    return "\n\n".join(texts)


def _relabelled(results: Sequence[Result]) -> str:
    found = [own for _, own in of_type(results, RelabelledFigures)]
    if not found:
        return ""
    share, drawn = found[0].share, found[0].drawn
    heads = ("pool", "test", "tau", "relabelled", "change", "relabelled")
    lines: list[tuple[str, ...]] = [(f"{share:.0%} relabelled, {drawn} times", *heads)]
    for own in found:
        figures = [_number(own.tau_b.given, ".3f"), _spread(own.tau_b, ".3f")]
        figures += [_number(own.change.given, "+.3f"), _spread(own.change, "+.3f")]
        lines.append((own.measure, own.pool, own.test, *figures))
    missing = drawn - min(own.repeats for own in found)
    note = f"\n{missing} of these, or fewer, left a row without pools or kinds and are not in it." if missing else ""
    return aligned(lines, left=3) + note


def _spread(figures: Spread, form: str) -> str:
    if figures.mean is None:
        return "-"
    return f"{figures.mean:{form}} [{figures.low:{form}}, {figures.high:{form}}]"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _signed(result: Result) -> str:
    return "-" if result.value is None else f"{result.value:+.3f}{_bounds(result.interval, '+.3f')}"


def _bounds(interval: Interval | None, form: str) -> str:
    return "" if interval is None else f" [{interval.low:{form}}, {interval.high:{form}}]"
