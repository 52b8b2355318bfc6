"""The same texts in every form are the same training set; what is no text set is refused in one
line.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.core.records import Qrel
from positionbias.core.seeds import text_id
from positionbias.overlap.settings import PASSAGES, QUERIES, OverlapSettings
from positionbias.overlap.sources import text_set

from .sets import (
    bytes_of,
    ids_in,
    query_of,
    text_of,
    triplets,
    write_beir,
    write_collection,
    write_csv,
    write_lines,
)

ROWS = triplets(range(20))


def parquet(path: Path) -> Path:
    import datasets

    datasets.Dataset.from_list(ROWS).to_parquet(path)
    return path


def saved(path: Path) -> Path:
    import datasets

    datasets.DatasetDict(
        {"train": datasets.Dataset.from_list(ROWS), "dev": datasets.Dataset.from_list(ROWS[:2])}
    ).save_to_disk(path)
    return path


def saved_alone(path: Path) -> Path:
    import datasets

    datasets.Dataset.from_list(ROWS).save_to_disk(path)
    return path


def packed(path: Path) -> Path:
    with gzip.open(path, "wt") as handle:
        handle.write(write_lines(path.with_name("plain"), ROWS).read_text())
    return path


def in_parts(path: Path) -> Path:
    path.mkdir()
    for number in range(5):
        write_lines(path / f"part{number}.jsonl", ROWS[number * 4 : number * 4 + 4])
    (path / "README.txt").write_text("no table")
    return path


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A test set, and what is found in training rows as JSON lines."""
    folder = tmp_path_factory.mktemp("wanted")
    test = write_beir(folder / "bench", range(15, 25))
    out = folder / "out"
    pb.overlap_leakage([f"rows={write_lines(folder / 'rows.jsonl', ROWS)}"], tests=[test], out=out)
    made = [(text_id("p", text_of(n)), f"d{n}") for n in range(15, 20)]
    assert ids_in(out, "bench.passages") == made
    asked = [(text_id("q", query_of(n)), f"q{n}") for n in range(15, 20)]
    assert ids_in(out, "bench.queries") == ids_in(out, "bench.pairs") == asked
    return test, bytes_of(out)


FORMS: dict[str, Callable[[Path], Path]] = {
    "rows.csv": lambda path: write_csv(path, ROWS),
    "rows.parquet": parquet,
    "rows.jsonl.gz": packed,
    "parts": in_parts,
    "saved": saved,
    "alone": saved_alone,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("form", FORMS)
def test_any_form_gives_the_same_pairs(
    form: str, tmp_path: Path, wanted: tuple[Path, dict[str, bytes]]
) -> None:
    test, found = wanted
    place = FORMS[form](tmp_path / form)
    pb.overlap_leakage([f"rows={place}"], tests=[test], out=tmp_path / "out")
    assert bytes_of(tmp_path / "out") == found


def test_negatives_are_passages_of_no_query(tmp_path: Path) -> None:
    rows = write_lines(tmp_path / "rows.jsonl", triplets(range(6)))
    texts = text_set(rows, OverlapSettings(), test=False)
    passages = [
        text
        for block in texts.blocks(PASSAGES)
        for batch in block.batches()
        for text in batch.texts
    ]
    assert sorted(passages) == sorted(
        [*map(text_of, range(6)), *map(text_of, (2_001, 2_003, 2_005))]
    )
    assert [
        text for block in texts.blocks(QUERIES) for batch in block.batches() for text in batch.texts
    ] == [query_of(n) for n in range(6)]
    assert list(texts.links()) == [
        (text_id("q", query_of(n)), text_id("p", text_of(n))) for n in range(6)
    ]


def test_rows_of_another_split_and_of_no_grade(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "passage": "b", "split": "dev", "label": 1},
        {
            "query": "c",
            "passage": "d",
            "split": "train",
            "label": 0,
            "query_id": "7",
            "passage_id": 8,
        },
        {
            "query": "e",
            "passage": "f",
            "split": "train",
            "label": 2,
            "query_id": "9",
            "passage_id": 10,
        },
        {"query": "g", "passage": None, "split": "train", "label": 2},
    ]
    texts = text_set(write_lines(tmp_path / "rows.jsonl", rows), OverlapSettings(), test=False)
    (block,) = texts.blocks(PASSAGES)
    (batch,) = block.batches()
    assert (list(batch.ids), list(batch.texts), batch.left_out) == (["8", "10"], ["d", "f"], 1)
    assert list(texts.links()) == [("9", "10")]


