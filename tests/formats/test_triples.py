"""Training triples: by ids and by texts, what is left out of them, and a release that is nothing
but triples.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.core.groups import Groups, TrainingGroup
from positionbias.engine.local import map_shards
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.formats.validation_draw import ValidationDraw

from .msmarco_files import write_files, write_tar
from .test_msmarco import PASSAGES, RELEASE

IDS = "11\t0\t4\n13\t1\t0\n12\t1\t6\n99\t1\t0\n"
LAMP, TOWER, GATE = PASSAGES[0].text, PASSAGES[4].text, PASSAGES[6].text
TEXTS = (
    f"what does the lamp burn\t{LAMP}\t{TOWER}\nwho knows\t{LAMP}\t{TOWER}\nhow much\t{LAMP}\tno "
    f"such text\nhow much\t{GATE}\t\n"
)


def pair(query_id: str, positive: str, negative: str) -> TrainingGroup:
    return TrainingGroup(query_id, (positive, negative), (1, 0))


def test_triples_of_ids(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", RELEASE | {"qidpidtriples.train.full.2.tsv.gz": IDS})
    made = import_msmarco([folder], tmp_path / "out")
    groups = Groups(tmp_path / "out" / "trainsets" / "qidpidtriples.train.full.2")
    # 13 is unjudged and so no training query here; 99 is unknown
    assert list(groups) == [pair("11", "0", "4"), pair("12", "1", "6")]
    assert (groups.splits, groups.manifest.content["lines"]) == (("train",), 4)
    assert groups.manifest.input("collection").checksum == made.checksum  # type: ignore[union-attr]
    assert "non-commercial" in groups.manifest.licence
    assert made.manifest.content["source"]["missing"] == ["top1000.dev", "triples.train.small.tsv"]


def test_queries_drawn_for_validation_are_not_trained_on(tmp_path: Path) -> None:
    files = {name: content for name, content in RELEASE.items() if "small" not in name}
    folder = write_files(
        tmp_path / "in", files | {"qidpidtriples.train.tsv": "11\t0\t4\n12\t1\t6\n14\t4\t0\n"}
    )
    made = import_msmarco(
        [folder], tmp_path / "out", release=MsmarcoSettings(validation=ValidationDraw(2))
    )
    kept = {query.query_id for query in made.queries("train")}
    groups = list(Groups(tmp_path / "out" / "trainsets" / "qidpidtriples.train"))
    assert {group.query_id for group in groups} == kept
    assert len(groups) == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_triples_of_texts_find_their_ids(tmp_path: Path, workers: int) -> None:
    folder = write_files(tmp_path / "in", RELEASE)
    write_tar(folder / "triples.train.small.tar.gz", {"triples.train.small.tsv": TEXTS})

    def over_workers(function, items):  # type: ignore[no-untyped-def]
        return map_shards(function, items, workers)

    import_msmarco([folder], tmp_path / "out", map_shards=over_workers)
    groups = Groups(tmp_path / "out" / "trainsets" / "triples.train.small")
    # the second line's query and the third one's negative are unknown; passage 5 is empty, and
    # found
    assert list(groups) == [pair("11", "0", "4"), pair("12", "6", "5")]
    assert groups.manifest.content["lines"] == 4
    assert not (tmp_path / "out" / "cache" / "texts").exists()


def test_triples_without_training_queries_are_left_out_and_counted(tmp_path: Path) -> None:
    files = {"collection.tsv": RELEASE["collection.tsv"], "qidpidtriples.train.tsv": IDS}
    import_msmarco([write_files(tmp_path / "in", files)], tmp_path / "out")
    groups = Groups(tmp_path / "out" / "trainsets" / "qidpidtriples.train")
    assert (len(groups), groups.manifest.content["lines"]) == (0, 4)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "qidpidtriples.train.tsv",
            "11\t0\t4\n11\t0\n",
            r"qidpidtriples.train.tsv:2: wanted three columns .*; found 2 columns",
        ),
        (
            "triples.train.small.tsv",
            "a\tb\tc\td\n",
            r"triples.train.small.tsv:1: wanted three columns .*; found 4 columns",
        ),
        (
            "triples.train.small.tsv",
            b"a\tb\t\xff\n",
            r"triples.train.small.tsv:1: wanted text in UTF-8",
        ),
    ],
)
def test_faults_are_one_line_and_leave_nothing(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    folder = write_files(tmp_path / "in", {**RELEASE, name: content})  # type: ignore[dict-item]
    with pytest.raises(InputError, match=message):
        import_msmarco([folder], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
