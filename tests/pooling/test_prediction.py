"""Numbers for unjudged documents, and what left-out runs teach: by hand, and where the truth is
drawn.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.evaluation.judged_runs import NO_GRADE, System, pool_measures
from positionbias.pooling.prediction import calibrated, errors_left_out, learn
from positionbias.pooling.unjudged import OpenRuns, left_out_documents, open_runs

from .simulated import Simulation, simulated_qrels, simulated_runs
from .worked import as_run

# a by both groups; b by one alone, at rank 2; c by two alone at rank 1, and one has it at rank 4; x
# and y unjudged
RANKINGS = {"r1": ["a", "b", "x", "c"], "r2": ["c", "a", "y", "x"]}
GRADES = {"a": 1, "b": 2, "c": 0}
DOCUMENTS = ["b", "a", "c", "x", "y"]  # by falling grade, the unjudged ones last


def opened(depth: int = 4) -> OpenRuns:
    listed = [
        (System(name, f"g{name}", "k"), as_run(name, {"1": ids})) for name, ids in RANKINGS.items()
    ]
    return open_runs(
        lambda: listed, [Qrel("1", passage, grade) for passage, grade in GRADES.items()], depth
    )


def names(chosen: np.ndarray) -> set[str]:
    return {DOCUMENTS[place] for place in np.flatnonzero(chosen)}


def test_unjudged_documents_of_the_top_have_one_number_in_all_runs() -> None:
    runs = opened()
    assert names(runs.known) == {"a", "b", "c"}
    assert names(~runs.known) == {"x", "y"}
    assert dict(zip(DOCUMENTS, runs.grades.tolist(), strict=True)) == {
        **GRADES,
        "x": NO_GRADE,
        "y": NO_GRADE,
    }
    place = DOCUMENTS.index("x")
    assert runs.runs.ranks[:, place].tolist() == [2, 3]
    # to rank 2 nothing is unjudged, and further down all that is keeps the one number of what
    # nobody judged
    assert names(~opened(2).known) == set()


def test_what_would_be_judged_without_a_group() -> None:
    runs = opened()
    # both runs were judged to rank 2. b is in no other run; c only below the depth to which r1 was
    # judged, which counts where judgements are deep
    assert names(runs.judged_without(0)) == {"a", "c"}
    assert names(runs.judged_without(1)) == {"a", "b"}
    deep = runs.without([], runs.known, deep=True)
    assert names(deep.judged_without(1)) == {"a", "b", "c"}
    # of r2's documents r1 has c and x below rank 2: one of them is judged
    assert (runs.judged_below(1), runs.judged_below(0)) == (pytest.approx(0.5), 0)


def test_documents_of_a_group_that_is_left_out() -> None:
    runs = opened()
    found = left_out_documents(runs, 1)
    assert [DOCUMENTS[document] for document in found["document"]] == ["c", "y", "x"]
    assert found["rank"].tolist() == [0, 2, 3]
    # c and x are in one of one other groups, y in none: log(1.5 / 0.5) and its opposite; best ranks
    # 3 and 2, from 0
    assert found["groups with the document"].tolist() == pytest.approx(np.log([3, 1 / 3, 3]))
    assert found["log of its best rank there"].tolist() == pytest.approx(np.log([4, 1, 3]))
    assert found["mark: nowhere else"].tolist() == [False, True, False]
    # judged without the group: a (relevant) in the run; a and b of the query
    assert found["relevance of the run"].tolist() == pytest.approx([np.log(3)] * 3)
    assert found["relevance of the query"].tolist() == pytest.approx([np.log(5)] * 3)


def test_judgements_without_a_relevant_document_are_refused() -> None:
    listed = [(System("r", "g", "k"), as_run("r", {"1": ["a"]}))]
    with pytest.raises(
        InputError, match="judgements: wanted a document of grade 1 or more; found none"
    ):
        open_runs(lambda: listed, [Qrel("1", "a", 0)], 10)


def errors(*groups: list[float], deviation: float = 0.1) -> list[np.ndarray]:
    return [np.array([np.array(group) * deviation, [deviation] * len(group)]) for group in groups]


def test_a_calibration_by_hand() -> None:
    # two runs of one group count as one: means 0, 1, -1, 2 of groups; nothing of a group without
    # errors
    found = calibrated(errors([-1.0, 1.0], [1.0], [-1.0], [2.0], []))
    assert found is not None
    assert (found.freedom, found.runs) == (3, 5)
    # where all deviations are the same a floor changes what the others are of, and no interval
    sigma = np.hypot(0.1, found.floor)
    assert found.shift * sigma == pytest.approx(0.05)
    # about 0.5: (1.5² + 0.5²) / 2, 0.5², 1.5², 1.5² over 3 groups' freedom, and the error of the
    # mean of 4
    assert found.scale * sigma == pytest.approx(
        0.1 * np.sqrt((1.25 + 0.25 + 2.25 + 2.25) / 3 * 1.25)
    )
    interval = found.interval(0.4, 0.1)
    half = found.scale * sigma * stats.t.ppf(0.975, 3)
    assert (interval.low, interval.high) == pytest.approx((0.45 - half, 0.45 + half))
    assert found.covered == 1
    # where nothing is unjudged the sign is known, and equal scores are even
    assert found.above_zero(np.array([0.1, 0.0, -0.1]), np.zeros(3)).tolist() == [1, 0.5, 0]
    assert found.above_zero(np.array([-0.05]), np.array([0.1])).item() == pytest.approx(0.5)
    assert calibrated(errors([1.0], [2.0], [0.5])) is None  # three groups are too few


def test_what_no_draw_tells_of_is_found_as_a_floor() -> None:
    floor = 0.001
    random = np.random.default_rng(3)
    given = []
    for _ in range(100):
        deviation = random.choice([0.0003, 0.003, 0.03], 5)
        given.append(np.array([random.standard_normal(5) * np.hypot(deviation, floor), deviation]))
    found = calibrated(given)
    assert found is not None
    assert (found.floor, found.scale) == (floor, pytest.approx(1, abs=0.15))
    assert found.covered == pytest.approx(0.95, abs=0.03)


def test_errors_of_left_out_runs_are_near_what_the_draws_say() -> None:
    [measure] = pool_measures(["nDCG@10"])
    simulation = Simulation(rate=0.3, queries=10, groups=6)
    runs = open_runs(lambda: simulated_runs(simulation), simulated_qrels(simulation), 10)
    learned = learn(runs)
    assert learned is not None
    made = errors_left_out(runs, learned, measure, 1)
    assert [of_group.shape for of_group in made] == [(2, 1)] * 12
    found = calibrated(made)
    assert found is not None
    assert abs(found.shift) < 1.5
    assert 0.3 < found.scale < 3


def test_groups_without_documents_of_their_own_teach_nothing() -> None:
    listed = [
        (System(f"r{number}", f"g{number}", ""), as_run(f"r{number}", {"1": ["a", "b"]}))
        for number in range(6)
    ]
    runs = open_runs(lambda: listed, [Qrel("1", "a", 1), Qrel("1", "b", 0)], 10)
    assert learn(runs) is None
