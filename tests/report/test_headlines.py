"""The sentence that ``evaluate`` begins with: the best run, its lead, and cannot tell where the
interval of that holds none.
"""

from __future__ import annotations

from positionbias.core.interval import Interval
from positionbias.report.headlines import evaluation_headlines
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Result


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
