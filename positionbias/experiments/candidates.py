"""Check runs that are given to a study instead of BM25's."""

from __future__ import annotations

from collections.abc import Container, Mapping
from itertools import islice
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.run import Run, read_rankings, read_run
from positionbias.evaluation.evaluate import check_run

__all__ = ["LOOKED_AT", "check_candidates"]

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
