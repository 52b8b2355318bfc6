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
from positionbias.core.records import Qrel
from positionbias.core.shard_work import work_folder
from positionbias.engine.choose import Engine
from positionbias.leakage.pairs import read_pairs
from positionbias.ops.leakage_overlap import OverlapFound
from positionbias.overlap import search
from positionbias.overlap.find import find_overlap
from positionbias.overlap.settings import OverlapSettings
from positionbias.overlap.sources import text_set
from positionbias.overlap.text import overlap_verdict
from positionbias.results.overlap import OverlapFigures
from positionbias.results.select import of_type

from .sets import (
    bytes_of,
    ids_in,
    pairs_in,
    query_of,
    text_of,
    triplets,
    write_beir,
    write_collection,
    write_lines,
)


def figures(found: OverlapFound, unit: str, detector: str, system: str = "train") -> OverlapFigures:
    ((_, of),) = [
        (result, of)
        for result, of in of_type(found.results, OverlapFigures)
        if (of.unit, of.detector, result.system) == (unit, detector, system)
    ]
    return of


@pytest.fixture
def hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A test set of three queries with four relevant passages, and two training sets, one in
    another form.
    """
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
    rows = [
        {"query": query_of(1), "passage": head, "query_id": "a1", "passage_id": "p1"},
        {
            "query": "Who lit the lamp?",
            "passage": f"{text_of(3, 20)} and nothing else",
            "query_id": "a2",
            "passage_id": "p2",
        },
        {"query": "another", "passage": tail, "query_id": "a3", "passage_id": "p3"},
    ]
    write_lines(tmp_path / "train.jsonl", rows)
    return tmp_path


def test_counts_by_hand(hand: Path) -> None:
    found = pb.overlap_leakage(["train.jsonl"], tests=["bench"], out="out")
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
    assert [
        (pair["train_id"], pair["train_passage_id"], pair["test_id"], pair["test_passage_id"])
        for pair in pairs_in(hand / "out", "bench.test.pairs")
    ] == [
        ("a2", "p2", "t2", "half"),
    ]
    passages = figures(found, "passages", "ngram")
    assert (passages.items, passages.too_short, passages.leaked, passages.pairs, passages.kept) == (
        4,
        1,
        2,
        2,
        2,
    )
    # that of "short" is not compared
    assert (passages.queries, passages.leaked_queries, passages.precision) == (2, 2, None)
    assert (
        figures(found, "queries", "ngram").too_short,
        figures(found, "queries", "ngram").leaked,
    ) == (3, 0)
    # the pair rests on equal queries and the runs of its passages
    assert [pair["found_by"] for pair in pairs_in(hand / "out", "bench.test.pairs")] == [["ngram"]]
    assert [figures(found, "pairs", name).leaked_queries for name in ("exact", "ngram", "any")] == [
        0,
        1,
        1,
    ]
    assert [
        figures(found, "queries", name).leaked_queries for name in ("exact", "ngram", "any")
    ] == [1, 0, 1]
    value, interval = next(
        (r.value, r.interval) for r, of in of_type(found.results, OverlapFigures) if of is passages
    )
    assert value == 2 / 2
    assert interval is not None
    # Wilson with z = 1.96: (1 + z²/4 ± z √(z²/16)) / (1 + z²/2)
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.3424, 1.0)
    assert overlap_verdict(found.results) == [
        (
            "2 of 3 queries of bench.test (66.7%) have a relevant passage in train: 1 exact, 1 "
            "near. Precision unknown."
        ),
        "1 of 3 queries of bench.test (33.3%) are in train: 1 exact. Precision unknown.",
        (
            "1 of 3 queries of bench.test (33.3%) are in train together with a relevant passage: 1 "
            "near. Precision unknown."
        ),
    ]


def test_the_pairs_are_read_by_the_other_commands(hand: Path) -> None:
    pb.overlap_leakage(["train.jsonl"], tests=["bench"], out="out")
    (first,) = read_pairs(hand / "out" / "pairs" / "bench.test.pairs.jsonl")
    assert first.ids == ("train", "a2", "t2", "p2", "half")
    assert first.found_by == ("ngram",)
    assert first.scores == {"of_test": round(8 / 28, 6), "of_train": round(8 / 11, 6)}
    manifest = read_manifest(hand / "out", kind="results")
    assert (manifest.command, [ref.role for ref in manifest.inputs]) == (
        "leakage overlap",
        ["training set train", "test set bench.test"],
    )
    assert manifest.settings["n"] == 13
    assert manifest.settings["containment"] == 0.5


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
    counts = figures(found, "passages", "exact")
    assert (counts.leaked, counts.pairs, counts.shared_corpus) == (1, 1, 2)
    # the query of the very same passage is a leaked pair
    assert ids_in(tmp_path / "out", "bench.pairs") == [("q2", "t2")]
    assert pairs_in(tmp_path / "out", "bench.pairs")[0]["train_passage_id"] == "b"


def test_several_sets_are_counted_apart_and_together(tmp_path: Path) -> None:
    for name, numbers in (("one", range(6)), ("two", range(4, 12))):
        write_lines(tmp_path / f"{name}.jsonl", triplets(numbers))
    tests = [
        write_beir(tmp_path / "bench", range(5, 9)),
        write_beir(tmp_path / "other", range(50, 52)),
    ]
    found = pb.overlap_leakage(
        [tmp_path / "one.jsonl", tmp_path / "two.jsonl"], tests=tests, out=tmp_path / "out"
    )
    leaked = [
        (result.collection, result.system, of.leaked)
        for result, of in of_type(found.results, OverlapFigures)
        if (of.unit, of.detector) == ("passages", "any")
    ]
    together = "all training sets"
    assert leaked == [
        *(("bench", "one", 1), ("bench", "two", 4), ("bench", together, 4)),
        *(("other", "one", 0), ("other", "two", 0), ("other", together, 0)),
    ]
    assert [pair["source"] for pair in pairs_in(tmp_path / "out", "bench.passages")] == [
        "one",
        "two",
        "two",
        "two",
        "two",
    ]
    assert pairs_in(tmp_path / "out", "other.passages") == []


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    rows = [*triplets([1]), {"anchor": "x", "positive": None}, {"anchor": "y", "positive": 3.5}]
    write_lines(tmp_path / "train.jsonl", rows)
    folder = write_beir(tmp_path / "bench", [1, 2])
    (folder / "corpus.jsonl").write_text(
        (folder / "corpus.jsonl").read_text().replace('"d2"', '"d3"')
    )
    write_lines(
        folder / "queries.jsonl",
        [{"_id": "q1", "text": query_of(1)}, {"_id": "q2", "text": "three short words"}],
    )
    found = pb.overlap_leakage(
        [tmp_path / "train.jsonl"],
        tests=[folder],
        settings=OverlapSettings(kept=1),
        out=tmp_path / "out",
    )
    assert found.remarks == [
        "train: 2 rows without usable passages were left out.",
        "train: 2 rows without usable queries were left out.",
        "bench: left out 1 relevant passage missing from its corpus.",
        "bench: of some passages only the best 1 pairs were kept (--kept-pairs).",
        "bench: of some queries only the best 1 pairs were kept (--kept-pairs).",
        (
            "bench: 2 queries have too few words, or none but common runs of them, so only equal "
            "ones are found. posbias leakage find compares their words."
        ),
        (
            "bench: pairs may be missing, as of some queries or passages only the best 1 were kept "
            "(--kept-pairs)."
        ),
    ]
    assert read_manifest(tmp_path / "out", kind="results").content["remarks"] == found.remarks


def test_test_rows_that_are_left_out_are_said(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", triplets([1]))
    rows = [
        *triplets([1]),
        {"anchor": "x", "positive": None},
        {"anchor": None, "positive": text_of(2)},
    ]
    write_lines(tmp_path / "test.jsonl", rows)
    found = pb.overlap_leakage(
        [tmp_path / "train.jsonl"], tests=[tmp_path / "test.jsonl"], out=tmp_path / "out"
    )
    left_out = [remark for remark in found.remarks if "left out" in remark]
    assert left_out == [
        f"test: 1 rows without usable {unit} were left out." for unit in ("passages", "queries")
    ]


def test_a_training_set_without_texts_is_not_called_clean(tmp_path: Path) -> None:
    rows = [{**row, "split": "training"} for row in triplets([1])]
    train, test = (
        write_lines(tmp_path / "train.jsonl", rows),
        write_lines(tmp_path / "test.jsonl", triplets([1])),
    )
    with pytest.raises(
        InputError,
        match=r"train\.jsonl: wanted training texts to compare; found none; check its split",
    ):
        pb.overlap_leakage([f"{train}:trian"], tests=[test], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("N", "n"), "--test: wanted different names; found N, n"),
        (("n" * 300, "m"), "wanted a name of letters, .* 100 at most"),
    ],
)
def test_names_that_no_file_can_have(tmp_path: Path, names: tuple[str, str], message: str) -> None:
    place = write_lines(tmp_path / "rows.jsonl", triplets([1]))
    with pytest.raises(SettingError, match=message):
        pb.overlap_leakage(
            [place], tests=[f"{name}={place}" for name in names], out=tmp_path / "out"
        )


def test_joined_pairs_that_may_be_missing_are_said(tmp_path: Path) -> None:
    """Five training passages are the test passage; two are kept, and the query in training belongs
    to the fifth.
    """
    queries = {f"q{n}": query_of(1 if n == 5 else 50 + n) for n in range(1, 6)}
    qrels = [Qrel(f"q{n}", f"p{n}", 1) for n in range(1, 6)]
    write_collection(
        tmp_path / "train", {f"p{n}": text_of(1) for n in range(1, 6)}, train=(queries, qrels)
    )
    write_collection(
        tmp_path / "bench", {"d": text_of(1)}, test=({"t": query_of(1)}, [Qrel("t", "d", 1)])
    )
    for kept, leaked in ((2, 0), (6, 1)):
        settings = OverlapSettings(units=("pairs",), kept=kept)
        sets = [tmp_path / "train"], [tmp_path / "bench"]
        found = pb.overlap_leakage(
            sets[0], tests=sets[1], settings=settings, out=tmp_path / str(kept)
        )
        exact = next(
            result.payload for result in found.results if result.payload.detector == "exact"
        )
        assert (exact.leaked, exact.cut) == (leaked, not leaked)
        assert [remark for remark in found.remarks if "pairs may be missing" in remark] == (
            []
            if leaked
            else [
                (
                    "bench.test: pairs may be missing, as of some queries or passages only the "
                    "best 2 were kept (--kept-pairs)."
                )
            ]
        )


def test_two_workers_write_the_same_bytes(
    tmp_path: Path, many: tuple[list[Path], Path, dict[str, bytes]]
) -> None:
    files, test, wanted = many
    pb.overlap_leakage(files, tests=[test], engine=Engine(workers=2), out=tmp_path / "out")
    assert bytes_of(tmp_path / "out") == wanted


def stopped_after(count: int) -> Callable[..., Iterator[Any]]:
    """A map that is interrupted after so many blocks."""

    def interrupted(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for number, item in enumerate(items):
            if number == count:
                raise KeyboardInterrupt
            yield function(item)

    return interrupted


@pytest.mark.parametrize("count", [1, 7])
def test_an_interrupted_search_goes_on_to_the_same_bytes(
    count: int, tmp_path: Path, many: tuple[list[Path], Path, dict[str, bytes]]
) -> None:
    files, test, wanted = many
    settings, out, made = OverlapSettings(), tmp_path / "out", []
    sides = (
        [text_set(file, settings, test=False) for file in files],
        [text_set(test, settings, test=True)],
    )

    def manifest(*found: Any) -> Any:
        made.append(found)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_overlap(out, *sides, settings, manifest, map_shards=stopped_after(count))
    kept = sorted(path.name for path in (work_folder(out) / "receipts").iterdir())
    assert (len(kept), made, out.exists()) == (count, [], False)
    states = {path: path.stat().st_mtime_ns for path in (work_folder(out) / "receipts").iterdir()}
    with pytest.raises(KeyboardInterrupt):  # all blocks are done, and not the results
        find_overlap(out, *sides, settings, manifest)
    assert len(made) == 1
    # finished blocks were not made again
    assert all(path.stat().st_mtime_ns == state for path, state in states.items())
    pb.overlap_leakage(files, tests=[test], out=out)
    assert bytes_of(out) == wanted
    assert not work_folder(out).exists()


def test_a_test_set_in_another_order_is_searched_anew(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", triplets(range(6)))
    out = tmp_path / "out"
    for numbers in ([1, 2, 3], [3, 2, 1]):
        test = tmp_path / f"bench{numbers[0]}"
        pb.overlap_leakage(
            [train], tests=[f"bench={write_beir(test, numbers)}"], out=out, overwrite=True
        )
        assert [pair["test_id"] for pair in pairs_in(out, "bench.passages")] == [
            f"d{n}" for n in numbers
        ]


def test_bad_input_leaves_nothing(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", triplets(range(3)))
    test = write_beir(tmp_path / "bench", [1])
    out = tmp_path / "out"
    with pytest.raises(SettingError, match="wanted training sets and --test; found no --test"):
        pb.overlap_leakage([train], out=out)
    with pytest.raises(
        SettingError, match="--test: wanted different names; found bench, bench; give NAME=PLACE"
    ):
        pb.overlap_leakage([train], tests=[test, test], out=out)
    with pytest.raises(SettingError, match="--unit: wanted at least one, each once; found none"):
        OverlapSettings(units=())
    with train.open("a") as handle:
        handle.write("[1]\n")
    with pytest.raises(
        InputError, match=r"train.jsonl:4: wanted one JSON object a line; found a list"
    ):
        pb.overlap_leakage([train], tests=[test], out=out)
    good = write_lines(tmp_path / "good.jsonl", triplets(range(3)))
    twice = write_lines(
        tmp_path / "twice.jsonl", [{"passage": "a", "id": 1}, {"passage": "b", "id": 1}]
    )
    with pytest.raises(InputError, match="passage '1' with two texts"):
        pb.overlap_leakage(
            [good], tests=[twice], settings=OverlapSettings(all_passages=True), out=out
        )
    assert not out.exists()
    assert not work_folder(out).exists()


def test_hits_that_pile_up_are_dropped_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 equal training texts and 20 equal test texts: 6,000 pairs, of which the first of each
    test text by id are kept.
    """
    train = write_lines(
        tmp_path / "train.jsonl", [{"passage": text_of(1), "id": f"{n:03}"} for n in range(300)]
    )
    test = write_lines(
        tmp_path / "test.jsonl", [{"passage": text_of(1), "id": f"t{n}"} for n in range(20)]
    )
    settings = OverlapSettings(units=("passages",), kept=3)
    for out, rows, pile in (("whole", 1 << 14, 1 << 18), ("parts", 7, 50)):
        monkeypatch.setattr(search, "_ROWS", rows)
        monkeypatch.setattr(search, "_PILE", pile)
        found = pb.overlap_leakage([train], tests=[test], settings=settings, out=tmp_path / out)
        assert ids_in(tmp_path / out, "test.passages") == [
            (f"{n:03}", f"t{t}") for t in range(20) for n in range(3)
        ]
        counts = figures(found, "passages", "exact")
        assert (counts.pairs, counts.kept, counts.leaked) == (6_000, 60, 20)
    assert bytes_of(tmp_path / "whole") == bytes_of(tmp_path / "parts")


