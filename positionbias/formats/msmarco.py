"""MS MARCO passage ranking (Nguyen et al. 2016; Bajaj et al. 2018): the release's files in, a Collection out.

Any subset of the files is enough. ``formats.msmarco_files`` says which file is what, and which queries make which split.
Candidates become runs in the collection's folder (``runs/NAME.run``), triples training groups (``trainsets/NAME``).
Without collection.tsv, passages and queries come from the files that carry texts: ``top1000`` and ``triples.train``.
"""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.files import sha256_file
from positionbias.core.manifest import input_ref
from positionbias.core.progress import track
from positionbias.core.records import Passage
from positionbias.core.shard_work import MapShards, file_state
from positionbias.formats.attach import Attachment, attach
from positionbias.formats.candidates import TOP1000_NOTE, split_top1000, top1000_rankings, write_candidates
from positionbias.formats.distinct import ClashError, distinct
from positionbias.formats.msmarco_files import LICENCE, PUBLISHED, Held, drawn_validation, kind_of, role_of, tsv_passages
from positionbias.formats.sources import Release, Source
from positionbias.formats.splits import Split
from positionbias.formats.triples import triple_passages, write_triples

__all__ = ["import_msmarco"]

COMMAND = "import msmarco"
NOTES = (
    "validation is dev/small, test the other judged dev queries, eval has no judgements; queries without a judgement are left out "
    "where their part of the release has judgements, and counted [decision].",
    "Texts are kept as they are, with the encoding faults that the release has.",
)


class _Import:
    """One import under way: the release, what is held of it, and the collection in the making."""

    def __init__(self, release: Release, writer: CollectionWriter, map_shards: MapShards) -> None:
        self.release, self.writer, self.map_shards = release, writer, map_shards
        self.held = Held()
        self.collection: Source | None = None
        self.late: dict[str, Source] = {}  # candidates and triples: they speak of passages and queries
        self.left_out: dict[str, dict[str, int]] = {}

    def gather(self) -> None:
        """Visit every file once: queries and judgements are held, passages in an archive are written in passing."""
        for role, source in self.release.visit():
            kind = kind_of(role)
            if kind == "collection":
                self.collection = source
                if source.member is not None:
                    self.add_collection()
            elif kind in ("queries", "qrels"):
                self.held.place[role] = source.place
                self.held.blocks[role] = list(source.blocks())
            else:
                self.late[role] = source
        if not self.release.files:
            raise bad_input(
                self.release.places[0],
                wanted="files of MS MARCO passage ranking: collection.tsv, queries.train.tsv, qrels.train.tsv …",
                found=", ".join(self.release.not_read) or "none",
                do="check the path",
            )

    def add_collection(self) -> None:
        """Write the passages of collection.tsv."""
        assert self.collection is not None
        blocks = track(self.collection.blocks(), self.collection.name, unit="blocks")
        self.writer.add_blocks(tsv_passages, blocks, self.map_shards)

    def add_passages(self) -> None:
        """Write the passages, where that has not been done: of collection.tsv, else of every file that carries texts."""
        if self.collection is None:
            try:
                self.writer.add_passages(distinct(self._passages_elsewhere()))
            except ClashError as error:
                raise InputError(
                    f"{self.release.places[0]}: wanted one text a passage; found two for {error.passage_id!r}; "
                    "check that the files belong together"
                ) from error
        elif self.collection.member is None:
            self.add_collection()

    def _passages_elsewhere(self) -> Iterator[Passage]:
        for role, source in self.late.items():
            kind = kind_of(role)
            if kind == "top1000":
                yield from _top1000_passages(source, self._texts(f"queries.{role}", source))
            elif kind == "triples":
                yield from triple_passages(source, self._texts("queries.triples", source))

    def _texts(self, role: str, source: Source) -> dict[str, str]:
        """Where the query texts go that a file of candidates or triples brings; of triples only where nothing else has them."""
        self.held.place[role] = source.place
        spare = role == "queries.triples" and "queries.train" in self.held.blocks
        return {} if spare else self.held.texts.setdefault(role, {})

    def add_queries(self) -> None:
        """Training queries from triples of texts, where the release has passages but no training queries."""
        for role, source in self.late.items():
            if kind_of(role) == "triples" and self.collection is not None and "queries.train" not in self.held.blocks:
                for _ in triple_passages(source, self._texts("queries.triples", source)):
                    pass

    def splits(self, validation: int, seed: int, attachments: Sequence[Attachment], keep_unjudged: bool) -> list[Split]:
        """The release's splits and the attached ones; those without a query are no splits."""
        splits = self.held.splits(keep_unjudged=keep_unjudged)
        drawn_validation(splits, validation, seed, purpose="msmarco validation")
        self.left_out = {split.name: split.left_out() for split in splits if split.left_out()}
        splits = [split for split in splits if split.queries]
        attach(splits, attachments, keep_unjudged=keep_unjudged)
        self.left_out |= {split.name: split.left_out() for split in splits if split.left_out()}
        return splits

    def add_late(self, out: Path) -> None:
        """Candidates and triples, once the collection is whole."""
        collection = Collection(self.writer.folder)
        for role, source in self.late.items():
            if kind_of(role) == "top1000":
                rankings = track(top1000_rankings(source), source.name, unit="queries")
                write_candidates(collection, out, role, rankings, command=COMMAND, notes=(TOP1000_NOTE,))
            else:
                texts = kind_of(role) == "triples"
                write_triples(collection, out, role, source, texts=texts, command=COMMAND, map_shards=self.map_shards)


