"""``leakage overlap`` as a whole: counts worked by hand, and the same bytes however the work is
shared, cut or interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import read_manifest
from positionbias.core.outcome import Measurements
from positionbias.core.publish import work_folder
from positionbias.core.records import Qrel
from positionbias.core.rows import load
from positionbias.engine.choose import Engine
from positionbias.overlap.find import find_overlap
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.shown import FOUND
from positionbias.overlap.texts import TextSet

from .sets import (
    bytes_of,
    ids_in,
    numbered,
    pairs_in,
    passages_only,
    query_of,
    text_of,
    write_collection,
)


def numbers(
    found: Measurements, unit: str, detector: str, training: str = "train"
) -> dict[str, float]:
    """The statistics of a unit and detector."""
    assert found.rows is not None
    rows = found.rows[(found.rows["subset"] == unit) & (found.rows["detector"] == detector)]
    rows = rows[rows["training"] == training]
    return dict(zip(rows["statistic"], rows["value"], strict=True))


def sentences(found: Measurements) -> list[str]:
    assert found.rows is not None
    return list(FOUND.headline(found.rows))


@pytest.fixture
def hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test set of three queries with four relevant passages, and a training set."""
    monkeypatch.chdir(tmp_path)
    head, tail = text_of(1, 40), text_of(2, 20)
    bench = {
        "copy": head.upper(),
        "half": f"{text_of(3, 20)} {text_of(4, 20)}",
        "new": text_of(5),
        "short": "only four words here",
        "no": tail,
    }
    queries = {
        "t1": f"what is {query_of(1)}?",
        "t2": "who lit the lamp",
        "t3": "nobody asks this one",
    }
    qrels = [
        Qrel("t1", "copy", 1),
        Qrel("t1", "new", 1),
        Qrel("t2", "half", 2),
        Qrel("t3", "short", 1),
        Qrel("t3", "no", 0),
    ]
    write_collection(tmp_path / "bench", bench, test=(queries, qrels))
    passages = {"p1": head, "p2": f"{text_of(3, 20)} and nothing else", "p3": tail}
    asked = {"a1": query_of(1), "a2": "Who lit the lamp?", "a3": "another"}
    links = [Qrel(f"a{n}", f"p{n}", 1) for n in (1, 2, 3)]
    write_collection(tmp_path / "train", passages, train=(asked, links))
    return tmp_path


def test_counts_by_hand(hand: Path) -> None:
    found = pb.overlap_leakage(["train=train"], tests=["bench"], out="out")
    # "no" is not relevant
    assert ids_in(hand / "out", "bench.test.passages") == [("p1", "copy"), ("p2", "half")]
    copy, half = pairs_in(hand / "out", "bench.test.passages")
    assert copy["found_by"] == ["exact", "ngram"]
    assert (copy["of_test"], copy["of_train"]) == (1.0, 1.0)
    # runs of 13 words: 8 of 28 of the test text, 8 of 11 of the training text
    assert half["found_by"] == ["ngram"]
    assert (half["of_test"], half["of_train"]) == (round(8 / 28, 6), round(8 / 11, 6))
    assert ids_in(hand / "out", "bench.test.queries") == [("a2", "t2")]
    (same,) = pairs_in(hand / "out", "bench.test.queries")
    # four words are too few for a run
    assert (same["found_by"], same["of_test"]) == (["exact"], 1.0)
    # of the queries that of "short" is not compared
    share = 2 / 2
    assert numbers(found, "passages", "ngram") == {
        "share": share, "found": 2, "of": 4, "not compared": 1, "queries": 2, "pairs": 2,
    }  # fmt: skip
    assert numbers(found, "queries", "ngram")["not compared"] == 3
    queries = [numbers(found, "queries", name)["queries"] for name in ("exact", "ngram", "any")]
    assert queries == [1, 0, 1]
    assert found.rows is not None
    (row,) = found.rows.query(
        "subset == 'passages' and detector == 'ngram' and statistic == 'share'"
    ).itertuples()
    # Wilson with z = 1.96: (1 + z²/4 ± z √(z²/16)) / (1 + z²/2)
    assert (round(row.low, 4), round(row.high, 4), row.count) == (0.3424, 1.0, 2)
    assert sentences(found) == [
        "2 of 3 queries of bench.test (66.7%) have a relevant passage in train: 1 exact, 1 near. "
        "Precision unknown.",
        "1 of 3 queries of bench.test (33.3%) are in train: 1 exact, 0 near. Precision unknown.",
    ]
    manifest = read_manifest(hand / "out", kind="results")
    roles = [ref.role for ref in manifest.inputs]
    assert roles == ["training set train", "test set bench.test"]
    assert load(hand / "out").equals(found.rows)


