"""What ``evaluate`` shows of its rows: the best run, whether its lead is more than chance, the
tables of runs and of differences from the first, leaked and clean queries.
"""

from __future__ import annotations

import pytest

from positionbias.core.records import Interval
from positionbias.core.rows import Collected
from positionbias.evaluation.leaked import leaked_results
from positionbias.evaluation.measured import evaluation_rows
from positionbias.evaluation.records import Comparison, LeakedOrder, PerQuery, Result
from positionbias.report.evaluation import SHOWN
from positionbias.report.table import Table

from . import invented

ROWS = invented.measured()


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def texts(table: Table) -> list[list[str]]:
    return [[plain(cell.text) for cell in row] for row in table.rows]


def shown(results: list[Result], name: str) -> Table:
    """One of the tables that a terminal shows of these results."""
    made = measured(results)
    (table,) = (one.table(SHOWN.own(made.rows)) for one in SHOWN.text if one.name == name)
    return table


def measured(results: list[Result]) -> Collected:
    made = Collected({"study": "evaluate", "collection": "squad"})
    evaluation_rows(made, results, {})
    return made


def headline(results: list[Result]) -> list[str]:
    return list(SHOWN.headline(SHOWN.own(measured(results).rows)))


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
    assert headline(runs(0.3, 0.5, 0.4)) == [
        (
            "b has the highest nDCG@10 of 3 runs, 0.500; a → b: +0.200\u00a0[+0.150,\u00a0+0.250], "
            "more than chance (Holm-adjusted p 0.010)."
        )
    ]
    assert (
        "], cannot tell whether that is more than chance (Holm-adjusted p 0.050)"
        in headline(runs(0.3, 0.5, p=0.05))[0]
    )
    # the first is best: the next beside it
    assert headline(runs(0.5, 0.3, 0.48, half=0.03))[0].startswith(
        "a has the highest nDCG@10 of 3 runs, 0.500; a → c: −0.020\u00a0[−0.050,\u00a0+0.010]"
    )
    assert "(p undefined)" in headline(runs(0.4, 0.5, p=None))[0]
    assert headline(runs(0.5)) == [
        "a: nDCG@10 0.500 over 50 queries; give a second run to compare with it."
    ]
    assert headline([]) == []


def test_no_lead_is_more_than_chance_where_its_interval_holds_none() -> None:
    assert "cannot tell whether" in headline(runs(0.3, 0.5, p=0.01, half=0.2))[0]
    assert "cannot tell whether" in headline(runs(0.5, 0.3, p=0.01, half=0.2))[0]


def test_every_run_and_its_difference_from_the_first() -> None:
    systems, compared = (one.table(SHOWN.own(ROWS)) for one in SHOWN.text[:2])
    assert [column.name for column in systems.columns] == ["Run", "nDCG@10", "RR@10", "R@10"]
    assert [row[0] for row in texts(systems)] == list(invented.MEANS)
    assert texts(systems)[0][1] == "0.3950 [0.3840, 0.4060]"
    assert [column.full_name for column in compared.columns] == [
        "Runs", "Measure", "Difference", "Change", "d_z", "p", "Holm", "Bonf.", "p Wilcoxon", "p t",
    ]  # fmt: skip
    # 0.415 − 0.395 = 0.020, ± 0.006; 0.020 / 0.395 = 5.1 %; d = 0.020 / 0.31 = 0.06
    assert texts(compared)[0] == [
        "tk-original → tk-rotated",
        "nDCG@10",
        "+0.0200 [+0.0140, +0.0260]",
        "+5.1 % [+3.7, +6.5]",
        "+0.06",
        "0.001",
        "0.001",
        "0.001",
        "<0.001",
        "<0.001",
    ]
    assert len(compared.rows) == 2 * 3


@pytest.mark.parametrize(
    "measure",
    [
        "RR@10",
    ],
)
def test_leaked_and_clean_queries(measure: str) -> None:
    """The run "b, c" gains 0.5 on the leaked half of eight queries and nothing on the clean one."""
    ids = [f"q{number}" for number in range(8)]
    values = {"a": [0.5, 0.25] * 4, "b, c": [1.0, 0.75] * 2 + [0.5, 0.25] * 2}
    results = [
        Result(measure, "squad", "test", name, 1, sum(of) / 8, None, 8, PerQuery(ids, of))
        for name, of in values.items()
    ]
    results += leaked_results(results, ids[:4], seed=1)
    table = shown(results, "leaked")
    assert [column.full_name for column in table.columns] == [
        "Run", "Measure", "Of", *(
            f"{subset} queries {name}"
            for subset in ("all", "leaked", "clean") for name in ("mean", "queries")
        ), "leaked − clean",
    ]  # fmt: skip
    briefly = [[text.partition(" [")[0] for text in row] for row in texts(table)]
    assert briefly == [
        ["a", measure, "mean", "0.3750", "8", "0.3750", "4", "0.3750", "4", "0.0000"],
        ["b, c", measure, "mean", "0.6250", "8", "0.8750", "4", "0.3750", "4", "+0.5000"],
        ["a → b, c", measure, "gain", "0.2500", "8", "0.5000", "4", "0.0000", "4", "+0.5000"],
    ]


def order(found: LeakedOrder) -> Result:
    where = ("nDCG@10", "squad", "test", "a, b", 1)
    return Result(*where, found.tau, None, found.systems, found)


def test_the_order_of_runs_is_a_finding_where_its_p_is_small() -> None:
    numbers = {"tau": 0.333, "expected": 0.7, "swaps": 1, "splits": 1999, "strata": 3}
    for p, holds in ((0.01, True), (0.3, None)):
        found = LeakedOrder(7, 23, 3, 3, p=p, **numbers)
        (finding,) = SHOWN.findings(SHOWN.own(measured([order(found)]).rows))
        assert finding.holds is holds
        assert finding.text == (
            "nDCG@10: order of systems on leaked and on clean queries: Kendall's τ 0.333 between 7 "
            f"leaked and 23 clean queries, 0.700 in random splits (one-sided p {p:.3f}); 1 of 3 "
            "pairs change places."
        )
