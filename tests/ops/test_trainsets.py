"""Training sets made from Python: what comes back, and where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.clicks.settings import ClickSettings
from positionbias.contamination.settings import ContaminatedSettings
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.groups import Groups
from positionbias.leakage.settings import LeakingPairs
from positionbias.planted.generator import write_planted
from positionbias.planted.settings import PlantedSettings

from ..tiny import candidates

PLANTED = PlantedSettings(
    queries=60, passages=240, test_share=0.3, validation_share=0.2, leaked_queries=20
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path]:
    """A planted pair of source and target, and the folder with its runs."""
    folder = tmp_path_factory.mktemp("pair")
    collection = write_planted(folder / "pair", PLANTED)
    candidates(collection, folder)
    return collection, folder


def test_sets_with_leaked_queries(pair: tuple[Collection, Path], tmp_path: Path) -> None:
    collection, folder = pair
    drawn = positionbias.draw_leaked(
        collection,
        targets=["test"],
        candidates=[str(folder / "train.run")],
        leaking=LeakingPairs(pairs=[collection.path], leaked_queries=4),
        leakage="msm",
        size=20,
        out=tmp_path / "set",
    )
    assert drawn.rows.set_index("statistic")["value"]["leaked share"] == 0.4
    assert len(Groups(drawn.path)) == 10


def test_a_set_is_never_written_over_the_pairs_it_is_drawn_from(
    pair: tuple[Collection, Path], tmp_path: Path
) -> None:
    collection, folder = pair
    (pairs := tmp_path / "pairs.jsonl").write_bytes((collection.path / "pairs.jsonl").read_bytes())
    with pytest.raises(SettingError, match="--out: wanted a place apart from what is read"):
        positionbias.draw_leaked(
            collection,
            targets=["test"],
            candidates=[str(folder / "train.run")],
            leaking=LeakingPairs(pairs=[pairs]),
            leakage="no",
            size=20,
            out=pairs,
            overwrite=True,
        )


def test_a_set_that_holds_the_test(pair: tuple[Collection, Path], tmp_path: Path) -> None:
    collection, folder = pair
    settings = ContaminatedSettings(targets=("test",), target_relevant_from=1)
    drawn = positionbias.draw_contaminated(
        collection, candidates=folder / "train.run", settings=settings, out=tmp_path / "set"
    )
    groups = drawn.rows[drawn.rows["statistic"] == "groups"].set_index("split")["value"]
    assert groups.sum() == len(Groups(drawn.path))
    assert groups["test"] == sum(qrel.grade >= 1 for qrel in collection.qrels("test"))


def test_triples_of_clicks(pair: tuple[Collection, Path], tmp_path: Path) -> None:
    collection, folder = pair
    drawn = positionbias.draw_clicks(
        collection,
        candidates=folder / "train.run",
        settings=ClickSettings(negatives=2, triples=10),
        out=tmp_path / "set",
    )
    assert drawn.rows["set"].unique().tolist() == ["set"]
    assert len(Groups(drawn.path)) == 10
