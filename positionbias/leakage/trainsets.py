"""Training sets with a known number of leaked queries: No, MSM and Test leakage of the leakage
paper ("Training Datasets"), drawn and written.

A set of n instances has n / 2 queries, each with one relevant and one other passage: a group of
two. L of them leak; the others are filling:

* ``no``: none leaks (L = 0).
* ``msm``: L leaking training queries of the source, with passages of the source.
* ``test``: the test queries themselves, with passages judged for them; a repeated query has other
  passages.

The paper takes each topic twice and as many queries for ``msm`` (500 for the 250 of Robust04, 100
for the 50 of Common Core), so L is by default 2 × the number of judged test queries, at any size.

A source query is usable if it has a relevant passage and, among its first candidates, one that is
not judged relevant. It *leaks* if a pair with a test query says so (by label, else by cosine); it
is a *candidate* of leakage if any such pair reaches the threshold, with any label. The filling is
drawn from usable queries that are no candidates, in turn from each source split.

Every draw is keyed by (seed, query id). Leaked queries come first, then the filling, each in its
keyed order, so a smaller set is the beginning of a larger one. Sets of one size and seed differ
between kinds only in the leaked queries, which replace the last of the filling [decision].
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, islice, takewhile, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.groups import Groups, TrainingGroup, group_queries, write_groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.outcome import Written, hint_groups
from positionbias.core.places import Place, input_place
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Qrel
from positionbias.core.run import Run
from positionbias.core.seeds import below, keys64
from positionbias.corpora.drawn_set import drawn_set
from positionbias.leakage.measured import collected
from positionbias.leakage.pairs import Pair, pairs_file, read_pairs, set_aside
from positionbias.leakage.queries import is_empty
from positionbias.leakage.settings import LeakedSettings, LeakingPairs

TIMES = 2  # uses of a topic in a set of kind test, as in the paper
DEPTH = 100  # candidates of a query from which negatives are drawn, as in the paper
COMMAND = "trainset leaked"
_AT_ONCE = 16_384  # groups per shard
NOTES = (
    (
        "Leaked queries come first, the filling after them; a smaller set is the beginning of a "
        "larger one."
    ),
    "Sets of every kind name the splits of source and target, so that all vocabularies are equal.",
)


class Topic(NamedTuple):
    """A judged test query with its relevant and non-relevant passages, in order of ids."""

    query_id: str
    relevant: Sequence[str]
    not_relevant: Sequence[str]

    @property
    def uses(self) -> int:
        """Return how often it can be used with new passages."""
        return min(len(self.relevant), len(self.not_relevant))


class Source:
    """A split for training: its usable queries, those that leak and those that can fill."""

    def __init__(
        self,
        query_ids: Iterable[str],
        qrels: Iterable[Qrel],
        candidates: Run,
        leaking: Container[str],
        near: Container[str],
        absent: Container[str] = (),
    ) -> None:
        self._candidates, self._absent = candidates, absent
        self._judged: dict[str, set[str]] = {}  # as relevant
        for query_id, passage_id, grade in qrels:
            if grade >= 1:
                self._judged.setdefault(query_id, set()).add(passage_id)
        usable = [
            query_id
            for query_id in query_ids
            if self._relevant(query_id) and query_id in candidates and self._negatives(query_id)
        ]
        self.leaking = [query_id for query_id in usable if query_id in leaking]
        self.clean = [query_id for query_id in usable if query_id not in near]

    def _relevant(self, query_id: str) -> list[str]:
        judged = self._judged.get(query_id, set())
        return sorted(passage_id for passage_id in judged if passage_id not in self._absent)

    def _negatives(self, query_id: str) -> list[str]:
        """Return the first candidates that are not judged relevant, in order of rank."""
        first = self._candidates[query_id].passage_ids[:DEPTH]
        judged = self._judged[query_id]
        return [item for item in first if item not in judged and item not in self._absent]

    def group(self, query_id: str, seed: int) -> TrainingGroup:
        """Draw a query's relevant passage and one of its negatives."""
        relevant, negatives = self._relevant(query_id), self._negatives(query_id)
        positive = relevant[below(len(relevant), seed, "leaked set relevant", query_id)]
        negative = negatives[below(len(negatives), seed, "leaked set negative", query_id)]
        return TrainingGroup(query_id, (positive, negative), (1, 0))


