"""Make a training set from clicks, as in the TripClick baselines (Hofstätter et al. 2022,
section 3.1), for any collection with clicks or judgements.

For each pair of a query and a positive, up to ``negatives`` different candidates of the query are
drawn that are not relevant at any grade. All triples are shuffled, and the first ``triples`` kept.
[decision] Relevant candidates are removed before the draw, so 20 are reached if there are 20.

There are three resumable steps: triples of each block of the run, drawn, keyed and sorted
(``draw``); the training groups, in the order of the keys (``shuffle``); the lines of ids or texts.
Memory: the judgements of the split, and one block of the run per worker. Disk: 24 bytes per drawn
triple while making the set. The bytes are the same for any number of workers and any order of the
run's queries.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from positionbias.clicks.draw import COUNTS, TRIPLE, WITH_POSITIVE, DrawnBlock, draw_block
from positionbias.clicks.judged import Which, opened, query_ids
from positionbias.clicks.quality import look, quality_rows
from positionbias.clicks.settings import ClickSettings
from positionbias.clicks.shuffle import Range, ranges, triples_of
from positionbias.core import rows
from positionbias.core.collection import Collection
from positionbias.core.errors import StorageError, bad_input
from positionbias.core.files import open_bytes, remove, sha256_file
from positionbias.core.groups import KIND, Groups, Triples, write_groups
from positionbias.core.input_state import file_mark
from positionbias.core.manifest import (
    MANIFEST,
    Manifest,
    input_ref,
    package_versions,
    provenance,
    seal_again,
)
from positionbias.core.progress import step, track
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.run_blocks import run_blocks
from positionbias.core.shard_work import GO_ON, MapShards, make_shards, resumable_folder

__all__ = ["QUALITY", "TRIPLES", "write_click_set"]

COMMAND = "trainset clicks"
TRIPLES = "triples.train.tsv"  # the release's name
QUALITY = "quality"
DRAWS = ".draws"  # hidden: not part of the set
# a tab, and all line ends of Python or editors
_BREAKS = re.compile("[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]+")
_NOTES = (
    (
        "Candidates judged relevant in any judgement set of the split are removed before the draw "
        "of negatives."
    ),
    (
        "Triples are ordered by a hash of seed and ids, so a smaller set is the beginning of a "
        "larger one."
    ),
    "The ranks of clicked documents are not used.",
)


def write_click_set(
    out: Path,
    collection: Collection,
    candidates: Path,
    settings: ClickSettings,
    *,
    map_shards: MapShards = map,
    overwrite: bool = False,
    **provenance_facts: Any,
) -> Groups:
    """Write the set to ``out``, whole or not at all, and open it; ``candidates`` is a run of the
    split with each query's lines together.

    Besides the groups it writes ``quality/`` (rows for ``posbias report``) and, with a form,
    ``triples.train.tsv``. ``manifest.content["clicks"]`` counts what was drawn and left out.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: no such split or judgement set, candidates of another collection, or nothing to
            draw.
    """
    refuse_existing(out, overwrite=overwrite)
    which, with_positive = _which(collection, settings)
    open_bytes(candidates).close()  # a missing file is reported before its checksum is computed
    inputs = [
        input_ref("collection", collection.path, collection.checksum, artefact=out),
        input_ref("candidates", candidates, sha256_file(candidates), artefact=out),
    ]
    # a draw holds rows, which depend on order, but the checksum does not: so the collection's state
    # must match too
    checksums = [item.checksum for item in inputs]
    job = {
        "command": COMMAND,
        **asdict(settings),
        "inputs": checksums,
        "collection": which.path,
        "state": which.state,
    }
    with resumable_folder(out, job, overwrite=overwrite) as folder:
        drawn, paths = _drawn(folder / DRAWS, which, candidates, settings, map_shards)
        parts = list(ranges(paths, settings.triples))
        counts = _counts(len(query_ids(which)), with_positive, drawn, parts)
        write_groups(
            folder,
            partial(_groups_of, which, tuple(paths)),
            track(parts, "writing training groups", unit="shards"),
            Manifest(
                kind=KIND,
                name=out.name,
                command=COMMAND,
                settings={
                    name: value for name, value in asdict(settings).items() if name != "seed"
                },
                seed=settings.seed,
                inputs=tuple(inputs),
                licence=collection.manifest.licence,
                notes=_NOTES,
                content={"clicks": counts},
                provenance=provenance_facts,
            ),
            splits=(settings.split,),
            map_shards=map_shards,
        )
        groups = Groups(folder)
        if settings.form:
            _write_lines(folder / TRIPLES, groups, collection, settings)
        _write_quality(folder / QUALITY, out, groups, collection, settings, counts)
        remove(folder / DRAWS)
        seal_again(folder)
    return Groups(out)


def _which(collection: Collection, settings: ClickSettings) -> tuple[Which, int]:
    """Return the key of the judgements, and the number of the split's queries with a positive."""
    place, state = (
        str(collection.path.absolute()),
        repr(sorted(file_mark(collection.path / MANIFEST).items())),
    )
    which = Which(
        place,
        collection.checksum,
        settings.split,
        settings.qrels_name,
        settings.relevant_from,
        state,
    )
    qrels = collection.qrel_table(settings.split, settings.qrels_name)
    positives = qrels.filter(pc.greater_equal(qrels["grade"], settings.relevant_from))
    if not len(positives):
        highest = f", the highest of grade {pc.max(qrels['grade'])}" if len(qrels) else ""
        raise bad_input(
            collection.path,
            wanted=(
                f"a passage judged {settings.relevant_from} or higher in split {settings.split!r}"
            ),
            found=f"{len(qrels):,} judgements{highest}",
            do="give another --split, --qrels-name or --relevant-from",
        )
    if settings.form == "ids":
        _refuse_breaks(collection, positives["passage_id"])
    return which, pc.count_distinct(positives["query_id"]).as_py()


