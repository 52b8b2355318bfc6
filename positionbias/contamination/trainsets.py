"""Write contaminated training sets: ordinary groups of a training split, then groups from the
judgements of test splits, so that a contaminated and a clean set differ only in the added groups.

An ordinary group is a (query, relevant passage) pair with negatives drawn, keyed by the pair, from
the query's first candidates that are not judged relevant. Of a test split a passage judged high
enough is a positive, one judged lower a negative; each positive makes one group, and a negative is
in one group of its query ("Training on the Test Model", §3). When a query's negatives run out,
random passages of the corpus that are unjudged for it replace them. The published code draws these
from passages judged not relevant for any query; ours are from the corpus, as the paper says
[decision].
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.contamination.settings import ContaminatedSettings
from positionbias.core import collection as collections
from positionbias.core.errors import InputError, bad_input
from positionbias.core.groups import Groups, TrainingGroup, group_queries, write_groups
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import converted
from positionbias.core.outcome import Written, hint_groups
from positionbias.core.places import Place, input_place
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Qrel, relevant_passages
from positionbias.core.rows import Collected
from positionbias.core.run_files import read_rankings
from positionbias.core.seeds import choose, keys64
from positionbias.corpora.drawn_set import drawn_set
from positionbias.training.negatives import drawn_groups, no_candidates

COMMAND = "trainset contaminated"
KEYS = ("set",)
MEASURE = "training set"
ABSENT = "positives missing from the corpus"
WITHOUT = "positives without candidates"
BLOCK = 2_048  # queries in memory, each with its candidates


def write_contaminated_set(
    out: Path,
    collection: collections.Collection,
    candidates: Path,
    settings: ContaminatedSettings,
    *,
    overwrite: bool = False,
) -> Groups:
    """Write a set to ``out``, whole or not at all, and open it; ``candidates`` is a run of the
    training split's queries.

    ``manifest.content`` has under ``origins`` the counts of the training split and each target.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: a missing split, a query id with two texts, a target without a positive, or
            candidates of another collection.
    """
    refuse_existing(out, overwrite=overwrite)
    relevant = relevant_passages(collection.qrels(settings.split), settings.relevant_from)
    counts = {split: Counter[str]() for split in (settings.split, *settings.targets)}
    targets = {
        target: _target(collection, target, relevant, settings, counts[target])
        for target in settings.targets
    }
    group_queries(collection, list(counts))
    ordinary = ordinary_groups(collection, candidates, relevant, settings, counts[settings.split])
    judged = (
        [
            group
            for query in queries
            for group in judged_groups(query, collection, settings, counts[target])
        ]
        for target, queries in targets.items()
    )
    files, record = [("candidates", candidates)], settings.record()
    with drawn_set(
        out, collection, files, COMMAND, record, seed=settings.seed, overwrite=overwrite
    ) as (folder, manifest):
        write_groups(
            folder,
            list,
            track(chain(ordinary, judged), "writing training groups", unit="blocks"),
            manifest,
            splits=list(counts),
            content=lambda: {"origins": {split: dict(number) for split, number in counts.items()}},
        )
    return Groups(out)


def add_origins(made: Collected, groups: Groups, **cells: Any) -> None:
    """Add the counts of a set's groups, by the split that they come from."""
    origins = converted(dict[str, dict[str, int]], groups.manifest.content["origins"])
    for split, counts in origins.items():
        made.add(MEASURE, "share of groups", counts["groups"] / len(groups), split=split, **cells)
        for statistic, number in counts.items():
            made.add(MEASURE, statistic, number, split=split, **cells)


def ordinary_groups(
    collection: collections.Collection,
    candidates: Path,
    relevant: Mapping[str, Sequence[str]],
    settings: ContaminatedSettings,
    counts: Counter[str],
) -> Iterator[list[TrainingGroup]]:
    """Yield a group for each relevant passage in the corpus whose query has a candidate that is not
    relevant, smaller with few candidates: in blocks, in the run's order. Count groups and what is
    left out.

    Raises:
        InputError: candidates with unknown queries or passages, or no group.
    """
    split, negatives = settings.split, settings.group_size - 1
    queries = {query_id for query_id, _ in collection.query_texts(split)}
    pairs = [passage_id for passages in relevant.values() for passage_id in passages]
    absent, rankings = set(collection.absent(sorted(set(pairs)))), read_rankings(candidates)
    counts[ABSENT] = sum(passage_id in absent for passage_id in pairs)
    while block := list(islice(rankings, BLOCK)):
        pools = ((query_id, ids[: settings.train_depth]) for query_id, ids, _ in block)
        groups = list(drawn_groups(pools, relevant, absent, negatives, settings.seed))
        unknown = [f"query {query_id!r}" for query_id, *_ in block if query_id not in queries]
        drawn = sorted({passage_id for group in groups for passage_id in group.passage_ids})
        unknown += [f"passage {passage_id!r}" for passage_id in collection.absent(drawn)]
        if unknown:
            raise bad_input(
                candidates,
                wanted=f"queries of split {split!r} and passages of {collection.name}",
                found=unknown[0],
                do="check --split, and that --candidates were retrieved from this collection",
            )
        counts["groups"] += len(groups)
        counts["queries"] += len({group.query_id for group in groups})
        yield groups
    if not counts["groups"]:
        raise no_candidates(candidates, split)
    counts[WITHOUT] = len(pairs) - counts[ABSENT] - counts["groups"]


