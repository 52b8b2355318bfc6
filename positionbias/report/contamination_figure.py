"""What contamination changes: of every system on its target, and by the share of the target's queries that the teacher saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from positionbias.core.formatting import decimal, interval, with_interval
from positionbias.report.captions import MOST_NAMED
from positionbias.report.cells import as_interval
from positionbias.report.contamination_select import (
    CONTAMINATION,
    DOSES,
    clean_of,
    comparisons_along,
    on_own_target,
    short_label,
    system_label,
    whole_share,
)
from positionbias.report.drawing import (
    MARKERS,
    colour_of,
    interval_line,
    legend_above,
    letters,
    line_handle,
    new_figure,
    required,
    series_handle,
    tick_places,
    under_all,
    wrap,
)
from positionbias.report.figure import INK, WIDE, styled
from positionbias.report.leakage_select import rows_of
from positionbias.results.payloads import Comparison
from positionbias.results.points import Estimate
from positionbias.results.result import Result
from positionbias.results.select import distinct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["doses_caption", "doses_figure", "dosed", "inflated", "inflation_caption", "inflation_figure"]

ACROSS, LEAST = 2.6, 1.9  # inches of a panel: in a row as long as it comes, and in a row of all targets
PARTS = {"all": "all queries of the target", "seen": "queries whose judgements were seen", "others": "the other queries"}
ROLES = ("teacher", "student")


def inflated(results: Sequence[Result]) -> list[tuple[Result, Comparison]]:
    """Every contaminated system against its clean twin on what contaminated it, in the first measure, with the largest share."""
    tests = [(r, p) for r, p in comparisons_along(results, CONTAMINATION) if on_own_target(r)]
    largest = whole_share(results)
    return [
        (r, p)
        for r, p in tests
        if r.measure == tests[0][0].measure and r.facts.share == largest.get(replace(r.facts, share=None))
    ]


def inflation_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Contaminated less clean with its interval: a panel a target, a row a teacher or student.

    Raises:
        InputError: no comparison of a contaminated system with its clean twin.
    """
    found = required(inflated(results), "a contaminated system beside its clean twin")
    targets = distinct(result.split for result, _ in found)
    rows = distinct(short_label(result.facts) for result, _ in sorted(found, key=lambda item: ROLES.index(item[0].facts.role)))
    across = min(len(targets), max(1, int((width - 1.6) / 1.5)))
    down = -(-len(targets) // across)
    room = max(12, int(letters(width) * 0.3))
    each = max(0.3, 0.17 * max(wrap(name, room).count("\n") + 1 for name in rows))
    with styled():
        figure = new_figure(width, 1.0 + down * (0.4 + each * len(rows)))
        panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        for axes, target in zip(panels, targets, strict=False):
            axes.axvline(0, color=INK.light, linewidth=1, zorder=1)
            for result, payload in found:
                if result.split == target:
                    _forest(axes, payload, rows.index(short_label(result.facts)), ROLES.index(result.facts.role))
            axes.set_yticks(range(len(rows)), [wrap(name, room) for name in rows])
            axes.set_ylim(len(rows) - 0.4, -0.6)
            axes.grid(False)
            axes.tick_params(axis="y", length=0, labelcolor=INK.light)
            axes.xaxis.set_major_locator(tick_places((width - 1.6) / across))
            axes.set_title(target)
        for place, axes in enumerate(panels[: len(targets)]):
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(targets))
        for axes in panels[len(targets) :]:
            axes.set_axis_off()
        under_all(figure, f"Change of {found[0][0].measure} by contamination with the target", width)
        handles = [line_handle(colour_of(i), "-", marker=MARKERS[i]) for i in range(len(ROLES))]
        legend_above(figure, handles, ["teacher that saw the judgements", "student that did not"], width)
    return figure


def _forest(axes: Any, payload: Comparison, at: float, role: int) -> None:
    if (bounds := payload.difference_interval) is not None:
        axes.plot([bounds.low, bounds.high], [at, at], color=colour_of(role), linewidth=1.8, solid_capstyle="butt")
    axes.plot([payload.difference], [at], color=colour_of(role), marker=MARKERS[role], markersize=5.5, linestyle="none")