def _refuse_breaks(collection: Collection, passage_ids: pa.ChunkedArray) -> None:
    """Refuse positives that a line of ids cannot hold, before the long work; ids from a run have no
    white space.
    """
    found = passage_ids.filter(pc.match_substring_regex(passage_ids, _BREAKS.pattern))
    if len(found):
        raise bad_input(
            collection.path,
            wanted="ids without tabs and line breaks for --as ids",
            found=f"passage {found[0].as_py()!r}",
            do="rename it in the collection, or leave out --as",
        )


def _counts(
    queries: int, with_positive: int, drawn: Mapping[str, int], parts: Sequence[Range]
) -> dict[str, int]:
    """Return all counts, over the queries of the split and over the kept triples."""
    return {
        "queries": queries,
        "queries with a positive": with_positive,
        "queries without candidates": with_positive - sum(drawn[name] for name in WITH_POSITIVE),
        **drawn,
        "triples": sum(part.take for part in parts),
        "negatives judged not relevant": sum(part.judged for part in parts),
    }


def _drawn(
    folder: Path, which: Which, candidates: Path, settings: ClickSettings, map_shards: MapShards
) -> tuple[dict[str, int], list[Path]]:
    """Draw and count the triples of every block."""
    folder.mkdir(parents=True, exist_ok=True)
    make = partial(draw_block, which, settings.negatives, settings.train_depth, settings.seed)
    counts = Counter(dict.fromkeys(COUNTS, 0))
    paths, seen = [], bytearray(len(query_ids(which)))
    blocks = track(run_blocks(candidates), "drawing negatives", unit="blocks")
    for number, facts in enumerate(
        make_shards(
            DrawnBlock, make, blocks, lambda index: folder / f"{index:06d}.triples", map_shards
        )
    ):
        counts.update(facts.counts)
        paths.append(folder / f"{number:06d}.triples")
        _check_whole(paths[-1], facts.counts["triples drawn"])
        _see(seen, facts.places, which, candidates)
    if not counts["triples drawn"]:
        raise bad_input(
            candidates,
            wanted=f"candidates for queries of split {settings.split!r} with relevant passages",
            found="none",
            do="check that --candidates was retrieved for --split, and --relevant-from",
        )
    return dict(counts), paths


def _check_whole(path: Path, triples: int) -> None:
    """Remove an incomplete file, so that the next run makes it again."""
    wanted, found = triples * TRIPLE.itemsize, path.stat().st_size
    if found != wanted:
        remove(path)
        raise StorageError(
            f"{path}: wanted {wanted:,} bytes of drawn triples; found {found:,}; check the disk, "
            f"then {GO_ON}"
        )


def _see(seen: bytearray, places: Sequence[Sequence[int]], which: Which, candidates: Path) -> None:
    """Mark the queries of a block; raise for a query of an earlier block."""
    for first, last in places:
        again = seen.find(1, first, last + 1)
        if again >= 0:
            query_id = query_ids(which)[again].as_py()
            found = f"query {query_id!r} again after other queries"
            raise bad_input(
                candidates,
                wanted="a query's lines together",
                found=found,
                do="sort the file by its first column",
            )
        seen[first : last + 1] = b"\x01" * (last + 1 - first)


def _groups_of(which: Which, paths: tuple[Path, ...], part: Range) -> Triples:
    triples, collection = triples_of(paths, part), opened(which)
    positives, negatives = (
        collection.passage_ids_at(triples[name].astype(np.int64))
        for name in ("positive", "negative")
    )
    return Triples(query_ids(which).take(pa.array(triples["query"])), positives, negatives)


def _write_lines(
    path: Path, groups: Groups, collection: Collection, settings: ClickSettings
) -> None:
    """Write one tab-separated line per triple: query, positive, negative, as ids or as texts with
    tabs and line breaks turned into spaces.
    """
    texts = dict(collection.query_texts(settings.split)) if settings.form == "text" else {}
    with (
        atomic_file(path, overwrite=True) as partial_path,
        open(partial_path, "w", encoding="utf-8", newline="\n") as handle,
        step(f"writing {TRIPLES}", len(groups), unit="triples") as progress,
    ):
        for batch in groups.batches():
            ids = [
                batch["query_id"],
                *(pc.list_element(batch["passage_ids"], place) for place in (0, 1)),
            ]
            columns: list[list[str]] = [column.to_pylist() for column in ids]
            if settings.form == "text":
                columns = [
                    [texts[query_id] for query_id in columns[0]],
                    *map(collection.texts, columns[1:]),
                ]
                columns = [[_BREAKS.sub(" ", cell) for cell in column] for column in columns]
            handle.write("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)))
            progress.advance(len(batch))


def _write_quality(
    place: Path,
    out: Path,
    groups: Groups,
    collection: Collection,
    settings: ClickSettings,
    counts: Mapping[str, int],
) -> None:
    looked = look(groups, collection, settings.split)
    asked, split = settings.negatives, settings.split
    made = quality_rows(collection, split, out.name, counts, asked, looked)
    manifest = Manifest(
        kind="results",
        name=out.name,
        command=COMMAND,
        settings=asdict(settings),
        seed=settings.seed,
        inputs=(input_ref("trainset", out, groups.checksum, artefact=out / QUALITY),),
        licence=collection.manifest.licence,
        versions=package_versions(),
        provenance=provenance(),
    )
    remove(place)
    rows.save(place, made.rows, manifest)
