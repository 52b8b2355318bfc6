"""Answer positions of the real SQuAD files that $POSBIAS_DATA holds, as they are and placed."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.formats.squad import import_squad
from positionbias.positions.histogram import PositionHistogram, position_histogram
from positionbias.positions.place import place, placed_questions
from positionbias.positions.settings import Density, HistogramOptions, Placing

pytestmark = pytest.mark.realdata

LAST = Density("histogram", 0.0, (0.0, 0.95, 1.0), (0.0, 1.0))


@pytest.fixture(scope="module")
def squad(posbias_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = posbias_data / "squad"
    out = tmp_path_factory.mktemp("squad") / "squad"
    return import_squad([folder / "train44-v1.1.json"], folder / "dev-v1.1.json", out)


def histogram(collection: Collection, split: str) -> PositionHistogram:
    return position_histogram(collection, split, HistogramOptions(resamples=100))


def test_the_first_tenth_of_squad_holds_more_than_its_share(squad: Collection) -> None:
    figures = histogram(squad, "train")
    assert figures.first_tenth.value == pytest.approx(0.17, abs=0.01)
    assert figures.first_tenth.difference_interval.low > 0.05
    assert figures.total_variation.value > 3 * figures.total_variation.by_chance_high


# -- placed ---------------------------------------------------------------------------------------


def test_what_is_kept_and_where_answers_start(squad: Collection, tmp_path: Path) -> None:
    """Counted by their answer's first character, 4,623 training questions would stay; two of these
    answers reach into a further sentence. Of test questions 4,114 would by the first annotator
    alone: others answer many of them in another sentence."""
    placed = place(squad, tmp_path / "last", Placing(LAST))
    counts = placed.manifest.content["placement"]["questions"]
    assert {split: of["kept"] for split, of in counts.items()} == {"train": 4_621, "test": 3_895}
    assert [
        len(placed_questions(placed, split).passages().passage_ids) for split in ("train", "test")
    ] == [1_861, 1_858]
    assert all(
        facts["cut"] == 0 for facts in placed.manifest.content["placement"]["splits"].values()
    )
