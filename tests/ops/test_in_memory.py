"""Operations take runs and judgements as objects, and say what ir_measures and PyTerrier say of
them.
"""

from __future__ import annotations

from pathlib import Path

import ir_measures
import numpy as np
import pandas
import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.evaluation.settings import Measuring
from positionbias.planted.settings import PlantedSettings
from tests.tiny import candidates, planted

MEASURES = ("nDCG@10", "RR@10", "R@10", "AP", "P@5", "Judged@3", "Success@1")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> pb.Collection:
    settings = PlantedSettings(queries=60, passages=240, test_share=0.3, validation_share=0.2)
    return planted(tmp_path_factory.mktemp("memory") / "planted", settings)


@pytest.fixture(scope="module")
def file(collection: pb.Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return candidates(collection, tmp_path_factory.mktemp("runs"))["test"]


@pytest.fixture(scope="module")
def tied(file: Path) -> pb.Run:
    """A run with many equal scores, without one of its queries."""
    first, *others = pb.Run.from_file(file).rankings()
    assert first.query_id
    return pb.Run(
        "tied", ((r.query_id, r.passage_ids, np.round(r.scores / r.scores.max())) for r in others)
    )


def values(measured: pb.Measurements) -> dict[str, float]:
    assert measured.rows is not None
    means = measured.rows.query("statistic == 'mean'")
    return dict(zip(means.measure, means.value, strict=True))


def test_ir_measures_says_of_our_objects_what_evaluate_says(
    collection: pb.Collection, file: Path, tied: pb.Run
) -> None:
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    qrels = collection.qrels("test")
    for run in (pb.Run.from_file(file), tied):
        found = ir_measures.calc_aggregate(measures, qrels, run)
        ours = values(
            pb.evaluate([run], collection=collection, measuring=Measuring(measures=MEASURES))
        )
        for measure in measures:
            assert found[measure] == pytest.approx(ours[str(measure)], abs=1e-12)
        for other in (run.to_dict(), run.to_frame(), list(run.itertuples())):
            for judged in (qrels.to_dict(), qrels.to_frame(), list(qrels.itertuples())):
                assert ir_measures.calc_aggregate(measures, judged, other) == found
    assert 0 < found[ir_measures.RR @ 10] < 1


def test_evaluate_takes_objects_as_it_takes_files(
    collection: pb.Collection, file: Path, tied: pb.Run, tmp_path: Path
) -> None:
    run, qrels = pb.Run.from_file(file), collection.qrels("test")
    judged = qrels.save(tmp_path / "qrels")
    by_path = pb.evaluate([file, tied.save(tmp_path / "tied.run")], qrels=judged)
    in_memory = pb.evaluate([run, tied], qrels=qrels)
    of_memory, of_files = in_memory.to_frame(), by_path.to_frame()
    assert of_memory.drop(columns="collection").equals(of_files.drop(columns="collection"))
    assert (set(of_memory.collection), in_memory.read) == ({"qrels"}, [])
    assert [read.role for read in pb.evaluate([file, tied], qrels=qrels).read] == ["run"]
    assert in_memory.save(tmp_path / "found").is_dir()


def test_runs_in_memory_keep_their_names_and_need_names_of_their_own(
    collection: pb.Collection, file: Path
) -> None:
    run = pb.Run.from_file(file)
    # of two named alike the file's is renamed
    found = pb.evaluate([run, file], collection=collection)
    assert set(found.to_frame().model) == {run.name, file.stem}
    with pytest.raises(
        InputError, match="RUN: wanted runs with names of their own; found 'bm25' twice; name them"
    ):
        pb.evaluate([run, run], collection=collection)
    with pytest.raises(SettingError, match=r"--qrels: \['a', 'b'\] is not a valid text or path"):
        pb.evaluate([run], qrels=["a", "b"])  # type: ignore[arg-type]


def test_pyterrier_measures_our_frames_as_evaluate_does(
    collection: pb.Collection, tied: pb.Run
) -> None:
    pyterrier = pytest.importorskip("pyterrier")
    topics = pandas.DataFrame(
        [(query.query_id, query.text) for query in collection.queries("test")],
        columns=["qid", "query"],
    )
    frame, judged = tied.to_frame("pyterrier"), collection.qrels("test").to_frame("pyterrier")
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    ours = values(
        pb.evaluate([tied], collection=collection, measuring=Measuring(measures=MEASURES))
    )
    for system in (frame, pyterrier.Transformer.from_df(frame)):
        found = pyterrier.Experiment([system], topics, judged, measures)
        assert {str(measure): found[str(measure)][0] for measure in measures} == pytest.approx(
            {str(ir_measures.parse_measure(name)): ours[name] for name in MEASURES}, abs=1e-12
        )
    assert (
        pb.Run.from_frame(pyterrier.Transformer.from_df(frame)(topics)).to_dict() == tied.to_dict()
    )
