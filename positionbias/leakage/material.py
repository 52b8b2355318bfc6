"""Collect the material of training sets with leakage: leaking and other queries of the source
splits, and the test topics.

A source query is usable if it has a relevant passage and, among its first candidates, one that is
not judged relevant. As in the leakage paper, a query *leaks* if a pair with a target query says so
(``leaks.leaks``: by label, else by score); it is a *candidate* of leakage if any such pair reaches
the threshold, with any label. Candidates are never used as filling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from positionbias.core.closest import or_closest
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.groups import group_queries
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.leakage.leaks import leaks
from positionbias.leakage.pairs import Pair
from positionbias.leakage.queries import is_empty
from positionbias.leakage.settings import MaterialSettings

__all__ = [
    "Leaking",
    "Material",
    "Source",
    "Topic",
    "leaking_queries",
    "read_material",
    "read_topics",
]


class Topic(NamedTuple):
    """A judged test query with its relevant and non-relevant passages in the collection, in order
    of ids.
    """

    query_id: str
    relevant: tuple[str, ...]
    not_relevant: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaking:
    """Leaking training queries, all candidates of leakage, ``counts`` of pairs by outcome, and in
    ``tests`` the test queries that each leaks."""

    leaking: frozenset[str]
    candidates: frozenset[str]
    counts: Mapping[str, int]
    tests: Mapping[str, frozenset[str]] = field(default_factory=dict)


class Source:
    """A split for training: its usable queries, the leaking ones, and those left out by cause.

    Without ``candidates`` (not known yet), every query with a relevant passage may be usable.
    """

    def __init__(
        self,
        split: str,
        query_ids: Iterable[str],
        qrels: Iterable[Qrel],
        candidates: Run | None,
        found: Leaking,
        settings: MaterialSettings,
        absent: Container[str] = (),
    ) -> None:
        self.split, self.candidates, self._depth, self._absent = (
            split,
            candidates,
            settings.train_depth,
            absent,
        )
        self._relevant: dict[str, list[str]] = {}
        self._judged: dict[str, set[str]] = {}
        for qrel in qrels:
            if qrel.grade >= 1:
                self._judged.setdefault(qrel.query_id, set()).add(qrel.passage_id)
            if qrel.grade >= settings.relevant_from:
                self._relevant.setdefault(qrel.query_id, []).append(qrel.passage_id)
        self.left_out: Counter[str] = Counter()
        self.leaking: list[str] = []
        self.clean: list[str] = []
        self.queries = 0
        for query_id in query_ids:
            self.queries += 1
            if cause := self._cause(query_id):
                self.left_out[cause] += 1
            elif query_id in found.leaking:
                self.leaking.append(query_id)
            elif query_id in found.candidates:
                self.left_out["candidates of leakage that are not leaks"] += 1
            else:
                self.clean.append(query_id)

    def leave_out(self, count: int, cause: str) -> None:
        """Count queries left out earlier."""
        if count:
            self.queries += count
            self.left_out[cause] += count

    def _cause(self, query_id: str) -> str:
        """Return why a query is not usable; empty if it is."""
        if query_id not in self._relevant:
            return "without a relevant passage"
        if not self.relevant(query_id):
            return "whose relevant passages are missing from the corpus"
        if self.candidates is None:
            return ""
        if query_id not in self.candidates:
            return "without candidates"
        return "" if self.negatives(query_id) else "without a candidate that is not judged relevant"

    def relevant(self, query_id: str) -> list[str]:
        """Return a query's relevant passages in the collection, in order of ids."""
        return sorted(item for item in set(self._relevant[query_id]) if item not in self._absent)

    def negatives(self, query_id: str) -> list[str]:
        """Return the passages among a query's first candidates without a judgement of grade 1 or
        more, in order of rank.
        """
        judged = self._judged[query_id]
        assert self.candidates is not None
        first = self.candidates[query_id].passage_ids[: self._depth]
        return [item for item in first if item not in judged and item not in self._absent]

    def counts(self) -> dict[str, int]:
        """Return the counts of queries: all, leaking, filling, and left out by cause."""
        held = {
            "queries": self.queries,
            "that can be used and leak": len(self.leaking),
            "that can fill": len(self.clean),
        }
        return {**held, **self.left_out}

    def told(self) -> str:
        """Return the counts as text for a message."""
        parts = [f"{len(self.leaking):,} leak"] + [
            f"{count:,} {cause}" for cause, count in sorted(self.left_out.items())
        ]
        return f"{self.queries:,} queries in {self.split!r}, of which {', '.join(parts)}"