def inflation_caption(results: Sequence[Result]) -> str:
    """What the figure shows, with its figures."""
    found = inflated(results)
    parts = [
        f"{r.split}, {system_label(r.facts)}: "
        + with_interval(decimal(p.difference, sign=True), interval(p.difference_interval, sign=True))
        for r, p in found
        if len(found) <= MOST_NAMED
    ]
    measure = found[0][0].measure if found else ""
    return (
        f"{measure} with a teacher that saw the target's judgements, less that with one that did not, with intervals over trainings and queries (of one training seed over queries)."
        + (f" {'; '.join(parts)}." if parts else "")
    )


def dosed(results: Sequence[Result]) -> list[Result]:
    """By system and target the inflation at each share, where there are several shares."""
    return [result for result in results if result.measure == DOSES and len(rows_of(result)["points"]) > 1]


def doses_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Contaminated less clean against the share of the target's queries that was seen: a panel a system and target, a line a part of its queries.

    Raises:
        InputError: no system with several shares of a target.
    """
    found = required(dosed(results), "inflation at several shares of a target's queries")
    systems = distinct(clean_of(r.facts) for r in sorted(found, key=lambda result: ROLES.index(result.facts.role)))
    targets = distinct(result.split for result in found)
    found = sorted(found, key=lambda result: (systems.index(clean_of(result.facts)), targets.index(result.split)))
    several = len(targets) > 1
    # a column a target where there is room, so that systems can be compared down the page
    whole = several and len(found) == len(systems) * len(targets) and len(targets) * LEAST <= width
    across = len(targets) if whole else min(len(found), max(1, int(width / ACROSS)))
    down = -(-len(found) // across)
    with styled():
        figure = new_figure(width, 0.9 + 2.4 * down)
        panels = list(figure.subplots(down, across, squeeze=False, sharex=True, sharey=True).flat)
        for axes, result in zip(panels, found, strict=False):
            axes.axhline(0, color=INK.light, linewidth=1, zorder=1)
            points = rows_of(result)["points"]
            gap = min(after["share"] - before["share"] for before, after in pairwise(points))
            for index, part in enumerate(PARTS):
                _dose_line(axes, points, part, index, 0.12 * gap * (index - 1))
            title = system_label(result.facts) + (f", {result.split}" if several else "")
            axes.set_title(wrap(title, letters(width / across)))
            shares = [point["share"] for point in points]
            axes.set_xticks(shares, [f"{share:g}" for share in shares])
        for place, axes in enumerate(panels[: len(found)]):
            axes.xaxis.set_tick_params(labelbottom=place + across >= len(found))
        for axes in panels[len(found) :]:
            axes.set_axis_off()
        for axes in panels[: len(found) : across]:
            axes.set_ylabel(f"Change of {rows_of(found[0])['measure']}")
        under_all(figure, "Share of the target's queries whose judgements the teacher saw", width)
        handles = [series_handle(index) for index in range(len(PARTS))]
        legend_above(figure, handles, list(PARTS.values()), width)
    return figure


def _dose_line(axes: Any, doses: Sequence[Any], part: str, index: int, aside: float) -> None:
    """One part of the queries; a little aside, so that no interval hides another."""
    shown = [(point["share"] + aside, point[part]) for point in doses if point[part] is not None]
    points = [Estimate(point["mean"], as_interval(point["interval"])) for _, point in shown]
    interval_line(axes, [at for at, _ in shown], points, index)


def doses_caption(results: Sequence[Result]) -> str:
    """What the figure shows, with the change on all queries at the smallest and the largest share."""
    parts, found = [], dosed(results)
    for result in found if len(found) <= MOST_NAMED else ():
        first, last = (rows_of(result)["points"][place] for place in (0, -1))
        ends = ", ".join(f"{decimal(point['all']['mean'], sign=True)} with {point['share']:g}" for point in (first, last))
        parts.append(f"{system_label(result.facts)} on {result.split}: {ends}")
    return (
        "What contamination changes by the share of the target's queries whose judgements the teacher saw, with intervals over trainings and queries (of one training seed over queries). A smaller "
        "share is the beginning of a larger one." + (f" {'; '.join(parts)}." if parts else "")
    )
