"""Import TripClick (Rekabsaz et al. 2021) as a Collection.

    benchmark/documents/docs_grp_{00…15}.txt                        TREC documents
    benchmark/topics/topics.{head,torso,tail}.{train,val,test}.txt  TREC topics
    benchmark/qrels/qrels.raw.{head,torso,tail}.{train,val}.txt     query id, 0, document id, 0 or 1
    benchmark/qrels/qrels.dctr.head.{train,val}.txt                 grades 0 to 3
    dlfiles/run.trip.BM25.{head,torso,tail}.{val,test}.txt          TREC runs
    dlfiles/triples.train.tsv                                       query, positive, negative, as
                                                                    texts
    …triple-ids….tsv                                                the same as ids (Hofstätter et
                                                                    al. 2022)

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
from pathlib import Path
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.manifest import Provenance
from positionbias.core.progress import track
from positionbias.core.records import Passage, Query
from positionbias.core.steps import MapShards
from positionbias.formats.candidates import trec_rankings, write_candidates
from positionbias.formats.markup import collapse
from positionbias.formats.release_import import Held, ReleaseImport
from positionbias.formats.release_settings import ReleaseSettings
from positionbias.formats.sources import plain_name
from positionbias.formats.splits import Split, judged_split
from positionbias.formats.trec_files import document_blocks
from positionbias.formats.trec_topics import parse_tagged
from positionbias.formats.triples import write_triples

GROUPS = ("head", "torso", "tail")
DCTR = "dctr"
PARTS = {"train": "train", "val": "validation", "test": "test"}
OF = r"\.(?:head|torso|tail)\.(?:train|val|test)"
KINDS = {  # by the name of a file, less its suffix: its role
    re.compile(r"docs_grp_\d+"): "collection",
    re.compile(rf"topics{OF}"): "queries",
    re.compile(rf"qrels\.(?:raw|dctr){OF}"): "qrels",
    re.compile(rf"run\.trip\.BM25{OF}"): "runs",
    re.compile(r"triples\.train|.*triple-ids.*"): "triples",
}
LICENCE = (
    "TripClick (Trip Database; Rekabsaz et al. 2021): for non-commercial research; no part may be "
    "shared or hosted, and models trained on it may not be shared without the owners' permission. "
    "See the terms and conditions on the data set's page."
)
# the form of the release's own script (step07_docs_create_collection.py of tripdatabase/tripclick)
DOCUMENT = re.compile(
    r"\s*<DOC>\s*<DOCNO>\s*(\S+)\s*</DOCNO>\s*(?:<TITLE>(.*?)</TITLE>\s*?\n\s*)?"
    r"(?:<URL>.*?</URL>\s*?\n\s*)?(?:<TEXT>(.*?)</TEXT>\s*?\n\s*)?</DOC>\s*",
    re.DOTALL,
)


def documents(block: Block) -> Iterator[Passage]:
    """Yield the documents of ``docs_grp_*.txt``, as title, space, abstract.

    Nothing in them is escaped, so "<" in a title or text is text. White space collapses, and the
    URL is left out [decision].

    Raises:
        InputError: not UTF-8, or a document of another form (its last line is named).
    """
    lines: list[str] = []
    for number, line in block.lines():  # noqa: B007 (the error names the last)
        lines.append(line)
        if line.rstrip() == "</DOC>":
            document = DOCUMENT.fullmatch("\n".join(lines))
            if document is None:
                break
            title, text = (collapse(document[part] or "") for part in (2, 3))
            yield Passage(document[1], " ".join(filter(None, (title, text))))
            lines = []
    if any(line.strip() for line in lines):
        raise block.bad_line(
            number,
            wanted="<DOC> with DOCNO, TITLE, URL and TEXT in this order, each closed at the end of "
            "a line, and </DOC>",
            found="a document of another form",
            do="fix the file, or fetch it again",
        )


def _plain(text: str) -> str:
    """Clean a text of a triple, which has a mark between title and abstract."""
    return collapse(text.replace("<eot>", " "))


def _topics(lines: Iterable[tuple[int, str]], place: str) -> dict[str, str]:
    text = "\n".join(line for _, line in lines)
    return {query.query_id: query.text for query in parse_tagged(text, place)}


class _Import(ReleaseImport):
    command = "import tripclick"
    form = "tripclick"
    known = "TripClick"
    published = (
        "docs_grp_*",
        *(f"topics.{group}.{part}.txt" for group in GROUPS for part in PARTS),
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

    def __init__(self, places: Sequence[Path | str], **more: Any) -> None:
        super().__init__(places, **more)
        self.held = Held(_topics)

    @staticmethod
    def kind_of(role: str) -> str | None:
        return next((kind for form, kind in KINDS.items() if form.fullmatch(role)), None)

    @staticmethod
    def role_of(name: str) -> str | None:
        role, _, suffix = name.rpartition(".")
        return role if suffix in ("txt", "tsv") and _Import.kind_of(role) else None

    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        return documents

    def blocks_of(self, source: Path) -> Iterable[Block]:
        return document_blocks(source)

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        named: dict[str, tuple[Sequence[str], str]] = {"train": (GROUPS, "train")}
        for part in ("val", "test"):
            named |= {f"{group}_{PARTS[part]}": ((group,), part) for group in GROUPS}
        return [self._split(name, *of, keep_unjudged) for name, of in named.items()]

    def _split(self, name: str, groups: Sequence[str], part: str, keep_unjudged: bool) -> Split:
        texts = self.held.queries(*(f"topics.{group}.{part}" for group in groups))
        raw, dctr = ([f"qrels.{kind}.{group}.{part}" for group in groups] for kind in ("raw", DCTR))
        further = {DCTR: self.held.qrels(*dctr)} if any(role in self.held for role in dctr) else {}
        queries = (Query(*item) for item in texts.items())
        return judged_split(
            name, queries, self.held.qrels(*raw), further=further, keep_unjudged=keep_unjudged
        )

    def add_late(self, role: str, source: Path, collection: Collection, out: Path) -> None:
        if self.kind_of(role) == "runs":
            _, group, part = role.rsplit(".", 2)
            name, rankings = f"bm25_{group}_{PARTS[part]}", trec_rankings(source)
            rankings = track(rankings, plain_name(source.name), unit="queries")
            write_candidates(collection, out, name, rankings, command=self.command)
        else:
            write_triples(
                collection,
                out,
                role,
                source,
                texts=role == "triples.train",
                text_of=_plain,
                command=self.command,
                map_shards=self.map_shards,
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

    ``skip`` leaves out kinds of files: "runs", "triples". Judgements of missing documents are kept
    and counted.

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
    """
    release = ReleaseSettings(skip=tuple(skip), keep_unjudged=keep_unjudged)
    making = _Import(places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance
    )