@dataclass(frozen=True, slots=True)
class Material:
    """The material of a set; ``name`` is the collection's, for messages. ``missing`` counts
    passages of judgements or candidates that are not in the collection. ``tests`` has the test
    queries that each leaking query leaks; a test query in training leaks itself."""

    name: str
    sources: Sequence[Source]
    topics: Sequence[Topic]
    targets: tuple[str, ...]
    pairs: Mapping[str, int]
    missing: Mapping[str, int]
    tests: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def splits(self) -> tuple[str, ...]:
        """Return the splits that sets of every kind name: source and target, so that all
        vocabularies are equal [decision].
        """
        return (*(source.split for source in self.sources), *self.targets)


def leaking_queries(
    pairs: Iterable[Pair], tests: Container[str], settings: MaterialSettings
) -> Leaking:
    """Return the training queries of pairs with ``tests``. A pair given with and without a label
    counts by its label [decision].

    Raises:
        InputError: pairs, but none with a query in ``tests``; or a pair that cannot be judged
            (``leaks.leaks``).
    """
    given = list(pairs)
    mine = [pair for pair in given if pair.test_id in tests]
    if given and not mine:
        raise InputError(
            f"{given[0].place}: wanted pairs with queries of the target; found {len(given):,} "
            f"pairs with others, such as {given[0].test_id!r}; check --target; in a merged "
            "collection ids have a prefix: find the pairs there, or give --prefixes"
        )
    labelled = {(pair.train_id, pair.test_id) for pair in mine if pair.label is not None}
    unsaid = [
        pair
        for pair in mine
        if pair.label is None and (pair.train_id, pair.test_id) not in labelled
    ]
    said = [pair for pair in mine if pair.label is not None]
    tests_of = _trained_on(said if settings.labelled_only else [*said, *unsaid], settings)
    leaking = frozenset(tests_of)
    scored = (
        pair
        for pair in mine
        if pair.label is None or settings.threshold is None or settings.score in pair.scores
    )
    candidates = leaking | frozenset(
        _trained_on([replace(pair, label=None) for pair in scored], settings, lexical=True)
    )
    counts = {
        "pairs": len(given),
        "pairs of other test queries": len(given) - len(mine),
        "pairs labelled as leaks": sum(
            pair.label is not None and pair.label.leaks for pair in said
        ),
        "pairs labelled as of different topics": sum(
            pair.label is not None and not pair.label.leaks for pair in said
        ),
        "training queries that leak": len(leaking),
        "training queries kept out of the filling": len(candidates),
    }
    return Leaking(leaking, candidates, counts, tests_of)


def _trained_on(
    pairs: Sequence[Pair], settings: MaterialSettings, *, lexical: bool = False
) -> dict[str, frozenset[str]]:
    """Return the training queries of leaking pairs from all sources, with the test queries of each
    (``lexical`` as in ``leaks``).
    """
    found: dict[str, frozenset[str]] = {}
    for source in {pair.source for pair in pairs}:
        of_source = leaks(
            pairs,
            threshold=settings.threshold,
            score=settings.score,
            source=source,
            lexical=lexical,
        )
        for query_id, reasons in of_source.reasons.items():
            found[query_id] = found.get(query_id, frozenset()) | {
                str(reason["test_id"]) for reason in reasons
            }
    return found


