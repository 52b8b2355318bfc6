"""Describe a training set from clicks as Results: negatives by query, duplicates, judged negatives,
lengths, clicked ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from statistics import fmean, median

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.results.clicks import (
    CLICKED,
    LENGTHS,
    TRIPLES,
    ClickCounts,
    ClickedRank,
    ClickedRanks,
    ClickLog,
    SampledTriples,
    Source,
    TripleFigures,
    Words,
)
from positionbias.results.result import Result

__all__ = ["look", "quality_results", "triple_figures"]

SAMPLE = 10_000  # the first triples of a shuffled set are a sample of it


def look(
    groups: Groups, collection: Collection, split: str, sample: int = SAMPLE
) -> SampledTriples:
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
    return SampledTriples(
        triples=len(first),
        positives=_words([positive for positive, _ in pairs]),
        negatives=_words([negative for _, negative in pairs]),
        same_text=sum(one == other for one, other in pairs),
        relevant=sum((group.query_id, group.passage_ids[1]) in relevant for group in first),
    )


def _words(texts: Sequence[str]) -> Words:
    lengths = [len(text.split()) for text in texts]
    return Words(
        mean=fmean(lengths), median=median(lengths), longest=max(lengths), without=lengths.count(0)
    )


def triple_figures(counts: ClickCounts, asked: int) -> TripleFigures:
    """Return the counts of a draw of ``asked`` negatives per positive, with shares of the split's
    queries with a positive.
    """
    return TripleFigures(
        **msgspec.structs.asdict(counts),
        asked=asked,
        share_all=counts.all_negatives / counts.with_positive,
        share_fewer=counts.fewer_negatives / counts.with_positive,
        share_no_negative=counts.no_negative / counts.with_positive,
        share_no_positive=counts.no_positive / counts.with_positive,
        share_no_candidates=counts.without_candidates / counts.with_positive,
    )


def quality_results(
    collection: Collection,
    split: str,
    system: str,
    seed: int,
    figures: TripleFigures,
    looked: SampledTriples,
) -> list[Result]:
    """Return the counts, the lengths and, if the collection's source has a click log, the clicked
    ranks.
    """
    made = collection.name, split, system, seed
    results = [
        Result(TRIPLES, *made, figures.share_all, None, figures.triples, figures),
        Result(LENGTHS, *made, looked.negatives.mean, None, looked.triples, looked),
    ]
    log = collection.manifest.content_as(Source, "source", Source()).log
    if log and log.clicked_ranks:
        results.append(_clicked(collection.name, log))
    return results


def _clicked(collection: str, log: ClickLog) -> Result:
    """Return clicks and shares by rank, the number with a known rank, and the log's other counts;
    the value is the share at rank 1.
    """
    clicks = {int(rank): count for rank, count in log.clicked_ranks.items()}
    total = sum(clicks.values())
    figures = ClickedRanks(
        ranks=[
            ClickedRank(rank=rank, clicks=count, share=count / total)
            for rank, count in sorted(clicks.items())
        ],
        ranked=total,
        records=log.records,
        clicks=log.clicks,
        without_list=log.without_list,
        outside=log.outside,
        mean_rank=sum(rank * count for rank, count in clicks.items()) / total,
    )
    return Result(CLICKED, collection, "", "", None, clicks.get(1, 0) / total, None, total, figures)
