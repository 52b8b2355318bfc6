"""Our re-rankers, retrievers and rotation as PyTerrier transformers, and theirs as audited
models.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import ir_measures
import pandas
import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.firststage.retrieval import Retrieval
from positionbias.settings import ByVectors, Reranking, Rotation
from tests.dense.conftest import saved_dot
from tests.tiny import candidates, planted, saved_tk


def test_without_the_package_the_import_is_one_line_that_names_it() -> None:
    code = (
        "import sys; sys.modules['pyterrier'] = None\nfrom positionbias.core.errors import "
        "DependencyError\ntry:\n    import positionbias.pyterrier\nexcept DependencyError as "
        "error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = (
        "positionbias.pyterrier: wanted the package python-terrier; found none; run: pip install "
        "python-terrier\n"
    )
    assert done.stdout == wanted


pyterrier = pytest.importorskip("pyterrier", reason="python-terrier is not installed")
interop = pytest.importorskip("positionbias.pyterrier")
Reranker, Retriever, Rotated = interop.Reranker, interop.Retriever, interop.Rotated


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> pb.Collection:
    return planted(tmp_path_factory.mktemp("pyterrier") / "planted")


@pytest.fixture(scope="module")
def bm25(collection: pb.Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return candidates(collection, tmp_path_factory.mktemp("runs"))["test"]


@pytest.fixture(scope="module")
def topics(collection: pb.Collection) -> pandas.DataFrame:
    return pandas.DataFrame(
        [(query.query_id, query.text) for query in collection.queries("test")],
        columns=["qid", "query"],
    )


@pytest.fixture(scope="module")
def frame(collection: pb.Collection, topics: pandas.DataFrame, bm25: Path) -> pandas.DataFrame:
    """The candidates with their texts, not in their order."""
    found = pb.Run.from_file(bm25).to_frame("pyterrier").merge(topics, on="qid")
    found["text"] = collection.texts(found["docno"].tolist())
    return found.sample(frac=1, random_state=1)


def rows(run: pb.Run) -> dict[str, list[tuple[str, float]]]:
    """The passages and scores of a run, in order."""
    return {
        one.query_id: list(zip(one.passage_ids, one.scores.tolist(), strict=True))
        for one in run.rankings()
    }


def test_the_reranker_gives_the_run_that_rerank_writes(
    collection: pb.Collection, bm25: Path, frame: pandas.DataFrame, tmp_path: Path
) -> None:
    for model in (saved_tk(tmp_path / "tk", collection), Path(saved_dot(tmp_path / "dot").path)):
        pb.rerank(
            collection,
            model=model,
            candidates=bm25,
            reranking=Reranking(depth=6),
            out=tmp_path / "ours.run",
            overwrite=True,
        )
        ours, theirs = (
            rows(pb.Run.from_file(tmp_path / "ours.run")),
            Reranker(model).transform(frame),
        )
        assert set(theirs.columns) == {*frame.columns, "score", "rank"}
        assert theirs["text"].tolist() == collection.texts(theirs["docno"].tolist())
        assert set(theirs["qid"]) == ours.keys()
        for qid, group in theirs.groupby("qid"):
            assert group["rank"].tolist() == list(range(len(group)))
            assert group["docno"].tolist() == [docno for docno, _ in ours[str(qid)]]
            assert group["score"].tolist() == pytest.approx(
                [score for _, score in ours[str(qid)]], abs=1e-5
            )


def test_equal_texts_tie_by_docno_and_lists_come_best_first() -> None:
    seen = []

    def lengths(query: str, passages: list[str]) -> list[int]:
        seen.append((query, passages))
        return [len(passage) for passage in passages]

    columns = ["qid", "query", "docno", "text", "rank"]
    made = [
        (7, "b", "p1", "one", 2),
        (7, "b", "p2", "three", 1),
        (7, "b", "p3", "one", 0),
        (6, "a", "p1", "x", 0),
    ]
    found = Reranker(lengths).transform(pandas.DataFrame(made, columns=columns))
    assert found[["qid", "docno", "rank"]].values.tolist() == [
        [7, "p2", 0],
        [7, "p3", 1],
        [7, "p1", 2],
        [6, "p1", 0],
    ]
    assert found["score"].tolist() == pytest.approx([5, 3, 3, 1], abs=1e-6)
    assert found["score"][1] > found["score"][2]
    assert seen == [("b", ["one", "three"]), ("a", ["x"])]
    with pytest.raises(
        InputError, match="Reranker: wanted the text of docno 'p2'; found nan; add the texts first"
    ):
        Reranker(lengths).transform(
            pandas.DataFrame([(7, "b", "p2", float("nan"))], columns=columns[:4])
        )
    with pytest.raises(InputError, match="found 'p1' twice"):
        Reranker(lengths).transform(
            pandas.DataFrame([(7, "b", "p1", "x")] * 2, columns=columns[:4])
        )
    with pytest.raises(pyterrier.validate.InputValidationError, match="text"):
        Reranker(lengths).transform(pandas.DataFrame(columns=columns[:3]))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        # pandas would drop the row
        ((None, "lamp", "p2", "a lamp"), "qid: wanted ids as text or whole numbers; found nan"),
        (
            ("q2", float("nan"), "p2", "a lamp"),
            "{}: wanted the query of qid 'q2'; found nan; drop the row",
        ),
        (
            ("q1", "gate", "p2", "a lamp"),
            "{}: wanted one query for qid 'q1'; found two; give each query its own id",
        ),
        (
            ("q1", "lamp \ud800", "p2", "a lamp"),
            "{}: wanted the query of qid 'q1'; found text that is not valid Unicode",
        ),
    ],
)
def test_rows_without_a_query_are_one_line(
    collection: pb.Collection, row: tuple[Any, ...], said: str
) -> None:
    frame = pandas.DataFrame(
        [("q1", "lamp", "p1", "the lamp"), row],
        columns=["qid", "query", "docno", "text"],
        dtype=object,
    )
    for transformer in (
        Reranker(lambda query, passages: [len(text) for text in passages]),
        Retriever(collection),
    ):
        with pytest.raises(InputError) as error:
            transformer.transform(frame)
        assert said.format(type(transformer).__name__) in str(error.value).replace("None", "nan")


def test_a_text_that_is_not_unicode_and_unused_categories() -> None:
    rows = [("q1", "lamp", "p1", "a"), ("q2", "gate", "p1", "\ud800")]
    frame = pandas.DataFrame(rows, columns=["qid", "query", "docno", "text"], dtype=object)
    reranker = Reranker(lambda query, passages: [len(text) for text in passages])
    with pytest.raises(
        InputError,
        match="Reranker: wanted the text of docno 'p1'; found text that is not valid Unicode",
    ):
        reranker.transform(frame)
    assert reranker.transform(frame.astype({"qid": "category"})[:1])["qid"].tolist() == ["q1"]


def test_the_retriever_gives_the_run_that_retrieve_writes(
    collection: pb.Collection, topics: pandas.DataFrame, tmp_path: Path
) -> None:
    model = Path(saved_dot(tmp_path / "dot").path)
    vectors = pb.encode(
        collection, model=model, precision_on_disk="float32", out=tmp_path / "vectors"
    )
    by_vectors = ByVectors(vectors.path, model)
    cases = [
        ({}, Retriever(collection, depth=5)),
        ({"dense": by_vectors}, Retriever(collection, model, vectors=vectors, depth=5)),
        ({"dense": by_vectors}, Retriever(collection, model, depth=5)),
    ]
    for how, retriever in cases:
        pb.retrieve(
            collection,
            wanted=Retrieval("test", depth=5),
            **how,
            out=tmp_path / "ours.run",
            overwrite=True,
        )
        ours, theirs = (
            rows(pb.Run.from_file(tmp_path / "ours.run")),
            retriever.transform(topics.assign(more=1)),
        )
        assert list(theirs.columns) == ["qid", "query", "more", "docno", "score", "rank"]
        assert list(dict.fromkeys(theirs["qid"])) == [qid for qid in topics["qid"] if qid in ours]
        for qid, group in theirs.groupby("qid"):
            assert group["rank"].tolist() == list(range(len(group)))
            assert group["docno"].tolist() == [docno for docno, _ in ours[str(qid)]]
            assert group["score"].tolist() == pytest.approx(
                [score for _, score in ours[str(qid)]], abs=1e-5
            )
    unknown = Retriever(collection).transform(pandas.DataFrame({"qid": ["q"], "query": ["zzzz"]}))
    assert (len(unknown), list(unknown.columns)) == (0, ["qid", "query", "docno", "score", "rank"])
    with pytest.raises(SettingError, match="vectors: wanted the model that made them"):
        Retriever(collection, vectors=vectors)
    with pytest.raises(SettingError, match="depth: wanted at least 1; found 0"):
        Retriever(collection, depth=0)
    vectors.missing = frozenset({"p1"})
    with pytest.raises(InputError, match="vectors: 1 passages have no vector; encode the"):
        Retriever(collection, model, vectors=vectors).transform(topics)


def test_rotated_texts_are_those_of_the_rotated_collection(
    collection: pb.Collection, frame: pandas.DataFrame, tmp_path: Path
) -> None:
    for seed in (1, 5):
        rotated = pb.debias(
            collection, rotation=Rotation(seed=seed), out=tmp_path / f"rotated-{seed}"
        )
        assert isinstance(rotated, pb.Collection)
        found = Rotated(seed).transform(frame)
        assert found["text"].tolist() == rotated.texts(frame["docno"].tolist())
        assert found.drop(columns="text").equals(frame.drop(columns="text"))
        assert (found["text"] != frame["text"]).any()


def test_an_indexer_behind_rotation_gets_the_rotated_collection(
    collection: pb.Collection, tmp_path: Path
) -> None:
    class Kept(pyterrier.Indexer):
        def index(self, iter: Any, **kwargs: Any) -> dict[str, str]:
            return {row["docno"]: row["text"] for row in iter}

    rotated = pb.debias(collection, out=tmp_path / "rotated")
    assert isinstance(rotated, pb.Collection)
    given = ({"docno": one.passage_id, "text": one.text} for one in collection.passages())
    assert (Rotated() >> Kept()).index(given) == {
        one.passage_id: one.text for one in rotated.passages()
    }


def test_an_experiment_measures_a_pipeline_as_evaluate_does(
    collection: pb.Collection, topics: pandas.DataFrame, frame: pandas.DataFrame, tmp_path: Path
) -> None:
    model = saved_tk(tmp_path / "tk", collection)
    texts = pyterrier.apply.text(lambda row: collection.texts([row["docno"]])[0])
    pipeline = Retriever(collection, depth=6) % 5 >> texts >> Reranker(model)
    measures = [ir_measures.nDCG @ 10, ir_measures.RR @ 10]
    qrels = collection.qrels("test")
    found = pyterrier.Experiment(
        [pipeline, Retriever(collection, depth=6)], topics, qrels.to_frame("pyterrier"), measures
    )
    for row, system in enumerate((pipeline, Retriever(collection, depth=6))):
        ours = ir_measures.calc_aggregate(measures, qrels, pb.Run.from_frame(system(topics)))
        assert {measure: found[str(measure)][row] for measure in measures} == pytest.approx(ours)
    whole = Retriever(collection, depth=6) >> texts >> Reranker(model)
    ours, theirs = (pb.Run.from_frame(one) for one in (whole(topics), Reranker(model)(frame)))
    assert {qid: ours[qid].passage_ids for qid in ours} == {
        qid: theirs[qid].passage_ids for qid in theirs
    }


def test_pyterrier_finds_out_what_goes_in_and_comes_out(
    collection: pb.Collection, tmp_path: Path
) -> None:
    reranker, retriever = Reranker(saved_tk(tmp_path / "tk", collection)), Retriever(collection)
    inputs = pyterrier.inspect.transformer_inputs
    assert sorted(inputs(reranker)[0]) == ["docno", "qid", "query", "text"]
    assert sorted(inputs(retriever)[0]) == ["qid", "query"]
    assert sorted(inputs(Rotated())[0]) == ["docno", "text"]
    assert pyterrier.inspect.transformer_outputs(retriever, ["qid", "query"]) == [
        "qid",
        "query",
        "docno",
        "score",
        "rank",
    ]
    assert repr(Rotated() >> reranker) == "(Rotated(seed=1) >> Reranker('tk'))"
    assert repr(retriever) == "Retriever('planted', 'bm25')"
