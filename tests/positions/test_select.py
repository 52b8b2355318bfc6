"""Queries selected by where their answers start: which are kept, what is counted, what is shared
with the source.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import InputError, OutputExistsError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.firststage.bm25 import open_index
from positionbias.firststage.settings import Bm25Settings
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.positions.select import count_fitting, select, selection_rows
from positionbias.positions.settings import AnswerRange, Matching, Selection
from positionbias.probe.passages import original_collection

WORDS = 10
FRONT = AnswerRange(0, 0.2)


def word(passage: int, place: int) -> str:
    return f"w{passage}x{place}"


def answer(query: str, passage: int, place: int, *, offsets: bool = True) -> Answer:
    """An answer of one word at ``place`` of a passage of ten."""
    text = word(passage, place)
    start = sum(len(word(passage, before)) + 1 for before in range(place)) if offsets else None
    return Answer(query, f"p{passage}", text, start, None if start is None else start + len(text))


def source(
    place: Path, answers: Sequence[Answer], *, more_queries: Sequence[str] = (), shard: int = 4
) -> Collection:
    """20 passages of ten words; training queries with these answers and a further judgement set; 5
    test queries.
    """
    passages = [
        Passage(f"p{number}", " ".join(word(number, at) for at in range(WORDS)))
        for number in range(20)
    ]
    queries = [*dict.fromkeys(answer.query_id for answer in answers), *more_queries]
    with create_collection(place) as writer:
        for start in range(0, len(passages), shard):
            writer.add_passages(passages[start : start + shard])
        pairs = dict.fromkeys((answer.query_id, answer.passage_id) for answer in answers)
        writer.add_split(
            "train",
            [Query(item, f"about {item}") for item in queries],
            [Qrel(*pair, 1) for pair in pairs],
            answers,
        )
        writer.add_qrels("train", "clicks", [Qrel(item, "p19", 0) for item in queries])
        test = [answer(f"t{number}", number, 9) for number in range(5)]
        writer.add_split(
            "test",
            [Query(item.query_id, "x") for item in test],
            [Qrel(item.query_id, "p0", 1) for item in test],
            test,
        )
        writer.finish(
            Manifest("collection", place.name, "a test", licence="invented", notes=("a decision",))
        )
    return Collection(place)


# two queries for each of the ten places
EACH = [answer(f"q{number}", number, number % WORDS) for number in range(20)]


def kept(collection: Collection) -> list[str]:
    return [query.query_id for query in collection.queries("train")]


def test_the_front_fifth_of_ten_places(tmp_path: Path) -> None:
    whole = source(tmp_path / "whole", EACH)
    front = select(whole, tmp_path / "front", Selection(FRONT))
    # words 0 and 1 of ten; word 2 is 0.2, which the range leaves out
    assert kept(front) == ["q0", "q1", "q10", "q11"]
    assert [item.query_id for item in front.answers("train")] == kept(front)
    assert front.qrels("train") == [Qrel(f"q{n}", f"p{n}", 1) for n in (0, 1, 10, 11)]
    assert [qrel.query_id for qrel in front.qrels("train", "clicks")] == kept(front)
    assert front.queries("test") == whole.queries("test")
    assert front.answers("test") == whole.answers("test")
    content, original = front.manifest.content, whole.manifest.content
    assert content["splits"]["test"] == original["splits"]["test"]
    assert content["passages_checksum"] == original["passages_checksum"]
    facts = content["selection"]
    assert {name: facts[name] for name in list(facts)[:6]} == {
        "kept": 4, "queries": 20, "without_known_position": 0, "outside": 16, "inside_in_part": 0,
        "inside": 4,
    }  # fmt: skip
    assert facts["answers"]["by_offsets"] == 20
    manifest = front.manifest
    assert (manifest.command, manifest.settings["answers_in"], manifest.settings["split"]) == (
        "select",
        "0:0.2",
        "train",
    )
    assert (manifest.licence, manifest.notes[0]) == ("invented", "a decision")
    assert [(item.role, item.path, item.checksum) for item in manifest.inputs] == [
        ("selected", "../whole", whole.checksum)
    ]
    share = selection_rows(front).iloc[0]
    assert (share["value"], share["count"], share["split"]) == (0.2, 20, "train")


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "0.2:0.2",
        "-1:1",
        "a:b",
        "0:nan",
    ],
)
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(
        SettingError,
        match=r"--answers-in: wanted LOW:HIGH with 0 ≤ LOW < HIGH ≤ 1, as in 0:0.2; found ",
    ):
        AnswerRange.parse(text)


@pytest.mark.parametrize("text", ["0.25:1", "0.1:0.15"])
def test_a_range_reads_as_it_is_written(text: str) -> None:
    assert str(AnswerRange.parse(text)) == text


def test_several_answers_of_a_query(tmp_path: Path) -> None:
    answers = [
        answer("both", 0, 0), answer("both", 1, 1),  # two passages, both in front
        answer("one", 2, 0), answer("one", 3, 9),  # one in front, one at the end, in other passages
        answer("same", 4, 1), answer("same", 4, 1), answer("same", 4, 8),
        # one passage, a span given twice
        answer("none", 5, 5),
    ]  # fmt: skip
    whole = source(tmp_path / "whole", answers)
    strict = select(whole, tmp_path / "strict", Selection(FRONT))
    assert kept(strict) == ["both"]
    facts = strict.manifest.content["selection"]
    assert (facts["inside"], facts["inside_in_part"], facts["outside"]) == (1, 2, 1)
    assert facts["answers"]["repeated"] == 1


def test_what_cannot_be_placed_is_dropped_and_counted(tmp_path: Path) -> None:
    answers = [
        answer("matched", 0, 1, offsets=False),
        Answer("lost", "p1", "something else"),
        Answer("blank", "p2", " "),
        Answer("nobody", "p3", "No Answer Present."),
        Answer("half", "p4", "something else"), answer("half", 4, 0, offsets=False),
        Answer("case", "p5", word(5, 0).upper()),
    ]  # fmt: skip
    whole = source(tmp_path / "whole", answers, more_queries=["bare"])
    everywhere = Selection(AnswerRange(0, 1))
    made = select(whole, tmp_path / "made", everywhere)
    assert kept(made) == ["matched", "half"]
    facts = made.manifest.content["selection"]
    assert (facts["queries"], facts["without_known_position"], facts["kept"]) == (7, 5, 2)
    outcomes = facts["answers"]
    assert [
        outcomes[name] for name in ("by_matching", "unmatched", "empty", "no_answer_present")
    ] == [2, 3, 1, 1]
    assert facts["unmatched"] == {"words not found in a row": 2, "found when case is ignored": 1}
    folded = select(
        whole, tmp_path / "folded", Selection(AnswerRange(0, 1), matching=Matching(fold_case=True))
    )
    assert kept(folded) == ["matched", "half", "case"]
    assert folded.manifest.settings["matching"]["fold_case"] is True


def test_answers_that_fill_their_passage_have_no_place(tmp_path: Path) -> None:
    whole_passage = Answer("whole", "p0", " ".join(word(0, at) for at in range(WORDS)))
    whole = source(tmp_path / "whole", [whole_passage, answer("front", 1, 0)])
    made = select(whole, tmp_path / "made", Selection(FRONT))
    assert kept(made) == ["front"]
    facts = made.manifest.content["selection"]
    assert (facts["without_known_position"], facts["answers"]["one_possible_start"]) == (1, 1)
    only = source(tmp_path / "only", [whole_passage])
    with pytest.raises(
        InputError, match="1 without a known position, as 1 answer fills the passage"
    ):
        select(only, tmp_path / "none", Selection(FRONT))


def test_drawn_queries_are_those_of_the_smallest_keys(tmp_path: Path) -> None:
    whole = source(tmp_path / "whole", EACH)
    half = AnswerRange(0, 0.5)
    fitting = [f"q{n}" for n in range(20) if n % 10 < 5]
    lowest = sorted(fitting, key=lambda item: key64(7, "select query", item))
    for number in (1, 3, 10):
        made = select(whole, tmp_path / f"{number}", Selection(half, queries=number, seed=7))
        # in the stored order
        assert kept(made) == [item for item in fitting if item in lowest[:number]]
        facts = made.manifest.content["selection"]
        assert (facts["kept"], facts["inside"]) == (number, 10)
    assert "3 of these were drawn by (seed, id) alone." in Collection(tmp_path / "3").manifest.notes
    assert count_fitting(whole, Selection(half, queries=3)) == 10
    draws = {
        tuple(
            kept(select(whole, tmp_path / "s", Selection(half, queries=3, seed=n), overwrite=True))
        )
        for n in range(8)
    }
    assert len(draws) > 4  # of 120 triples
    with pytest.raises(
        SettingError,
        match=r"--queries: wanted 11 queries of split 'train' .* in 0:0.5; found 10; lower it",
    ):
        select(whole, tmp_path / "more", Selection(half, queries=11))


def test_passages_and_indexes_are_copied(tmp_path: Path) -> None:
    whole = source(tmp_path / "whole", EACH)
    assert open_index(whole, Bm25Settings()).origin == "built"
    (whole.cache / ".bm25s.work").mkdir()
    (whole.cache / ".bm25s.work" / "half.npy").write_bytes(b"in the making")
    (tmp_path / "secret").write_text("of somebody else")
    (whole.cache / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="link: wanted a file; found a link; remove it"):
        select(whole, tmp_path / "made", Selection(FRONT))
    (whole.path / "cache" / "link").unlink()
    made = select(whole, tmp_path / "made", Selection(FRONT))
    assert {path.stat().st_ino for path in made.shard_paths}.isdisjoint(
        path.stat().st_ino for path in whole.shard_paths
    )
    assert len(made.shard_paths) == 5
    assert open_index(made, Bm25Settings()).origin == "reused"
    assert sorted(path.name for path in made.cache.iterdir()) == ["bm25s"]
    assert made.texts(["p17", "p0"]) == whole.texts(["p17", "p0"])
    select(whole, made.path, Selection(AnswerRange(0.5, 1)), overwrite=True)
    assert Collection(made.path).texts(["p17"]) == whole.texts(["p17"])


@pytest.mark.parametrize("links", [True, False])
def test_an_interrupted_selection_goes_on_and_leaves_the_source_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def refuse(*_: object) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    whole = source(tmp_path / "whole", EACH)
    before = [path.read_bytes() for path in whole.shard_paths]
    with monkeypatch.context() as patched:
        patched.setattr(CollectionWriter, "add_tables", stop)
        with pytest.raises(KeyboardInterrupt):
            select(whole, tmp_path / "made", Selection(FRONT))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".made.work", "whole"]
    if not links:  # what was linked before is now copied: not through the link, into the source
        monkeypatch.setattr(os, "link", refuse)
    made = select(whole, tmp_path / "made", Selection(FRONT))
    assert (
        [path.read_bytes() for path in made.shard_paths]
        == before
        == [path.read_bytes() for path in whole.shard_paths]
    )
    assert kept(made) == ["q0", "q1", "q10", "q11"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "whole"]


def test_a_rotated_collection_keeps_the_queries_of_its_original(tmp_path: Path) -> None:
    whole = source(tmp_path / "whole", EACH)
    rotated = debias(whole, tmp_path / "rotated", Rotation(seed=3))
    made = select(rotated, tmp_path / "made", Selection(FRONT), by=whole)
    assert kept(made) == kept(select(whole, tmp_path / "front", Selection(FRONT)))
    assert kept(made) != kept(select(rotated, tmp_path / "moved", Selection(FRONT)))
    assert made.texts(["p3"]) == rotated.texts(["p3"])
    assert [item.role for item in made.manifest.inputs] == ["selected", "chosen by", "original"]
    assert original_collection(made).path == whole.path
    other = source(tmp_path / "other", [answer(f"z{number}", number, 0) for number in range(3)])
    with pytest.raises(
        InputError,
        match=(
            r"wanted the queries of .*other in split 'train'; found 3 missing, such as 'z0'; give "
            r"--answers-of"
        ),
    ):
        select(whole, tmp_path / "wrong", Selection(FRONT), by=other)


def test_what_does_not_fit_is_one_clear_line(tmp_path: Path) -> None:
    whole = source(tmp_path / "whole", EACH)
    with pytest.raises(InputError, match="wanted split 'dev'; found train, test"):
        select(whole, tmp_path / "x", Selection(FRONT, split="dev"))
    with pytest.raises(
        InputError,
        match=(
            r"whose answers start in 0.95:1; found none among 20 \(20 with answers elsewhere, 0 "
            r"without"
        ),
    ):
        select(whole, tmp_path / "x", Selection(AnswerRange(0.95, 1)))
    with pytest.raises(OutputExistsError):
        select(whole, whole.path, Selection(FRONT))
    with pytest.raises(SettingError, match="--queries: 0 is not in the range x>=1"):
        Selection(FRONT, queries=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["whole"]