def test_a_test_table_has_its_relevant_passages(tmp_path: Path) -> None:
    rows = [
        {"query": f"q{n}", "passage": f"p{n}", "label": n, "negative": f"n{n}"} for n in range(4)
    ]
    place = write_lines(tmp_path / "rows.jsonl", [*rows, {"passage": "alone"}])

    def passages(settings: OverlapSettings, *, test: bool) -> list[str]:
        found = text_set(place, settings, test=test)
        return [
            text
            for block in found.blocks(PASSAGES)
            for batch in block.batches()
            for text in batch.texts
        ]

    graded = text_set(place, OverlapSettings(relevant_from=2), test=True)
    assert passages(OverlapSettings(relevant_from=2), test=True) == ["p2", "p3", "alone"]
    assert list(graded.links()) == [(text_id("q", f"q{n}"), text_id("p", f"p{n}")) for n in (2, 3)]
    assert passages(OverlapSettings(), test=True) == ["p1", "p2", "p3", "alone"]
    everything = [*(f"p{n}" for n in range(4)), "alone", *(f"n{n}" for n in range(4))]
    assert passages(OverlapSettings(relevant_from=2), test=False) == everything
    assert passages(OverlapSettings(all_passages=True), test=True) == everything
    # without grades every passage of a query is relevant
    bare = write_lines(tmp_path / "bare.jsonl", [{"query": "q", "passage": "p"}])
    assert len(list(text_set(bare, OverlapSettings(relevant_from=2), test=True).links())) == 1


def test_a_collection_has_its_judged_passages(tmp_path: Path) -> None:
    queries = {"q1": "one", "q2": "two"}
    qrels = [Qrel("q1", "b", 2), Qrel("q1", "a", 1), Qrel("q2", "c", 0), Qrel("q2", "gone", 1)]
    made = write_collection(
        tmp_path / "c", {"a": "A", "b": "B", "c": "C", "d": "D"}, train=(queries, qrels)
    )

    def passages(settings: OverlapSettings, *, test: bool) -> list[str]:
        found = text_set(f"{made.path}:train", settings, test=test)
        return [
            text_id
            for block in found.blocks(PASSAGES)
            for batch in block.batches()
            for text_id in batch.ids
        ]

    # any judgement names a training passage
    assert passages(OverlapSettings(), test=False) == ["a", "b", "c"]
    assert passages(OverlapSettings(), test=True) == ["a", "b"]
    assert passages(OverlapSettings(relevant_from=2), test=True) == ["b"]
    assert passages(OverlapSettings(all_passages=True), test=True) == ["a", "b", "c", "d"]
    assert list(
        text_set(f"{made.path}:train", OverlapSettings(relevant_from=2), test=True).links()
    ) == [("q1", "b")]


def test_a_beir_folder_has_its_judged_passages(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "bench", [3, 1], "train")

    def passages(settings: OverlapSettings) -> list[str]:
        found = text_set(folder, settings, test=False)
        return [
            text_id
            for block in found.blocks(PASSAGES)
            for batch in block.batches()
            for text_id in batch.ids
        ]

    assert passages(OverlapSettings()) == ["d3", "d1"]
    assert passages(OverlapSettings(all_passages=True)) == ["d3", "d1", "d901", "d902"]


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ("nothing", InputError, "nothing: wanted a collection"),
        (
            "empty",
            InputError,
            (
                "wanted a collection, a BEIR folder, a data set saved by datasets, or files of "
                "JSON lines"
            ),
        ),
        ("odd.jsonl", InputError, "wanted a column of passages; found x, y"),
        (
            "bench:dev",
            InputError,
            "wanted judgements of a split 'dev'; found test; name one: bench:SPLIT",
        ),
        ("a b=bench", SettingError, "wanted a name of letters, digits"),
    ],
)
def test_what_is_no_text_set(
    given: str, error: type[Exception], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write_lines(tmp_path / "odd.jsonl", [{"x": 1, "y": 2}])
    write_beir(tmp_path / "bench", [1])
    with pytest.raises(error, match=said):
        text_set(given, OverlapSettings(), test=True)


def test_an_export_with_queries_without_judgements_is_read(tmp_path: Path) -> None:
    place = write_beir(tmp_path / "beir", [1, 2])
    with open(place / "queries.jsonl", "a") as handle:
        handle.write('{"_id": "nobody", "text": "asked of no passage"}\n')
    pb.import_beir(place, out=tmp_path / "made")
    pb.export(tmp_path / "made", to="beir", out=tmp_path / "export")
    train = write_lines(tmp_path / "train.jsonl", triplets([1]))
    pb.overlap_leakage(
        [train], tests=[f"a={tmp_path}/made", f"b={tmp_path}/export"], out=tmp_path / "out"
    )
    assert ids_in(tmp_path / "out", "a.pairs") == ids_in(tmp_path / "out", "b.pairs")
    assert len(ids_in(tmp_path / "out", "a.pairs")) == 1
