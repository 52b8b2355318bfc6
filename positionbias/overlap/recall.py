"""Measure recall: of planted duplicates and known pairs, by kind, and of all pairs by meaning where only candidates are encoded.

The duplicates go through the searches as one more training set. One counts as found if it is found with its own test text. Each
test text gives one duplicate of a kind, so a kind's interval is Wilson's; that over all kinds is clustered by test text
(``leakage.precision``).

For candidates about ``SAMPLE`` training texts are drawn by their ids and compared in full [decision].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from positionbias.core.seeds import key64
from positionbias.leakage.pairs import Pair
from positionbias.leakage.precision import Labelled, Share, at_threshold
from positionbias.overlap.detectors import Encode, Search, Texts
from positionbias.overlap.meaning import candidates, meaning
from positionbias.overlap.planted import Duplicate, plan_duplicates
from positionbias.overlap.settings import ALL, OverlapSettings
from positionbias.results.overlap import (
    ANY,
    CANDIDATE_RECALL,
    RECALL,
    TRUE_RECALL,
    CandidateFigures,
    FoundOfPlanted,
    RecallFigures,
)
from positionbias.results.result import Result

__all__ = ["SAMPLE", "candidate_recall", "planted_recall", "true_recall"]

SAMPLE = 4_096

_PURPOSE = "candidates by meaning"
_BATCH = 2_048  # duplicates searched at once


def planted_recall(
    tests: Texts,
    of_set: slice,
    searches: Mapping[str, Search],
    settings: OverlapSettings,
    *,
    test_set: str,
    unit: str,
    number: int,
    seed: int,
) -> Iterator[Result]:
    """Plant duplicates of ``number`` drawn texts of a test set, and yield a result for each detector, and one for any of them.

    A detector answers for test texts with words enough for it; where none was drawn, it has no result.
    ``searches`` are those for the texts of all test sets, of which ``of_set`` are this one's.
    """
    texts = list(zip(tests.ids[of_set], tests.texts[of_set], strict=True))
    planted = plan_duplicates(texts, number, seed)
    if not planted:
        return
    found = {name: _found(planted, of_set.start, search) for name, search in searches.items()}
    found[ANY] = np.any([found[name] for name in settings.counted(ANY)], axis=0)
    words = tests.words.counts[of_set][[one.test for one in planted]]
    for name, hits in found.items():
        least, below = settings.words_of(name)
        asked = np.flatnonzero((words >= least) & (words < below))
        if len(asked):
            own = [planted[place] for place in asked]
            kinds, drawn = [one.kind.value for one in own], [str(one.test) for one in own]
            yield _result(RECALL, kinds, drawn, hits[asked], name, test_set, unit, seed)


def _found(planted: list[Duplicate], first: int, search: Search) -> np.ndarray:
    """Return which duplicates are found with their own test text ``(d,)`` bool; the test set's texts are numbered from ``first``."""
    own, there = np.array([first + one.test for one in planted]), np.zeros(len(planted), bool)
    for start in range(0, len(planted), _BATCH):
        part = planted[start : start + _BATCH]
        hits = search(Texts([str(start + place) for place in range(len(part))], [one.text for one in part]))
        there[start + hits.train[own[start + hits.train] == hits.test]] = True
    return there


def true_recall(
    found: Iterable[Pair], truth: Iterable[Pair], settings: OverlapSettings, *, test_set: str, unit: str
) -> Iterator[Result]:
    """Yield what each detector, and any of them, finds of the pairs that are true, by their label."""
    true = {(pair.train_id, pair.test_id): pair.label for pair in truth if not pair.label or pair.label.leaks}
    by = {(pair.train_id, pair.test_id): set(pair.found_by) for pair in found}
    kinds, tests = [label.name if label else "" for label in true.values()], [test for _, test in true]
    for name in (*settings.detectors, ANY):
        hits = np.array([not settings.counted(name).isdisjoint(by.get(ids, ())) for ids in true])
        yield _result(TRUE_RECALL, kinds, tests, hits, name, test_set, unit, None)


def _result(
    measure: str,
    kinds: Sequence[str],
    tests: Sequence[str],
    found: np.ndarray,
    detector: str,
    test_set: str,
    unit: str,
    seed: int | None,
) -> Result:
    """Return the share found, over all and by kind, of duplicates with a kind and a test text each."""
    of_kinds = {}
    for kind in dict.fromkeys(kinds):
        own = [place for place, one in enumerate(kinds) if one == kind]
        share = _share([found[place] for place in own], [tests[place] for place in own])
        low, high = (share.interval.low, share.interval.high) if share.interval else (None, None)
        of_kinds[kind] = FoundOfPlanted(share.pairs, share.leaks, low, high)
    share = _share(found, tests)
    figures = RecallFigures(unit=unit, detector=detector, tests=len(set(tests)), kinds=of_kinds)
    return Result(f"{measure}{unit}", test_set, "", detector, seed, share.value, share.interval, len(kinds), figures)


def _share(found: Sequence[bool] | np.ndarray, tests: Sequence[str]) -> Share:
    """Return the share that is true, clustered by test text."""
    return at_threshold(Labelled(np.zeros(len(found)), found, tests), 0.0)


def candidate_recall(
    tests: Texts,
    training: Iterable[Texts],
    texts: int,
    settings: OverlapSettings,
    encode: Encode,
    *,
    test_set: str,
    unit: str,
    seed: int,
) -> Result:
    """Compare drawn training texts, of ``texts`` in all, with all test texts, and count the pairs of those that are candidates.

    The value is None where the drawn texts have no pair.
    """
    whole, propose = meaning(tests, replace(settings, encode=ALL), encode), candidates(tests, settings)
    below = SAMPLE / max(texts, 1) * 2.0**64
    drawn = proposed = 0
    asked: list[str] = []
    found: list[bool] = []
    for batch in training:
        kept = [place for place, text_id in enumerate(batch.ids) if key64(seed, _PURPOSE, text_id) < below]
        sample = Texts([batch.ids[place] for place in kept], [batch.texts[place] for place in kept])
        hits, candidate = whole(sample), propose(sample)
        drawn, proposed = drawn + len(sample), proposed + int(candidate.sum())
        asked += map(str, hits.test.tolist())
        found += candidate[hits.train].tolist()
    share = _share(found, asked)
    figures = CandidateFigures(unit=unit, drawn=drawn, candidates=proposed, pairs=len(found), found=sum(found))
    return Result(f"{CANDIDATE_RECALL}{unit}", test_set, "", "meaning", seed, share.value, share.interval, len(found), figures)
