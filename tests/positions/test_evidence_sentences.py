"""Which sentence of a passage is its evidence, which questions stay, and why the others go; worked
by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Qrel, Query
from positionbias.core.seeds import key64
from positionbias.positions.evidence_sentences import EvidenceSentence, choose_sentences

TEXT = "Anna came. Bert left. Carl stayed. Dora ran."
TEXTS = {"p": TEXT, "other": "Emil sang. Fritz slept. Gerd woke.", "two": "Hans ate. Ida drank."}


def answer(query_id: str, text: str, passage_id: str = "p", *, offsets: bool = True) -> Answer:
    start = TEXTS[passage_id].index(text) if offsets else None
    return Answer(query_id, passage_id, text, start, None if start is None else start + len(text))


def collection(
    place: Path,
    splits: Mapping[str, Sequence[Answer]],
    more: Sequence[Qrel] = (),
    queries: Sequence[str] = (),
) -> Collection:
    """Passages ``TEXTS``; every answer's passage is relevant to its query; ``more`` judgements, and
    ``queries``, of the first split.
    """
    with create_collection(place / "made") as writer:
        writer.add_passages(Passage(*item) for item in TEXTS.items())
        for number, (split, answers) in enumerate(splits.items()):
            own = [*more] if number == 0 else []
            pairs = dict.fromkeys((item.query_id, item.passage_id) for item in answers)
            judged = {(item.query_id, item.passage_id) for item in own}
            qrels = [*own, *(Qrel(*pair, 1) for pair in pairs if pair not in judged)]
            ids = dict.fromkeys(
                [*(item.query_id for item in qrels), *(queries if number == 0 else ())]
            )
            writer.add_split(split, [Query(item, f"about {item}") for item in ids], qrels, answers)
        writer.finish(Manifest("collection", "made", "a test"), allow_absent=True)
    return Collection(place / "made")


def test_the_sentence_with_most_questions_is_kept(tmp_path: Path) -> None:
    made = collection(
        tmp_path,
        {
            "train": [
                answer("a", "Anna"),
                answer("b1", "Bert"),
                answer("b2", "left"),
                answer("b2", "Bert left"),  # a second annotator, in the same sentence
                answer("c", "Carl", offsets=False),
                answer("across", "left. Carl"),
                answer("several", "Bert"),
                answer("several", "Carl"),
                answer("few", "Hans", "two"),
                Answer("nowhere", "p", "Zacharias"),
            ]
        },
        queries=["unjudged"],
    )
    kept = choose_sentences(made, seed=1)
    assert kept.sentences == {"p": EvidenceSentence(1, 4)}
    assert kept.passages_of == {"train": {"b1": ("p",), "b2": ("p",)}}
    assert kept.counts["train"] == {
        "questions": 9,
        "kept": 2,
        "without a relevant passage": 1,
        "without an answer found in its relevant passage": 1,
        "passage of fewer than three sentences": 1,
        "passage in Thai or Lao, which mark no end of a sentence": 0,
        "answer in more than one sentence": 2,
        "answered by a sentence other than the kept one": 2,
    }


def test_a_passage_has_one_sentence_over_all_splits(tmp_path: Path) -> None:
    train, test = (
        [answer("a", "Anna"), answer("b1", "Bert")],
        [answer("b2", "left"), answer("e", "Emil", "other")],
    )
    kept = choose_sentences(collection(tmp_path, {"train": train, "test": test}), seed=1)
    assert kept.passages_of == {"train": {"b1": ("p",)}, "test": {"b2": ("p",), "e": ("other",)}}
    assert kept.sentences == {"other": EvidenceSentence(0, 3), "p": EvidenceSentence(1, 4)}


def test_ties_are_broken_by_key(tmp_path: Path) -> None:
    made = collection(tmp_path, {"test": [answer("b", "Bert"), answer("a", "Anna")]})
    for seed in range(8):
        own = min((0, 1), key=lambda sentence: key64(seed, "evidence sentence", "p", sentence))
        assert choose_sentences(made, seed=seed).sentences == {"p": EvidenceSentence(own, 4)}
    assert len({choose_sentences(made, seed=seed).sentences["p"].own for seed in range(8)}) == 2


def test_a_question_stays_where_every_relevant_passage_keeps_it(tmp_path: Path) -> None:
    answers = [
        answer("both", "Bert"),
        answer("both", "Emil", "other"),
        answer("b", "left"),
        answer("half", "left"),
        answer("half", "Fritz", "other"),  # not the sentence that "other" keeps
        answer("e", "sang", "other"),
        answer("blank", "Bert"),
        answer("lost", "Bert"),
        answer("judged not relevant", "Bert"),
        answer("judged not relevant", "Hans", "two"),
    ]
    more = [
        Qrel("blank", "other", 1),  # relevant, and nothing in it answers
        Qrel("lost", "no such passage", 2),
        Qrel("judged not relevant", "two", 0),
    ]
    kept = choose_sentences(collection(tmp_path, {"test": answers}, more), seed=1)
    assert kept.sentences == {"other": EvidenceSentence(0, 3), "p": EvidenceSentence(1, 4)}
    assert kept.passages_of["test"] == {
        "both": ("p", "other"),
        "b": ("p",),
        "e": ("other",),
        "judged not relevant": ("p",),
    }
    counts = kept.counts["test"]
    assert counts["without an answer found in its relevant passage"] == 2
    assert counts["answered by a sentence other than the kept one"] == 1


def test_nothing_to_keep_is_one_line(tmp_path: Path) -> None:
    made = collection(
        tmp_path, {"test": [answer("few", "Hans", "two"), answer("across", "left. Carl")]}
    )
    with pytest.raises(
        InputError,
        match=(
            r"found none among 2 \(1 passage of fewer than three sentences, 1 answer in more than "
            r"one"
        ),
    ):
        choose_sentences(made, seed=1)
