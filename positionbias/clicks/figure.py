"""Draw the share of clicks at each rank of the page of results shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from positionbias.clicks.ranks import Place, log_sentence, shown_ranks
from positionbias.core.formatting import count, decimal, percent
from positionbias.report.drawing import colour_of, new_figure, percent_marks, required
from positionbias.report.figure import WIDE, styled
from positionbias.results.clicks import ClickedRanks
from positionbias.results.result import Result
from positionbias.results.select import of_type

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ranks_caption", "ranks_figure"]

GAP = 0.8  # bars between the single ranks and the combined ones
ROOM = 0.22  # width of a label of two digits, in inches


def ranks_figure(results: Sequence[Result], *, width: float = WIDE) -> Figure:
    """Draw a bar per rank, and after a gap one for all later ranks, from the first click log among
    the results.

    Raises:
        InputError: no clicked ranks.
    """
    _, log = required(of_type(results, ClickedRanks), "clicked ranks")[0]
    places = shown_ranks(log)
    at = [place.rank + (GAP if place.later else 0) for place in places]
    with styled():
        figure = new_figure(width, 2.6)
        axes = figure.subplots()
        axes.bar(at, [place.share for place in places], width=0.8, color=colour_of(0), linewidth=0)
        # with few ranks, keep bars from filling the page's width
        low, high = 0.4, max(at[-1] + 0.6, 5.6)
        axes.set_xlim(low, high)
        marks = _marks(places, at, (width - 0.9) / (high - low))
        axes.set_xticks([at[index] for index in marks], [places[index].name for index in marks])
        axes.tick_params(axis="x", length=0)
        axes.set_ylim(0, 1.08 * max(place.share for place in places))
        percent_marks(axes.yaxis)
        axes.set_ylabel("Share of clicks")
        axes.set_xlabel("Rank on the page of results")
    return figure


def _marks(places: Sequence[Place], at: Sequence[float], inches: float) -> list[int]:
    """Return the bars to label within this width in ``inches``: all, or the first, every fifth or
    tenth, and the combined one.
    """
    step = next((step for step in (1, 5, 10) if step * inches >= ROOM), 20)
    marks = [
        index
        for index, place in enumerate(places)
        if place.later or place.rank == 1 or place.rank % step == 0
    ]
    if places[-1].later and len(marks) > 1 and (at[-1] - at[marks[-2]]) * inches < ROOM:
        del marks[-2]
    return marks


def ranks_caption(results: Sequence[Result]) -> str:
    """Return the caption: the number of clicks, the meaning of a rank, and what the log lacks."""
    _, log = of_type(results, ClickedRanks)[0]
    places = shown_ranks(log)
    return (
        f"Share of {count(log.ranked)} clicks by rank: the clicked result's place on its page of "
        "results, from 1. The log does not record which page that was, or how results were sorted "
        f"and filtered. At rank 1: {percent(places[0].share)}; mean rank "
        f"{decimal(log.mean_rank, 1)}. {log_sentence(log)}"
    )