class Material(NamedTuple):
    """The material of sets: sources by split, topics, and the test queries that each leaking query
    leaks; a test query in training leaks itself. ``targets`` are the splits of the topics.
    """

    name: str
    sources: Mapping[str, Source]
    topics: Sequence[Topic]
    targets: Sequence[str]
    leaks: Mapping[str, set[str]]


def leaking_queries(
    pairs: Iterable[Pair], tests: Container[str], leaking: LeakingPairs
) -> tuple[dict[str, set[str]], set[str]]:
    """Return the test queries that each training query leaks, and all candidates of leakage. A pair
    given with and without a label counts by its label [decision].

    Raises:
        InputError: pairs, but none with a query in ``tests``; or a pair without label and cosine
            (with its line) if there is a threshold.
    """
    given = list(pairs)
    own = [pair for pair in given if pair.test_id in tests]
    if given and not own:
        raise InputError(
            f"{given[0].place}: wanted pairs with queries of the target; found {len(given):,} "
            f"pairs with others, such as {given[0].test_id!r}; check --target; in a merged "
            "collection ids have a prefix: find the pairs there"
        )
    labelled = {(pair.train_id, pair.test_id) for pair in own if pair.label}
    leaks: dict[str, set[str]] = {}
    near: set[str] = set()
    for pair in own:
        ignored = not pair.label and (
            leaking.labelled_only or (pair.train_id, pair.test_id) in labelled
        )
        if not ignored and set_aside(pair, leaking.threshold) is None:
            leaks.setdefault(pair.train_id, set()).add(pair.test_id)
        scored = not pair.label or leaking.threshold is None or "cosine" in pair.scores
        bare = msgspec.structs.replace(pair, label="")
        if scored and set_aside(bare, leaking.threshold, lexical=True) is None:
            near.add(pair.train_id)
    return leaks, near | leaks.keys()


def read_topics(qrels: Iterable[Qrel], absent: Container[str] = ()) -> list[Topic]:
    """Read the judged test queries, in order of ids."""
    topics: dict[str, tuple[set[str], set[str]]] = {}
    for query_id, passage_id, grade in qrels:
        relevant, others = topics.setdefault(query_id, (set(), set()))
        if passage_id in absent:
            continue
        (relevant if grade >= 1 else others).add(passage_id)
    return [Topic(query_id, *map(sorted, sides)) for query_id, sides in sorted(topics.items())]


def leaked_groups(material: Material, settings: LeakedSettings) -> tuple[list[TrainingGroup], int]:
    """Draw one set: its groups, and how many of them leak, which are the first.

    Raises:
        SettingError: more leaked queries than groups in the set.
        InputError: too few leaking or filling queries, or too few judged passages.
    """
    number = settings.leaked_queries or TIMES * len(material.topics)
    number = 0 if settings.kind == "no" else number
    if number > settings.queries:
        raise SettingError(
            f"--size: wanted at least {2 * number} instances for {number:,} leaked queries; found "
            f"{settings.instances:,}; raise it, or lower --leaked-queries"
        )
    draw = _topics if settings.kind == "test" else _leaking
    leaked = draw(material, number, settings.seed)
    if len(leaked) < number or (settings.kind != "no" and not number):
        raise InputError(
            f"{material.name}: wanted {number or 'some'} leaked queries of kind {settings.kind}; "
            f"found {len(leaked):,} with the passages that a set needs; give more pairs or "
            "judgements, or lower --leaked-queries"
        )
    filling = _filling(material, settings.queries - number, settings.seed)
    if len(filling) < settings.queries - number:
        raise InputError(
            f"{material.name}: wanted {settings.queries - number:,} queries that do not leak to "
            f"fill a set of {settings.instances:,} instances, equally from each source; found "
            f"{len(filling):,}; give a smaller --size, or another --source"
        )
    return [*leaked, *filling], number


def _in_order(items: Iterable[str], seed: int, purpose: str) -> list[str]:
    """Return the items in the order of their keys."""
    items = sorted(items)
    keys = keys64(
        seed, f"leaked set {purpose}", [item.encode("utf-8", "replace") for item in items]
    )
    return [items[place] for place in np.argsort(keys, kind="stable").tolist()]