def test_a_passage_of_a_shared_corpus_is_no_copy_of_itself(tmp_path: Path) -> None:
    passages = {"a": text_of(1), "b": text_of(2), "twin": text_of(2), "c": text_of(3)}
    train = (
        {"q1": "how is this", "q2": query_of(2)},
        [Qrel("q1", "a", 1), Qrel("q2", "b", 1), Qrel("q1", "twin", 0)],
    )
    test = ({"t1": "and this", "t2": query_of(2).title()}, [Qrel("t1", "a", 1), Qrel("t2", "b", 1)])
    shared = write_collection(tmp_path / "shared", passages, train=train, test=test)
    found = pb.overlap_leakage(
        [f"train={shared.path}"], tests=[f"bench={shared.path}"], out=tmp_path / "out"
    )
    # another id with the same text is a copy
    assert ids_in(tmp_path / "out", "bench.passages") == [("twin", "b")]
    counts = numbers(found, "passages", "exact")
    assert [counts[name] for name in ("found", "pairs", "same passage")] == [1, 1, 2]
    assert ids_in(tmp_path / "out", "bench.queries") == [("q2", "t2")]


def test_several_sets_are_counted_apart_and_together(tmp_path: Path) -> None:
    training = [
        f"one={numbered(tmp_path / 'one', range(6))}",
        f"two={numbered(tmp_path / 'two', range(4, 12))}",
    ]
    tests = [
        f"bench={numbered(tmp_path / 'bench', range(5, 9), 'test')}",
        f"other={numbered(tmp_path / 'other', range(50, 52), 'test')}",
    ]
    found = pb.overlap_leakage(training, tests=tests, out=tmp_path / "out")
    assert found.rows is not None
    counts = found.rows.query("subset == 'passages' and detector == 'any' and statistic == 'found'")
    assert counts[["collection", "training", "value"]].to_numpy().tolist() == [
        *(["bench", "one", 1], ["bench", "two", 4], ["bench", "all training sets", 4]),
        *(["other", "one", 0], ["other", "two", 0], ["other", "all training sets", 0]),
    ]
    sources = [pair["source"] for pair in pairs_in(tmp_path / "out", "bench.passages")]
    assert sources == ["one", "two", "two", "two", "two"]
    assert pairs_in(tmp_path / "out", "other.passages") == []
    assert "have a relevant passage in training: 4 exact, 0 near." in sentences(found)[0]


def test_sets_without_texts_are_not_called_clean(tmp_path: Path) -> None:
    full, empty = numbered(tmp_path / "full", [1]), passages_only(tmp_path / "empty", {})
    for train, test, side in ((empty, full, "training"), (full, empty, "test")):
        with pytest.raises(InputError, match=f"empty: wanted {side} texts to compare; found none"):
            pb.overlap_leakage(
                [f"{train}"],
                tests=[f"{test}:train" if test == full else test],
                out=tmp_path / "out",
            )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        (["N=bench", "n=bench"], SettingError, "--test: wanted different names; found N, n"),
        (["a b=bench"], SettingError, "wanted a name of letters, digits"),
        (["nothing"], InputError, "nothing: wanted a collection"),
        (["rows.jsonl"], InputError, "wanted a collection; found a file; import it first"),
        (["bench:dev"], InputError, "wanted a split 'dev'; found test"),
    ],
)
def test_what_is_no_set_of_texts(
    given: list[str],
    error: type[Exception],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"passage": "a"}\n')
    numbered(tmp_path / "bench", [1], "test")
    with pytest.raises(error, match=said):
        pb.overlap_leakage([numbered(tmp_path / "train", [1])], tests=given, out="out")
    assert not (tmp_path / "out").exists()


def test_a_set_has_its_judged_passages(tmp_path: Path) -> None:
    queries = {"q1": "one", "q2": "two"}
    qrels = [Qrel("q1", "b", 2), Qrel("q1", "a", 1), Qrel("q2", "c", 0), Qrel("q2", "gone", 1)]
    texts = {"a": "A", "b": "B", "c": "C", "d": "D"}
    made = write_collection(tmp_path / "c", texts, train=(queries, qrels))

    def passages(*, test: bool, **settings: Any) -> list[str]:
        own = TextSet("c", made, "train", OverlapSettings(**settings), test)
        return list(own.texts("passages")["id"])

    # any judgement names a training passage
    assert passages(test=False) == ["a", "b", "c"]
    assert passages(test=True) == ["a", "b"]
    assert passages(test=True, relevant_from=2) == ["b"]
    assert passages(test=True, all_passages=True) == ["a", "b", "c", "d"]
    links = TextSet("c", made, "train", OverlapSettings(relevant_from=2), test=True).links()
    assert links.to_numpy().tolist() == [["q1", "b"]]


def test_two_workers_write_the_same_bytes(
    tmp_path: Path, many: tuple[list[Path], Path, dict[str, bytes]]
) -> None:
    sets, test, wanted = many
    pb.overlap_leakage(sets, tests=[test], engine=Engine(workers=2), out=tmp_path / "out")
    assert bytes_of(tmp_path / "out") == wanted


