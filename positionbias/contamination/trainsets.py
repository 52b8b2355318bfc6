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

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from positionbias.training.negatives import draw_negatives, no_candidates, without

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
    split, size, seed = settings.split, settings.group_size, settings.seed
    relevant = relevant_passages(collection.qrels(split), settings.relevant_from)
    targets = {
        target: _target(collection, target, relevant, settings) for target in settings.targets
    }
    counts = {split: Counter[str]()}
    counts |= {target: _counts(*judged, size) for target, judged in targets.items()}
    group_queries(collection, (split, *targets))
    ordinary = ordinary_groups(collection, candidates, relevant, settings, counts[split])
    judged = (
        [
            group
            for query in queries
            for group in judged_groups(
                query, size, seed, len(collection), collection.passage_ids_at
            )
        ]
        for queries, _ in targets.values()
    )
    files = [("candidates", candidates)]
    record = settings.record()
    with drawn_set(
        out, collection, files, COMMAND, record, seed=settings.seed, overwrite=overwrite
    ) as (folder, manifest):
        write_groups(
            folder,
            list,
            track(chain(ordinary, judged), "writing training groups", unit="blocks"),
            manifest,
            splits=(split, *targets),
            content=lambda: {"origins": {origin: dict(own) for origin, own in counts.items()}},
        )
    return Groups(out)


def add_origins(made: Collected, groups: Groups, **cells: Any) -> None:
    """Add the counts of a set's groups, by the split that they come from."""
    origins = converted(dict[str, dict[str, int]], groups.manifest.content["origins"])
    for split, counts in origins.items():
        made.add(MEASURE, "share of groups", counts["groups"] / len(groups), split=split, **cells)
        for statistic, number in counts.items():
            made.add(MEASURE, statistic, number, split=split, **cells)


# --- ordinary groups ------------------------------------------------------------------------------


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

    def unknown(wanted: str, found: str) -> InputError:
        do = "check --split, and that --candidates were retrieved from this collection"
        return bad_input(candidates, wanted=wanted, found=found, do=do)

    split, seed = settings.split, settings.seed
    known = {query_id for query_id, _ in collection.query_texts(split)}
    waiting, rankings = dict(relevant), read_rankings(candidates)
    while block := list(islice(rankings, BLOCK)):
        retrieved = {query_id: ids[: settings.train_depth] for query_id, ids, _ in block}
        if strange := [query_id for query_id in retrieved if query_id not in known]:
            raise unknown(f"queries of split {split!r}", f"query {strange[0]!r}")
        named = chain(*retrieved.values(), *(waiting.get(query_id, ()) for query_id in retrieved))
        absent = set(collection.absent(list(dict.fromkeys(named))))
        groups = list[TrainingGroup]()
        for query_id, passage_ids in retrieved.items():
            if missing := absent.intersection(passage_ids):
                raise unknown(f"passages of {collection.name}", f"passage {min(missing)!r}")
            positives = waiting.pop(query_id, ())
            pool, here = without(passage_ids, positives), without(positives, absent)
            counts[ABSENT] += len(positives) - len(here)
            if not pool:
                counts[WITHOUT] += len(here)
                continue
            counts["queries"] += bool(here)
            for positive in here:
                drawn = draw_negatives(pool, settings.group_size - 1, seed, query_id, positive)
                labels = (1, *[0] * len(drawn))
                groups.append(TrainingGroup(query_id, (positive, *drawn), labels))
        counts["groups"] += len(groups)
        yield groups
    counts[WITHOUT] += sum(map(len, waiting.values()))
    if not counts["groups"]:
        raise no_candidates(candidates, split)


# --- groups from judgements -----------------------------------------------------------------------


class Judged(NamedTuple):
    """A test query: its relevant, its non-relevant and all its judged passages in the corpus, by
    id.
    """

    query_id: str
    positives: Sequence[str]
    negatives: Sequence[str]
    judged: Sequence[str]

    def random_negatives(self, size: int) -> int:
        """Return the number of negatives in groups of ``size`` that have to be drawn."""
        return max(0, len(self.positives) * (size - 1) - len(self.negatives))