def read_material(
    collection: Collection,
    *,
    targets: Sequence[str],
    candidates: Mapping[str, Run | None],
    pairs: Iterable[Pair],
    settings: MaterialSettings | None = None,
) -> Material:
    """Read the material of a collection: ``candidates`` has the run of each source split (None: not
    known yet), ``targets`` the splits with the test queries.

    If source and target are in different collections, join them with ``posbias merge``.

    Raises:
        SettingError: no source or target, or a split that is both.
        InputError: a missing split, a query id with two texts, or pairs without a query of a
            target.
    """
    settings = settings or MaterialSettings()
    _check_splits(collection, targets, list(candidates))
    tests = {query_id for split in targets for query_id, _ in collection.query_texts(split)}
    found = leaking_queries(pairs, tests, settings)
    # a source query that is itself a test query always leaks
    tests_of = {
        **found.tests,
        **{item: found.tests.get(item, frozenset()) | {item} for item in tests},
    }
    found = replace(
        found, leaking=found.leaking | tests, candidates=found.candidates | tests, tests=tests_of
    )
    empty = {
        query_id
        for query_id, text in group_queries(collection, (*candidates, *targets)).items()
        if is_empty(text)
    }
    qrels = {split: collection.qrels(split) for split in (*candidates, *targets)}
    judged = {qrel.passage_id for records in qrels.values() for qrel in records}
    retrieved = {
        passage_id
        for run in candidates.values()
        if run is not None
        for passage_id in run.passage_ids
    }
    absent = set(collection.absent(sorted(judged | retrieved)))
    missing = {
        "judged passages": len(judged & absent),
        "candidates": len(retrieved & absent),
    }
    sources = []
    seen = set(empty)
    for split, run in candidates.items():
        ids = [query_id for query_id, _ in collection.query_texts(split)]
        new = [query_id for query_id in ids if query_id not in seen]
        source = Source(split, new, qrels[split], run, found, settings, absent)
        seen.update(new)
        source.leave_out(len(empty.intersection(ids)), "without text")
        source.leave_out(len(ids) - len(new) - len(empty.intersection(ids)), "of a source before")
        sources.append(source)
    records = [qrel for split in targets for qrel in qrels[split]]
    topics = read_topics([qrel for qrel in records if qrel.query_id not in empty], settings, absent)
    return Material(
        collection.name, sources, topics, tuple(targets), found.counts, missing, found.tests
    )


def read_topics(
    qrels: Iterable[Qrel], settings: MaterialSettings, absent: Container[str] = ()
) -> list[Topic]:
    """Read the judged test queries, in order of ids."""
    relevant: dict[str, set[str]] = {}
    not_relevant: dict[str, set[str]] = {}
    for qrel in qrels:
        for judged in (relevant, not_relevant):
            judged.setdefault(qrel.query_id, set())
        if qrel.passage_id in absent:
            continue
        if qrel.grade >= settings.target_relevant_from:
            relevant[qrel.query_id].add(qrel.passage_id)
        elif qrel.grade < 1:
            not_relevant[qrel.query_id].add(qrel.passage_id)
    return [
        Topic(query_id, tuple(sorted(relevant[query_id])), tuple(sorted(not_relevant[query_id])))
        for query_id in sorted(relevant)
    ]


_JOIN = (
    "name one of these; if source and target are two collections, join them first: posbias merge "
    "A=… B=… --out both"
)


def _check_splits(collection: Collection, targets: Sequence[str], sources: Sequence[str]) -> None:
    for flag, splits in (("--target", targets), ("--source", sources)):
        if not splits:
            raise SettingError(f"{flag}: wanted a split of {collection.name}; found none; name one")
        for split in splits:
            if split not in collection.splits:
                raise bad_input(
                    collection.path,
                    wanted=f"a split {split!r} for {flag}",
                    found=", ".join(collection.splits) or "no splits",
                    do=or_closest(split, collection.splits, _JOIN),
                )
    if both := set(targets) & set(sources):
        raise SettingError(
            f"--target, --source: wanted different splits; found {min(both)!r} as both; merging "
            "joins splits of the same name: rename them before"
        )
