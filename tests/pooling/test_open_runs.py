"""Numbers for unjudged documents, and what would be judged without a group: by hand."""

from __future__ import annotations

import numpy as np
import pytest

from positionbias.core.errors import InputError
from positionbias.core.records import Qrel
from positionbias.pooling.open_runs import OpenRuns, open_runs
from positionbias.pooling.scores import NO_GRADE
from positionbias.pooling.systems import System
from positionbias.pooling.unseen import left_out_documents

from .worked import as_run

# a by both groups; b by one alone, at rank 2; c by two alone at rank 1, and one has it at rank 4; x
# and y unjudged
RANKINGS = {"r1": ["a", "b", "x", "c"], "r2": ["c", "a", "y", "x"]}
GRADES = {"a": 1, "b": 2, "c": 0}


def opened(depth: int = 4) -> OpenRuns:
    listed = [
        (System(name, f"g{name}", "k"), as_run(name, {"1": ids})) for name, ids in RANKINGS.items()
    ]
    return open_runs(
        lambda: listed, [Qrel("1", passage, grade) for passage, grade in GRADES.items()], depth
    )


def names(runs: OpenRuns, chosen: np.ndarray) -> set[str]:
    return {runs.runs.documents[place] for place in np.flatnonzero(chosen)}


def test_unjudged_documents_of_the_top_have_one_number_in_all_runs() -> None:
    runs = opened()
    assert names(runs, runs.known) == {"a", "b", "c"}
    assert names(runs, ~runs.known) == {"x", "y"}
    assert dict(zip(runs.runs.documents, runs.grades.tolist(), strict=True)) == {
        **GRADES,
        "x": NO_GRADE,
        "y": NO_GRADE,
    }
    place = runs.runs.documents.index("x")
    assert runs.runs.ranks[:, place].tolist() == [2, 3]
    # to rank 2 nothing is unjudged, and further down all that is keeps the one number of what
    # nobody judged
    assert names(opened(2), ~opened(2).known) == set()


def test_how_far_down_a_run_was_judged() -> None:
    assert opened().judged_depths.tolist() == [2, 2]


def test_what_would_be_judged_without_a_group() -> None:
    runs = opened()
    # b is in no other run; c only below the depth to which r1 was judged, which counts where
    # judgements are deep
    assert names(runs, runs.judged_without(0)) == {"a", "c"}
    assert names(runs, runs.judged_without(1)) == {"a", "b"}
    deep = runs.without([], runs.known, deep=True)
    assert names(deep, deep.judged_without(1)) == {"a", "b", "c"}


def test_how_deep_judgements_are_shows_in_what_others_have_below() -> None:
    runs = opened()
    # of r2's documents r1 has c and x below rank 2: one of them is judged
    assert runs.judged_below(1) == pytest.approx(0.5)
    assert runs.judged_below(0) == 0


def test_documents_of_a_group_that_is_left_out() -> None:
    runs = opened()
    found = left_out_documents(runs, 1)
    assert [(runs.runs.documents[document], rank) for document,
        rank in zip(found.document, found.rank, strict=True)] == [
        ("c", 0), ("y", 2), ("x", 3),
    ]  # fmt: skip
    # c and x are in one of one other groups, y in none: log(1.5 / 0.5) and its opposite; best ranks
    # 3 and 2, from 0
    assert found.features[:, 1] == pytest.approx([np.log(3), -np.log(3), np.log(3)])
    assert found.features[:, 2] == pytest.approx([np.log(4), 0, np.log(3)])
    assert found.features[:, 7].tolist() == [0, 1, 0]
    # judged without the group: a (relevant) in the run; a and b of the query
    assert found.features[:, 3] == pytest.approx([np.log(3)] * 3)
    assert found.features[:, 5] == pytest.approx([np.log(5)] * 3)


def test_judgements_without_a_relevant_document_are_refused() -> None:
    listed = [(System("r", "g", "k"), as_run("r", {"1": ["a"]}))]
    with pytest.raises(
        InputError, match="judgements: wanted a document of grade 1 or more; found none"
    ):
        open_runs(lambda: listed, [Qrel("1", "a", 0)], 10)
