"""Import MS MARCO passage ranking (Nguyen et al. 2016; Bajaj et al. 2018) as a Collection.

    collection.tsv                                     passage id, tab, text
    queries.{train,dev,eval}.tsv, queries.{dev,eval}.small.tsv    query id, tab, text
    qrels.{train,dev,dev.small}.tsv                    query id, 0, passage id, 1
    top1000.{dev,eval,train}                           query id, passage id, query, passage
    qidpidtriples…                                     query id, positive passage id, negative
                                                       passage id
    triples.train.{small,full}.tsv                     query, positive passage, negative passage

Any subset of the files will do. Splits: train; validation = dev/small; test = the other judged dev
queries; eval, without judgements. If no file says which dev queries are dev/small, all are test.
Queries without a judgement are left out if their part of the release has judgements, and counted
[decision].

Candidates become runs in the collection's folder (``runs/NAME.run``), triples training groups
(``trainsets/NAME``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.manifest import Provenance
from positionbias.core.progress import track
from positionbias.core.records import Passage
from positionbias.core.steps import MapShards
from positionbias.formats.candidates import (
    TOP1000_NOTE,
    top1000_rankings,
    write_candidates,
)
from positionbias.formats.release_import import ReleaseImport
from positionbias.formats.release_settings import MsmarcoSettings
from positionbias.formats.sources import plain_name
from positionbias.formats.splits import Split
from positionbias.formats.triples import write_triples
from positionbias.formats.validation_draw import part

LICENCE = (
    "MS MARCO (Microsoft; Nguyen et al. 2016, Bajaj et al. 2018): for non-commercial research; "
    "Microsoft grants no licence to the rights in the texts. See the terms and conditions on the "
    "data set's page."
)
FILE_OF_SPLIT = {"train": "train", "validation": "dev.small", "test": "dev", "eval": "eval"}
# qrels of eval were never published, but an export may have written them
_HELD = {
    f"{kind}.{name}"
    for kind in ("queries", "qrels")
    for name in ("train", "dev.small", "dev", "eval.small", "eval")
}
_PATTERNS = {
    "top1000": re.compile(r"top1000\.(dev|eval|train)"),
    "qidpidtriples": re.compile(r"qidpidtriples(\..+)?"),
    "triples": re.compile(r"triples\.train\.(small|full)"),
}


def role_of(name: str) -> str | None:
    """Return a file's role: its name without ``.tsv``, or None if the release has no such file."""
    role = name.removesuffix(".tsv")
    return role if kind_of(role) else None


def kind_of(role: str) -> str | None:
    """Return collection, queries, qrels, top1000, qidpidtriples or triples; else None.

    >>> kind_of("top1000.dev"), kind_of("qidpidtriples.train.full.2"), kind_of("queries.mine")
    ('top1000', 'qidpidtriples', None)
    """
    if role == "collection":
        return role
    if role in _HELD:
        return role.partition(".")[0]
    return next((kind for kind, pattern in _PATTERNS.items() if pattern.fullmatch(role)), None)


def tsv_passages(block: Block) -> Iterator[Passage]:
    """Yield the passages of a block of ``id<TAB>text`` lines; all after the first tab is text.

    Raises:
        InputError: not UTF-8, or a line without a tab or an id (numbered).
    """
    for number, line in block.lines():
        passage_id, tab, text = line.partition("\t")
        if not tab or not passage_id:
            raise block.bad_line(
                number,
                wanted="a passage: id, tab, text",
                found="no tab" if not tab else "an empty id",
                do="fix or drop the line",
            )
        yield Passage(passage_id, text)


class _Import(ReleaseImport):
    command = "import msmarco"
    form = "msmarco"
    known = "MS MARCO passage ranking"
    published = (
        "collection.tsv",
        "queries.train.tsv",
        "qrels.train.tsv",
        "queries.dev.small.tsv",
        "qrels.dev.small.tsv",
        "queries.dev.tsv",
        "qrels.dev.tsv",
        "queries.eval.tsv",
        "top1000.dev",
        "qidpidtriples*",
        "triples.train.small.tsv",
    )
    licence = LICENCE
    notes = (
        "validation is dev/small, test the other judged dev queries, eval has no judgements; "
        "queries without a judgement are left out where their part of the release has judgements, "
        "and counted.",
        "Texts are kept as they are, with the encoding faults that the release has.",
    )
    kind_of = staticmethod(kind_of)
    role_of = staticmethod(role_of)

    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        return tsv_passages

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        train = self._split("train", ("train",), keep_unjudged)
        dev = self._split("dev", ("dev.small", "dev"), keep_unjudged)
        evaluation = self._split("eval", ("eval.small", "eval"), keep_unjudged)
        held = self.held
        small = frozenset(
            held.queries("queries.dev.small")
            or {qrel.query_id for qrel in held.qrels("qrels.dev.small")}
        )
        test, validation = (
            Split("test", unjudged=dev.unjudged, without_query=dev.without_query),
            Split("validation"),
        )
        test.queries, validation.queries = part(dev.queries, small)
        test.qrels, validation.qrels = part(dev.qrels, small)
        return [train, validation, test, evaluation]

    def _split(self, name: str, parts: Sequence[str], keep_unjudged: bool) -> Split:
        roles = ([f"{kind}.{part}" for part in parts] for kind in ("queries", "qrels"))
        return self.held.split(name, *roles, keep_unjudged=keep_unjudged)

    def add_late(self, role: str, source: Path, collection: Collection, out: Path) -> None:
        if kind_of(role) == "top1000":
            rankings = track(top1000_rankings(source), plain_name(source.name), unit="queries")
            write_candidates(
                collection, out, role, rankings, command=self.command, notes=(TOP1000_NOTE,)
            )
        else:
            texts = kind_of(role) == "triples"
            write_triples(
                collection,
                out,
                role,
                source,
                texts=texts,
                command=self.command,
                map_shards=self.map_shards,
            )


def import_msmarco(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    release: MsmarcoSettings = MsmarcoSettings(),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from MS MARCO's files at ``places``: folders, archives or single files;
    earlier places take precedence.

    Without files of dev/small, validation queries are drawn from training. ``release.skip`` leaves
    out kinds of files (``kind_of``). ``content["source"]`` lists what was missing, not read and
    left out.

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
        SettingError: an impossible validation draw or an invalid attachment name.
    """
    making = _Import(places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out), settings={}, release=release, overwrite=overwrite, provenance=provenance
    )
