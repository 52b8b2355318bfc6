"""Import MS MARCO QA v1.1 and v2.1 (Bajaj et al. 2016): questions, answers, and the passages that
annotators saw.

Passages with identical text are one passage, as in Microsoft's own passage collection. An id is a
hash of the text and independent of relevance [decision]. ``is_selected`` 1 becomes grade 1, and 0
becomes grade 0, which only means seen and not used [decision]; -1 or nothing becomes no judgement.
Every selected passage of a row gets each distinct answer of the row, without offsets, which
``positions.locate`` finds. "" and "No Answer Present." are counted and left out.
``wellFormedAnswers`` are rewritten sentences, not spans: they become the query's field
"well_formed" (a JSON list), ``query_type`` its field "type" [decision]. Rows of one query in a
split are one query. URLs are not kept.

Blocks of rows are read twice, in parallel: first everything but the texts goes to the work folder,
with two 64-bit hashes of each passage; then each block writes the passages that no earlier row has;
then the records of a split are written, a query at a time. Memory: one block per worker (about 100
MB), 64 bytes per (query, passage) pair while duplicates are found, 25 bytes per query, and the rows
of queries with several rows; 0.65 GB measured for v2.1's size with one worker. A compressed v2.1
file needs its unpacked size on the work folder's disk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import remove
from positionbias.core.input_state import content_digest, file_state, unchanged
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, input_ref
from positionbias.core.progress import track
from positionbias.core.records import Passage
from positionbias.core.seeds import key64
from positionbias.core.shards import Shard, write_shard
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards, make_shards
from positionbias.formats.imported import counted, told
from positionbias.formats.msmarco import LICENCE
from positionbias.formats.msmarco_qa_records import PASSAGE_ID, pair_hashes, write_rows, write_split
from positionbias.formats.msmarco_qa_rows import checked_rows, qa_blocks
from positionbias.formats.row_blocks import RowBlock

SPLITS = ("train", "validation", "test")
_COMMAND = "import msmarco-qa"
_NOTES = (
    "Passages with identical text are one passage, named by a hash of the text.",
    "is_selected 1 is grade 1; is_selected 0 is grade 0: seen by the annotator and not used.",
    "Every distinct answer belongs to every selected passage of its row, without offsets; "
    "wellFormedAnswers and query_type are fields of the query.",
)


@dataclass(frozen=True, slots=True)
class PassageCounts:
    """Counts of passages read and of distinct passages."""

    read: int
    distinct: int


@dataclass(frozen=True, slots=True)
class QaSource:
    """The manifest's facts about the releases' files; ``splits`` counts rows and what was left
    out.
    """

    format: str
    passages: PassageCounts
    splits: Mapping[str, Mapping[str, int]]


def import_msmarco_qa(
    files: Mapping[str, Sequence[Path | str]],
    out: Path | str,
    *,
    selected_only: bool = False,
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from the releases' files, given by split: train, validation, test.

    ``selected_only`` leaves out the judgements of grade 0.

    Raises:
        InputError: a file in none of the three layouts or without a row, an invalid row (with its
            place), or a query id with two texts in one split.
        SettingError: no file, or another split.
    """
    files = {split: paths for split, paths in files.items() if paths}
    if not set(files) <= set(SPLITS) or not any(files.values()):
        raise SettingError(
            f"FILE, --validation, --test: wanted files of {', '.join(SPLITS)}; found "
            f"{', '.join(files) or 'none'}"
        )
    out, settings = Path(out), {"selected_only": selected_only}
    sources = [_Source(split, Path(path)) for split in SPLITS for path in files.get(split, ())]
    job: JsonObject = {
        "command": _COMMAND,
        "settings": settings,
        "inputs": [source.state() for source in sources],
    }
    with (
        create_collection(out, overwrite=overwrite, job=job) as writer,
        unchanged(source.path for source in sources),
    ):
        work = writer.folder / "rows"
        recorded = _record(sources, work, map_shards)
        pairs = _add_passages(writer, sources, recorded, work, map_shards)
        counts = {}
        for split in SPLITS:
            paths = [(source.path, path) for source, path in recorded if source.split == split]
            if any(source.split == split for source in sources):
                counts[split] = write_split(writer.split(split), paths, selected_only=selected_only)
        remove(work)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=_COMMAND,
                settings=settings,
                inputs=tuple(
                    input_ref(source.split, source.path, content_digest(source.path), artefact=out)
                    for source in sources
                ),
                licence=LICENCE,
                notes=_NOTES,
                content={"source": asdict(QaSource("msmarco-qa", pairs, counts))},
                provenance=provenance or {},
            )
        )
    remarks = [f"{pairs.read:,} passages read, {pairs.distinct:,} distinct"]
    for split, rows in counts.items():
        remarks.append(f"{split}: {counted({what: rows[what] for what in rows if rows[what]})}")
    return told(Collection(out), remarks)


