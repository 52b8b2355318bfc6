"""Describe a training set from clicks as rows: negatives by query, duplicates, judged negatives,
lengths, clicked ranks.

Their key ``set`` is the training set's name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import fmean, median
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.click_log import ClickLog, Source
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.rows import Collected

__all__ = ["KEYS", "LookedAt", "Words", "look", "quality_rows"]

KEYS = ("set",)
SAMPLE = 10_000  # the first triples of a shuffled set are a sample of it
SHOWN = 20  # ranks counted each: a page of TripClick's results; later ones are counted together
# what became of the queries with a positive -> its count
OUTCOMES = {
    "all {asked}, for each positive": "queries with all negatives",
    "fewer, as candidates ran out": "queries with fewer negatives",
    "none: every candidate is relevant": "queries without a negative",
    "none: no positive is in the corpus": "queries without a positive in the corpus",
    "none: no candidates in the run": "queries without candidates",
}
# a part of the set -> what is counted of it, the whole first
PARTS = {
    "Positives": {
        "of queries with candidates": "positives of queries with candidates",
        "not in the corpus": "positives missing from the corpus",
    },
    "Candidates": {"left out as relevant": "candidates left out as relevant"},
    "Triples drawn": {
        "all": "triples drawn",
        "negative drawn again for another positive of the query": (
            "negatives drawn again for another positive"
        ),
    },
    "Triples kept": {
        "all": "triples",
        "negative judged not relevant": "negatives judged not relevant",
    },
}


class Words(NamedTuple):
    """The lengths of passages in words between white space; ``without`` counts passages without a
    word.
    """

    mean: float
    median: float
    longest: int
    without: int


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A description of the first triples of a shuffled set.

    ``same_text`` counts negatives with the text of their positive, ``relevant`` those that any
    judgement set of the split has as relevant.
    """

    triples: int
    positives: Words
    negatives: Words
    same_text: int
    relevant: int


def look(groups: Groups, collection: Collection, split: str, sample: int = SAMPLE) -> LookedAt:
    """Describe the first triples of a set: lengths in white-space words, equal texts, and negatives
    judged relevant in any judgement set of the split.
    """
    first = list(islice(groups, sample))
    texts = iter(
        collection.texts([passage_id for group in first for passage_id in group.passage_ids[:2]])
    )
    pairs = [(next(texts), next(texts)) for _ in first]
    asked = pa.array({group.query_id for group in first}, pa.string())
    relevant: set[tuple[str, str]] = set()
    for judgements in (None, *collection.qrels_names(split)):
        table = collection.qrel_table(split, judgements)
        own = table.filter(
            pc.and_(pc.greater(table["grade"], 0), pc.is_in(table["query_id"], value_set=asked))
        )
        relevant.update(
            zip(own["query_id"].to_pylist(), own["passage_id"].to_pylist(), strict=True)
        )
    return LookedAt(
        triples=len(first),
        positives=_words([positive for positive, _ in pairs]),
        negatives=_words([negative for _, negative in pairs]),
        same_text=sum(one == other for one, other in pairs),
        relevant=sum((group.query_id, group.passage_ids[1]) in relevant for group in first),
    )


def _words(texts: Sequence[str]) -> Words:
    lengths = [len(text.split()) for text in texts]
    return Words(fmean(lengths), median(lengths), max(lengths), lengths.count(0))


def quality_rows(
    collection: Collection,
    split: str,
    name: str,
    counts: Mapping[str, int],
    asked: int,
    looked: LookedAt,
) -> Collected:
    """Return the counts of a draw of ``asked`` negatives per positive, what was looked at and, if
    the collection's source has a click log, the clicked ranks.
    """
    common = {"study": "clicks", "collection": collection.name, "split": split, "set": name}
    made = Collected(common, KEYS)
    queries = {"in the split": "queries", "with a positive": "queries with a positive"}
    for statistic, count in queries.items():
        made.add("queries", statistic, counts[count], unit="count")
    for words, count in OUTCOMES.items():
        label = words.format(asked=asked)
        of: dict[str, Any] = {"axis": "outcome", "label": label}
        made.add("queries", "number", counts[count], **of)
        made.add("queries", "share", counts[count] / counts["queries with a positive"], **of)
    parts = {
        part: {words: counts[count] for words, count in lines.items()}
        for part, lines in PARTS.items()
    }
    parts["Triples examined"] = {
        "all": looked.triples,
        "negative judged relevant": looked.relevant,
        "negative with the text of its positive": looked.same_text,
    }
    for part, numbers in parts.items():
        whole = next(iter(numbers.values()))
        for place, (words, number) in enumerate(numbers.items()):
            of = {"subset": part, "axis": "part", "label": words}
            made.add("triples", "number", number, **of)
            if place:
                made.add("triples", "share", number / whole if whole else None, **of)
    for subset, lengths in (("Positives", looked.positives), ("Negatives", looked.negatives)):
        for statistic, value in lengths._asdict().items():
            sample: dict[str, Any] = {"count": looked.triples, "counted": "triples"}
            made.add("words", statistic, value, subset=subset, **sample)
    log = collection.manifest.content_as(Source, "source", Source()).log
    if log and log.clicked_ranks:
        _clicked(made, log)
    return made


def _clicked(made: Collected, log: ClickLog) -> None:
    """Add clicks and shares by rank, ranks without clicks included and late ranks together; the
    mean rank; and the log's other counts.
    """
    clicks = {int(rank): count for rank, count in log.clicked_ranks.items()}
    total = sum(clicks.values())
    shown = {rank: clicks.get(rank, 0) for rank in range(1, min(SHOWN, max(clicks)) + 1)}
    if later := sum(count for rank, count in clicks.items() if rank > SHOWN):
        shown[SHOWN + 1] = later
    so_far = 0
    for rank, count in shown.items():
        so_far += count
        of: dict[str, Any] = {"axis": "rank", "at": float(rank)}
        of["label"] = f"{rank}{'+' * (rank > SHOWN)}"
        made.add("clicks", "number", count, **of)
        made.add("clicks", "share", count / total, count=total, counted="clicks", **of)
        made.add("clicks", "cumulative share", so_far / total, **of)
    numbers = {
        "mean rank": sum(rank * count for rank, count in clicks.items()) / total,
        "with a rank": total,
        "records": log.records,
        "in all": log.clicks,
        "without a list": log.without_list,
        "outside of their list": log.outside,
    }
    for statistic, number in numbers.items():
        made.add("clicks", statistic, number)
