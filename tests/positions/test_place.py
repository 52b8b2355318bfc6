"""Placed collections: sentences keep their words and order, answers follow, arms differ in places
alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.shards import Shard, write_shard
from positionbias.positions import place as place_module
from positionbias.positions.place import place, placed_questions, placement_rows, placing_of
from positionbias.positions.placed import PlacedQuestions
from positionbias.positions.settings import Density, Placing
from positionbias.text.sentences import sentence_spans, sentences

MakeCollection = Callable[..., Collection]
FIRST = Density("histogram", 0.0, (0.0, 0.05, 1.0), (1.0, 0.0))
LAST = Density("histogram", 0.0, (0.0, 0.95, 1.0), (0.0, 1.0))
ARMS = (Density(), Density("front", 0.8), Density("end", 0.8), Density("middle", 0.8), FIRST, LAST)
TEXT = " Anna came.  Bert left early. Carl stayed. "
# 60 passages of 3 to 8 sentences of three words; two questions about one of them, one about the
# next
MANY = {f"p{n}": " ".join(f"W{n}x{s} said nothing." for s in range(3 + n % 6)) for n in range(60)}


def answers_of(texts: dict[str, str]) -> list[Answer]:
    found = []
    for number, (passage_id, text) in enumerate(texts.items()):
        own = number % (3 + number % 6)
        for query, sentence in enumerate((own, own, (own + 1) % (3 + number % 6))):
            word = f"W{number}x{sentence}"
            found.append(
                Answer(
                    f"q{number}-{query}",
                    passage_id,
                    word,
                    text.index(word),
                    text.index(word) + len(word),
                )
            )
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_a_passage_by_hand(make_collection: MakeCollection, tmp_path: Path) -> None:
    answers = [
        Answer("b", "p", "left", 18, 22),
        Answer("b", "p", "Bert left", 13, 22),
        Answer("b", "elsewhere", "Two", 5, 8),
        Answer("matched", "p", "early"),
        Answer("c", "p", "Carl", 30, 34),
    ]
    original = make_collection({"p": TEXT, "elsewhere": "One. Two."}, answers)
    assert [TEXT[a.start : a.end] for a in answers if a.passage_id == "p" and a.start] == [
        "left",
        "Bert left",
        "Carl",
    ]
    # "b" is relevant to a passage that is too short
    with pytest.raises(InputError, match="found none"):
        place(
            make_collection({"p": TEXT, "elsewhere": "One. Two."}, answers[:3], name="short"),
            tmp_path / "x",
            Placing(Density()),
        )
    texts = {}
    for name, density in (
        ("first", FIRST),
        ("last", LAST),
        ("own", replace(FIRST, edges=(0.0, 0.34, 0.66, 1.0), counts=(0, 1, 0))),
    ):
        placed = place(original, tmp_path / name, Placing(density))
        texts[name] = placed.texts(["p"])[0]
        assert placed.texts(["elsewhere"]) == ["One. Two."]
        # "c" is answered by another sentence, and "b" has a second passage, which is too short
        assert [query.query_id for query in placed.queries("test")] == ["matched"]
        assert placed.answers("test") == [Answer("matched", "p", "early")]
    assert texts == {
        "first": "Bert left early. Anna came. Carl stayed.",
        "last": "Anna came. Carl stayed. Bert left early.",
        "own": "Anna came. Bert left early. Carl stayed.",
    }


def test_answers_and_judgements_of_kept_questions_go_along(tmp_path: Path) -> None:
    with create_collection(tmp_path / "original") as writer:
        writer.add_passages([Passage("p", TEXT), Passage("wrong", "Nothing here.")])
        queries, qrels = (
            [Query("b", "who left?"), Query("c", "who stayed?"), Query("b2", "when?")],
            [Qrel("b", "wrong", 0)],
        )
        qrels += [Qrel(query.query_id, "p", 1) for query in queries]
        spans = {"b": (13, 17), "c": (30, 34), "b2": (23, 28)}
        answers = [
            Answer(query_id, "p", TEXT[start:end], start, end)
            for query_id, (start, end) in spans.items()
        ]
        writer.add_split("test", queries, qrels, [*answers, Answer("b", "wrong", "here", 8, 12)])
        writer.add_qrels("test", "raw", [Qrel("b", "p", 3), Qrel("c", "p", 2)])
        writer.add_split("eval", [Query("e", "unanswered")], [Qrel("e", "p", 1)])
        writer.finish(
            Manifest(
                "collection",
                "original",
                "a test",
                licence="invented",
                content={"source": {"format": "x"}},
            )
        )
    original = Collection(tmp_path / "original")
    placed = place(original, tmp_path / "placed", Placing(LAST))
    assert placed.queries("test") == [queries[0], queries[2]]
    assert placed.qrels("test") == [Qrel("b", "wrong", 0), Qrel("b", "p", 1), Qrel("b2", "p", 1)]
    assert placed.qrels("test", "raw") == [Qrel("b", "p", 3)]
    # "Anna came. Carl stayed. Bert left early."
    assert placed.answers("test") == [
        Answer("b", "p", "Bert", 24, 28), Answer("b2", "p", "early", 34, 39),
        Answer("b", "wrong", "here", 8, 12),
    ]  # fmt: skip
    assert placed.splits == ["test"]  # no question of "eval" is left
    manifest = placed.manifest
    assert (manifest.command, manifest.seed, manifest.licence) == ("place", 1, "invented")
    assert manifest.content["source"] == {"format": "x"}
    source = manifest.input("original")
    assert source is not None
    assert (source.path, source.checksum) == ("../original", original.checksum)
    facts = manifest.content["placement"]
    assert facts["passages"] == {"moved": 1, "drawn_where_it_was": 0, "without_a_kept_question": 1}
    assert facts["splits"] == {"test": {"answers": 3, "kept": 3, "cut": 0}}
    assert placing_of(placed) == Placing(LAST)


def test_arms_have_the_same_questions_and_words(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    original = make_collection(MANY, answers_of(MANY), shard=25)
    arms = [
        place(original, tmp_path / f"{number}", Placing(density, seed=3))
        for number, density in enumerate(ARMS)
    ]
    for arm in arms:
        assert arm.passage_ids() == [*MANY]
        assert arm.queries("test") == arms[0].queries("test")
        assert arm.qrels("test") == arms[0].qrels("test")
        texts = dict(arm.passages())
        table = placed_questions(arm, "test")
        assert (table.query_ids, table.before.tolist()) == (
            [query.query_id for query in arm.queries("test")],
            placed_questions(arms[0], "test").before.tolist(),
        )
        places = dict(
            zip(
                table.passage_ids,
                zip(table.before.tolist(), table.after.tolist(), strict=True),
                strict=True,
            )
        )
        assert len(places) == 60
        for passage_id, (before, after) in places.items():
            was, now = sentences(MANY[passage_id]), sentences(texts[passage_id])
            assert now[after] == was[before]
            assert now[:after] + now[after + 1 :] == was[:before] + was[before + 1 :]
        for answer in arm.answers("test"):
            assert texts[answer.passage_id][answer.start : answer.end] == answer.text
    assert len(arms[0].queries("test")) == 120
    assert len({arm.checksum for arm in arms}) == len(ARMS)


@given(
    st.lists(
        st.text(alphabet="ab é.!?\u00a0日。A", min_size=1, max_size=9), min_size=1, max_size=6
    ),
    st.data(),
)
def test_any_span_of_any_text_stands_where_it_is_said_to(
    pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(pieces) + " One came. Two left.  Three stayed. "
    spans = sentence_spans(text)
    own, to = (data.draw(st.integers(0, len(spans) - 1)) for _ in range(2))
    placed = place_module._Placed(text, place_module._Move(own, to))
    assert Counter("".join(placed.text.split())) == Counter("".join(text.split()))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    moved = placed.move_span(start, end)
    assert moved is None or placed.text[slice(*moved)] == text[start:end]
    for start, end in spans:  # a sentence is never taken apart
        assert placed.move_span(start, end) is not None
    place_of_own = placed.move_span(*spans[own])
    others = [placed.move_span(*span) for number, span in enumerate(spans) if number != own]
    assert others == sorted(others, key=lambda span: span or (0, 0))
    assert sum(span < place_of_own for span in others if span and place_of_own) == to


def test_an_answer_that_is_taken_apart_is_dropped_and_counted(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    text = "Anna came. Bert left. Carl stayed. Dora ran."
    answers = [
        *(Answer(f"b{number}", "p", "Bert", 11, 15) for number in range(3)),
        # kept by "q" too, so that p's other answers of "b0" go along
        Answer("b0", "q", "Emil", 0, 4),
    ]
    original = make_collection({"p": text, "q": "Emil sang. Fritz slept. Gerd woke."}, answers)
    move = place_module._follow({"p": place_module._Move(1, 3)}, Passage("p", text))
    # Anna came. Carl stayed. Dora ran. Bert left.
    assert move(11, 15) == (34, 38)
    assert move(22, 43) == (11, 32)  # two sentences that still follow each other
    assert move(6, 15) is None
    assert move(0, 4) == (0, 4)
    placed = place(original, tmp_path / "placed", Placing(LAST))
    assert placed.texts(["p"]) == ["Anna came. Carl stayed. Dora ran. Bert left."]
    assert [(a.passage_id, a.start) for a in placed.answers("test")] == [
        ("p", 34),
        ("p", 34),
        ("p", 34),
        ("q", 24),
    ]


def test_an_interrupted_placing_goes_on_and_makes_no_shard_twice(
    make_collection: MakeCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = make_collection(MANY, answers_of(MANY), shard=13)
    whole = place(original, tmp_path / "whole", Placing(Density()), name="placed")
    made: list[str] = []

    def stop_at_the_third(path: Path, passages: Iterable[Passage]) -> Shard:
        made.append(path.name)
        if len(made) == 3:
            raise KeyboardInterrupt
        return write_shard(path, passages)

    monkeypatch.setattr(place_module, "write_shard", stop_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        place(original, tmp_path / "placed", Placing(Density()))
    assert not (tmp_path / "placed").exists()
    again = place(original, tmp_path / "placed", Placing(Density()))
    assert len(made) == 3 + 3  # the first two of five shards stood
    assert files_of(again.path) == files_of(whole.path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "placed", "whole"]


def fit(placed: PlacedQuestions, density: Density) -> float:
    """The p-value of the places under a density: chi-square within each number of sentences."""
    statistic, freedom = 0.0, 0
    for number in np.unique(placed.sentences).tolist():
        after = placed.after[placed.sentences == number]
        expected = len(after) * np.array(density.shares(number))
        observed = np.bincount(after, minlength=number)
        statistic += float((np.square(observed - expected) / expected).sum())
        freedom += number - 1
    return float(chi2.sf(statistic, freedom))


def test_places_are_drawn_from_the_density(make_collection: MakeCollection, tmp_path: Path) -> None:
    texts = {
        f"p{n}": " ".join(f"W{n}x{s} said nothing." for s in range(3 + n % 6)) for n in range(450)
    }
    original = make_collection(texts, answers_of(texts))
    for number, density in enumerate(ARMS):
        placed = place(original, tmp_path / f"{number}", Placing(density, seed=2))
        passages = placed_questions(placed, "test").passages()
        assert len(passages.passage_ids) == 450
        last = passages.sentences - 1
        if density in (FIRST, LAST):  # nothing is left to chance
            assert (passages.after == (0 if density == FIRST else last)).all()
        else:
            assert fit(passages, density) > 0.001
            other = Density("end", 0.6) if density.shape != "end" else Density("front", 0.6)
            assert fit(passages, other) < 1e-6  # and from no other


def test_weighted_arms_have_moved_equally_far(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    texts = {
        f"p{n}": " ".join(f"W{n}x{s} said nothing." for s in range(3 + n % 6)) for n in range(600)
    }
    original = make_collection(texts, answers_of(texts))
    plain, weighted = [], []
    for density in (Density("front", 0.5), Density("middle", 0.5)):
        placed = placed_questions(
            place(original, tmp_path / density.shape, Placing(density, match_distance=True)), "test"
        )
        assert placed.weight is not None
        plain.append(placed.distance.mean())
        weighted.append(
            np.bincount(placed.distance, weights=placed.weight, minlength=8) / placed.weight.sum()
        )
        assert placed.weight.mean() == pytest.approx(1)  # every distance is matched
    assert abs(plain[0] - plain[1]) > 0.2
    assert weighted[0] == pytest.approx(weighted[1])


def test_every_row_says_how_far_its_passage_moved(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    placed = place(
        make_collection(MANY, answers_of(MANY)),
        tmp_path / "placed",
        Placing(Density()),
    )
    table = placed_questions(placed, "test")
    assert table.passages().passage_ids == [*MANY]
    assert set(table.passage_ids) == {*MANY}
    assert table.weight is None
    assert all(
        0 <= after < count
        for after, count in zip(table.after.tolist(), table.sentences.tolist(), strict=True)
    )
    with pytest.raises(InputError, match="wanted split 'train'; found test"):
        placed_questions(placed, "train")
    (placed.path / "placed" / "test.parquet").write_bytes(b"damaged")
    with pytest.raises(InputError, match="wanted a table of placed questions"):
        placed_questions(placed, "test")
    assert all(low <= high for low, high in pairwise(table.sentences.tolist()[:6]))


def test_what_a_placement_counts(make_collection: MakeCollection, tmp_path: Path) -> None:
    placed = place(
        make_collection(MANY, answers_of(MANY)), tmp_path / "placed", Placing(Density("front", 1))
    )
    rows = placement_rows(placed)
    counted = rows[rows["statistic"] == "count"].set_index(["measure", "label"])["value"]
    assert counted["passages"].sum() == rows["count"].max() == 60
    assert counted["questions", "kept"] == 120