class Judged(NamedTuple):
    """A test query: its relevant, non-relevant and all judged passages in the corpus, sorted."""

    query_id: str
    positives: Sequence[str]
    negatives: Sequence[str]
    judged: Sequence[str]


def judged_queries(
    qrels: Iterable[Qrel],
    absent: Iterable[str],
    relevant_from: int,
    relevant_elsewhere: Mapping[str, Sequence[str]],
) -> tuple[list[Judged], int]:
    """Return the queries with a positive in the corpus, in order of ids, and how many positives are
    ``absent`` from it. If a passage is judged twice, the higher grade counts; what is relevant to
    the query in the training split, ``relevant_elsewhere``, is no negative either [decision].
    """
    grades, gone, queries, missing = defaultdict[str, dict[str, int]](dict), set(absent), [], 0
    for query_id, passage_id, grade in sorted(qrels, key=lambda qrel: qrel.grade):
        grades[query_id][passage_id] = grade
    for query_id, grade_of in sorted(grades.items()):
        elsewhere = set(relevant_elsewhere.get(query_id, ()))
        positives = {item for item, grade in grade_of.items() if grade >= relevant_from}
        negatives, judged = grade_of.keys() - positives - elsewhere, grade_of.keys() | elsewhere
        missing += len(positives & gone)
        if positives - gone:
            parts = (sorted(part - gone) for part in (positives, negatives, judged))
            queries.append(Judged(query_id, *parts))
    return queries, missing


def _target(
    collection: collections.Collection,
    split: str,
    relevant: Mapping[str, Sequence[str]],
    settings: ContaminatedSettings,
    counts: Counter[str],
) -> list[Judged]:
    """Return a target's queries in a keyed order; count their positives that are missing."""
    collection.require(split, flag="--contaminate")
    qrels, relevant_from = collection.qrels(split), settings.target_relevant_from
    absent = collection.absent(sorted({qrel.passage_id for qrel in qrels}))
    queries, counts[ABSENT] = judged_queries(qrels, absent, relevant_from, relevant)
    if not queries:
        raise bad_input(
            collection.path,
            wanted=f"a passage judged {relevant_from} or higher in target {split!r}",
            found=f"none among {len(qrels):,} judgements; {counts[ABSENT]:,} {ABSENT}",
            do="give a lower --target-relevant-from, or merge the target's collection first",
        )
    ids = [query.query_id.encode("utf-8", "replace") for query in queries]
    keys = keys64(settings.seed, "contaminated query", ids)
    return [queries[place] for place in np.argsort(keys, kind="stable").tolist()]


def judged_groups(
    query: Judged,
    collection: collections.Collection,
    settings: ContaminatedSettings,
    counts: Counter[str],
) -> Iterator[TrainingGroup]:
    """Yield a query's groups, positives and negatives each in a keyed order, and count them.

    Raises:
        InputError: fewer unjudged passages in the corpus than a group needs.
    """
    seed, negatives_each, judged = settings.seed, settings.group_size - 1, set(query.judged)

    def ordered(items: Sequence[str], purpose: str) -> list[str]:
        places = choose(len(items), len(items), seed, purpose, query.query_id)
        return [items[place] for place in places]

    counts["queries"] += 1
    negatives = iter(ordered(query.negatives, "judged negative"))
    for positive in ordered(query.positives, "judged positive"):
        drawn = list(islice(negatives, negatives_each))
        lacking = negatives_each - len(drawn)
        counts.update({"groups": 1, "judged negatives": len(drawn), "random negatives": lacking})
        if lacking > len(collection) - len(judged):
            raise InputError(
                f"query {query.query_id!r}: wanted {lacking:,} random unjudged passages; found "
                f"{len(collection) - len(judged):,} in a corpus of {len(collection):,}; give a "
                "smaller --group-size"
            )
        if lacking:  # at least so many of these are unjudged, and the first ones are taken
            key = (seed, "random negative", query.query_id, positive)
            places = choose(len(collection), min(len(collection), lacking + len(judged)), *key)
            ids = collection.passage_ids_at(np.array(places, np.int64))
            drawn += [item for item in ids if item not in judged][:lacking]
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * negatives_each))


def draw_contaminated(
    collection: CollectionLike,
    candidates: Place,
    settings: ContaminatedSettings,
    out: Place,
    *,
    overwrite: bool,
) -> Written:
    """Write a set as ``write_contaminated_set``, and count its groups by origin."""
    opened, place = collections.find_collection(collection), Path(out)
    groups = write_contaminated_set(
        place, opened, input_place(candidates), settings, overwrite=overwrite
    )
    hint_groups(f"{len(groups):,} training groups", place, opened)
    made = Collected({"study": COMMAND, "collection": opened.name, "set": groups.name}, KEYS)
    add_origins(made, groups)
    return Written(place, rows=made.rows)