def stopped_after(count: int) -> Callable[..., Iterator[Any]]:
    """A map that is interrupted after so many blocks."""

    def interrupted(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for number, item in enumerate(items):
            if number == count:
                raise KeyboardInterrupt
            yield function(item)

    return interrupted


def test_an_interrupted_search_goes_on_to_the_same_bytes(
    tmp_path: Path, many: tuple[list[Path], Path, dict[str, bytes]]
) -> None:
    sets, test, wanted = many
    settings, out = OverlapSettings(), tmp_path / "out"
    sides = (
        [TextSet(f"{s.name}.train", pb.Collection(s), "train", settings, False) for s in sets],
        [TextSet("bench.test", pb.Collection(test), "test", settings, True)],
    )

    def manifest(*found: Any) -> Any:
        raise AssertionError

    with pytest.raises(KeyboardInterrupt):
        find_overlap(out, *sides, settings, manifest, map_shards=stopped_after(3))
    states = {path: path.stat().st_mtime_ns for path in (work_folder(out) / "receipts").iterdir()}
    assert (len(states), out.exists()) == (3, False)

    def stopped(*found: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # all blocks are done, and not the manifest
        find_overlap(out, *sides, settings, stopped)
    # finished blocks were not made again
    assert all(path.stat().st_mtime_ns == state for path, state in states.items())
    pb.overlap_leakage(sets, tests=[test], out=out)
    assert bytes_of(out) == wanted
    assert not work_folder(out).exists()


def test_a_run_of_words_in_many_texts_of_one_set_counts_for_nothing(tmp_path: Path) -> None:
    """40 training and 30 test texts of one template of 25 words and five of their own: all pairs
    share over half of their runs of 13 words.
    """
    template = text_of(0, 25)
    train = {f"r{n:02}": f"{template} {text_of(100 + n, 5)}" for n in range(40)}
    test = {f"t{n:02}": f"{template} {text_of(200 + n, 5)}" for n in range(30)}
    test["t03"] = f"{template} {text_of(103, 5)} and"  # a near copy of r03
    test["only"] = template
    sets = passages_only(tmp_path / "train", train), passages_only(tmp_path / "test", test)
    found = pb.overlap_leakage([sets[0]], tests=[sets[1]], out=tmp_path / "out")
    assert ids_in(tmp_path / "out", "test.passages") == [("r03", "t03")]
    # of 18 runs of 13 words in 30, the 13 of the template count for nothing: 5 of the training
    # text, all among the 6 of the test text
    (pair,) = pairs_in(tmp_path / "out", "test.passages")
    assert (pair["of_test"], pair["of_train"]) == (round(5 / 6, 6), 1.0)
    ngram = numbers(found, "passages", "ngram")
    # the template alone cannot be compared; without queries the share is of passages
    assert [ngram[name] for name in ("of", "not compared", "pairs")] == [31, 1, 1]
    assert ngram["share"] == 1 / 30
    assert sentences(found) == [
        "1 of 31 passages of test (3.2%) are in train: 0 exact, 1 near. Precision unknown."
    ]


def test_texts_that_cannot_be_compared_have_no_share(tmp_path: Path) -> None:
    train = passages_only(tmp_path / "train", {"1": text_of(1)})
    test = passages_only(tmp_path / "test", {"t": "five words and no more"})
    found = pb.overlap_leakage([train], tests=[test], out=tmp_path / "out")
    assert numbers(found, "passages", "exact")["share"] == 0
    ngram = numbers(found, "passages", "ngram")
    assert ngram["share"] != ngram["share"]
    assert ngram["not compared"] == 1
    silent = passages_only(tmp_path / "silent", {"t": "!?"})
    found = pb.overlap_leakage([train], tests=[silent], out=tmp_path / "none")
    assert sentences(found) == ["1 passages of silent cannot be compared: they have no words."]


@pytest.mark.parametrize(
    "sentence",
    [
        "店主在河边的小屋里点亮灯火，然后打开大门，等待远方的客人到来，直到天亮才去休息。",
        "ร้านนี้เปิดตั้งแต่เก้าโมงเช้าจนถึงหกโมงเย็นทุกวันยกเว้นวันจันทร์",
    ],
)
def test_near_copies_in_scripts_without_spaces_are_found(tmp_path: Path, sentence: str) -> None:
    changed = sentence.replace(sentence[len(sentence) // 2], "灯" if "店" in sentence else "ฮ", 1)
    train = passages_only(tmp_path / "train", {"1": sentence * 3})
    test = passages_only(tmp_path / "test", {"t": sentence * 2 + changed})
    pb.overlap_leakage([train], tests=[test], out=tmp_path / "out")
    (pair,) = pairs_in(tmp_path / "out", "test.passages")
    assert pair["found_by"] == ["ngram"]
    assert pair["train_text"] == sentence * 3
