"""Candidates by BM25 or by vectors, and what is to be known of them; BM25 needs no torch."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from positionbias.core.collection import find_collection
from positionbias.core.errors import SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Written, hint_run, hint_written
from positionbias.core.places import Place
from positionbias.core.progress import say
from positionbias.core.rows import counted_rows
from positionbias.core.settings import given_flags
from positionbias.dense.settings import ByVectors
from positionbias.engine.choose import Engine
from positionbias.firststage.bm25 import rank_by_bm25
from positionbias.firststage.own_passages import own_remarks
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Search


def retrieve(
    collection: CollectionLike,
    out: Place,
    wanted: Retrieval,
    bm25: Bm25Search,
    dense: ByVectors,
    engine: Engine,
    *,
    overwrite: bool,
) -> Written:
    """Write a run by vectors where some are given, else by BM25; say what is to be known of it.

    Raises:
        SettingError: a setting of BM25 with vectors, or of vectors without them; else as
            ``rank_by_bm25`` and ``rank_by_vectors``.
    """
    if dense.vectors is None:
        _refuse(given_flags(dense), "--vectors", "none")
    else:
        _refuse(given_flags(bm25), "no --vectors", "them")
        if dense.search.index != "exact":
            flags = sorted({*given_flags(engine)} - {"--workers"})
            _refuse(flags, "--index exact", f"--index {dense.search.index}")
    opened, place = find_collection(collection), Path(out)
    if dense.vectors is None:
        ranked = rank_by_bm25(opened, place, wanted, bm25, engine, overwrite=overwrite)
    else:
        from positionbias.dense.retrieve import rank_by_vectors

        ranked = rank_by_vectors(opened, place, wanted, dense, engine, overwrite=overwrite)
    name, counts, own = ranked
    for line in own_remarks(
        {name: (own, counts["queries"])}, opened, wanted.split, left_out=wanted.without_own
    ):
        say(line)
    if counts["candidates"]:
        hint_run(place, opened, wanted.split)
    else:
        hint_written(place)
        say(
            "the run is empty: there is nothing in it to re-rank or to evaluate; check the "
            "queries, and the passages"
        )
    rows = counted_rows("retrieve", counts, collection=opened.name, split=wanted.split, model=name)
    return Written(place, rows=rows)


def _refuse(flags: Iterable[str], wanted: str, found: str) -> None:
    for flag in flags:
        raise SettingError(
            f"{flag}: wanted {wanted} beside it; found {found}; leave it out, or change the command"
        )
