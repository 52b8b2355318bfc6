"""Make a training set from clicks, as in the TripClick baselines (Hofstätter et al. 2022,
section 3.1), for any collection with clicks or judgements.

For each pair of a query and a positive, up to ``negatives`` different candidates of the query are
drawn that are not relevant at any grade. All triples are shuffled, and the first ``triples`` kept.
[decision] Relevant candidates are removed before the draw, so 20 are reached if there are 20.

The triples of each block of the run are drawn, keyed and sorted (``draw``); ranges of the key are
then read from all blocks, sorted, and written as training groups. Both steps are resumable, and
the bytes are the same for any number of workers and any order of the run's queries. Memory: the
judgements of the split, and one block or range per worker. Disk: the ids of all drawn triples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import feather

from positionbias.clicks.draw import IDS, Clicks, DrawnBlock, by_key, draw_block, judged
from positionbias.clicks.settings import ClickSettings
from positionbias.core.blocks import file_blocks
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import remove
from positionbias.core.groups import Groups, TrainingGroup, write_groups
from positionbias.core.progress import track
from positionbias.core.publish import refuse_existing
from positionbias.core.run_files import lines_apart, query_lines
from positionbias.core.steps import MapShards, make_shards
from positionbias.corpora.drawn_set import drawn_set
from positionbias.training.negatives import no_candidates

COMMAND = "trainset clicks"
DRAWS = ".draws"  # hidden: not part of the set
RANGE_TRIPLES = 1 << 18
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

    ``manifest.content["clicks"]`` counts what was drawn and left out.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        InputError: no such split or judgement set, candidates of another collection, or nothing to
            draw.
    """
    refuse_existing(out, overwrite=overwrite)
    clicks = _clicks(collection, settings)
    files = [("candidates", candidates)]
    with drawn_set(
        out, collection, files, COMMAND, asdict(settings), seed=settings.seed, overwrite=overwrite
    ) as (folder, manifest):
        counts, paths = _drawn(folder / DRAWS, clicks, candidates, settings, map_shards)
        parts = list(ranges(paths, counts["triples drawn"], settings.triples))
        counts["triples"] = sum(part.take for part in parts)
        write_groups(
            folder,
            partial(_groups_of, tuple(paths)),
            track(parts, "writing training groups", unit="shards"),
            replace(manifest, notes=_NOTES, provenance=provenance_facts),
            splits=(settings.split,),
            map_shards=map_shards,
            content=lambda: {"clicks": counts},
        )
        remove(folder / DRAWS)
    return Groups(out)


def _clicks(collection: Collection, settings: ClickSettings) -> Clicks:
    """Return the key of the judgements, where there is a positive among them."""
    place, split, level = str(collection.path), settings.split, settings.relevant_from
    clicks = Clicks(place, collection.checksum, split, settings.qrels_name, level)
    if not len(judged(clicks).positives):
        raise bad_input(
            collection.path,
            wanted=f"a passage judged {level} or higher in split {split!r}",
            found="none",
            do="give another --split, --qrels-name or --relevant-from",
        )
    return clicks


def _drawn(
    folder: Path,
    clicks: Clicks,
    candidates: Path,
    settings: ClickSettings,
    map_shards: MapShards,
) -> tuple[dict[str, int], list[Path]]:
    """Draw the triples of every block; return all counts, and a file a block."""
    folder.mkdir(parents=True, exist_ok=True)
    make = partial(draw_block, clicks, settings.negatives, settings.train_depth, settings.seed)
    blocks = track(
        query_lines(file_blocks(candidates), candidates), "drawing negatives", unit="blocks"
    )
    counts, paths, seen = Counter[str](), list[Path](), set[str]()
    for number, facts in enumerate(
        make_shards(DrawnBlock, make, blocks, partial(_file, folder), map_shards)
    ):
        counts.update(facts.counts)
        paths.append(_file(folder, number))
        if again := seen.intersection(facts.query_ids):
            raise lines_apart(candidates, min(again))
        seen.update(facts.query_ids)
    if not counts["triples drawn"]:
        raise no_candidates(candidates, settings.split)
    queries = pc.count_distinct(judged(clicks).positives["query_id"]).as_py()
    return {"queries with a positive": queries, **counts}, paths


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.feather"


class Range(NamedTuple):
    """A range of the key: its start and end in each file, and the number of triples taken."""

    cuts: Sequence[tuple[int, int]]
    take: int


def ranges(
    paths: Sequence[Path], drawn: int, wanted: int | None, size: int = RANGE_TRIPLES
) -> Iterator[Range]:
    """Yield ranges of the key, in order, of about ``size`` triples each and ``wanted`` in all
    (None: all those ``drawn``).
    """
    left, count = drawn if wanted is None else wanted, max(1, drawn // size)
    edges = np.array([(index << 64) // count for index in range(1, count)], np.uint64)
    keys = (feather.read_table(path, ["key"])["key"].to_numpy() for path in paths)
    starts = [[0, *np.searchsorted(own, edges).tolist(), len(own)] for own in keys]
    for number in range(count):
        cuts = [(own[number], own[number + 1]) for own in starts]
        if take := min(left, sum(end - start for start, end in cuts)):
            yield Range(cuts, take)
            left -= take


def triples_of(paths: Sequence[Path], part: Range) -> pa.Table:
    """Read the triples of a range in order."""
    files = zip(paths, part.cuts, strict=True)
    pieces = [feather.read_table(path)[start:end] for path, (start, end) in files]
    return by_key(pa.concat_tables(pieces))[: part.take]


def _groups_of(paths: Sequence[Path], part: Range) -> Iterator[TrainingGroup]:
    ids = triples_of(paths, part)
    for query_id, positive, negative in zip(*(ids[name].to_pylist() for name in IDS), strict=True):
        yield TrainingGroup(query_id, (positive, negative), (1, 0))