@dataclass(slots=True)
class _Source:
    """One file and its split. Blocks that are byte ranges are kept; blocks that carry bytes are
    read again.
    """

    split: str
    path: Path
    kept: list[RowBlock] = field(default_factory=list)

    def state(self) -> JsonObject:
        return {"split": self.split, **file_state(self.path)}

    def blocks(self, work: Path) -> Iterator[RowBlock]:
        found = self.kept or qa_blocks(self.path, work / "unpacked")
        if isinstance(found, list):
            self.kept = found
        yield from found


def _record(
    sources: Sequence[_Source], work: Path, map_shards: MapShards
) -> list[tuple[_Source, Path]]:
    """Store everything but the texts in the work folder, block by block; return each file with its
    source.
    """
    work.mkdir(exist_ok=True)
    remove(work / "unpacked")  # from an interrupted run
    origin: list[_Source] = []  # the source of each block handed out

    def blocks() -> Iterator[RowBlock]:
        for source in sources:
            for block in source.blocks(work):
                origin.append(source)
                yield block

    done = make_shards(dict[str, int], write_rows, blocks(), partial(_rows_path, work), map_shards)
    filled = set()
    for index, facts in enumerate(track(done, "reading", unit="blocks")):
        if facts["rows"]:
            filled.add(origin[index].path)
    for source in sources:
        if source.path not in filled:
            raise bad_input(
                source.path,
                wanted="rows of an MS MARCO QA release",
                found="none",
                do="check the path",
            )
    return [(source, _rows_path(work, index)) for index, source in enumerate(origin)]


def _rows_path(work: Path, index: int) -> Path:
    return work / f"{index:05d}.arrow"


def _add_passages(
    writer: CollectionWriter,
    sources: Sequence[_Source],
    recorded: Sequence[tuple[_Source, Path]],
    work: Path,
    map_shards: MapShards,
) -> PassageCounts:
    """Write each distinct text once, at its first place; one shard per block."""
    hashes = [pair_hashes(path) for _, path in recorded]
    ends = np.cumsum([len(found) for found in hashes], dtype=np.int64)
    first = first_places(np.concatenate(hashes) if hashes else np.empty((0, 2), np.uint64))
    del hashes
    blocks = (block for source in sources for block in source.blocks(work))
    items = (_Kept(*item) for item in zip(blocks, np.split(first, ends[:-1]), strict=True))
    for _ in track(
        writer.add_shards(Shard, _write_passages, items, map_shards),
        "passages",
        len(recorded),
        unit="blocks",
    ):
        pass
    return PassageCounts(len(first), int(first.sum()))


def first_places(hashes: np.ndarray) -> np.ndarray:
    """Return a mask of the first occurrence of each row of ``(n, 2)``: ``(n,)`` bool.

    All 128 bits count. Two texts with one 64-bit id are both kept, and the collection's index
    refuses them, so neither is lost silently (1 chance in 400,000 for 10 million passages).
    """
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))  # stable
    ordered = hashes[order]
    new = np.ones(len(order), bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.zeros(len(order), bool)
    first[order[new]] = True
    return first


@dataclass(frozen=True, slots=True)
class _Kept:
    """A block and the mask of its first occurrences: ``(passages,)`` bool."""

    block: RowBlock
    first: np.ndarray

    def fingerprint(self) -> str:
        return f"{self.block.fingerprint()} {np.packbits(self.first).tobytes().hex()}"

    def passages(self) -> Iterator[Passage]:
        place = 0
        for number, row in checked_rows(self.block):
            if place + len(row.passages) > len(self.first):
                raise self.block.bad_row(
                    number, wanted="an unchanged file", found="more rows", do="run again"
                )
            for candidate in row.passages:
                if self.first[place]:
                    yield Passage(f"p{key64(0, PASSAGE_ID, candidate.text):016x}", candidate.text)
                place += 1


def _write_passages(item: _Kept, target: Path) -> Shard:
    return write_shard(target, item.passages())