def test_a_run_of_words_in_many_texts_of_one_set_counts_for_nothing(tmp_path: Path) -> None:
    """40 training and 30 test texts of one template of 25 words and five of their own: all pairs
    share over half of their runs of 13 words.
    """
    template = text_of(0, 25)
    train = [{"id": f"r{n:02}", "passage": f"{template} {text_of(100 + n, 5)}"} for n in range(40)]
    test = [{"id": f"t{n:02}", "passage": f"{template} {text_of(200 + n, 5)}"} for n in range(30)]
    test[3]["passage"] = f"{template} {text_of(103, 5)} and"  # a near copy of r03
    test.append({"id": "only", "passage": template})
    sets = write_lines(tmp_path / "train.jsonl", train), write_lines(tmp_path / "test.jsonl", test)
    settings = OverlapSettings(units=("passages",))
    found = pb.overlap_leakage([sets[0]], tests=[sets[1]], settings=settings, out=tmp_path / "out")
    assert ids_in(tmp_path / "out", "test.passages") == [("r03", "t03")]
    # of 18 runs of 13 words in 30, the 13 of the template count for nothing: 5 of the training
    # text, all among the 6 of the test text
    (pair,) = pairs_in(tmp_path / "out", "test.passages")
    assert (pair["of_test"], pair["of_train"]) == (round(5 / 6, 6), 1.0)
    ngram = figures(found, "passages", "ngram")
    # the template alone cannot be compared
    assert (ngram.items, ngram.too_short, ngram.pairs) == (31, 1, 1)
    assert [r.count for r, of in of_type(found.results, OverlapFigures) if of is ngram] == [30]
    assert (
        "passages: 13 runs of 13 words in more than 1% of the texts of one set counted for nothing."
        in found.remarks
    )