def judged_queries(
    qrels: Iterable[Qrel],
    absent: Collection[str] = (),
    *,
    relevant_from: int = 2,
    relevant_elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> tuple[list[Judged], int]:
    """Return the queries with a positive in the corpus, in order of ids, and how many positives are
    missing. If a passage is judged twice, the higher grade counts [decision].

    ``absent`` are judged passages that are not in the corpus; ``relevant_elsewhere`` has passages
    relevant to the same query in another training split, which are not negatives either [decision].
    """
    grades: dict[str, dict[str, int]] = {}
    for query_id, passage_id, grade in qrels:
        of_query = grades.setdefault(query_id, {})
        of_query[passage_id] = max(grade, of_query.get(passage_id, grade))
    queries, missing = [], 0
    for query_id, of_query in sorted(grades.items()):
        elsewhere = set((relevant_elsewhere or {}).get(query_id, ()))
        positives = sorted(item for item, grade in of_query.items() if grade >= relevant_from)
        negatives = sorted(of_query.keys() - set(positives) - elsewhere)
        judged = sorted(elsewhere.union(of_query))
        here = without(positives, absent)
        missing += len(positives) - len(here)
        if here:
            query = Judged(query_id, here, without(negatives, absent), without(judged, absent))
            queries.append(query)
    return queries, missing


def _target(
    collection: collections.Collection,
    split: str,
    relevant: Mapping[str, Sequence[str]],
    settings: ContaminatedSettings,
) -> tuple[list[Judged], int]:
    """Return a target's queries in a keyed order, and how many of their positives are missing."""
    if split not in collection.splits:
        raise bad_input(
            collection.path,
            wanted=f"a split {split!r} for --contaminate",
            found=", ".join(collection.splits),
            do="name one of these; a target of another collection is joined first: posbias "
            "collection merge "
            "A=… B=… --apart --out both",
        )
    qrels, relevant_from = collection.qrels(split), settings.target_relevant_from
    absent = collection.absent(sorted({qrel.passage_id for qrel in qrels}))
    queries, missing = judged_queries(
        qrels, absent, relevant_from=relevant_from, relevant_elsewhere=relevant
    )
    if not queries:
        highest = f", the highest of grade {max(qrel.grade for qrel in qrels)}" if qrels else ""
        raise bad_input(
            collection.path,
            wanted=f"a passage judged {relevant_from} or higher in target {split!r}",
            found=f"{len(qrels):,} judgements{highest}; {missing:,} {ABSENT}",
            do="give a lower --target-relevant-from or another --contaminate, or join the target's "
            "collection first: posbias collection merge",
        )
    ids = [query.query_id.encode("utf-8", "replace") for query in queries]
    keys = keys64(settings.seed, "contaminated query", ids)
    return [queries[place] for place in np.argsort(keys, kind="stable").tolist()], missing


def _counts(queries: Sequence[Judged], missing: int, size: int) -> Counter[str]:
    groups = sum(len(query.positives) for query in queries)
    random = sum(query.random_negatives(size) for query in queries)
    counts = {"queries": len(queries), "groups": groups, "random negatives": random}
    return Counter({**counts, "judged negatives": groups * (size - 1) - random, ABSENT: missing})


def judged_groups(
    query: Judged,
    size: int,
    seed: int,
    passages: int,
    passage_ids_at: Callable[[np.ndarray], Sequence[str]],
) -> Iterator[TrainingGroup]:
    """Yield a query's groups of ``size`` passages, positives and negatives each in a keyed order.

    ``passage_ids_at`` returns the ids of drawn passages by their places in a corpus of
    ``passages``.

    Raises:
        InputError: fewer unjudged passages in the corpus than a group needs.
    """

    def ordered(items: Sequence[str], purpose: str) -> list[str]:
        places = choose(len(items), len(items), seed, purpose, query.query_id)
        return [items[place] for place in places]

    def unjudged(number: int, positive: str) -> list[str]:
        if passages - len(judged) < number:
            raise InputError(
                f"query {query.query_id!r}: wanted {number:,} random unjudged passages; found "
                f"{passages - len(judged):,} in a corpus of {passages:,}; give a smaller "
                "--group-size"
            )
        # at least ``number`` of these are unjudged, and so many are drawn from the first ones
        key = (seed, "random negative", query.query_id, positive)
        drawn = choose(passages, min(passages, number + len(judged)), *key)
        ids = passage_ids_at(np.array(drawn, np.int64))
        return [item for item in ids if item not in judged][:number]

    judged = set(query.judged)
    negatives = ordered(query.negatives, "judged negative")
    for turn, positive in enumerate(ordered(query.positives, "judged positive")):
        drawn = negatives[turn * (size - 1) : (turn + 1) * (size - 1)]
        if len(drawn) < size - 1:
            drawn += unjudged(size - 1 - len(drawn), positive)
        yield TrainingGroup(query.query_id, (positive, *drawn), (1, *[0] * (size - 1)))


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
