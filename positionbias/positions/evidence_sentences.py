"""Choose one evidence sentence per passage, and keep the questions that it alone answers.

Only one sentence of a passage can follow a density of positions, but in real data several answer
questions: in 83 % of SQuAD's passages. So a passage keeps the questions of one sentence [our
decisions]:

- An answer is located as in an audit: by the source's offsets, else by its words (BlingFire,
  case-sensitive), in passages judged 1 or higher by the split's own judgements. All located answers
  of a question in a passage must lie in one sentence; otherwise several sentences answer it.
- Passages of fewer than 3 sentences keep no question, nor do those in Thai or Lao, which mark no
  end of a sentence.
- Otherwise the sentence with the most questions over all splits is chosen, as a passage has one
  text; ties go by (seed, passage id, sentence).
- A question is kept, with all its judgements, if *every* passage relevant to it keeps it: so all
  its evidence is placed.

Passages are not dropped: a passage without a kept question stays unchanged.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError
from positionbias.core.progress import track
from positionbias.core.records import relevant_passages
from positionbias.core.seeds import key64
from positionbias.core.steps import MapShards
from positionbias.positions.answers import (
    SHARD_PASSAGES,
    AnswerShard,
    answer_shards,
    answers_by_query,
)
from positionbias.positions.locate import locate
from positionbias.positions.settings import Matching
from positionbias.text.sentences import NO_MARKS, NOT_ONE_SENTENCE, TOO_FEW, sentence_holding
from positionbias.text.words import sentence_starts

NO_PASSAGE = "without a relevant passage"
NO_ANSWER = "without an answer found in its relevant passage"
OTHER_SENTENCE = "answered by a sentence other than the kept one"
WHY = (NO_PASSAGE, NO_ANSWER, TOO_FEW, NO_MARKS, NOT_ONE_SENTENCE, OTHER_SENTENCE)

Question = tuple[str, str]  # split and query id


class EvidenceSentence(NamedTuple):
    """Sentence ``own`` of a passage's ``sentences``."""

    own: int
    sentences: int


class KeptQuestions(NamedTuple):
    """Kept questions by split, each with its passages; evidence sentences by passage; counts of
    questions by split and outcome.
    """

    passages_of: Mapping[str, Mapping[str, tuple[str, ...]]]
    sentences: Mapping[str, EvidenceSentence]
    counts: Mapping[str, Mapping[str, int]]


class _Found(NamedTuple):
    """One question in one passage: the sentence that answers it, or the reason for none."""

    query_id: str
    passage_id: str
    sentence: EvidenceSentence | None
    why: str = ""


def choose_sentences(
    collection: Collection, *, seed: int, map_shards: MapShards = map
) -> KeptQuestions:
    """Choose the evidence sentence of every passage of a collection, and the questions to keep.

    Raises:
        InputError: no question can be kept, or an answer lies outside its passage.
    """
    relevant = {split: relevant_passages(collection.qrels(split)) for split in collection.splits}
    found = {
        (split, item.query_id, item.passage_id): item
        for split in collection.splits
        for item in _find(collection, split, map_shards)
        if item.passage_id in relevant[split].get(item.query_id, ())
    }
    asked: dict[str, dict[Question, EvidenceSentence]] = defaultdict(dict)
    for (split, query_id, passage_id), item in found.items():
        if item.sentence is not None:
            asked[passage_id][split, query_id] = item.sentence
    own = {
        passage_id: _most_asked(passage_id, questions, seed)
        for passage_id, questions in asked.items()
    }

    def why_not(split: str, query_id: str, passage_id: str) -> str:
        item = found.get((split, query_id, passage_id))
        if item is None or item.sentence is None:
            return item.why if item is not None else NO_ANSWER
        if item.sentence != own[passage_id]:
            return OTHER_SENTENCE
        return ""

    passages_of: dict[str, dict[str, tuple[str, ...]]] = {}
    counts: dict[str, dict[str, int]] = {}
    for split in collection.splits:
        kept, dropped = passages_of.setdefault(split, {}), Counter(dict.fromkeys(WHY, 0))
        for query_id, _ in collection.query_texts(split):
            passages = relevant[split].get(query_id, ())
            reasons = filter(
                None, (why_not(split, query_id, passage_id) for passage_id in passages)
            )
            if reason := next(reasons, "" if passages else NO_PASSAGE):
                dropped[reason] += 1
            else:
                kept[query_id] = passages
        counts[split] = {"questions": len(kept) + dropped.total(), "kept": len(kept), **dropped}
    _check_some(collection, counts)
    placed = {
        passage_id
        for kept in passages_of.values()
        for passages in kept.values()
        for passage_id in passages
    }
    return KeptQuestions(
        passages_of, {passage_id: own[passage_id] for passage_id in sorted(placed)}, counts
    )


def _find(collection: Collection, split: str, map_shards: MapShards) -> Iterator[_Found]:
    shards = map_shards(_find_shard, answer_shards(collection, split, SHARD_PASSAGES))
    for found in track(shards, f"answers of {split}", unit="shards"):
        yield from found


def _find_shard(shard: AnswerShard) -> list[_Found]:
    """Find the sentences that answer a shard's questions; a pure function of the shard."""
    found: list[_Found] = []
    starts: list[int] = []
    last = None
    for passage, answers in answers_by_query(Matching(), shard):
        if passage is not last:
            last, starts = passage, sentence_starts(passage.text)
        spans = [span for answer in answers for span in locate(passage, answer).spans]
        own = sentence_holding(passage.text, starts, spans) if spans else NO_ANSWER
        query_id, passage_id = answers[0].query_id, answers[0].passage_id
        if isinstance(own, str):
            found.append(_Found(query_id, passage_id, None, own))
        else:
            found.append(_Found(query_id, passage_id, EvidenceSentence(own, len(starts))))
    return found


def _most_asked(
    passage_id: str, questions: Mapping[Question, EvidenceSentence], seed: int
) -> EvidenceSentence:
    counts = Counter(questions.values())
    return min(
        counts,
        key=lambda item: (-counts[item], key64(seed, "evidence sentence", passage_id, item.own)),
    )


def _check_some(collection: Collection, counts: Mapping[str, Mapping[str, int]]) -> None:
    if any(of["kept"] for of in counts.values()):
        return
    dropped = sum((Counter(of) for of in counts.values()), Counter[str]())
    reasons = ", ".join(f"{dropped[why]:,} {why}" for why in WHY if dropped[why])
    raise InputError(
        f"{collection.path}: wanted questions answered by one sentence of a passage of three or "
        f"more; found none among {dropped['questions']:,} ({reasons or 'there are none'}); give a "
        "collection with answers (posbias import squad …)"
    )
