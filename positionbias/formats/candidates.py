"""Read a release's candidates as Runs: MS MARCO's ``top1000`` (no scores, any order) and TREC's six
columns, of any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from positionbias.core.blocks import file_blocks, file_lines
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import sha256_file
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.publish import atomic_file
from positionbias.core.rank_order import Ranking
from positionbias.core.run_files import rankings_of, write_rankings
from positionbias.core.seeds import keys64
from positionbias.formats.key_map import KeyMap

TOP1000_NOTE = (
    "The file has neither scores nor ranks: a query's passages are ranked in the order of its "
    "lines, which says nothing about relevance."
)
_TOP1000 = "four columns separated by tabs: query id, passage id, query, passage"
_AT_ONCE = 65_536


def top1000_rankings(source: Path) -> Iterator[Ranking]:
    """Yield the candidates of each query from lines in any order, holding about 8 bytes a line.

    Raises:
        InputError: a line with too few columns, or without an id (numbered), or a repeated passage
            for a query.
    """
    ids: dict[str, bytearray] = {}
    for number, line in file_lines(source):
        columns = line.split("\t", 3)
        if len(columns) < 4 or not columns[0] or not columns[1]:
            found = "an empty id" if len(columns) == 4 else f"{len(columns)} columns"
            raise bad_input(
                source, line=number, wanted=_TOP1000, found=found, do="fix or drop the line"
            )
        ids.setdefault(columns[0], bytearray()).extend(columns[1].encode() + b"\n")
    for query_id, held in ids.items():
        passage_ids = held.decode().split("\n")[:-1]
        _check_once(query_id, passage_ids, f"{source}")
        yield Ranking(query_id, passage_ids, np.arange(len(passage_ids), 0, -1, dtype=np.float32))


def trec_rankings(source: Path) -> Iterator[Ranking]:
    """Stream the rankings of a TREC run in which each query's lines are contiguous.

    Raises:
        InputError: a malformed line (numbered), a query whose lines are not contiguous, or a
            repeated passage of a query.
    """
    return rankings_of(file_blocks(source), source)


def _check_once(query_id: str, passage_ids: Sequence[str], place: str) -> None:
    if len(set(passage_ids)) == len(passage_ids):
        return
    seen: set[str] = set()
    for passage_id in passage_ids:
        if passage_id in seen:
            raise InputError(
                f"{place}: wanted each passage once per query; found {passage_id!r} twice for "
                f"query {query_id!r}; drop one"
            )
        seen.add(passage_id)


def write_candidates(
    collection: Collection,
    out: Path,
    name: str,
    rankings: Iterator[Ranking],
    *,
    command: str,
    notes: Sequence[str] = (),
) -> dict[str, int]:
    """Write a run into ``runs/`` of an unfinished collection, whose final path is ``out``; return
    its counts.

    Queries in no split and pairs with unknown passages are kept and counted.

    Raises:
        InputError: as ``rankings``; or an id with a space, which a run cannot express.
    """
    path = collection.path / "runs" / f"{name}.run"
    unknown = {"unknown_queries": 0, "unknown_pairs": 0}
    with atomic_file(path, overwrite=True) as partial:
        queries, pairs = write_rankings(partial, name, _counted(collection, rankings, unknown))
        counts = {"queries": queries, "pairs": pairs, **unknown}
        manifest = Manifest(
            kind="run",
            name=name,
            command=command,
            inputs=(
                input_ref(
                    "collection", out, collection.checksum, artefact=out / "runs" / path.name
                ),
            ),
            content={"checksum": sha256_file(partial), **counts},
            licence=collection.manifest.licence,
            notes=tuple(notes),
            versions=package_versions(),
            provenance=provenance(),
        )
        write_manifest(manifest_path(partial), manifest)
    return counts


def _counted(
    collection: Collection, rankings: Iterable[Ranking], unknown: dict[str, int]
) -> Iterator[Ranking]:
    """Yield the same rankings, counting queries and passages that the collection lacks."""
    known = _query_keys(collection)
    for ranking in rankings:
        unknown["unknown_queries"] += not known.contains(_keys([ranking.query_id]))[0]
        unknown["unknown_pairs"] += int((collection.find(ranking.passage_ids) < 0).sum())
        yield ranking


def _query_keys(collection: Collection) -> KeyMap:
    """Return the query ids of all splits: 9 bytes each, where ORCAS's as texts take a gigabyte."""
    known = KeyMap(np.bool_)
    for split in collection.splits:
        ids = (query_id for query_id, _ in collection.query_texts(split))
        while batch := list(islice(ids, _AT_ONCE)):
            known.add(_keys(batch))
    return known


def _keys(query_ids: Sequence[str]) -> np.ndarray:
    return keys64(0, "query id", [query_id.encode() for query_id in query_ids])
