"""Rank the audited queries by position-blind scorers, to see the slopes that the questions alone
produce.

Late and early answers belong to different questions, so even BM25 shows a slope. These scorers rank
the same candidates by words, weights and lengths, and ignore the order of words. A system whose
slope lies beyond all of theirs is unusual, which is a reason to rotate passages but not a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from positionbias.audit.by_position import position_results
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task
from positionbias.core.collection import Collection
from positionbias.core.records import Query
from positionbias.core.run import Run
from positionbias.core.seeds import keys64
from positionbias.evaluation.described import BLIND
from positionbias.evaluation.rank_overlap import rank_biased_overlaps
from positionbias.firststage.settings import Bm25Settings
from positionbias.firststage.terms import Analyzer
from positionbias.text.overlap import content_words
from positionbias.text.vocabulary import words_of
from positionbias.text.words import word_count

__all__ = ["ALIKE", "alike", "blind_results", "blind_runs"]

ALIKE = 0.9  # mean rank-biased overlap from which two rankings count as the same scorer's
PERMUTATIONS = 100  # only for the mean of the null; the p of these scorers is not used
_PAIRS = 20_000  # pairs of a query and a passage, scored at a time

Pairs = tuple[np.ndarray, np.ndarray]


def blind_runs(
    collection: Collection,
    queries: Sequence[Query],
    candidates: Run,
    seed: int,
    *,
    vectors: Mapping[str, np.ndarray] | None = None,
) -> list[Run]:
    """Rank the candidates of these queries by each position-blind scorer; return a run each.

    The scorers are BM25 (with the statistics of the candidates' texts, or the candidates themselves
    if they are ``alike`` in order), tf-idf cosine, word overlap, passage length (longest first,
    shortest first), a random order keyed by (seed, query, passage), and with ``vectors``
    (lower-cased word to vector) the cosine of the words' mean vectors. The order of queries and
    candidates changes nothing.

    Raises:
        InputError: a candidate is not in the collection.
    """
    asked = sorted(
        (query for query in queries if query.query_id in candidates),
        key=lambda query: query.query_id,
    )
    asked = [query for query in asked if len(candidates.numbers(query.query_id))]
    ranked = {query.query_id: sorted(candidates[query.query_id].passage_ids) for query in asked}
    passage_ids = sorted({passage_id for ids in ranked.values() for passage_id in ids})
    numbers = {passage_id: number for number, passage_id in enumerate(passage_ids)}
    texts = collection.texts(passage_ids)
    pairs = (
        np.repeat(np.arange(len(asked)), [len(ids) for ids in ranked.values()]),
        np.array([numbers[passage_id] for ids in ranked.values() for passage_id in ids], np.int64),
    )
    questions = [query.text for query in asked]
    analyzer = Analyzer()
    terms = _Bags.of(texts, analyzer)
    asked_terms = terms.rows(questions, analyzer)
    words = np.array([word_count(text) for text in texts], np.float64)
    found = {
        "BM25 of the candidates": _paired(asked_terms, _bm25(terms), pairs),
        "tf-idf cosine": _cosine(asked_terms, terms, pairs),
        "word overlap": _overlap(questions, texts, pairs),
        "longest passage": words[pairs[1]],
        "shortest passage": -words[pairs[1]],
        "random order": _random(seed, ranked),
    }
    if vectors is not None:
        found["mean of word vectors"] = _mean_vectors(questions, texts, vectors, pairs)
    runs = [Run(name, _rankings(ranked, scores)) for name, scores in found.items()]
    first_stage = candidates.only(ranked, candidates.name)
    return [first_stage, *runs[1:]] if alike(first_stage, runs[:1]) else runs


def alike(run: Run, others: Iterable[Run]) -> list[str]:
    """Name the runs that rank like this one, with a mean rank-biased overlap of 0.9 or more over
    common queries [decision].

    An audited system may be one of the blind scorers under another name, and must not be its own
    control.
    """
    found = []
    for other in others:
        shared = [query_id for query_id in run if query_id in other]
        own, theirs = ([one[query_id].passage_ids for query_id in shared] for one in (run, other))
        overlaps = rank_biased_overlaps(own, theirs)
        if len(overlaps) and float(np.mean(overlaps)) >= ALIKE:
            found.append(other.name)
    return found


def blind_results(task: Task, runs: Iterable[Run], settings: AuditSettings) -> list[Measurement]:
    """Measure each run of ``blind_runs`` by ``position_results``: first measure, first buckets,
    standardised over length and over all passages.

    Their measure and role are ``BLIND``, so that they do not count as audited systems.
    """
    buckets = settings.buckets_for(task.evidence.positioned)[:1]
    narrow = replace(
        settings, measures=settings.measures[:1], buckets=buckets, permutations=PERMUTATIONS
    )
    return [
        measured._replace(role=BLIND, measure=BLIND)
        for run in runs
        for measured in position_results(
            System(run.name, run=run),
            task,
            task.values(run, narrow.measures),
            narrow,
            by_length=False,
        )
    ]


def _rankings(
    ranked: Mapping[str, list[str]], scores: np.ndarray
) -> Iterator[tuple[str, Sequence[str], np.ndarray]]:
    """Yield each query's passages with their scores, from those of all pairs ``(pairs,)``."""
    start = 0
    for query_id, passage_ids in ranked.items():
        yield query_id, passage_ids, scores[start : start + len(passage_ids)]
        start += len(passage_ids)


