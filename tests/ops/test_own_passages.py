"""Queries that are passages of their own collection: remarked on, and left out by BEIR's rule in
each command that has it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

import positionbias as pb
from positionbias.core.collection_writer import create_collection
from positionbias.core.manifest import Manifest, read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.dense.settings import ByVectors
from positionbias.evaluation.settings import Measuring
from positionbias.firststage.own_passages import own_queries
from positionbias.firststage.retrieval import Retrieval
from positionbias.ranking.config import Reranking
from tests.dense.conftest import saved_dot
from tests.tiny import saved_tk

PHONES, DAMS = "Schools should ban phones in class", "Dams harm rivers and fish"
REMARK = (
    "2 of 3 queries found the passage with their own id and text; --set without_own=true leaves it "
    "out, as "
    "BEIR and MTEB do"
)


@pytest.fixture
def arguments(tmp_path: Path) -> pb.Collection:
    """Arguments with their counters; "con" is also the id of a passage with another text, and one
    passage begins with a title.
    """
    texts = {
        "pro": PHONES,
        "anti": "Pupils need phones in class",
        "dam": f"Rivers. {DAMS}",
        "dry": "Dams store water",
        "con": "Fish",
    }
    with create_collection(tmp_path / "arguments") as writer:
        writer.add_passages(Passage(*item) for item in texts.items())
        queries = [Query("pro", PHONES), Query("dam", DAMS.upper()), Query("con", "rivers fish")]
        writer.add_split(
            "test",
            queries,
            [Qrel("pro", "anti", 1), Qrel("dam", "dry", 1), Qrel("con", "dam", 1)],
            [],
        )
        writer.finish(Manifest("collection", "arguments", "a test"))
    return pb.Collection(tmp_path / "arguments")


def beir(run: pb.Run, qrels: pb.Qrels) -> dict[str, float]:
    """nDCG@10 by pytrec_eval after BEIR's ``EvaluateRetrieval.evaluate(ignore_identical_ids=True)``
    has dropped identical ids.
    """
    results = {
        query: {passage: score for passage, score in found.items() if passage != query}
        for query, found in run.to_dict().items()
    }
    evaluated = pytrec_eval.RelevanceEvaluator(qrels.to_dict(), {"ndcg_cut.10"}).evaluate(results)
    return {query: values["ndcg_cut_10"] for query, values in evaluated.items()}


def by_query(found: pb.Measurements) -> dict[str, float]:
    """The first row's values."""
    assert found.values is not None
    own = found.values[found.values.row == 0]
    return dict(zip(own.item, own.value, strict=True))


def test_retrieve_and_evaluate(
    arguments: pb.Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run.from_file(pb.retrieve(arguments, out=tmp_path / "all.run").path)
    assert own_queries(run) == ["pro", "dam", "con"]
    assert f"bm25: {REMARK}" in capsys.readouterr().err
    measuring = Measuring(measures=["nDCG@10"])
    with_own = pb.evaluate([run], collection=arguments, measuring=measuring)
    assert f"bm25: {REMARK}" in capsys.readouterr().err
    without = pb.evaluate(
        [run], collection=arguments, measuring=Measuring(measures=["nDCG@10"], without_own=True)
    )
    assert (
        "bm25: left out the passage with the query's own id for 3 queries"
        in capsys.readouterr().err
    )
    assert with_own.to_frame().value[0] < without.to_frame().value[0]
    values = by_query(without)
    assert values == pytest.approx(beir(run, arguments.qrels("test")))

    # a judged passage in the second place behind the query's own moves to the first: 1 / log2(3)
    # becomes 1
    assert (values["pro"], by_query(with_own)["pro"]) == (1.0, pytest.approx(1 / np.log2(3)))
    wanted = Retrieval(depth=1, without_own=True)
    pruned = Run.from_file(pb.retrieve(arguments, wanted=wanted, out=tmp_path / "bm25.run").path)
    for query in run:
        assert (
            pruned[query].passage_ids
            == [passage for passage in run[query].passage_ids if passage != query][:1]
        )
    assert read_manifest(tmp_path / "bm25.run").settings["without_own"] is True


def test_vectors_and_rerank(
    arguments: pb.Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dot = saved_dot(tmp_path / "dot").path
    by = ByVectors(pb.encode(arguments, model=dot, out=tmp_path / "vectors").path, dot)
    whole = Run.from_file(pb.retrieve(arguments, dense=by, out=tmp_path / "dense.run").path)
    assert f"dot: {REMARK}" in capsys.readouterr().err
    wanted = Retrieval(depth=3, without_own=True)
    pruned = Run.from_file(
        pb.retrieve(arguments, wanted=wanted, dense=by, out=tmp_path / "pruned.run").path
    )
    for query in whole:
        assert (
            pruned[query].passage_ids
            == [passage for passage in whole[query].passage_ids if passage != query][:3]
        )

    model = saved_tk(tmp_path / "tk.ckpt", arguments)
    for without in (False, True):
        reranking = Reranking(without_own=without)
        path = pb.rerank(
            arguments,
            model=model,
            candidates=tmp_path / "dense.run",
            reranking=reranking,
            out=tmp_path / f"{without}.run",
        ).path
        assert own_queries(Run.from_file(path)) == ([] if without else ["pro", "dam", "con"])
    said = capsys.readouterr().err
    assert f"tk: {REMARK}" in said
    assert "tk: left out the passage with the query's own id for 3 queries" in said
