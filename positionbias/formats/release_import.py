"""Import a release of many files with known names: MS MARCO passages, MS MARCO documents, ORCAS,
TripClick.

Archives are unpacked first. Candidates and triples, which refer to queries and passages, follow
when the collection is complete.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar

from positionbias.core.blocks import Block, file_blocks, file_lines
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import CollectionWriter, create_collection
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.files import content_digest, file_state, unchanged
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import InputRef, Manifest, Provenance, input_ref, read_manifest
from positionbias.core.places import pasted
from positionbias.core.progress import track
from positionbias.core.publish import work_folder
from positionbias.core.qrels import parse_qrels
from positionbias.core.records import Passage, Qrel, Query
from positionbias.core.split_tables import KIND
from positionbias.core.steps import MapShards
from positionbias.formats.attach import Attachment, attach, parse_queries
from positionbias.formats.candidates import trec_rankings, write_candidates
from positionbias.formats.imported import counted, told
from positionbias.formats.release_settings import ReleaseSettings
from positionbias.formats.sources import Release, plain_name
from positionbias.formats.splits import Split, judged_split
from positionbias.formats.validation_draw import (
    HeldOut,
    HoldOut,
    ValidationDraw,
    draw_validation,
    part,
    sharing_passages,
)


class Held:
    """The files of a release's queries and judgements by role.

    ``parse`` turns the lines of a file into query texts by id.
    """

    def __init__(
        self, parse: Callable[[Iterable[tuple[int, str]], str], dict[str, str]] = parse_queries
    ) -> None:
        self._parse = parse
        self.files: dict[str, Path] = {}

    def __contains__(self, role: str) -> bool:
        return role in self.files

    def queries(self, *roles: str) -> dict[str, str]:
        """Return the query texts of these files together, by id.

        Raises:
            InputError: a malformed line (numbered), or a query with two texts.
        """
        merged: dict[str, str] = {}
        for role in filter(self.__contains__, roles):
            texts = self._parse(file_lines(self.files[role]), f"{self.files[role]}")
            for query_id, text in texts.items():
                if merged.setdefault(query_id, text) != text:
                    raise InputError(
                        f"{self.files[role]}: wanted one text per query; found a text for "
                        f"{query_id!r} that differs from earlier files; check that the files "
                        "belong together"
                    )
        return merged

    def qrels(self, *roles: str) -> list[Qrel]:
        """Return the judgements of these files together; one in several files counts once.

        Raises:
            InputError: a malformed line (numbered), or a pair with two grades.
        """
        files = [
            (role, parse_qrels(file_lines(self.files[role]), self.files[role]))
            for role in roles
            if role in self
        ]
        if len(files) < 2:
            return files[0][1] if files else []
        merged: dict[tuple[str, str], Qrel] = {}
        for role, qrels in files:
            for qrel in qrels:
                if merged.setdefault(qrel[:2], qrel).grade != qrel.grade:
                    raise InputError(
                        f"{self.files[role]}: wanted one grade per pair; found a grade for passage "
                        f"{qrel.passage_id!r} of query {qrel.query_id!r} that differs from earlier "
                        "files; check that the files belong together"
                    )
        return list(merged.values())

    def split(
        self, name: str, queries: Sequence[str], qrels: Sequence[str], *, keep_unjudged: bool
    ) -> Split:
        """Make a split from these roles (``judged_split``)."""
        texts = (Query(*item) for item in self.queries(*queries).items())
        return judged_split(name, texts, self.qrels(*qrels), keep_unjudged=keep_unjudged)


@dataclass(frozen=True, slots=True)
class ReleaseSource:
    """The manifest's facts about a release: ``files`` by role, ``missing`` files, files not read
    and why, and what was left out by split.
    """

    format: str
    files: Sequence[str]
    missing: Sequence[str]
    not_read: Mapping[str, str]
    left_out: Mapping[str, Mapping[str, int]]


class ReleaseImport(ABC):
    """An import in progress. A subclass defines the roles of files, the passage parser and the
    splits.
    """

    command: ClassVar[str]
    form: ClassVar[str]  # its name in the manifest
    known: ClassVar[str]  # its name in errors
    published: ClassVar[tuple[str, ...]]
    deep: ClassVar[bool] = False  # True if the release has nested folders
    licence: str
    notes: tuple[str, ...]

    def __init__(
        self, places: Sequence[Path | str], *, skip: Iterable[str] = (), map_shards: MapShards = map
    ) -> None:
        left_alone = frozenset(skip)
        self.release = Release(
            places,
            self.role_of,
            skip=lambda role: self.kind_of(role) in left_alone,
            known=f"a file of {self.known}",
            deep=self.deep,
        )
        self.map_shards = map_shards
        self.held = Held()
        self.collections: list[Path] = []
        self.late: dict[str, Path] = {}
        self.left_out: dict[str, dict[str, int]] = {}
        self.writer: CollectionWriter

    @staticmethod
    @abstractmethod
    def kind_of(role: str) -> str | None:
        """Return collection, queries, qrels, or a kind that is added late; None for an unknown
        role.
        """

    @staticmethod
    @abstractmethod
    def role_of(name: str) -> str | None:
        """Return the role of a file by its name without a compression suffix; None if unknown."""

    @abstractmethod
    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        """Return the function that parses a block of the collection's file into passages; it must
        be picklable.
        """

    @abstractmethod
    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        """Return the release's own splits."""

    # most releases have nothing of the kind
    def add_streamed(self) -> None:  # noqa: B027
        """Write what is too large to be held, after all splits."""

    def blocks_of(self, source: Path) -> Iterable[Block]:
        """Return the blocks of one of the collection's files, cut between passages."""
        return file_blocks(source)

    def states(self) -> list[JsonObject]:
        """Identify the inputs in the job's record, so that a change shows."""
        return self.release.states()

    def inputs(self, out: Path) -> list[InputRef]:
        """Return the inputs by checksum, for the manifest."""
        return self.release.inputs(out)

    def add_late(self, role: str, source: Path, collection: Collection, out: Path) -> None:
        """Add a file that needs the complete collection; by default, a TREC run."""
        rankings = track(trec_rankings(source), plain_name(source.name), unit="queries")
        write_candidates(collection, out, role, rankings, command=self.command)

    def run(
        self,
        out: Path,
        *,
        settings: JsonObject,
        release: ReleaseSettings,
        overwrite: bool = False,
        provenance: Provenance | None = None,
    ) -> Collection:
        """Make the collection at ``out``; ``settings`` are recorded with those of ``release``.

        Raises:
            InputError: nothing to read, or an invalid file (with the line).
            SettingError: an impossible validation draw or an invalid attachment name.
        """
        draw = release.validation
        attachments = [
            Attachment(name, Path(queries), Path(qrels)) for name, queries, qrels in release.attach
        ]
        attached = {
            f"{kind} {item.name}": getattr(item, kind)
            for item in attachments
            for kind in ("queries", "qrels")
        }
        self.release.read_elsewhere(attached.values())
        settings = {
            "validation": draw.validation_queries,
            **({"validation_by": draw.by.value} if draw.validation_queries else {}),
            "seed": draw.seed,
            "keep_unjudged": release.keep_unjudged,
            "attach": [attachment.name for attachment in attachments],
            **settings,
            "skip": sorted(release.skip),
        }
        states = [*self.states(), *(file_state(path) for path in attached.values())]
        job: JsonObject = {"command": self.command, "settings": settings, "inputs": states}
        read = [*(path for _, path in self.release.paths()), *attached.values()]
        with create_collection(out, overwrite=overwrite, job=job) as self.writer, unchanged(read):
            self._gather()
            splits, held_out = self._all_splits(attachments, draw, release.keep_unjudged)
            for split in splits:
                split.write(self.writer)
            self.add_streamed()
            for source in self.collections:
                self.add_collection(source)
            self.writer.finish(
                Manifest(
                    kind=KIND,
                    name=out.name,
                    command=self.command,
                    settings=settings,
                    seed=draw.seed,
                    inputs=(*self.inputs(out), *_refs(attached, out)),
                    licence=self.licence,
                    notes=self.notes,
                    content={
                        "source": asdict(self._source()),
                        **({"validation": asdict(held_out.recorded())} if held_out else {}),
                    },
                    provenance=provenance or {},
                ),
                allow_absent=True,
            )
            collection = Collection(self.writer.folder)
            for role, source in self.late.items():
                self.add_late(role, source, collection, out)
        return told(Collection(out), _remarks(self._source(), out))

    def _source(self) -> ReleaseSource:
        release = self.release
        return ReleaseSource(
            self.form,
            sorted(release.files),
            release.missing(self.published),
            release.not_read,
            self.left_out,
        )

    def _gather(self) -> None:
        """Sort the files by what is done with them, those of archives unpacked."""
        self.release.unpack(work_folder(self.writer.final) / "unpacked")
        for role, path in self.release.files.items():
            kind = self.kind_of(role)
            if kind == "collection":
                self.collections.append(path)
            elif kind in ("queries", "qrels"):
                self.held.files[role] = path
            else:
                self.late[role] = path
        if not self.release.files:
            raise bad_input(
                self.release.places[0],
                wanted=f"files of {self.known}: {', '.join(self.published[:3])} …",
                found=", ".join(self.release.not_read) or "none",
                do="check the path",
            )

    def add_collection(self, source: Path) -> None:
        """Write the passages of one of the collection's files."""
        blocks = 0

        def counted() -> Iterator[Block]:
            nonlocal blocks
            for block in self.blocks_of(source):
                blocks += 1
                yield block

        self.writer.add_blocks(
            self.passages_of(),
            track(counted(), plain_name(source.name), unit="blocks"),
            self.map_shards,
        )
        if not blocks:
            raise bad_input(
                source,
                wanted="passages",
                found="an empty file",
                do="fetch it again, or remove it",
            )

    def _all_splits(
        self, attachments: Sequence[Attachment], draw: ValidationDraw, keep_unjudged: bool
    ) -> tuple[list[Split], HeldOut | None]:
        """Return the non-empty splits of the release and its attachments, and the validation
        draw.
        """
        splits = self.splits(keep_unjudged=keep_unjudged)
        held_out = self._draw_validation(splits, draw) if draw.validation_queries else None
        self._count_left_out(splits)
        splits = [split for split in splits if split.queries]
        attach(splits, attachments, keep_unjudged=keep_unjudged)
        self._count_left_out(splits)
        return splits, held_out

    def _count_left_out(self, splits: Sequence[Split]) -> None:
        self.left_out |= {split.name: split.left_out() for split in splits if split.left_out()}

    def _draw_validation(self, splits: list[Split], draw: ValidationDraw) -> HeldOut:
        """Move the drawn queries from train to validation, if the release has no validation
        queries.
        """
        by_name = {split.name: split for split in splits}
        train = by_name.get("train", Split("train"))
        validation = by_name.get("validation", Split("validation"))
        if validation.queries:
            raise SettingError(
                "--validation-queries: wanted a release without validation queries; found "
                f"{len(validation.queries):,}; leave --validation-queries out"
            )
        groupings = {draw.by: sharing_passages(train.qrels) if draw.by == HoldOut.PASSAGE else {}}
        purpose = f"{self.form} validation"
        drawn = draw_validation(
            train.queries, draw.validation_queries, draw.seed, purpose=purpose, groupings=groupings
        )
        train.queries, validation.queries = part(train.queries, drawn.query_ids)
        train.qrels, validation.qrels = part(train.qrels, drawn.query_ids)
        if validation.name not in by_name:
            splits.insert(1, validation)
        return drawn


