"""Import TripClick (Rekabsaz et al. 2021) as a Collection.

    benchmark/documents/docs_grp_{00…15}.txt                          TREC documents; docs.tsv in
                                                                      the other form
    benchmark/topics/topics.{head,torso,tail}.{train,val,test}.txt    TREC topics; .tsv in the
                                                                      other form
    benchmark/qrels/qrels.raw.{head,torso,tail}.{train,val}.txt       query id, 0, document id,
                                                                      0 or 1
    benchmark/qrels/qrels.dctr.head.{train,val}.txt                   grades 0 to 3
    dlfiles/run.trip.BM25.{head,torso,tail}.{val,test}.txt            TREC runs
    dlfiles/triples.train.tsv                                         query, positive, negative,
                                                                      as texts
    …triple-ids….tsv                                                  the same as ids (Hofstätter et
                                                                      al. 2022)
    logs/YYYY-MM-DD.json                                              the click log

File names are those of the release's page (https://tripdatabase.github.io/tripclick) and of
ir_datasets' reader. Any subset will do, packed or not, in any folders. Judgements of the test
queries are not published; files with their names are read if present.

[decision] Splits: ``train`` has the training queries of head, torso and tail, as the paper trains
on all; ``head_validation``, ``torso_validation``, ``tail_validation`` and ``head_test``,
``torso_test``, ``tail_test`` are separate, as they are measured separately. All have the judgements
from raw clicks; DCTR's are another set "dctr" of ``train`` (its head queries), ``head_validation``
and ``head_test``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from positionbias.core.blocks import Block
from positionbias.core.click_log import ClickLog
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.manifest import Provenance, seal_again
from positionbias.core.progress import track
from positionbias.core.publish import atomic_file
from positionbias.core.records import Passage, Query
from positionbias.core.shard_work import MapShards
from positionbias.core.shards import Shard, write_shard
from positionbias.formats.attach import parse_queries
from positionbias.formats.candidates import trec_rankings, write_candidates
from positionbias.formats.release_import import Held, ReleaseImport
from positionbias.formats.release_settings import ReleaseSettings
from positionbias.formats.sources import Source
from positionbias.formats.splits import Split, judged_split
from positionbias.formats.trec_files import document_blocks
from positionbias.formats.trec_topics import parse_tagged
from positionbias.formats.tripclick_docs import (
    DOCUMENT_START,
    plain,
    tagged_documents,
    tsv_documents,
)
from positionbias.formats.tripclick_log import ClickedRanks, read_clicks
from positionbias.formats.triples import write_triples

__all__ = ["ABSENT", "DCTR", "GROUPS", "TripClickSource", "import_tripclick", "kind_of", "role_of"]

GROUPS = ("head", "torso", "tail")
DCTR = "dctr"
ABSENT = "absent_judgements.tsv"  # columns: split, judgement set, query id, passage id, grade
_PARTS = {"train": "train", "val": "validation", "test": "test"}
_TSV, _TAGGED = "docs", "docs_grp"
_THE_SAME = {_TAGGED: "docs_grp_*.txt hold the same", _TSV: "docs.tsv holds the same"}
_ROLES = (
    ("collection", re.compile(r"(docs_grp_\d+)\.txt")),
    ("collection", re.compile(rf"({_TSV})\.tsv")),
    ("queries", re.compile(r"(topics\.(?:head|torso|tail)\.(?:train|val|test))\.(?:txt|tsv|trec)")),
    (
        "qrels",
        re.compile(r"(qrels\.(?:raw|dctr)\.(?:head|torso|tail)\.(?:train|val|test))\.(?:txt|tsv)"),
    ),
    ("runs", re.compile(r"(run\.trip\.BM25\.(?:head|torso|tail)\.(?:train|val|test))\.txt")),
    ("triples", re.compile(r"(triples\.train)\.tsv")),
    ("triples", re.compile(r"(.*triple-ids.*)\.tsv")),
    ("logs", re.compile(r"(\d{4}-\d{2}-\d{2})\.json")),
)
LICENCE = (
    "TripClick (Trip Database; Rekabsaz et al. 2021): for non-commercial research; no part may be "
    "shared or hosted, and models trained on it may not be shared without the owners' permission. "
    "See the terms and conditions on the data set's page."
)


def role_of(name: str) -> str | None:
    """Return a file's role, which is its name without suffix, or None if the release has no such
    file.

    >>> role_of("topics.head.val.txt"), role_of("allarticles.txt")
    ('topics.head.val', None)
    """
    return next((match[1] for _, form in _ROLES if (match := form.fullmatch(name))), None)


def kind_of(role: str) -> str | None:
    """Return collection, queries, qrels, runs, triples or logs; else None."""
    return next(
        (kind for kind, form in _ROLES for end in ("txt", "tsv", "json")
         if (m := form.fullmatch(f"{role}.{end}")) and m[1] == role),
        None,
    )  # fmt: skip


def _form(role: str) -> str:
    """Return the form of documents of this role."""
    return _TSV if role == _TSV else _TAGGED


def _query_texts(lines: Iterable[tuple[int, str]], place: str) -> dict[str, str]:
    """Read query texts by id from a file in either form."""
    stream = iter(lines)
    first = next(stream, (1, ""))
    if first[1].removeprefix("\ufeff").startswith("<"):
        text = "\n".join(line for _, line in chain([first], stream))
        return {
            query.query_id: query.text for query in parse_tagged(text.removeprefix("\ufeff"), place)
        }
    return {
        query_id: plain(text)
        for query_id, text in parse_queries(chain([first], stream), place).items()
    }


@dataclass(frozen=True, slots=True)
class TripClickSource:
    """The manifest's other facts about TripClick: documents, documents without text, and the click
    log.
    """

    documents: int
    empty: int
    log: ClickLog | None = None


class _Import(ReleaseImport):
    command = "import tripclick"
    form = "tripclick"
    known = "TripClick"
    published = (
        "docs_grp_*",
        *(f"topics.{group}.{part}.txt" for group in GROUPS for part in _PARTS),
        *(f"qrels.raw.{group}.{part}.txt" for group in GROUPS for part in ("train", "val")),
        *(f"qrels.dctr.head.{part}.txt" for part in ("train", "val")),
        *(f"run.trip.BM25.{group}.{part}.txt" for group in GROUPS for part in ("val", "test")),
        "triples.train.tsv",
    )
    deep = True
    licence = LICENCE
    notes = (
        "Text is title, space, abstract; white space collapses, URLs are left out.",
        "train has the training queries of head, torso and tail; judgements are from raw clicks, "
        "and for head queries also from DCTR (judgement set dctr).",
        "Test judgements are not published.",
    )
    kind_of = staticmethod(kind_of)
    role_of = staticmethod(role_of)

    def __init__(self, places: Sequence[Path | str], **more: Any) -> None:
        super().__init__(
            sorted(places, key=lambda place: (Path(place).name, str(place))), **more
        )  # their order does not matter
        self.held = Held(_query_texts)
        self.clicked = ClickedRanks()
        self.counts = {"documents": 0, "empty": 0}
        forms = {_form(role) for role in self.release.files if kind_of(role) == "collection"}
        # the form read; "" until one is found
        self.documents = _TAGGED if _TAGGED in forms else _TSV if forms else ""
        if _TAGGED in forms:
            self.release.leave_out(_TSV, _THE_SAME[_TAGGED])

    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        return tagged_documents

    def add_collection(self, source: Source) -> None:
        role = role_of(source.name) or ""
        self.documents = self.documents or _form(role)
        if _form(role) != self.documents:
            self.release.leave_out(role, _THE_SAME[self.documents])
            return
        tagged = self.documents == _TAGGED
        blocks = document_blocks(source, DOCUMENT_START) if tagged else source.blocks()
        make = partial(_make_shard, tagged_documents if tagged else tsv_documents)
        before = self.counts["documents"]
        for facts in self.writer.add_shards(
            _Shard, make, track(blocks, source.name, unit="blocks"), self.map_shards
        ):
            self.counts["documents"] += facts.count
            self.counts["empty"] += facts.empty
        if self.counts["documents"] == before:
            raise bad_input(
                source.place, wanted="documents", found="none", do="fetch it again, or remove it"
            )

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        train = self._split("train", GROUPS, "train", keep_unjudged)
        apart = [
            self._split(f"{group}_{_PARTS[part]}", (group,), part, keep_unjudged)
            for part in ("val", "test")
            for group in GROUPS
        ]
        return [train, *apart]

    def _split(self, name: str, groups: Sequence[str], part: str, keep_unjudged: bool) -> Split:
        texts = self.held.queries(*(f"topics.{group}.{part}" for group in groups))
        raw, dctr = ([f"qrels.{kind}.{group}.{part}" for group in groups] for kind in ("raw", DCTR))
        further = {DCTR: self.held.qrels(*dctr)} if any(role in self.held for role in dctr) else {}
        queries = (Query(*item) for item in texts.items())
        return judged_split(
            name, queries, self.held.qrels(*raw), further=further, keep_unjudged=keep_unjudged
        )

    def in_passing(self, role: str, source: Source) -> bool:
        if kind_of(role) != "logs":
            return False
        for block in source.blocks():
            self.clicked.add(read_clicks(block))
        return True

    def source_facts(self) -> JsonObject:
        log = {"log": to_builtins(self.clicked.log())} if self.clicked.records else {}
        return {**self.counts, **log}

    def add_beside(self, collection: Collection) -> None:
        lines = list(_absent_lines(collection))
        if lines:
            with atomic_file(collection.path / ABSENT, overwrite=True) as partial:
                partial.write_text("".join(lines), encoding="utf-8", newline="\n")
            seal_again(collection.path)

    def add_late(self, role: str, source: Source, collection: Collection, out: Path) -> None:
        if kind_of(role) == "runs":
            _, group, part = role.rsplit(".", 2)
            rankings = track(trec_rankings(source), source.name, unit="queries")
            write_candidates(
                collection, out, f"bm25_{group}_{_PARTS[part]}", rankings, command=self.command
            )
        else:
            texts = role == "triples.train"
            write_triples(
                collection,
                out,
                role,
                source,
                texts=texts,
                text_of=plain,
                command=self.command,
                map_shards=self.map_shards,
            )


@dataclass(frozen=True, slots=True)
class _Shard(Shard):
    """A shard and its number of empty passages."""

    empty: int


def _make_shard(
    documents_of: Callable[[Block], Iterable[Passage]], block: Block, path: Path
) -> _Shard:
    empty = 0

    def passages() -> Iterator[Passage]:
        nonlocal empty
        for passage in documents_of(block):
            empty += not passage.text
            yield passage

    shard = write_shard(path, passages())
    return _Shard(shard.count, shard.checksum, empty)


def _absent_lines(collection: Collection) -> Iterator[str]:
    """Yield a line for each judgement of a missing document."""
    for split in collection.manifest.content_as(dict[str, Json], "absent", {}):
        for name in (None, *collection.qrels_names(split)):
            qrels = collection.qrels(split, name)
            missing = set(collection.absent(sorted({qrel.passage_id for qrel in qrels})))
            for qrel in qrels:
                if qrel.passage_id in missing:
                    yield (
                        f"{split}\t{name or 'raw'}\t{qrel.query_id}\t{qrel.passage_id}\t"
                        f"{qrel.grade}\n"
                    )


def import_tripclick(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    keep_unjudged: bool = False,
    skip: Iterable[str] = (),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from TripClick's files at ``places``: folders (searched with their
    subfolders), archives or single files.

    ``skip`` leaves out kinds of files: "runs", "triples", "logs". ``content["source"]`` counts
    documents, documents without text, and the log's clicked ranks. Judgements of missing documents
    are kept, counted, and listed in ``absent_judgements.tsv``.

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
    """
    release = ReleaseSettings(skip=tuple(skip), keep_unjudged=keep_unjudged)
    making = _Import(places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance
    )
