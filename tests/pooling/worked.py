"""A case small enough to work by hand: two queries, four runs of three groups, six judgements; and
simulated runs, and one row of what was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.evaluation.judged_runs import JudgedRuns, System, judge_runs

from .simulated import Simulation, simulated_qrels, simulated_runs

QRELS = [
    Qrel("1", "a", 0),
    Qrel("1", "b", 2),
    Qrel("1", "c", 1),
    Qrel("2", "d", 1),
    Qrel("2", "e", 0),
    Qrel("2", "f", 2),
]
# numbers, by falling grade within a query: b 0, c 1, a 2 | f 3, d 4, e 5; 6 is unjudged, 7 nothing
RUNS = (
    (System("t1", "one", "traditional"), {"1": ["a", "b", "x"], "2": ["d", "e", "y"]}),
    (System("t2", "two", "traditional"), {"1": ["x", "a", "b"], "2": ["e", "d"]}),
    (System("n1", "three", "neural"), {"1": ["b", "c", "a"], "2": ["f", "z", "d"], "9": ["a"]}),
    (System("n2", "two", "neural"), {"1": ["c", "x", "b"]}),
)


def as_run(name: str, rankings: dict[str, Sequence[str]]) -> Run:
    return Run(name, ((query, ids, range(len(ids), 0, -1)) for query, ids in rankings.items()))


def worked() -> JudgedRuns:
    return judge_runs(((system, as_run(system.run, rankings)) for system, rankings in RUNS), QRELS)


def simulated(rate: float = 0.3, **sizes: Any) -> JudgedRuns:
    simulation = Simulation(rate, **sizes)
    return judge_runs(simulated_runs(simulation), simulated_qrels(simulation))


def row(made: Collected, statistic: str, **cells: Any) -> Any:
    """The only row with these cells."""
    rows = made.rows
    for name, cell in {"statistic": statistic, **cells}.items():
        rows = rows[rows[name] == cell]
    (only,) = rows.itertuples()
    return only
