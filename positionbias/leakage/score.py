"""Score given pairs again, by the highest score over the test query's searched texts [decision]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from positionbias.core.closest import or_closest
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.similarity import cosines
from positionbias.leakage.lexical import Rarity, containment, jaccard, read_terms
from positionbias.leakage.nearest import Encode, encoded
from positionbias.leakage.pairs import SCORES, Pair

__all__ = ["BOTH", "scored"]

BOTH = "both"
_BLOCK = 4_096  # pairs to encode together

Score = Callable[[Sequence[Pair]], Iterator[float]]


def scored(pairs: Sequence[Pair], score: str, *, encode: Encode | None = None) -> list[Pair]:
    """Return the pairs with this score: the recorded one if every pair has it and no encoder is
    given, else one computed from the texts.

    ``cosine`` is of the vectors by ``encode``; ``jaccard`` and ``containment`` of terms, weighted
    by their rarity in the pairs' own texts; ``both`` is the mean of cosine and Jaccard, so that
    neither alone decides [decision].

    Raises:
        SettingError: an unknown score, or an unrecorded cosine without an encoder.
        InputError: a pair without the needed texts (with its line).
    """
    if score == BOTH:
        return [
            replace(
                pair,
                scores={**pair.scores, BOTH: (pair.scores["cosine"] + pair.scores["jaccard"]) / 2},
            )
            for pair in scored(scored(pairs, "cosine", encode=encode), "jaccard")
        ]
    if score not in SCORES:
        known = (*SCORES, BOTH)
        do = or_closest(score, known, "give one of these")
        raise SettingError(f"--score: wanted one of {', '.join(known)}; found {score!r}; {do}")
    anew = encode is not None and score == "cosine"
    if not anew and all(score in pair.scores for pair in pairs):
        return list(pairs)
    if score == "cosine" and encode is None:
        raise SettingError(
            "--score: wanted a cosine for every pair; found pairs without; give --encoder to "
            "compute it"
        )
    _check_texts(pairs)
    values = (
        _cosines(pairs, encode)
        if encode is not None and score == "cosine"
        else _lexical(pairs, score)
    )
    return [
        replace(pair, scores={**pair.scores, score: value})
        for pair, value in zip(pairs, values, strict=True)
    ]


def _check_texts(pairs: Sequence[Pair]) -> None:
    for pair in pairs:
        if not pair.train_text or not pair.searched():
            what = "train_text" if not pair.train_text else "text of the test query"
            raise bad_input(
                pair.place,
                line=pair.line,
                wanted="the texts of both queries, to score them",
                found=f"no {what}",
                do="add it, or use a recorded score",
            )


def _cosines(pairs: Sequence[Pair], encode: Encode) -> Iterator[float]:
    for start in range(0, len(pairs), _BLOCK):
        block = pairs[start : start + _BLOCK]
        texts = list(
            dict.fromkeys(text for pair in block for text in (pair.train_text, *pair.searched()))
        )
        vectors = encoded(texts, encode)
        place = {text: number for number, text in enumerate(texts)}
        for pair in block:
            tests = [place[text] for text in pair.searched()]
            yield float(
                cosines(vectors[[place[pair.train_text]] * len(tests)], vectors[tests]).max()
            )


def _lexical(pairs: Sequence[Pair], score: str) -> Iterator[float]:
    compare = {"jaccard": jaccard, "containment": containment}[score]
    texts = dict.fromkeys(text for pair in pairs for text in (pair.train_text, *pair.searched()))
    rarity = Rarity(texts)
    for pair in pairs:
        train = read_terms(pair.train_text).terms
        yield max(compare(train, read_terms(text).terms, rarity) for text in pair.searched())