def _leaking(material: Material, number: int, seed: int) -> list[TrainingGroup]:
    """Draw kind msm: leaking source queries from all splits together."""
    source_of = {item: source for source in material.sources.values() for item in source.leaking}
    return [
        source_of[item].group(item, seed) for item in _in_order(source_of, seed, "leaked")[:number]
    ]


def _topics(material: Material, number: int, seed: int) -> list[TrainingGroup]:
    """Draw kind test: the test queries in turn, each time with other passages, until there are
    ``number`` groups.

    Each is used at most twice, or as often as an equal share requires, if that is more.
    """
    topics = {topic.query_id: topic for topic in material.topics}
    times = max(TIMES, math.ceil(number / max(1, len(topics))))
    order = _in_order(topics, seed, "topics")
    passages = {
        query_id: (
            _in_order(topic.relevant, seed, f"relevant of {query_id}"),
            _in_order(topic.not_relevant, seed, f"not relevant of {query_id}"),
        )
        for query_id, topic in topics.items()
    }
    rounds = (
        TrainingGroup(query_id, (passages[query_id][0][turn], passages[query_id][1][turn]), (1, 0))
        for turn in range(times)
        for query_id in order
        if turn < topics[query_id].uses
    )
    return list(islice(rounds, number))


def _filling(material: Material, number: int, seed: int) -> list[TrainingGroup]:
    """Draw queries that are not candidates of leakage, in turn from each source; fewer than
    ``number`` if one of the sources has too few.
    """
    orders = [
        [(source, query_id) for query_id in _in_order(source.clean, seed, "filling")]
        for source in material.sources.values()
    ]
    turns = islice(takewhile(bool, chain.from_iterable(zip_longest(*orders))), number)
    return [source.group(query_id, seed) for source, query_id in turns]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakedInputs:
    """The inputs of sets: a collection, its target splits, a run for each source split, pairs."""

    collection: Collection
    targets: Sequence[str]
    candidates: Mapping[str, Path]
    leaking: LeakingPairs

    @classmethod
    def given(
        cls,
        collection: CollectionLike,
        targets: Sequence[str],
        sources: Sequence[str],
        runs: Sequence[str],
        leaking: LeakingPairs,
    ) -> LeakedInputs:
        """Return the inputs with the run of each source, given as SPLIT=RUN, or without a name
        where there is one source.

        Raises:
            SettingError: a source twice, or not one run for each.
        """
        return cls(
            collection=find_collection(collection),
            targets=targets,
            candidates=_runs(sources, runs),
            leaking=leaking,
        )

    def material(self) -> Material:
        """Read all inputs; where two splits have a query, only the first of them draws it.

        Raises:
            SettingError: a split that is source and target.
            InputError: an unreadable file, a missing split, a query id with two texts, or pairs
                without a query of a target.
        """
        if both := set(self.targets) & set(self.candidates):
            raise SettingError(
                f"--target, --source: wanted different splits; found {min(both)!r} as both; "
                "merging joins splits of the same name: rename them before"
            )
        collection, splits = self.collection, (*self.candidates, *self.targets)
        runs = {split: Run.from_file(path) for split, path in self.candidates.items()}
        texts = group_queries(collection, splits)
        empty = {query_id for query_id, text in texts.items() if is_empty(text)}
        ids = {
            split: [query_id for query_id, _ in collection.query_texts(split)] for split in splits
        }
        qrels = {split: collection.qrels(split) for split in splits}
        named = {qrel.passage_id for records in qrels.values() for qrel in records}
        named.update(*(run.passage_ids for run in runs.values()))
        absent = set(collection.absent(sorted(named)))
        tests = {query_id for split in self.targets for query_id in ids[split]}
        leaks, near = leaking_queries(self.pairs(), tests, self.leaking)
        for query_id in tests:  # a source query that is itself a test query always leaks
            leaks.setdefault(query_id, set()).add(query_id)
        sources = {}
        seen = set(empty)
        for split, run in runs.items():
            new = [query_id for query_id in ids[split] if query_id not in seen]
            sources[split] = Source(new, qrels[split], run, leaks, near | tests, absent)
            seen.update(new)
        judged = (qrel for split in self.targets for qrel in qrels[split])
        topics = read_topics((qrel for qrel in judged if qrel.query_id not in empty), absent)
        return Material(collection.name, sources, topics, self.targets, leaks)

    def pairs(self) -> Iterator[Pair]:
        """Read the pairs."""
        return (pair for place in self.leaking.files for pair in read_pairs(place))

    @property
    def read(self) -> list[tuple[str, Path]]:
        """Return the files with their roles, for the manifest."""
        runs = [(f"candidates of {split}", path) for split, path in self.candidates.items()]
        return runs + [("pairs", pairs_file(place)) for place in self.leaking.files]

    def record(self) -> JsonObject:
        """Return the settings for a manifest."""
        return {
            "targets": list(self.targets),
            "sources": list(self.candidates),
            "threshold": self.leaking.threshold,
            "labelled_only": self.leaking.labelled_only,
        }