@dataclass(frozen=True, slots=True)
class _Bags:
    """Term counts of texts: a sparse matrix ``counts (texts, terms)`` and the column of each
    term.
    """

    counts: Any
    columns: Mapping[str, int]

    @staticmethod
    def of(texts: Iterable[str], terms: Callable[[str], Iterable[str]]) -> _Bags:
        """Count the terms of these texts."""
        columns: dict[str, int] = {}
        rows = [[columns.setdefault(term, len(columns)) for term in terms(text)] for text in texts]
        return _Bags(_counted(rows, len(columns)), columns)

    def rows(self, texts: Iterable[str], terms: Callable[[str], Iterable[str]]) -> Any:
        """Count these terms in other texts, ``(texts, terms)``; other terms are skipped."""
        columns = self.columns
        return _counted(
            [[columns[term] for term in terms(text) if term in columns] for text in texts],
            len(columns),
        )

    @property
    def texts_with(self) -> np.ndarray:
        """The number of texts with each term, ``(terms,)``."""
        return np.bincount(self.counts.indices, minlength=self.counts.shape[1])


def _counted(rows: Sequence[Sequence[int]], width: int) -> Any:
    from scipy import sparse

    ends = np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])
    columns = np.fromiter((column for row in rows for column in row), np.int64, int(ends[-1]))
    found = sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(rows), width))
    found.sum_duplicates()
    return found


def _scaled(counts: Any, values: np.ndarray) -> Any:
    """Return the sparse matrix with its stored values replaced."""
    found = counts.copy()
    found.data = values
    return found


def _paired(left: Any, right: Any, pairs: Pairs) -> np.ndarray:
    """Return the inner product of each pair of rows, ``(pairs,)``."""
    found = np.empty(len(pairs[0]))
    for start in range(0, len(found), _PAIRS):
        block = slice(start, start + _PAIRS)
        found[block] = left[pairs[0][block]].multiply(right[pairs[1][block]]).sum(axis=1)
    return found


def _bm25(terms: _Bags) -> Any:
    """Return the BM25 weight of each term of each text, as in ``firststage.bm25``."""
    settings, counts, texts = Bm25Settings(), terms.counts, terms.counts.shape[0]
    with_term = terms.texts_with
    rarity = np.log1p((texts - with_term + 0.5) / (with_term + 0.5))
    lengths = counts.sum(axis=1)
    saturation = settings.k1 * (
        1 - settings.b + settings.b * lengths / (lengths.sum() / max(texts, 1) or 1.0)
    )
    row = np.repeat(np.arange(texts), np.diff(counts.indptr))
    return _scaled(counts, rarity[counts.indices] * counts.data / (counts.data + saturation[row]))


def _cosine(asked: Any, terms: _Bags, pairs: Pairs) -> np.ndarray:
    """Return the cosine of term counts weighted by 1 + ln((1 + N) / (1 + n)), for a term in n of N
    texts.
    """
    rarity = 1 + np.log((1 + terms.counts.shape[0]) / (1 + terms.texts_with))
    left, right = (_scaled(one, one.data * rarity[one.indices]) for one in (asked, terms.counts))
    lengths = [np.sqrt(one.multiply(one).sum(axis=1)) for one in (left, right)]
    product = lengths[0][pairs[0]] * lengths[1][pairs[1]]
    return np.divide(
        _paired(left, right, pairs), product, out=np.zeros_like(product), where=product > 0
    )


def _overlap(questions: Sequence[str], texts: Sequence[str], pairs: Pairs) -> np.ndarray:
    """Return the share of the query's content words in the passage, of every pair; each text is
    read once.
    """
    held = _Bags.of(texts, content_words)
    wanted = np.array([len(content_words(question)) for question in questions], np.float64)
    return (
        _paired(held.rows(questions, content_words), held.counts, pairs)
        / np.maximum(wanted, 1)[pairs[0]]
    )


def _random(seed: int, ranked: Mapping[str, list[str]]) -> np.ndarray:
    keys = [
        f"{query_id}\x1f{passage_id}".encode()
        for query_id, ids in ranked.items()
        for passage_id in ids
    ]
    return keys64(seed, "position-blind order", keys).astype(np.float64) / 2.0**64


def _mean_vectors(
    questions: Sequence[str], texts: Sequence[str], vectors: Mapping[str, np.ndarray], pairs: Pairs
) -> np.ndarray:
    """Return the cosine of the mean vectors of the words that have one; 0 if a side has none."""

    def known(text: str) -> list[str]:
        return [word for word in words_of(text) if word in vectors]

    held = _Bags.of([*texts, *questions], known)
    if not held.columns:
        return np.zeros(len(pairs[0]))
    sums = held.counts @ np.array([vectors[word] for word in held.columns], np.float64)
    sizes = np.linalg.norm(sums, axis=1, keepdims=True)
    of_texts, of_questions = np.split(sums / np.where(sizes > 0, sizes, 1), [len(texts)])
    found = np.empty(len(pairs[0]))
    for start in range(0, len(found), _PAIRS):
        block = slice(start, start + _PAIRS)
        found[block] = np.einsum(
            "pd,pd->p", of_questions[pairs[0][block]], of_texts[pairs[1][block]]
        )
    return found
