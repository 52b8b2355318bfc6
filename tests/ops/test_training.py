"""Models trained from Python: what comes back, and what is said before."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.run import Run
from positionbias.ranking.config import TaughtPassages, Teacher
from positionbias.training.config import TrainConfig
from positionbias.training.plan import TrainPlan

from ..tiny import TINY, candidates, planted, saved_tk


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A planted collection, with runs beside it."""
    folder = tmp_path_factory.mktemp("training")
    collection = planted(folder / "planted")
    candidates(collection, folder)
    return collection


def quick(folder: Path) -> TrainPlan:
    """Four steps of a tiny TK."""
    return TrainPlan(
        candidates=folder / "train.run",
        validation_candidates=folder / "validation.run",
        model=TINY,
        training=TrainConfig(
            max_steps=4, validate_every=2, batch_size=8, probe_passages=0, threads=1
        ),
    )


def test_a_model(
    collection: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trained = positionbias.train(collection, quick(collection.path.parent), out=tmp_path / "tk")
    assert trained is not None
    rows = trained.to_frame().query("measure == 'training'").set_index("statistic")
    assert (trained.path, set(rows["model"])) == (tmp_path / "tk", {"tk"})
    assert rows.loc["validation", "value"] == trained.model.ending.ndcg
    # what to type next is for the command line
    assert "posbias rerank" not in capsys.readouterr().err


def test_a_file_that_is_not_there_is_named_by_its_flag(
    collection: Collection, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="--candidates: wanted a path to read; found nothing at "):
        positionbias.train(collection, quick(tmp_path), out=tmp_path / "tk")


def test_a_teachers_scores(collection: Collection, tmp_path: Path) -> None:
    run = collection.path.parent / "train.run"
    taught = positionbias.teach(
        collection,
        teacher=Teacher(model=saved_tk(tmp_path / "tk.ckpt", collection), name="mine"),
        passages=TaughtPassages(candidates=run, depth=2),
        out=tmp_path / "scores",
    )
    values = taught.rows.set_index(["measure", "statistic"])["value"]
    assert values["queries", "count"] == len(Run.from_file(run))
    scores = [score for ranking in taught.scores.rankings() for score in ranking.scores.tolist()]
    assert values["score", "mean"] == pytest.approx(sum(scores) / len(scores))


def test_settings_of_teachers_that_do_not_go_together(
    collection: Collection, tmp_path: Path
) -> None:
    with pytest.raises(
        SettingError, match="--kind: wanted none beside --scores, which has its own pairs"
    ):
        positionbias.teach(
            collection, teacher=Teacher(scores="scores.run", kind="tk"), out=tmp_path / "scores"
        )