def _refs(paths: Mapping[str, Path], out: Path) -> list[InputRef]:
    return [
        input_ref(role, path, content_digest(path), artefact=out) for role, path in paths.items()
    ]


def _remarks(source: ReleaseSource, out: Path) -> Iterator[str]:
    """Yield what of a release was missing, was not read or was left out, and what stands beside the
    collection.
    """
    if source.missing:
        yield f"not there: {', '.join(source.missing)}"
    for why in dict.fromkeys(source.not_read.values()):
        names = ", ".join(name for name, reason in source.not_read.items() if reason == why)
        yield f"not read ({why}): {names}"
    for split, counts in source.left_out.items():
        yield f"left out of {split}: {counted(counts)}"
    for run in sorted((out / "runs").glob("*.run")):
        facts = read_manifest(run).content
        queries, pairs = facts["unknown_queries"], facts["unknown_pairs"]
        unknown = (
            f"; {queries:,} queries and {pairs:,} pairs name what is not in the collection"
            if queries or pairs
            else ""
        )
        yield (
            f"candidates: {pasted(run)}, {facts['pairs']:,} of {facts['queries']:,} "
            f"queries{unknown}"
        )
    for folder in sorted((out / "trainsets").glob("*")):
        made = read_manifest(folder)
        groups = made.content_as(int, "groups")
        left_out = made.content_as(int, "lines") - groups
        yield (
            f"training groups: {pasted(folder)}, {groups:,}; {left_out:,} lines of other queries, "
            "passages or texts left out"
        )
