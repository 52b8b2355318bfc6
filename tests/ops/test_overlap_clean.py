"""``clean_leakage`` with overlapping pairs: both sides, what the ledger and the statement say,
sheets, and bad input.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import positionbias
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.records import Qrel, Query
from positionbias.core.run import Run
from positionbias.core.shard_work import work_folder
from positionbias.core.verify import verify
from positionbias.engine.choose import Engine
from positionbias.ops.leakage_clean import Cleaned, CountedPairs
from positionbias.overlap.folder import OverlapFolder
from positionbias.overlap.removing import Removing
from positionbias.overlap.settings import OverlapSettings
from positionbias.results.overlap import OverlapFigures
from positionbias.results.overlap_removed import LeaksRemoved
from positionbias.results.select import of_type

from ..overlap.small import TEST_PASSAGES, both, collection, searched


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    both(tmp_path)
    searched(tmp_path)
    return tmp_path


def clean(
    folder: Path,
    name: str = "train",
    out: str = "clean",
    source: str | None = None,
    **removing: object,
) -> Cleaned:
    counted = CountedPairs(pairs=folder / "overlap", source=source)
    return positionbias.clean_leakage(
        folder / name, counted=counted, removing=Removing(**removing), out=folder / out
    )  # type: ignore[arg-type]


def ledger(made: Cleaned, name: str) -> list[dict[str, object]]:
    return [
        json.loads(line) for line in (made.path / "left_out" / name).read_text("utf-8").splitlines()
    ]


def test_training_passages_go_and_another_search_finds_none(folder: Path) -> None:
    made = clean(folder, remove="passages")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["b", "d"]
    assert list(made.collection.qrels("train")) == [Qrel("q2", "b", 1), Qrel("q2", "d", 0)]
    assert ledger(made, "passages.jsonl") == [
        {
            "passage_id": "a",
            "reasons": [
                {
                    "test_passage_id": "x",
                    "found_by": ["exact", "ngram"],
                    "of_test": 1.0,
                    "of_train": 1.0,
                }
            ],
        },
        # 6 runs of 13 words in x, 8 in c
        {
            "passage_id": "c",
            "reasons": [
                {"test_passage_id": "x", "found_by": ["ngram"], "of_test": 1.0, "of_train": 0.75}
            ],
        },
    ]
    assert isinstance(made.removed, LeaksRemoved)
    counts = made.removed
    assert (counts.total, counts.left_out, counts.kept, counts.qrels_left_out) == (4, 2, 2, 3)
    assert (counts.queries_without_judgement, counts.pairs, counts.counted, counts.others) == (
        2,
        2,
        2,
        1,
    )
    again = positionbias.overlap_leakage(
        [f"{made.path}:train"], tests=[f"{folder / 'bench'}:test"], out=folder / "again"
    )
    assert {
        of.leaked for _, of in of_type(again.results, OverlapFigures) if of.unit == "passages"
    } == {0}
    assert verify(made.path / "manifest.json").fault == ""
    assert made.collection.manifest.content["left_out"]["unit"] == "passages"
    text = str(made)
    assert text.startswith(
        "clean: removed 2 of 4 passages (50.00%)\n  2 of 2 pairs of passages counted, with 1 on "
        "the other side"
    )


def test_the_statement_says_all_of_it_and_an_export_has_it(folder: Path) -> None:
    made = clean(folder, remove="passages")
    statement = (made.path / "left_out" / "CONTAMINATION.md").read_text("utf-8")
    source, result = Collection(folder / "train"), made.collection
    for told in (
        "clean is train without 2 of 4 passages: the train side of pairs of passages that overlap.",
        f"Checksum before: `{source.checksum}`; after: `{result.checksum}`.",
        (
            "A pair counted as a person had labelled it. Pairs without a label counted too, except "
            "those found by words alone."
        ),
        "- ngram: at least 50 % of one text's runs of 13 words stand in the other.",
        # two are too short
        "| bench | passages | train | ngram | 3 | 2 | 1 | 1 | 1 | 2 | unknown |",
        "posbias leakage overlap train:train --test bench:test ",
        (
            "posbias leakage clean train --pairs overlap --remove passages --unit passages --side "
            "train --split train --out clean"
        ),
    ):
        assert told in statement
    positionbias.export(made.path, to="beir", out=folder / "beir")
    assert (folder / "beir" / "CONTAMINATION.md").read_text("utf-8") == statement
    assert (
        "CONTAMINATION.md" in json.loads((folder / "beir" / "manifest.json").read_text())["files"]
    )
    positionbias.export(folder / "train", to="beir", out=folder / "plain")
    assert not (folder / "plain" / "CONTAMINATION.md").exists()


def test_a_second_removal_keeps_the_first_statement(folder: Path) -> None:
    clean(folder, remove="passages", out="first")
    made = clean(folder, "first", "second", source="train", remove="queries")
    statement = (made.path / "left_out" / "CONTAMINATION.md").read_text("utf-8")
    assert statement.startswith(
        "# Contamination\n\nsecond is first without 2 of 3 queries of split train"
    )
    assert "> first is train without 2 of 4 passages" in statement


def test_training_queries_and_judgements(folder: Path) -> None:
    by_text = clean(folder, out="by-text")
    assert isinstance(by_text.collection, Collection)
    # as an overlap says without any option
    assert [query.query_id for query in by_text.collection.queries("train")] == ["q3"]
    by_passage = clean(folder, out="by-passage", remove="queries", unit="passages")
    assert isinstance(by_passage.collection, Collection)
    assert [query.query_id for query in by_passage.collection.queries("train")] == ["q2"]
    by_pair = clean(folder, out="by-pair", remove="queries", unit="pairs")
    assert isinstance(by_pair.collection, Collection)
    assert [query.query_id for query in by_pair.collection.queries("train")] == ["q2", "q3"]
    masked = clean(folder, out="masked", remove="judgements")
    assert isinstance(masked.collection, Collection)
    assert Qrel("q1", "a", 1) not in list(masked.collection.qrels("train"))
    assert (len(masked.collection), masked.collection.count_queries("train")) == (4, 3)
    (line,) = ledger(masked, "train.jsonl")
    assert (line["query_id"], line["passage_id"], line["grade"]) == ("q1", "a", 1)


def test_the_test_side(folder: Path) -> None:
    queries = clean(folder, "bench", "queries", side="test")
    assert isinstance(queries.collection, Collection)
    assert [query.query_id for query in queries.collection.queries("test")] == ["t2"]
    (first, _) = ledger(queries, "test.jsonl")
    assert first["reasons"] == [
        {
            "source": "train",
            "train_query_id": "q1",
            "found_by": ["exact"],
            "of_test": 1.0,
            "of_train": 1.0,
        }
    ]
    masked = clean(folder, "bench", "masked", side="test", remove="judgements", unit="passages")
    assert isinstance(masked.collection, Collection)
    assert list(masked.collection.qrels("test")) == [
        Qrel("t2", "y", 1),
        Qrel("t3", "z", 1),
        Qrel("t2", "x", 0),
    ]


def test_training_groups(folder: Path) -> None:
    train = Collection(folder / "train")
    place = folder / "set"
    place.mkdir()
    groups = [
        TrainingGroup("q1", ("a", "d"), (1, 0)),
        TrainingGroup("q3", ("a", "b"), (1, 0)),
        TrainingGroup("q2", ("b", "d"), (1, 0)),
    ]
    manifest = Manifest(
        "trainset",
        "set",
        "a test",
        inputs=(input_ref("collection", train.path, train.checksum, artefact=place),),
    )
    write_groups(place, list, [groups[:2], groups[2:]], manifest, splits=["train"])
    made = clean(folder, "set", "masked", remove="judgements")
    assert isinstance(made.collection, Groups)
    assert [group.query_id for group in made.collection] == ["q3", "q2"]
    assert isinstance(made.removed, LeaksRemoved)
    assert (made.removed.total, made.removed.left_out, made.removed.kept) == (3, 1, 2)
    assert str(made).startswith(
        "masked: removed 1 of 3 training groups, with judgements that leak (33.33%)"
    )
    without = clean(folder, "set", "passages", remove="passages")
    assert isinstance(without.collection, Groups)
    assert [group.query_id for group in without.collection] == ["q2"]
    with pytest.raises(
        SettingError,
        match="--unit: wanted pairs that name queries of training groups; found passages",
    ):
        clean(folder, "set", "wrong", remove="queries", unit="passages")


def test_a_sheet_to_look_at_and_a_labelled_one_that_decides(folder: Path) -> None:
    clean(folder, remove="passages", sheet=folder / "sheet.tsv")
    with open(folder / "sheet.tsv", encoding="utf-8", newline="") as handle:
        rows = list(csv.DictReader(handle, delimiter="\t"))
    assert sorted(row["train_id"] for row in rows) == ["a", "c"]
    assert all(row["label"] == "" for row in rows)
    for row in rows:
        row["label"] = "no" if row["train_id"] == "c" else "identical"
    with open(folder / "filled.tsv", "w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0], delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    counted = CountedPairs(pairs=folder / "filled.tsv")
    made = positionbias.clean_leakage(
        folder / "train",
        counted=counted,
        removing=Removing(remove="passages"),
        out=folder / "byhand",
    )
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["b", "c", "d"]
    assert isinstance(made.removed, LeaksRemoved)
    assert (made.removed.counted, made.removed.labelled_different) == (1, 1)
    statement = (made.path / "left_out" / "CONTAMINATION.md").read_text("utf-8")
    assert "## Sets" not in statement


def test_workers_and_interruptions_change_no_byte(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from positionbias.ops import overlap_clean

    whole = clean(folder, out="whole", remove="passages")
    with monkeypatch.context() as patched:
        patched.setattr(
            overlap_clean._After, "_statement", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            clean(folder, out="again", remove="passages")
    assert not (folder / "again").exists()
    assert work_folder(folder / "again").exists()  # the shards are kept
    counted = CountedPairs(pairs=folder / "overlap")
    again = positionbias.clean_leakage(
        folder / "train",
        counted=counted,
        removing=Removing(remove="passages"),
        engine=Engine(workers=2),
        out=folder / "again",
    )
    for name in (
        "passages/00000.arrow",
        "left_out/passages.jsonl",
        "qrels/train.parquet",
        "queries/train.parquet",
    ):
        assert (again.path / name).read_bytes() == (whole.path / name).read_bytes()
    assert again.removed == whole.removed
    told = [
        (made.path / "left_out" / "CONTAMINATION.md").read_text("utf-8") for made in (again, whole)
    ]
    assert told[0].replace("again", "whole") == told[1].replace("again", "whole")


def test_other_splits_that_lose_judgements_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ..overlap.small import TEST, TRAIN, TRAIN_PASSAGES

    queries, qrels = TRAIN["train"]
    collection(
        tmp_path / "train",
        TRAIN_PASSAGES,
        {"train": (queries, qrels), "dev": (queries[:1], [Qrel("q1", "c", 1)])},
    )
    collection(tmp_path / "bench", TEST_PASSAGES, TEST)
    searched(tmp_path)
    made = clean(tmp_path, remove="passages")
    assert (
        "1 judgements of split 'dev' went too, with passages that they name"
        in capsys.readouterr().err
    )
    assert isinstance(made.removed, LeaksRemoved)
    assert made.removed.qrels_by_split == {"train": 3, "dev": 1}


@pytest.mark.parametrize(
    ("removing", "found"),
    [
        (
            {"side": "test"},
            (
                "wanted the collection among its test sets; found bench, of other content; name "
                "the one that has its ids with --source"
            ),
        ),
        (
            {"remove": "passages", "unit": "queries"},
            "--unit: wanted passages or pairs with --remove passages; found queries",
        ),
    ],
)
def test_what_is_refused(folder: Path, removing: dict[str, object], found: str) -> None:
    with pytest.raises((InputError, SettingError), match=found):
        clean(folder, **removing)
    assert not (folder / "clean").exists()


def test_more_that_is_refused(folder: Path) -> None:
    with pytest.raises(
        InputError,
        match="wanted a training set 'other'; found train; give one of these to --source",
    ):
        clean(folder, source="other")
    counted = CountedPairs(pairs=folder / "overlap", threshold=0.9)
    with pytest.raises(
        SettingError, match="--threshold: wanted with pairs of posbias leakage find"
    ):
        positionbias.clean_leakage(folder / "train", counted=counted, out=folder / "clean")
    with pytest.raises(SettingError, match="--remove: wanted with --pairs"):
        positionbias.clean_leakage(
            folder / "train",
            against=folder / "bench",
            removing=Removing(remove="passages"),
            out=folder / "clean",
        )
    with pytest.raises(InputError, match="found reasons to remove all 3"):
        _all_queries(folder)
    clean(folder, remove="passages")
    with pytest.raises(OutputExistsError):
        clean(folder, remove="passages")
    searched_queries = OverlapSettings(units=("queries",))
    positionbias.overlap_leakage(
        [f"train={folder / 'train'}"],
        tests=[f"bench={folder / 'bench'}"],
        settings=searched_queries,
        out=folder / "few",
    )
    with pytest.raises(
        InputError, match="wanted pairs of passages; found queries; give another --unit"
    ):
        positionbias.clean_leakage(
            folder / "train",
            counted=CountedPairs(pairs=folder / "few"),
            removing=Removing(remove="passages"),
            out=folder / "x",
        )


def _all_queries(folder: Path) -> None:
    lines = [json.dumps({"train_id": query, "test_id": "t1"}) for query in ("q1", "q2", "q3")]
    (folder / "all.jsonl").write_text("\n".join(lines))
    counted = CountedPairs(pairs=folder / "all.jsonl")
    positionbias.clean_leakage(
        folder / "train", counted=counted, removing=Removing(remove="queries"), out=folder / "none"
    )


def test_a_folder_with_only_the_best_pairs_is_refused_on_the_training_side(tmp_path: Path) -> None:
    both(tmp_path)
    searched(tmp_path, kept=1)
    with pytest.raises(
        InputError,
        match=(
            "wanted all 2 pairs of passages by ngram, as every training item has to go; found the "
            "best 1"
        ),
    ):
        clean(tmp_path, remove="passages")
    # one pair is enough to say that x leaks
    made = clean(tmp_path, "bench", side="test", remove="passages")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["y", "z"]


def test_a_passage_that_both_sides_share_stays(tmp_path: Path) -> None:
    from positionbias.core.records import Passage

    from ..overlap.small import LETTERS, collection

    # training and test are splits of one collection; both judge "same", and "copy" is a copy of it
    passages = [
        Passage("same", LETTERS),
        Passage("copy", LETTERS.upper()),
        Passage("other", "nothing of the kind"),
    ]
    splits = {
        "train": (
            [Query("q1", "first"), Query("q2", "second")],
            [Qrel("q1", "same", 1), Qrel("q2", "copy", 1)],
        ),
        "test": ([Query("t1", "third")], [Qrel("t1", "same", 1)]),
    }
    collection(tmp_path / "one", passages, splits)
    named = [f"train={tmp_path / 'one'}:train"], [f"test={tmp_path / 'one'}:test"]
    positionbias.overlap_leakage(named[0], tests=named[1], out=tmp_path / "overlap")
    made = clean(tmp_path, "one", remove="passages")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["same", "other"]


def test_the_split_is_that_of_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ..overlap.small import TEST, TRAIN, TRAIN_PASSAGES

    splits = {
        "dl19": TRAIN["train"],
        "dl20": (TRAIN["train"][0][:2], [Qrel("q1", "c", 1), Qrel("q2", "b", 1)]),
    }
    collection(tmp_path / "train", TRAIN_PASSAGES, splits)
    collection(tmp_path / "bench", TEST_PASSAGES, TEST)
    named = (
        [f"{split}={tmp_path / 'train'}:{split}" for split in splits],
        [f"bench={tmp_path / 'bench'}"],
    )
    positionbias.overlap_leakage(named[0], tests=named[1], out=tmp_path / "overlap")
    with pytest.raises(
        InputError,
        match="wanted --split, as the collection has several there; found dl19, dl20; name one",
    ):
        clean(tmp_path)
    counted = CountedPairs(pairs=tmp_path / "overlap")
    made = positionbias.clean_leakage(
        tmp_path / "train", counted=counted, split="dl19", out=tmp_path / "one"
    )
    assert "what leaks of dl20 stays; --split removes it" in capsys.readouterr().err
    assert isinstance(made.collection, Collection)
    assert [made.collection.count_queries(split) for split in splits] == [1, 2]
    by_name = clean(tmp_path, out="two", source="dl20", remove="judgements", unit="passages")
    assert isinstance(by_name.collection, Collection)
    assert [len(by_name.collection.qrels(split)) for split in splits] == [5, 1]
    assert isinstance(by_name.removed, LeaksRemoved)
    assert by_name.removed.split == "dl20"
    with pytest.raises(
        InputError, match="wanted pairs of split 'train'; found dl19, dl20; give another --split"
    ):
        positionbias.clean_leakage(
            tmp_path / "train", counted=counted, split="train", out=tmp_path / "three"
        )


def test_damaged_pairs_and_folders_of_others(folder: Path) -> None:
    pairs = folder / "overlap" / "pairs" / "bench.passages.jsonl"
    pairs.write_text(pairs.read_text("utf-8").replace('"c"', '"b"'), encoding="utf-8")
    with pytest.raises(InputError, match="bench.passages.jsonl"):
        clean(folder, remove="passages")
    found = positionbias.evaluate([_run()], collection=folder / "bench")
    found.save(folder / "results")
    with pytest.raises(
        InputError,
        match="wanted a folder of posbias leakage overlap; found what posbias evaluate wrote",
    ):
        OverlapFolder(folder / "results")


def _run() -> Run:
    return Run({"t1": {"x": 1.0}}, name="run")


@pytest.mark.parametrize(
    ("name", "side", "item"), [("train", "train", "training"), ("bench", "test", "test")]
)
def test_pairs_that_may_be_missing_are_refused_on_both_sides(
    tmp_path: Path, name: str, side: str, item: str
) -> None:
    both(tmp_path)
    searched(tmp_path, kept=1)
    with pytest.raises(
        InputError,
        match=(
            f"wanted all pairs of pairs by .*, as every {item} item has to go; found some that may"
        ),
    ):
        clean(tmp_path, name, side=side, remove="judgements")


def test_a_file_of_pairs_of_several_sources_or_of_another_unit_is_refused(folder: Path) -> None:
    lines = [
        {"source": "train", "train_id": "a", "test_id": "x"},
        {"source": "other", "train_id": "b", "test_id": "x"},
    ]
    path = folder / "given.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(
        InputError,
        match=(
            r"given\.jsonl:2: wanted pairs of one source; found train, other; name it with --source"
        ),
    ):
        _by_file(folder, path, "passages")
    made = _by_file(folder, path, "passages", source="train")
    assert isinstance(made.collection, Collection)
    assert made.collection.passage_ids() == ["b", "c", "d"]
    with pytest.raises(
        InputError, match="wanted pairs of queries with passages; found no train_passage_id"
    ):
        _by_file(folder, path, "judgements")
    with pytest.raises(
        InputError, match="wanted pairs of passages; found ids of queries and passages"
    ):
        _by_file(folder, folder / "overlap" / "pairs" / "bench.pairs.jsonl", "passages")


def _by_file(folder: Path, path: Path, what: str, source: str | None = None) -> Cleaned:
    counted = CountedPairs(pairs=path, source=source)
    return positionbias.clean_leakage(
        folder / "train",
        counted=counted,
        removing=Removing(remove=what),
        out=folder / "by-file",
        overwrite=True,
    )


def test_the_command_in_a_statement_is_quoted(folder: Path) -> None:
    (folder / "train").rename(folder / "my train")
    counted = CountedPairs(pairs=folder / "overlap")
    made = positionbias.clean_leakage(
        folder / "my train", counted=counted, removing=Removing(), out=folder / "clean one"
    )
    statement = (made.path / "left_out" / "CONTAMINATION.md").read_text("utf-8")
    assert "--out 'clean one'" in statement