def _top1000_passages(source: Source, texts: dict[str, str]) -> Iterator[Passage]:
    """The passages of the file, as often as they stand there; ``texts`` grows by its queries."""
    for number, query_id, passage_id, query, text in split_top1000(source):
        if texts.setdefault(query_id, query) != query:
            raise bad_input(
                source.place,
                line=number,
                wanted="one text a query",
                found=f"another one for {query_id!r}",
                do="mend or drop the line",
            )
        yield Passage(passage_id, text)


def import_msmarco(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    attachments: Sequence[Attachment] = (),
    validation: int = 0,
    seed: int = 1,
    keep_unjudged: bool = False,
    skip: Names[str] = (),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Mapping[str, Any] | None = None,
) -> Collection:
    """Make a collection of MS MARCO's files at ``places``: folders, archives or single files, earlier ones first.

    ``validation`` queries are drawn from training where there are no files of dev/small; ``skip`` leaves out kinds of files
    (``kind_of``). What was missing, not read and left out stands in ``content["source"]``.

    Raises:
        InputError: nothing to read, or a file that cannot be used as it is (line and place are named).
        SettingError: ``validation`` or an attachment's name cannot be.
    """
    out = Path(out)
    release = Release(places, role_of, skip=lambda role: kind_of(role) in skip, known="a file of MS MARCO passage ranking")
    settings = {
        "validation": validation,
        "seed": seed,
        "keep_unjudged": keep_unjudged,
        "skip": sorted(skip),
        "attach": [attachment.name for attachment in attachments],
    }
    attached = [
        (f"{kind} {item.name}", path)
        for item in attachments
        for kind, path in (("queries", item.queries), ("qrels", item.qrels))
    ]
    release.read_elsewhere(path for _, path in attached)
    states = [*release.states(), *(file_state(path) for _, path in attached)]
    with create_collection(
        out, overwrite=overwrite, job={"command": COMMAND, "settings": settings, "inputs": states}
    ) as writer:
        work = _Import(release, writer, map_shards)
        work.gather()
        if work.collection is None:  # then candidates and triples bring passages, and queries
            work.add_passages()
        work.add_queries()
        for split in work.splits(validation, seed, attachments, keep_unjudged):
            split.write(writer)
        if work.collection is not None:
            work.add_passages()
        writer.finish(
            name=out.name,
            command=COMMAND,
            settings=settings,
            seed=seed,
            inputs=[*release.inputs(out), *(input_ref(role, path, sha256_file(path), artefact=out) for role, path in attached)],
            licence=LICENCE,
            notes=NOTES,
            content={"source": {"format": "msmarco", **release.summary(PUBLISHED), "left_out": work.left_out}},
            allow_absent=True,
            **(provenance or {}),
        )
        work.add_late(out)
    return Collection(out)
