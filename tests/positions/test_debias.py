"""Rotated collections: the same for any number of workers and any order; answers move or are
counted as cut.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias import rotate
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.positions.debias import debias, queries_by_cut, rotation_of, rotation_rows
from positionbias.positions.rotate import Rotation

MakeCollection = Callable[..., Collection]
MANY = {
    f"p{number}": " ".join(f"w{number}x{word}." for word in range(3 + number % 9))
    for number in range(60)
}


def seed_that_cuts(text: str, passage_id: str, cut: int) -> int:
    """The least seed under which this passage is cut at ``cut``."""
    return next(seed for seed in range(1_000) if Rotation(seed=seed).cut(text, passage_id) == cut)


def test_order_and_sharding_change_no_passage(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    shuffled = dict(sorted(MANY.items(), key=lambda item: item[0][::-1]))
    collections = [
        debias(
            make_collection(texts, [], name=f"{name}-original", shard=shard),
            tmp_path / name,
            Rotation(seed=4),
        )
        for name, texts, shard in (
            ("stored", MANY, 60),
            ("shuffled", shuffled, 7),
            ("half", dict(list(MANY.items())[30:]), 60),
        )
    ]
    stored, other, half = (dict(collection.passages()) for collection in collections)
    assert stored == other == {key: rotate(text, key, seed=4) for key, text in MANY.items()}
    assert half == {key: stored[key] for key in half}
    checksums = [collection.manifest.content["passages_checksum"] for collection in collections]
    assert checksums[0] == checksums[1] != checksums[2]


def test_queries_judgements_and_licence_are_carried_over(
    small_collection: Collection, tmp_path: Path
) -> None:
    rotated = debias(small_collection, tmp_path / "rotated", Rotation(seed=3))
    for split in small_collection.splits:
        assert rotated.queries(split) == small_collection.queries(split)
        assert rotated.qrels(split) == small_collection.qrels(split)
    manifest = rotated.manifest
    assert (manifest.name, manifest.command, manifest.seed, manifest.licence) == (
        "rotated",
        "debias",
        3,
        "invented",
    )
    assert manifest.settings == {"words": "blingfire", "mode": "words", "identity": True, "seed": 3}
    source = manifest.input("original")
    assert source is not None
    assert (source.path, source.checksum) == ("../small", small_collection.checksum)
    assert rotation_of(rotated) == Rotation(seed=3)


@pytest.mark.parametrize("seed", range(5))
def test_answers_point_at_their_text_or_are_counted_as_cut(
    small_collection: Collection, tmp_path: Path, seed: int
) -> None:
    rotated = debias(small_collection, tmp_path / "rotated", Rotation(seed=seed))
    texts = dict(rotated.passages())
    for split in small_collection.splits:
        before, after = small_collection.answers(split), rotated.answers(split)
        for answer in after:
            assert (
                answer.start is None
                or texts[answer.passage_id][answer.start : answer.end] == answer.text
            )
        facts = rotated.manifest.content["rotation"]["splits"][split]
        assert facts == {
            "answers": len(before),
            "kept": len(after),
            "cut": len(before) - len(after),
        }


@settings(max_examples=8)
@given(st.text(alphabet="ab é.\u00a0日", min_size=1, max_size=25), st.data())
def test_any_span_of_any_text_moves_with_it(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = tmp_path_factory.mktemp("any")
    with create_collection(place / "original") as writer:
        writer.add_passages([Passage("p", text)])
        writer.add_split(
            "test",
            [Query("q", "?")],
            [Qrel("q", "p", 1)],
            [Answer("q", "p", text[start:end], start, end)],
        )
        writer.finish(Manifest("collection", "original", "a test"))
    original = Collection(place / "original")
    rotated = debias(original, place / "rotated", Rotation(seed=data.draw(st.integers(0, 9))))
    cut = rotation_of(rotated).cut(text, "p")
    kept = rotated.answers("test")
    assert bool(kept) == (not start < cut < end)
    assert queries_by_cut(original, rotated, "test")[0] == ({"q"} if kept else set())
    for answer in kept:
        assert rotated.texts(["p"])[0][answer.start : answer.end] == text[start:end]


def test_uncut_queries_by_hand(make_collection: MakeCollection, tmp_path: Path) -> None:
    text = "a b c d"
    original = make_collection(
        {"p": text},
        [
            Answer("whole", "p", "c d", 4, 7),
            Answer("cut", "p", "a b c", 0, 5),
            Answer("half", "p", "c d", 4, 7),  # one annotator's span is whole, another's is not
            Answer("half", "p", "b c", 2, 5),
            Answer("matched", "p", "d"),
            Answer("matched and cut", "p", "b c"),
            Answer("unknown", "p", "z"),  # stands nowhere: nothing is known of it
        ],
    )
    rotated = debias(original, tmp_path / "rotated", Rotation(seed=seed_that_cuts(text, "p", 4)))
    assert rotated.texts(["p"]) == ["c d a b "]
    assert queries_by_cut(original, rotated, "test")[0] == {"whole", "matched"}
    assert rotated.answers("test") == [
        Answer("whole", "p", "c d", 0, 3),
        Answer("half", "p", "c d", 0, 3),
        Answer("matched", "p", "d"),
        Answer("unknown", "p", "z"),
    ]
    assert rotated.manifest.content["rotation"]["splits"]["test"] == {
        "answers": 7,
        "kept": 4,
        "cut": 3,
    }


def test_an_answer_without_offsets_is_cut_only_where_every_match_is(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    text = "x y c x y"
    original = make_collection({"p": text}, [Answer("q", "p", "x y")])
    rotated = debias(original, tmp_path / "rotated", Rotation(seed=seed_that_cuts(text, "p", 2)))
    assert rotated.texts(["p"]) == ["y c x y x "]
    assert rotated.answers("test") == [Answer("q", "p", "x y")]
    assert queries_by_cut(original, rotated, "test")[0] == set()  # one of its two matches was cut


def test_collections_that_do_not_belong_together_are_refused(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    first, second = (
        make_collection({"p": "a b"}, [], name="first"),
        make_collection({"p": "a c"}, [], name="second"),
    )
    rotated = debias(first, tmp_path / "rotated", Rotation())
    with pytest.raises(InputError, match="give a collection and its rotation"):
        queries_by_cut(second, rotated, "test")
    with pytest.raises(InputError, match="wanted a rotated collection; found one made by 'a test'"):
        queries_by_cut(first, second, "test")


def test_what_stayed_as_it_was_is_counted(make_collection: MakeCollection, tmp_path: Path) -> None:
    texts = {
        "empty": "",
        "blank": " ",
        "word": "one",
        "japanese": "日本語。東京。",
        **{f"p{n}": f"a{n} b" for n in range(40)},
    }
    original = make_collection(texts, [])
    unchanged = (
        sum(rotate(text, key, words="whitespace") == text for key, text in texts.items()) - 3
    )
    assert 10 <= unchanged <= 30  # r = 1 of two words, 40 times, and of seven clusters
    counts = {}
    for name, rotation in {
        "words": Rotation(identity=False),
        "white": Rotation(words="whitespace"),
        "sentences": Rotation(mode="sentences"),
    }.items():
        counts[name] = debias(original, tmp_path / name, rotation).manifest.content["rotation"][
            "passages"
        ]
    assert counts == {
        "words": {"rotated": 41, "drawn_as_it_was": 0, "without_words": 2, "one_word": 1},
        "white": {
            "rotated": 41 - unchanged, "drawn_as_it_was": unchanged, "without_words": 2,
            "one_word": 1,
        },
        "sentences": counts["sentences"] | {"without_words": 2,
        "without_inner_sentence_boundary": 41},
    }  # fmt: skip


def test_the_result_of_a_rotation(make_collection: MakeCollection, tmp_path: Path) -> None:
    texts = {"two": "One lamp. Two gates.", "one": "No end of a sentence here", "none": ""}
    rotation = Rotation(mode="sentences", identity=False)
    rows = rotation_rows(debias(make_collection(texts, []), tmp_path / "rotated", rotation))
    shares = rows[rows["unit"] == "share"].set_index("statistic")["value"]
    assert shares.to_dict() == {"share changed": pytest.approx(1 / 3), "share of one sentence": 0.5}
    assert set(rows["collection"]) == {"rotated"}


def test_judgement_sets_and_judgements_of_absent_passages_are_carried_over(tmp_path: Path) -> None:
    with create_collection(tmp_path / "original") as writer:
        writer.add_passages([Passage("p", "one two three")])
        writer.add_split("test", [Query("q", "two")], [Qrel("q", "p", 1), Qrel("q", "lost", 1)])
        writer.add_qrels("test", "raw", [Qrel("q", "p", 3)])
        writer.finish(Manifest("collection", "original", "a test"), allow_absent=True)
    original = Collection(tmp_path / "original")
    rotated = debias(original, tmp_path / "rotated", Rotation())
    assert rotated.qrels_names("test") == ["raw"]
    assert rotated.qrels("test", "raw") == [Qrel("q", "p", 3)]
    assert rotated.qrels("test") == original.qrels("test")
    assert rotated.manifest.content["absent"] == {"test": {"judgements": 1, "passages": 1}}
    assert rotated.manifest.content["splits"] == original.manifest.content["splits"]


def test_nothing_is_replaced_unasked_nor_left_half_written(
    make_collection: MakeCollection, tmp_path: Path
) -> None:
    good = make_collection({"p": "a b"}, [], name="good")
    bad = make_collection({"p": "a b"}, [Answer("q", "p", "b", 2, 9)], name="bad")
    debias(good, tmp_path / "rotated", Rotation())
    with pytest.raises(OutputExistsError):
        debias(good, tmp_path / "rotated", Rotation(seed=2))
    with pytest.raises(InputError, match="offsets 2 to 9"):
        debias(bad, tmp_path / "rotated", Rotation(seed=2), overwrite=True)
    assert Collection(tmp_path / "rotated").manifest.seed == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "good", "rotated"]
