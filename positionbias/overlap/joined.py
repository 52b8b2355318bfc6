"""Pairs of a query and its relevant passage: a training pair overlaps a test pair where both its
query and its passage do.

A passage of a shared corpus is the same passage, so it counts here: a training query near a test
query, with its very passage, is a leak. [decision] A joined pair is found by exact if both parts
are, and by ngram if either part is. Its scores are the lower ones of both parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from positionbias.overlap.found import Found, strengths
from positionbias.overlap.settings import DETECTORS, EXACT

__all__ = ["Joined", "joined", "joined_cut"]

_SAME = np.array([name == EXACT for name in DETECTORS])


@dataclass(frozen=True, slots=True)
class Joined:
    """Overlapping pairs in order: the number of the test link ``(j,)``, and the places in the found
    queries and passages ``(j,)``.
    """

    links: np.ndarray
    queries: np.ndarray
    passages: np.ndarray
    found_by: np.ndarray
    scores: np.ndarray

    def __len__(self) -> int:
        return len(self.links)


def joined(
    queries: Found,
    passages: Found,
    train_links: Sequence[Iterable[tuple[str, str]]],
    test_links: Sequence[tuple[int, int]],
) -> Joined:
    """Join found queries and passages.

    ``train_links`` are (query id, passage id) of each training set, ``test_links`` the numbers of a
    test query and a test passage.
    """
    of_query, of_passage = _by_id(queries), _by_id(passages)
    relevant: dict[int, dict[int, int]] = defaultdict(dict)
    for link, (query, passage) in enumerate(test_links):
        relevant[query].setdefault(passage, link)
    found: dict[tuple[int, int, int], None] = {}
    for source, links in enumerate(train_links):
        for query_id, passage_id in links:
            if not (near := of_query.get((source, query_id))) or not (
                own := of_passage.get((source, passage_id))
            ):
                continue
            for test_query, query in near.items():
                wanted = relevant.get(test_query, {})
                for test_passage in wanted.keys() & own.keys():
                    found[wanted[test_passage], query, own[test_passage]] = None
    links, of_q, of_p = (
        (np.array(column, np.int64) for column in zip(*found, strict=True))
        if found
        else [np.zeros(0, np.int64)] * 3
    )
    by = _found_by(queries.found_by[of_q], passages.found_by[of_p])
    scores = np.minimum(queries.scores[of_q], passages.scores[of_p])
    order = np.lexsort((of_p, of_q, -strengths(scores), links))
    return Joined(links[order], of_q[order], of_p[order], by[order], scores[order])


def _found_by(query: np.ndarray, passage: np.ndarray) -> np.ndarray:
    """Return the detectors of pairs ``(j, d)``, given those of their queries and of their
    passages.
    """
    return np.where(_SAME, query & passage, query | passage)


def joined_cut(queries: np.ndarray, passages: np.ndarray) -> np.ndarray:
    """Return by training set and detector whether joined pairs may be missing, given where queries
    and passages were cut ``(s, d)``.

    A pair by exact needs exact ones; a pair by ngram needs those of both detectors.
    """
    cut = queries | passages
    return np.where(_SAME, cut, cut.any(axis=1)[:, None])


def _by_id(found: Found) -> Mapping[tuple[int, str], dict[int, int]]:
    """Return by source and training id the place of the pair with each test text."""
    places: dict[tuple[int, str], dict[int, int]] = defaultdict(dict)
    for place, (source, train_id, test) in enumerate(
        zip(found.sources.tolist(), found.ids(), found.tests.tolist(), strict=True)
    ):
        places[source, train_id][test] = place
    return places
