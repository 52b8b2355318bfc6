"""The sentence that a measuring command begins with: the comparison, its interval, and cannot tell
where that holds no difference.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from positionbias.core.interval import Interval
from positionbias.report.headlines import (
    evaluation_headlines,
    position_headlines,
    similarity_headlines,
)
from positionbias.report.text import text_of
from positionbias.results.curves import HistogramFigures, PositionFigure
from positionbias.results.payloads import Comparison, PerQuery, PositionHistogram
from positionbias.results.result import Result

from . import invented


def histogram(difference: float, half: float | None) -> Result:
    """Ten answers whose mean position is 0.4 and this much."""
    bounds = None if half is None else Interval(difference - half, difference + half)
    mean = PositionFigure(0.4 + difference, 0.4, difference, bounds, bounds)
    payload = PositionHistogram(
        [0, 0.5, 1], [6, 4], [0.5, 0.5], {"answers": 10}, HistogramFigures(mean=mean)
    )
    return Result("answer positions", "squad", "train", "", 1, mean.value, bounds, 10, payload)


@pytest.mark.parametrize(
    ("difference", "half", "said"),
    [
        (-0.1, 0.05, "answers start nearer the front than unbiased ones"),
        (0.1, 0.05, "answers start nearer the end than unbiased ones"),
        (-0.1, 0.1, "cannot tell whether answers start nearer the front"),  # its interval ends at 0
        (-0.01, 0.02, "answers start where unbiased ones do, to within 0.03 of the passage"),
        (-0.1, 0.2, "cannot tell whether answers start nearer the front"),
        (-0.1, None, "cannot tell whether answers start nearer the front"),
    ],
)
def test_a_side_is_named_where_the_interval_leaves_out_no_difference(
    difference: float, half: float | None, said: str
) -> None:
    (line,) = position_headlines([histogram(difference, half)])
    assert line.startswith(f"squad, train: {said}: mean position {0.4 + difference:.3f}")
    assert "unbiased 0.400" in line
    assert len(line) <= 200


def test_a_histogram_is_drawn_with_its_expectation() -> None:
    lines = text_of([histogram(-0.1, 0.05)]).split("\n")
    first = next(at for at, line in enumerate(lines) if line.startswith("  0–50"))
    # 60 columns of 60 % and 40 % of answers: 60 and 40 long, the mark of 50 % at the 50th
    assert (
        lines[first].split() == ["0–50", "%", "█" * 50 + "┃" + "█" * 9, "60.0\u00a0%"]
        or "60.0" in lines[first]
    )
    assert lines[first].count("█") == 59
    assert lines[first + 1].count("█") == 40
    assert lines[first].index("┃") == lines[first + 1].index("┃")


def runs(*values: float, p: float | None = 0.01, half: float = 0.05) -> list[Result]:
    """Runs a, b, c … of these nDCG@10, and each compared with the first."""
    names = "abcdef"[: len(values)]
    found = [
        Result("nDCG@10", "squad", "test", name, 1, value, None, 50, PerQuery(["q"], [value]))
        for name, value in zip(names, values, strict=True)
    ]
    for name, value in list(zip(names, values, strict=True))[1:]:
        gap = value - values[0]
        bounds = Interval(gap - half, gap + half)
        more = {
            "relative": None,
            "relative_as_printed": None,
            "relative_interval": None,
            "effect_size": None,
        }
        tests = {
            "p_wilcoxon": None,
            "p_t": None,
            "p_adjusted": {"holm": p, "bonferroni": p},
            "p": p,
        }
        payload = Comparison("a", name, values[0], value, gap, bounds, **more, **tests)
        found.append(Result("nDCG@10", "squad", "test", name, 1, gap, bounds, 50, payload))
    return found


def test_the_best_run_and_whether_its_lead_is_more_than_chance() -> None:
    assert evaluation_headlines(runs(0.3, 0.5, 0.4)) == [
        (
            "b has the highest nDCG@10 of 3 runs, 0.500: +0.200\u00a0[+0.150,\u00a0+0.250] over a, "
            "more than chance (Holm-adjusted p 0.010)."
        )
    ]
    assert (
        "over a, cannot tell whether that is more than chance (Holm-adjusted p 0.050)"
        in evaluation_headlines(runs(0.3, 0.5, p=0.05))[0]
    )
    # the first is best: its lead over the next, with the ends of the interval exchanged
    assert evaluation_headlines(runs(0.5, 0.3, 0.48, half=0.03))[0].startswith(
        "a has the highest nDCG@10 of 3 runs, 0.500: +0.020\u00a0[−0.010,\u00a0+0.050] over c"
    )
    assert "(p undefined)" in evaluation_headlines(runs(0.4, 0.5, p=None))[0]
    assert evaluation_headlines(runs(0.5)) == [
        "a: nDCG@10 0.500 over 50 queries; give a second run to compare with it."
    ]
    assert evaluation_headlines([]) == []


def test_runs_of_the_same_mean_share_the_first_place() -> None:
    assert evaluation_headlines(runs(0.5, 0.5, p=None)) == [
        "no run is highest: all 2 have the same nDCG@10, 0.500."
    ]
    assert evaluation_headlines(runs(0.5, 0.5, 0.3))[0].startswith(
        "a and b share the highest nDCG@10 of 3 runs, 0.500: +0.200\u00a0[+0.150,\u00a0+0.250] "
        "over c, more than chance"
    )
    assert evaluation_headlines(runs(0.3, 0.5, 0.5, 0.5))[0].startswith(
        "b and 2 other runs share the highest nDCG@10 of 4 runs, 0.500: "
        "+0.200\u00a0[+0.150,\u00a0+0.250] over a"
    )


def test_no_lead_is_more_than_chance_where_its_interval_holds_none() -> None:
    assert "cannot tell whether" in evaluation_headlines(runs(0.3, 0.5, p=0.01, half=0.2))[0]
    assert "cannot tell whether" in evaluation_headlines(runs(0.5, 0.3, p=0.01, half=0.2))[0]


def test_what_mats_says() -> None:
    result = invented.ats("tk", "squad", 0.1)
    (line,) = similarity_headlines([result])
    assert line.startswith("tk on squad: where positions differ, a word's vectors are ")
    assert len(line) <= 200
    (undefined,) = similarity_headlines([replace(result, value=None)])
    assert (
        undefined
        == "tk on squad: cannot tell how its term vectors depend on position: MATS is undefined."
    )
