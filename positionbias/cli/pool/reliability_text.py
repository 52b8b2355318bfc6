"""What ``posbias pool reliability`` prints: whether kind matters, the order of systems, the change of their scores, and what was asked for beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from positionbias.core.interval import Interval
    from positionbias.results.result import Result

__all__ = ["reliability_text"]

MOST = 10  # groups that are listed
POINTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)  # of a curve, beside its last


def reliability_text(results: Sequence[Result]) -> str:
    """One line a finding; the effects of kinds, Tables 1 and 2, the change of scores."""
    from positionbias.pooling.kind_effects import Contrast
    from positionbias.results.payloads import Finding, Statistics

    by_what: dict[str, list[tuple[Result, Mapping[str, Any]]]] = {}
    for result in results:
        if isinstance(result.payload, Statistics):
            by_what.setdefault(result.payload.rows["what"], []).append((result, result.payload.rows))
    sentences = [result.payload.text for result in results if isinstance(result.payload, Finding)]
    effects = [found for contrast in Contrast for found in by_what.get(contrast, ())]
    parts = [_collection(by_what["collection"][0][1]), "\n".join(sentences), _effects(effects) if effects else ""]
    parts += [_order(by_what["order"]), _change(by_what["change"])]
    parts += [text(by_what[what]) for what, text in _MORE.items() if what in by_what]
    return "\n\n".join(filter(None, parts))


def _collection(rows: Mapping[str, Any]) -> str:
    kinds = ", ".join(f"{found['systems']} {kind} of {found['groups']} groups" for kind, found in rows["kinds"].items())
    sizes = rows["pool sizes"]
    gold = f"gold: {sizes['gold']['judgements']:,.0f} judgements, {sizes['gold']['relevant']:,.0f} relevant"
    pools = "; ".join(
        f"{kind} pools: {size['judgements']:,.0f}, {size['relevant']:,.0f}" for kind, size in sizes.items() if kind != "gold"
    )
    relevant = f"relevant is grade {rows['relevant from']} or more"
    mixed = f"; {rows['mixed groups']} groups have runs of several kinds" if rows["mixed groups"] else ""
    return (
        f"{rows['systems']} systems ({kinds}{mixed}), {rows['queries']} queries; depth {rows['depth']}; {relevant}.\n"
        f"{gold}; {pools} (means of {rows['pools']} pools)."
    )


def _order(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    tests = list(dict.fromkeys(rows["test"] for _, rows in found))
    cells = {(rows["measure"], rows["pool"], rows["test"]): _tau(result, rows) for result, rows in found}
    lines = [("Kendall's tau by", "pool", *tests)]
    for measure, pool in dict.fromkeys((rows["measure"], rows["pool"]) for _, rows in found):
        lines.append((measure, pool, *(cells[measure, pool, test] for test in tests)))
    undefined = sum(rows["undefined"] for _, rows in found)
    note = f"\n{undefined} taus are undefined (equal scores, or fewer than two systems) and left out." if undefined else ""
    return aligned(lines, left=2) + note


def _tau(result: Result, rows: Mapping[str, Any]) -> str:
    return "undefined" if result.value is None else f"{result.value:.3f}{_bounds(result.interval, '.3f')}"


def _effects(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    heads = ("effect of kind by", "pool", "test", "against", "answer", "gap", "permuted kinds", "effect", "p (Holm)")
    lines = [(*heads, "false alarms", "power")]
    for result, rows in found:
        alarms = rows["false alarms"]
        lines.append(
            (
                *(rows[name] for name in ("measure", "pool", "test", "what", "answer")),
                *(_number(rows[name], "+.3f") for name in ("gap", "by chance")),
                _signed(result),
                _number(rows["p holm"], ".3f"),
                "-" if alarms is None else f"{alarms['value']:.1%} [{alarms['low']:.1%}, {alarms['high']:.1%}]",
                _number(rows["power"], ".0%"),
            )
        )
    first = found[0][1]
    note = f'effect: the gap less its mean under permuted kinds; false alarms: "worse" or "better" where kinds are permuted; power: at a gap of {first["planted"]}.'
    return f"{aligned(lines, left=5)}\n{note}"


def _change(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    heads = ("change of score by", "pool", "test", "systems", "gold", "pool's", "change", "of the score")
    lines = [(*heads, "judged", "residual")]
    for result, rows in found:
        scores = (_number(rows[name], ".3f") for name in ("gold", "estimated"))
        known = (_number(rows["judged"], ".1%"), _number(rows["residual"], ".3f"))
        named = (rows["measure"], rows["pool"], rows["test"], f"{rows['systems']:.1f}")
        lines.append((*named, *scores, _signed(result), _number(rows["relative"], "+.1%"), *known))
    return f"{aligned(lines, left=3)}\njudged: of the first ranks, under the pool; residual: of RBP (p = 0.8), what its judgements leave open."


def _left_out(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    ordered = sorted((rows for _, rows in found), key=lambda rows: (-rows["unique relevant"], rows["group"]))
    lines = [("left out", "runs", "unique judgements", "unique relevant")]
    lines += [
        (rows["group"], f"{len(rows['runs'])}", f"{rows['unique judgements']:,}", f"{rows['unique relevant']:,}")
        for rows in ordered[:MOST]
    ]
    more = f"\n… and {len(ordered) - MOST} groups with fewer." if len(ordered) > MOST else ""
    return aligned(lines) + more


def _left_out_by_kind(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    lines = [("left out with their group, by", "kind", "mean change", "largest fall", "ranks lost", "at most")]
    for result, rows in found:
        figures = (_signed(result), f"{rows['largest fall']:+.3f}", f"{rows['ranks lost']:.1f}", f"{rows['most ranks lost']}")
        lines.append((rows["measure"], rows["kind"], *figures))
    return aligned(lines, left=2)


def _curves(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    texts = []
    for axis in dict.fromkeys(rows["axis"] for _, rows in found):
        own = [rows for _, rows in found if rows["axis"] == axis]
        known = sorted({at for rows in own for at in rows.get("at", ())})
        points = [at for at in known if at in POINTS or at == known[-1]]
        lines = [(f"change by {axis} of pools", "pool", "test", *map(str, points))]
        for rows in own:
            by_point = dict(zip(rows.get("at", ()), rows.get("change", ()), strict=True))
            lines.append((rows["measure"], rows["pool"], rows["test"], *(_number(by_point.get(at), "+.3f") for at in points)))
        texts.append(aligned(lines, left=3))
    return "\n\n".join(texts)


def _relabelled(found: Sequence[tuple[Result, Mapping[str, Any]]]) -> str:
    from positionbias.cli.show import aligned

    first = found[0][1]
    lines = [
        (
            f"{first['share']:.0%} relabelled, {first['drawn']} times",
            "pool",
            "test",
            "tau",
            "relabelled",
            "change",
            "relabelled",
        )
    ]
    for _, rows in found:
        figures = [_number(rows["tau_b"]["given"], ".3f"), _spread(rows["tau_b"], ".3f")]
        figures += [_number(rows["change"]["given"], "+.3f"), _spread(rows["change"], "+.3f")]
        lines.append((rows["measure"], rows["pool"], rows["test"], *figures))
    missing = first["drawn"] - min(rows["repeats"] for _, rows in found)
    note = f"\n{missing} of these, or fewer, left a row without pools or kinds and are not in it." if missing else ""
    return aligned(lines, left=3) + note


_MORE = {"left out": _left_out, "left out by kind": _left_out_by_kind, "curve": _curves, "relabelled": _relabelled}


def _spread(figures: Mapping[str, float | None], form: str) -> str:
    if figures["mean"] is None:
        return "-"
    return f"{figures['mean']:{form}} [{figures['low']:{form}}, {figures['high']:{form}}]"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else f"{value:{form}}"


def _signed(result: Result) -> str:
    return "-" if result.value is None else f"{result.value:+.3f}{_bounds(result.interval, '+.3f')}"


def _bounds(interval: Interval | None, form: str) -> str:
    return "" if interval is None else f" [{interval.low:{form}}, {interval.high:{form}}]"