def write_leaked_set(
    out: Path,
    inputs: LeakedInputs,
    settings: LeakedSettings,
    *,
    material: Material | None = None,
    overwrite: bool = False,
) -> Groups:
    """Write one set to ``out``, whole or not at all, and open it; ``material`` is that of
    ``inputs`` if already read.

    The first ``manifest.content["leaked"]`` groups leak; ``content["leaks"]`` names the test
    queries.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError, SettingError: as ``LeakedInputs.material`` and ``leaked_groups``.
    """
    refuse_existing(out, overwrite=overwrite)
    material = inputs.material() if material is None else material
    groups, leaked = leaked_groups(material, settings)
    leaks = {group.query_id: sorted(material.leaks[group.query_id]) for group in groups[:leaked]}
    blocks = (groups[start : start + _AT_ONCE] for start in range(0, len(groups), _AT_ONCE))
    record, files = {**inputs.record(), **asdict(settings)}, inputs.read
    with drawn_set(
        out, inputs.collection, files, COMMAND, record, seed=settings.seed, overwrite=overwrite
    ) as (folder, manifest):
        write_groups(
            folder,
            list,
            blocks,
            replace(manifest, notes=NOTES),
            splits=(*material.sources, *material.targets),
            content=lambda: {"leaked": leaked, "leaks": leaks},
        )
    return Groups(out)


def set_rows(groups: Groups, settings: LeakedSettings, collection: str) -> DataFrame:
    """Count the leaked and the other queries of a set."""
    made, leaked = collected(collection), groups.manifest.content_as(int, "leaked")
    numbers = {
        "instances": 2 * len(groups),
        "leaked": leaked,
        "leaked share": leaked / len(groups),
        "filling": len(groups) - leaked,
    }
    cells: dict[str, Any] = {"variant": settings.name, "seed": settings.seed}
    for statistic, number in numbers.items():
        made.add("training set", statistic, number, **cells)
    return made.rows


def _runs(sources: Sequence[str], given: Sequence[str]) -> dict[str, Path]:
    if len(set(sources)) != len(sources):
        raise SettingError(
            f"--source: wanted each split once; found {', '.join(sources)}; drop one"
        )
    runs: dict[str, Path] = {}
    for text in given:
        split, named, place = text.partition("=")
        if not named or split not in sources:
            if len(sources) > 1 or (named and not input_place(text).exists()):
                raise SettingError(
                    "--candidates: wanted SPLIT=RUN with one of the sources, "
                    f"{', '.join(sources)}; found {text!r}; name its split"
                )
            split, place = sources[0], text
        if split in runs:
            raise SettingError(
                f"--candidates: wanted one run for each source; found two for {split!r}; drop one"
            )
        runs[split] = input_place(place)
    if missing := [split for split in sources if split not in runs]:
        raise SettingError(
            f"--candidates: wanted a run for each source; found none for {missing[0]!r}; add "
            f"--candidates {missing[0]}=RUN"
        )
    return {split: runs[split] for split in sources}


def draw_leaked(
    out: Place, inputs: LeakedInputs, settings: LeakedSettings, *, overwrite: bool
) -> Written:
    """Write a set as ``write_leaked_set``, and count its queries."""
    place = Path(out)
    groups = write_leaked_set(place, inputs, settings, overwrite=overwrite)
    hint_groups(f"{len(groups):,} training groups", place, inputs.collection)
    return Written(place, rows=set_rows(groups, settings, inputs.collection.name))
