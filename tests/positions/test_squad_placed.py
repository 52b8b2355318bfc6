"""Placing on the real SQuAD files that $POSBIAS_DATA holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.formats.squad import import_squad
from positionbias.positions.density import Density
from positionbias.positions.place import place, placed_questions, placement_results
from positionbias.positions.settings import Placing
from positionbias.results.payloads import PlaceHistogram

pytestmark = pytest.mark.realdata

FIRST = Density("histogram", 0.0, (0.0, 0.05, 1.0), (1.0, 0.0))
LAST = Density("histogram", 0.0, (0.0, 0.95, 1.0), (0.0, 1.0))


@pytest.fixture(scope="module")
def squad(posbias_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = posbias_data / "squad"
    place = tmp_path_factory.mktemp("squad") / "squad"
    return import_squad([folder / "train44-v1.1.json"], folder / "dev-v1.1.json", place)


def histograms(collection: Collection, measure: str) -> dict[str, PlaceHistogram]:
    results = (result for result in placement_results(collection) if result.measure == measure)
    return {
        result.split: result.payload
        for result in results
        if isinstance(result.payload, PlaceHistogram)
    }


def test_what_is_kept_and_where_answers_start(squad: Collection, tmp_path: Path) -> None:
    """Counted by their answer's first character, 4,623 training questions would stay; two of these
    answers reach into a further sentence. Of test questions 4,114 would by the first annotator
    alone: others answer many of them in another sentence."""
    first, last = (
        place(squad, tmp_path / name, Placing(density))
        for name, density in (("first", FIRST), ("last", LAST))
    )
    for placed in (first, last):
        counts = placed.manifest.content["placement"]["questions"]
        assert {split: of["kept"] for split, of in counts.items()} == {
            "train": 4_621,
            "test": 3_895,
        }
        assert [
            len(placed_questions(placed, split).passages().passage_ids)
            for split in ("train", "test")
        ] == [1_861, 1_858]
        assert all(
            facts["cut"] == 0 for facts in placed.manifest.content["placement"]["splits"].values()
        )
    starts = [histograms(placed, "answer starts") for placed in (first, last)]
    for split in ("train", "test"):
        assert first.queries(split) == last.queries(split)
        front, end = (histogram[split].reached for histogram in starts)
        assert front[0] / sum(front) == pytest.approx(0.78, abs=0.01)
        assert end[-1] / sum(end) == pytest.approx(0.71, abs=0.01)
