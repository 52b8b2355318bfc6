"""Candidates that are given to a study, and the test queries that it draws."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.records import Qrel
from positionbias.core.run import Run, read_rankings, read_run
from positionbias.core.seeds import drawn_order
from positionbias.evaluation.evaluate import check_run

__all__ = ["LOOKED_AT", "check_candidates", "drawn_queries", "judgements"]

# queries of a run, or groups of a training set, that may be too large to read whole
LOOKED_AT = 1_000


def check_candidates(
    given: Mapping[str, Path], collection: Collection, *, large: Container[str] = ()
) -> None:
    """Check that runs, by split, fit the collection's passages and queries, and that at least one
    query is the split's.

    Only the beginning of ``large`` ones is read.

    Raises:
        InputError: an unreadable run, or one that does not fit.
    """
    for split, path in given.items():
        if split in large:
            first = islice(read_rankings(path), LOOKED_AT)
            run = Run(path.name, ((of.query_id, of.passage_ids, of.scores) for of in first))
        else:
            run = read_run(path)
        check_run(run, collection, split)
        if not any(query_id in run for query_id, _ in collection.query_texts(split)):
            found = f"none among its first {len(run):,}" if split in large else "none"
            do = "check that --candidates names the split that the run was made for"
            raise bad_input(path, wanted=f"queries of split {split!r}", found=found, do=do)


def drawn_queries(qrels: Iterable[Qrel], number: int, seed: int) -> set[str]:
    """Draw ``number`` of the judged queries, whatever was retrieved for them, or all if there are
    fewer.
    """
    judged = {qrel.query_id for qrel in qrels}
    return set(drawn_order(judged, seed, "test queries")[:number])


def judgements(
    collection: Collection, tests: Sequence[str], number: int | None, seed: int
) -> list[Qrel]:
    """Return the judgements of the test splits; with a ``number``, of so many drawn queries of
    each.
    """
    chosen: list[Qrel] = []
    for split in tests:
        qrels = list(collection.qrels(split))
        drawn = None if number is None else drawn_queries(qrels, number, seed)
        chosen += [qrel for qrel in qrels if drawn is None or qrel.query_id in drawn]
    return chosen