def test_twenty_texts_of_a_set_may_be_copies(tmp_path: Path) -> None:
    train = write_lines(
        tmp_path / "train.jsonl",
        [{"id": f"{n:02}", "passage": f"{text_of(1)} w{n}"} for n in range(20)],
    )
    test = write_lines(tmp_path / "test.jsonl", [{"id": "t", "passage": text_of(1)}])
    settings = OverlapSettings(units=("passages",))
    found = pb.overlap_leakage([train], tests=[test], settings=settings, out=tmp_path / "out")
    assert figures(found, "passages", "ngram").pairs == 20


def test_texts_that_cannot_be_compared_have_no_share(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", [{"id": "1", "passage": text_of(1)}])
    test = write_lines(tmp_path / "test.jsonl", [{"id": "t", "passage": "five words and no more"}])
    settings = OverlapSettings(units=("passages",))
    found = pb.overlap_leakage([train], tests=[test], settings=settings, out=tmp_path / "out")
    shares = {
        of.detector: (r.value, r.interval is None, of.too_short)
        for r, of in of_type(found.results, OverlapFigures)
    }
    assert shares == {"exact": (0.0, False, 0), "ngram": (None, True, 1), "any": (0.0, False, 0)}
    assert found.remarks == [
        (
            "test: 1 passages have too few words, or none but common runs of them, so only equal "
            "ones are found."
        )
    ]
    write_lines(tmp_path / "test.jsonl", [{"id": "t", "passage": "!?"}])
    found = pb.overlap_leakage([train], tests=[test], settings=settings, out=tmp_path / "none")
    assert overlap_verdict(found.results) == [
        "1 passages of test cannot be compared: they have no words."
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "店主在河边的小屋里点亮灯火，然后打开大门，等待远方的客人到来，直到天亮才去休息。",
        "ร้านนี้เปิดตั้งแต่เก้าโมงเช้าจนถึงหกโมงเย็นทุกวันยกเว้นวันจันทร์",
        "この店は朝の九時から夕方の六時まで開いていて、月曜日だけ休みです。",
    ],
)
def test_near_copies_in_scripts_without_spaces_are_found(tmp_path: Path, sentence: str) -> None:
    changed = sentence.replace(sentence[len(sentence) // 2], "灯" if "店" in sentence else "ฮ", 1)
    assert changed != sentence
    train = write_lines(tmp_path / "train.jsonl", [{"id": "1", "passage": sentence * 3}])
    test = write_lines(tmp_path / "test.jsonl", [{"id": "t", "passage": sentence * 2 + changed}])
    settings = OverlapSettings(units=("passages",))
    pb.overlap_leakage([train], tests=[test], settings=settings, out=tmp_path / "out")
    (pair,) = pairs_in(tmp_path / "out", "test.passages")
    assert pair["found_by"] == ["ngram"]


def test_the_queries_behind_a_share_are_named_by_unit(tmp_path: Path) -> None:
    queries = {f"t{n}": query_of(n) for n in range(3)}
    qrels = [Qrel("t0", "d0", 2), Qrel("t1", "d1", 1), Qrel("t2", "d2", 1)]
    write_collection(
        tmp_path / "bench", {f"d{n}": text_of(n) for n in range(3)}, test=(queries, qrels)
    )
    train = write_lines(tmp_path / "train.jsonl", triplets([0, 1]))
    settings = OverlapSettings(relevant_from=2)
    found = pb.overlap_leakage(
        [train], tests=[tmp_path / "bench"], settings=settings, out=tmp_path / "out"
    )
    said = " ".join(str(found).split())
    assert (
        "of the test queries that can be compared those with a leaked item, for passages of 1, "
        "for queries of 3, for pairs of 1."
    ) in said
    settings = OverlapSettings(relevant_from=3)
    found = pb.overlap_leakage(
        [train], tests=[tmp_path / "bench"], settings=settings, out=tmp_path / "none"
    )
    said = " ".join(str(found).split())
    assert "bench.test: no relevant passage was found, so none was compared." in said
    assert (
        "Share: of the test queries that can be compared (3 by any detector), those with a "
        "leaked item"
    ) in said


def test_passages_of_no_query_have_a_share_of_their_own(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", triplets([0, 1]))
    place = write_beir(tmp_path / "bench", [0, 1, 2])
    (place / "qrels" / "test.tsv").unlink()
    (place / "qrels").rmdir()
    found = pb.overlap_leakage([train], tests=[place], out=tmp_path / "out")
    said = " ".join(str(found).split())
    assert (
        "for passages, which belong to no query, the leaked ones of all, for queries of 3." in said
    )


def test_the_advice_on_a_missing_column_can_be_followed(tmp_path: Path) -> None:
    train = write_lines(tmp_path / "train.jsonl", [{"foo": "a", "bar": "b"}])
    with pytest.raises(
        InputError, match="wanted a column of passages; found foo, bar; rename one to passage"
    ):
        pb.overlap_leakage(
            [train], tests=[write_beir(tmp_path / "bench", [1])], out=tmp_path / "out"
        )
