"""Runs and judgements of and for ir_measures, PyTerrier and plain dicts."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas
import pytest
from ir_measures import ScoredDoc

from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.qrels import Qrels
from positionbias.core.records import Qrel
from positionbias.core.run import Run

SCORES = {"q2": {"a": 0.5, "b": 2.0, "c": 0.5}, "q1": {"b": 0.1}}
# "c" > "a" on the tie, and "a" one float32 step lower; 0.1 as float32
BEST_FIRST = {"q2": {"b": 2.0, "c": 0.5, "a": 0.5 - 2**-25}, "q1": {"b": float(np.float32(0.1))}}


def in_order(scores: dict[str, dict[str, float]]) -> list[tuple[str, list[tuple[str, float]]]]:
    return [(query_id, list(row.items())) for query_id, row in scores.items()]


def test_a_run_of_a_dict_is_the_run_of_its_rankings() -> None:
    run = Run(SCORES, name="mine")
    assert in_order(run.to_dict()) == in_order(BEST_FIRST)
    assert (run.name, run["q2"].scores.dtype) == ("mine", np.float32)
    assert Run(SCORES).name == "run"
    assert Run({"q1": {}}).to_dict() == {"q1": {}}


@pytest.mark.parametrize(
    ("columns", "form"),
    [
        (["query_id", "doc_id", "score"], "ir_measures"),
        (["qid", "docno", "score"], "pyterrier"),
        (["query_id", "passage_id", "score"], None),
    ],
)
def test_a_frame_in_and_out(columns: list[str], form: Any) -> None:
    # queries apart, ranks not given
    rows = [("q2", "a", 0.5), ("q1", "b", 0.1), ("q2", "b", 2.0), ("q2", "c", 0.5)]
    run = Run.from_frame(pandas.DataFrame(rows, columns=columns), "mine")
    assert (run.name, in_order(run.to_dict())) == ("mine", in_order(BEST_FIRST))
    if form:
        frame = run.to_frame(form)
        assert list(frame.columns) == columns + (["rank"] if form == "pyterrier" else [])
        assert form == "ir_measures" or frame["rank"].tolist() == [0, 1, 2, 0]
        assert in_order(Run.from_frame(frame).to_dict()) == in_order(BEST_FIRST)


def test_scored_documents_in_and_out() -> None:
    scored = list(Run(SCORES).itertuples())
    assert scored[:2] == [ScoredDoc("q2", "b", 2.0), ScoredDoc("q2", "c", 0.5)]
    assert in_order(Run.from_frame(pandas.DataFrame(scored[::-1])).to_dict()) == [
        in_order(BEST_FIRST)[1],
        in_order(BEST_FIRST)[0],
    ]


def test_a_file_in_and_out_by_name_or_path(
    posbias_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Run(SCORES, name="mine")
    assert run.save("kept") == Path("kept")
    run.save(posbias_home / "away")
    for again in (
        Run.from_file("kept"),
        Run.from_file("away"),
        Run.from_file(posbias_home / "away"),
        Run.from_file("kept"),
    ):
        assert again.name == "mine"
        assert [ranking.passage_ids for ranking in again.rankings()] == [
            list(row) for row in BEST_FIRST.values()
        ]
        assert (np.diff(again["q2"].scores) < 0).all()  # strictly decreasing, as commands write it
    with pytest.raises(OutputExistsError):
        run.save("kept")
    assert run.save(str(tmp_path / "r.run.gz")).read_bytes()[:2] == b"\x1f\x8b"
    assert Run.from_file(tmp_path / "r.run.gz", name="other").name == "other"


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: Run({"q": {"d": "high"}}),
            "wanted finite scores; found what is no number for query 'q'",
        ),  # type: ignore[dict-item]
        (
            lambda: Run({"q": {"d": float("nan")}}),
            "wanted finite scores; found nan for passage 'd' of query 'q'",
        ),
        (
            lambda: Run({"q": [("d", 1.0)]}),
            r"Run: wanted {query: {passage: score}}; found dict of other values",
        ),  # type: ignore[dict-item]
        (
            lambda: Run(pandas.DataFrame({"qid": ["q"]})),
            r"Run: wanted {query: {passage: score}}; found DataFrame",
        ),  # type: ignore[call-overload]
        (
            lambda: Run({1.5: {"d": 1.0}}),
            "Run: wanted ids as text or whole numbers; found 1.5; convert them",
        ),  # type: ignore[dict-item]
        (lambda: Run({"q": {"": 1.0}}), "Run: wanted ids as text or whole numbers; found ''"),
        (lambda: Run.from_frame([]), "Run.from_frame: wanted a pandas data frame; found list"),
        (
            lambda: Run.from_frame(pandas.DataFrame({"qid": ["q"], "score": [1.0]})),
            (
                "Run.from_frame: wanted a column passage_id or doc_id or docno; found qid, score; "
                "rename the frame's columns"
            ),
        ),
        (
            lambda: Run.from_frame(pandas.DataFrame([ScoredDoc("q", "d", 1.0)] * 2)),
            "wanted each passage once a query; found 'd' twice for query 'q'",
        ),
        (lambda: Run.from_file("nowhere"), "nowhere: wanted a readable file"),
    ],
)
def test_what_makes_no_run_is_one_line(made: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made()


def test_ir_measures_takes_a_run_as_it_is() -> None:
    measures = [
        ir_measures.parse_measure(name) for name in ("nDCG@10", "RR", "Judged@10", "Accuracy")
    ]
    qrels = {"q1": {"b": 0, "x": 1}, "q2": {"a": 1}}
    run = Run(SCORES)
    assert ir_measures.calc_aggregate(measures, qrels, run) == ir_measures.calc_aggregate(
        measures, qrels, run.to_dict()
    )
    # of q2's two tied passages "c" is first, so "a" is third
    assert ir_measures.calc_aggregate([ir_measures.RR], {"q2": {"a": 1}}, run) == {
        ir_measures.RR: 1 / 3
    }


GRADES = {"q2": {"a": 0, "b": 2}, "q1": {"b": -1}}
JUDGED = [Qrel("q2", "a", 0), Qrel("q2", "b", 2), Qrel("q1", "b", -1)]


def test_judgements_of_a_dict_are_its_records_in_order() -> None:
    for qrels in (Qrels(GRADES), Qrels(JUDGED)):
        assert qrels == JUDGED
        assert in_order(qrels.to_dict()) == in_order(GRADES)
        assert repr(qrels) == "Qrels(2 queries, 3 judgements)"
    assert Qrels({7: {1: np.int64(1), "p": 2.0}}) == [Qrel("7", "1", 1), Qrel("7", "p", 2)]
    assert [type(qrel.grade) for qrel in Qrels({"q": {"p": np.int64(1)}})] == [int]  # type: ignore
    assert pickle.loads(pickle.dumps(Qrels(GRADES))) == JUDGED  # noqa: S301


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (
            lambda: Qrels({"q": {"p": "high"}}),
            "Qrels: wanted a whole number up to 1,000,000 as grade; found 'high'; convert it",
        ),  # type: ignore[dict-item]
        (lambda: Qrels({"q": {"p": 0.5}}), "as grade; found 0.5"),  # type: ignore[dict-item]
        (lambda: Qrels({"q": {"p": float("nan")}}), "as grade; found nan"),  # type: ignore
        (
            lambda: Qrels({"q": 1}),
            r"Qrels: wanted {query: {passage: grade}}; found dict of other values",
        ),  # type: ignore[dict-item]
        (
            lambda: Qrels([("q", "p", 1)]),
            "Qrels: wanted records of Qrel; found records of tuple; use from_frame",
        ),  # type: ignore[list-item]
        (
            lambda: Qrels.from_frame(pandas.DataFrame([ir_measures.Qrel("q", "p", 1)] * 2)),
            (
                "Qrels.from_frame: wanted each pair judged once; found passage 'p' of query "
                "'q' again; drop one"
            ),
        ),
        (
            lambda: Qrels.from_frame(pandas.DataFrame({"qid": ["q"], "docno": ["p"]})),
            "Qrels.from_frame: wanted a column grade or relevance or label; found qid, docno",
        ),
    ],
)
def test_what_makes_no_judgements_is_one_line(made: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        made()
