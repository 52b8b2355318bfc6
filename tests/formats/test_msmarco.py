"""MS MARCO passage ranking: which file becomes what, which query goes where, what is said of the
rest, and faults.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.groups import Groups
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.run import Run
from positionbias.formats.attach import Attachment
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.formats.validation_draw import ValidationDraw

from .msmarco_files import write_files, write_tar

# Seven passages; text with a tab, mojibake as MS MARCO has it, NUL, a CR inside, Chinese and
# Japanese; the last line has no newline.
COLLECTION = (
    "0\tThe lamp of Orvell burns green oil.\n"
    "1\tThe cost is Â£5 â\x80\x93 or more.\n"
    "2\tone\tafter a tab\n"
    "3\ta \x00 NUL and\ra CR\n"
    "4\t灯塔很高。\n"
    "5\t\n"
    "6\t鉄の門"
)
PASSAGES = [
    Passage("0", "The lamp of Orvell burns green oil."),
    Passage("1", "The cost is Â£5 â\x80\x93 or more."),
    Passage("2", "one\tafter a tab"),
    Passage("3", "a \x00 NUL and\ra CR"),
    Passage("4", "灯塔很高。"),
    Passage("5", ""),
    Passage("6", "鉄の門"),
]
RELEASE = {
    "collection.tsv": COLLECTION,
    "queries.train.tsv": (
        "11\twhat does the lamp burn\n12\thow much\n13\tnobody judged this\n14\thow high\n"
    ),
    "qrels.train.tsv": "11\t0\t0\t1\n12\t0\t1\t1\n14\t0\t4\t1\n14\t0\t99\t1\n",
    "queries.dev.tsv": "21\twhich gate\n22\twhat stands there\n23\tunjudged in dev\n24\tlast one\n",
    "qrels.dev.tsv": "21\t0\t6\t1\n22\t0\t2\t1\n24\t0\t3\t1\n",
    "queries.dev.small.tsv": "22\twhat stands there\n",
    "qrels.dev.small.tsv": "22\t0\t2\t1\n",
    "queries.eval.tsv": "31\twithheld\n32\talso withheld\n",
}


def ids(queries: list[Query]) -> list[str]:
    return [query.query_id for query in queries]


def test_the_release_as_published(tmp_path: Path) -> None:
    made = import_msmarco([write_files(tmp_path / "in", RELEASE)], tmp_path / "out")
    assert list(made.passages()) == PASSAGES
    assert {split: ids(made.queries(split)) for split in made.splits} == {
        "train": ["11", "12", "14"],  # 13 has no judgement
        "validation": ["22"],  # dev/small
        "test": ["21", "24"],  # the other judged dev queries
        "eval": ["31", "32"],  # no judgements
    }
    assert made.qrels("train") == [
        Qrel("11", "0", 1),
        Qrel("12", "1", 1),
        Qrel("14", "4", 1),
        Qrel("14", "99", 1),
    ]
    assert made.qrels("validation") == [Qrel("22", "2", 1)]
    assert made.qrels("test") == [Qrel("21", "6", 1), Qrel("24", "3", 1)]
    assert made.qrels("eval") == []
    content = made.manifest.content
    assert content["absent"] == {"train": {"judgements": 1, "passages": 1}}  # passage 99
    assert content["source"]["left_out"] == {
        "train": {"unjudged_queries": 1},
        "test": {"unjudged_queries": 1},
    }
    assert content["source"]["missing"] == [
        "top1000.dev",
        "qidpidtriples*",
        "triples.train.small.tsv",
    ]
    assert content["source"]["not_read"] == {}
    assert "non-commercial" in made.manifest.licence
    assert [item.role for item in made.manifest.inputs] == [
        name.removesuffix(".tsv") for name in sorted(RELEASE)
    ]


def test_packed_or_in_an_archive_it_is_the_same(tmp_path: Path) -> None:
    plain = import_msmarco([write_files(tmp_path / "plain", RELEASE)], tmp_path / "a")
    packed = import_msmarco(
        [
            write_files(
                tmp_path / "packed", {f"{name}.gz": content for name, content in RELEASE.items()}
            )
        ],
        tmp_path / "b",
    )
    for number, names in enumerate((list(RELEASE), list(reversed(RELEASE)))):
        archive = write_tar(
            tmp_path / f"{number}" / "collectionandqueries.tar.gz",
            {name: RELEASE[name] for name in names},
        )
        assert (
            import_msmarco([archive], tmp_path / f"c{number}").checksum
            == plain.checksum
            == packed.checksum
        )
        assert import_msmarco([archive.parent], tmp_path / f"d{number}").checksum == plain.checksum


def test_windows_line_ends_are_not_text(tmp_path: Path) -> None:
    triples = {
        "qidpidtriples.train.full.2.tsv": "11\t0\t4\n12\t1\t6\n",
        "triples.train.small.tsv": f"how much\t{PASSAGES[1].text}\t{PASSAGES[6].text}\n",
    }
    files = RELEASE | TOP1000 | triples
    windows = {name: content.replace("\n", "\r\n") for name, content in files.items()}
    windows["collection.tsv"] += "\r\n"
    made = import_msmarco([write_files(tmp_path / "in", windows)], tmp_path / "out")
    assert list(made.passages()) == PASSAGES
    assert (
        made.checksum
        == import_msmarco([write_files(tmp_path / "unix", files)], tmp_path / "same").checksum
    )
    assert Run.from_file(tmp_path / "out" / "runs" / "top1000.dev.run")["22"].passage_ids == [
        "3",
        "2",
        "6",
    ]
    groups = {
        path.name: [group.passage_ids for group in Groups(path)]
        for path in (tmp_path / "out" / "trainsets").iterdir()
    }
    assert groups == {
        "qidpidtriples.train.full.2": [("0", "4"), ("1", "6")],
        "triples.train.small": [("1", "6")],
    }


def without(*names: str) -> dict[str, str]:
    return {name: content for name, content in RELEASE.items() if name not in names}


@pytest.mark.parametrize(
    ("files", "splits"),
    [
        # no dev/small: all judged dev queries are test
        (
            without("queries.dev.small.tsv", "qrels.dev.small.tsv"),
            {"train": ["11", "12", "14"], "test": ["21", "22", "24"], "eval": ["31", "32"]},
        ),
        # dev/small known by its judgements alone
        (
            without("queries.dev.small.tsv"),
            {
                "train": ["11", "12", "14"],
                "validation": ["22"],
                "test": ["21", "24"],
                "eval": ["31", "32"],
            },
        ),
        # as collectionandqueries.tar.gz has it: nothing judges the other dev queries
        (
            without("qrels.dev.tsv"),
            {"train": ["11", "12", "14"], "validation": ["22"], "eval": ["31", "32"]},
        ),
        # no judgements at all: queries stay
        (
            without("qrels.train.tsv", "qrels.dev.tsv", "qrels.dev.small.tsv", "queries.eval.tsv"),
            {"train": ["11", "12", "13", "14"], "validation": ["22"], "test": ["21", "23", "24"]},
        ),
        ({"collection.tsv": COLLECTION}, {}),
    ],
)
def test_any_subset_is_enough(
    tmp_path: Path, files: dict[str, str], splits: dict[str, list[str]]
) -> None:
    made = import_msmarco([write_files(tmp_path / "in", files)], tmp_path / "out")
    assert {split: ids(made.queries(split)) for split in made.splits} == splits
    assert set(made.manifest.content["source"]["missing"]) >= RELEASE.keys() - files.keys()


def test_queries_without_passages(tmp_path: Path) -> None:
    made = import_msmarco(
        [write_files(tmp_path / "in", without("collection.tsv"))], tmp_path / "out"
    )
    assert len(made) == 0
    assert made.manifest.content["absent"]["train"] == {"judgements": 4, "passages": 4}


def test_unjudged_queries_stay_where_that_is_asked_for(tmp_path: Path) -> None:
    made = import_msmarco(
        [write_files(tmp_path / "in", RELEASE)],
        tmp_path / "out",
        release=MsmarcoSettings(keep_unjudged=True),
    )
    assert ids(made.queries("train")) == ["11", "12", "13", "14"]
    assert ids(made.queries("test")) == ["21", "23", "24"]
    assert made.manifest.content["source"]["left_out"] == {}


def test_validation_is_drawn_from_train_without_dev_small(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", without("queries.dev.small.tsv", "qrels.dev.small.tsv"))
    one = import_msmarco(
        [folder], tmp_path / "one", release=MsmarcoSettings(validation=ValidationDraw(1))
    )
    two = import_msmarco(
        [folder], tmp_path / "two", release=MsmarcoSettings(validation=ValidationDraw(2))
    )
    drawn = set(ids(one.queries("validation")))
    assert len(drawn) == 1
    assert drawn < set(ids(two.queries("validation")))  # more takes the same and more
    assert set(ids(one.queries("train"))) == {"11", "12", "14"} - drawn
    assert {qrel.query_id for qrel in one.qrels("validation")} == drawn
    with pytest.raises(
        SettingError,
        match="--validation-queries: wanted fewer than the 3 training queries; found 3",
    ):
        import_msmarco(
            [folder], tmp_path / "three", release=MsmarcoSettings(validation=ValidationDraw(3))
        )
    with pytest.raises(
        SettingError,
        match="--validation-queries: wanted a release without validation queries; found 1; leave",
    ):
        import_msmarco(
            [write_files(tmp_path / "all", RELEASE)],
            tmp_path / "four",
            release=MsmarcoSettings(validation=ValidationDraw(1)),
        )


def test_attached_splits_and_judgement_sets(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", RELEASE)
    write_files(
        folder,
        {"queries.dl19.tsv": "41\tgraded\n42\tnot\n", "qrels.dl19.txt": "41 Q0 0 3\n41 Q0 77 0\n"},
    )
    write_files(folder, {"llm.txt": "41 0 1 2\n", "train.txt": "11 0 1 1\n"})
    dl19 = Attachment("dl19", folder / "queries.dl19.tsv", folder / "qrels.dl19.txt")
    made = import_msmarco(
        [folder],
        tmp_path / "out",
        release=MsmarcoSettings(
            attach=[
                dl19,
                Attachment("dl19.llm", folder / "queries.dl19.tsv", folder / "llm.txt"),
                Attachment("train.mine", folder / "queries.train.tsv", folder / "train.txt"),
            ]
        ),
    )
    assert made.splits == ["train", "validation", "test", "eval", "dl19"]
    assert made.queries("dl19") == [Query("41", "graded")]
    assert made.qrels("dl19") == [Qrel("41", "0", 3), Qrel("41", "77", 0)]
    assert made.qrels("dl19", "llm") == [Qrel("41", "1", 2)]
    assert made.qrels("train", "mine") == [Qrel("11", "1", 1)]
    assert made.manifest.content["source"]["not_read"] == {}  # the attached files are read
    assert made.manifest.content["absent"]["dl19"] == {"judgements": 1, "passages": 1}
    with pytest.raises(SettingError, match="--attach: wanted a new name; found 'test'"):
        import_msmarco(
            [folder], tmp_path / "no", release=MsmarcoSettings(attach=[dl19._replace(name="test")])
        )
    assert not (tmp_path / "no").exists()


TOP1000 = {
    "top1000.dev": (
        "22\t3\twhat stands there\ta \x00 NUL and\ra CR\n"
        "21\t6\twhich gate\t鉄の門\n"
        "22\t2\twhat stands there\tone\tafter a tab\n"
        "22\t6\twhat stands there\t鉄の門\n"
    )
}


def test_candidates_become_a_run(tmp_path: Path) -> None:
    made = import_msmarco([write_files(tmp_path / "in", RELEASE | TOP1000)], tmp_path / "out")
    path = tmp_path / "out" / "runs" / "top1000.dev.run"
    run = Run.from_file(path)
    # the order of the lines, as there are no scores
    assert {query_id: run[query_id].passage_ids for query_id in run} == {
        "22": ["3", "2", "6"],
        "21": ["6"],
    }
    manifest = read_manifest(path, kind="run")
    assert manifest.input("collection").checksum == made.checksum  # type: ignore[union-attr]
    assert (manifest.content["queries"], manifest.content["pairs"]) == (2, 4)
    assert "non-commercial" in manifest.licence
    assert len(made) == 7
    archived = write_tar(tmp_path / "top1000.dev.tar.gz", TOP1000)
    import_msmarco(
        [tmp_path / "in", archived], tmp_path / "again", release=MsmarcoSettings(skip=["top1000"])
    )
    assert not (tmp_path / "again" / "runs").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "collection.tsv",
            "0\tone\n1 two\n",
            r"collection.tsv:2: wanted a passage: id, tab, text; found no tab",
        ),
        (
            "collection.tsv",
            "0\tone\n\ttwo\n",
            r"collection.tsv:2: wanted a passage: id, tab, text; found an empty id",
        ),
        (
            "collection.tsv",
            "0\tone\n\n",
            r"collection.tsv:2: wanted a passage: id, tab, text; found no tab",
        ),
        (
            "collection.tsv",
            b"0\tone\n1\t\xe9t\xe9\n",
            r"collection.tsv:2: wanted text in UTF-8; found the byte 0xe9",
        ),
        ("collection.tsv", "0\tone\n0\ttwo\n", "wanted every id once; found it twice"),
        ("collection.tsv.gz", b"\x1f\x8b\x08\x00damaged", "wanted a compressed file, whole"),
        (
            "queries.train.tsv",
            "11\tone\n11\ttwo\n",
            r"queries.train.tsv:2: wanted every query id once; found '11' again",
        ),
        (
            "queries.train.tsv",
            "",
            "queries.train.tsv: wanted queries: id, tab, text; found an empty file",
        ),
        ("qrels.train.tsv", "11\t0\t0\n", r"qrels.train.tsv:1: wanted four columns"),
        (
            "queries.dev.small.tsv",
            "22\tanother text\n",
            r"queries.dev.tsv: wanted one text per query; found a text for '22' that differs",
        ),
        (
            "qrels.dev.small.tsv",
            "22\t0\t2\t0\n",
            r"qrels.dev.tsv: wanted one grade per pair; found a grade for passage '2'",
        ),
        (
            "top1000.dev",
            "22\t3\tquery\n",
            r"top1000.dev:1: wanted four columns separated by tabs: .*; found 3 columns",
        ),
        (
            "top1000.dev",
            "22\t\tquery\ttext\n",
            r"top1000.dev:1: wanted four columns separated by tabs: .*; found an empty id",
        ),
        (
            "top1000.dev",
            "22\t3\tq\tt\n22\t3\tq\tt\n",
            r"top1000.dev: wanted each passage once per query; found '3' twice",
        ),
    ],
)
def test_faults_are_one_line_and_leave_nothing(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    folder = write_files(tmp_path / "in", without(name.removesuffix(".gz")))
    data = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        import_msmarco([folder], tmp_path / "out")
    assert "\n" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_a_place_without_its_files(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", {"corpus.jsonl": "{}"})
    with pytest.raises(
        InputError,
        match=(
            r"in: wanted files of MS MARCO passage ranking: .*; found corpus.jsonl; check the path"
        ),
    ):
        import_msmarco([folder], tmp_path / "out")


def test_what_stands_is_not_replaced_unasked(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", RELEASE)
    before = import_msmarco([folder], tmp_path / "out").checksum
    with pytest.raises(OutputExistsError):
        import_msmarco(
            [folder], tmp_path / "out", release=MsmarcoSettings(validation=ValidationDraw(0))
        )
    assert (
        import_msmarco([folder], tmp_path / "out", overwrite=True).checksum
        == before
        == Collection(tmp_path / "out").checksum
    )


def test_a_line_of_ten_megabytes_and_a_byte_order_mark(tmp_path: Path) -> None:
    long = "word " * 2_100_000
    folder = write_files(tmp_path / "in", {"collection.tsv": f"\ufeff0\t{long}\n1\tshort"})
    made = import_msmarco([folder], tmp_path / "out")
    assert list(made.passages()) == [Passage("0", long), Passage("1", "short")]


def test_an_interrupted_import_goes_on_at_the_shard(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "in", RELEASE | TOP1000)
    (folder / "collection.tsv").write_text(
        "".join(f"{number}\t{'word ' * 200_000}\n" for number in range(40))
    )  # 3 blocks of 16 MB

    def stopped(function, items):  # type: ignore[no-untyped-def]
        for number, item in enumerate(items):
            if number == 2:
                raise KeyboardInterrupt
            yield function(item)

    with pytest.raises(KeyboardInterrupt):
        import_msmarco([folder], tmp_path / "out", map_shards=stopped)
    assert not (tmp_path / "out").exists()
    finished = {
        path.name: path.stat().st_mtime_ns
        for path in tmp_path.glob(".out.work/content/passages/*.arrow")
    }
    assert len(finished) == 2
    made = import_msmarco([folder], tmp_path / "out")
    kept = {path.name: path.stat().st_mtime_ns for path in made.shard_paths}
    # two were not made again
    assert (len(kept), kept.items() & finished.items()) == (3, finished.items())
    assert made.checksum == import_msmarco([folder], tmp_path / "whole").checksum
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "whole"]
