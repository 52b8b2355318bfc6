"""Import MS MARCO document ranking, as used in TREC Deep Learning 2019 and 2020, as a Collection.

    msmarco-docs.tsv                                            document id, URL, title, body
    msmarco-doc{train,dev}-queries.tsv, docleaderboard-queries.tsv    query id, tab, text
    msmarco-doc{train,dev}-qrels.tsv                            query id, 0, document id, 1
    msmarco-doc{train,dev}-top100, msmarco-doctest{2019,2020}-top100,
    docleaderboard-top100.tsv                                   TREC runs

Any subset of the files will do. Splits: train; test = docdev; eval = docleaderboard, without
judgements; attach TREC's topics by name. Candidates become runs in the collection's folder.

A document's text is its URL, title and body, without empty ones, joined by one space, as the
track's baselines index them [decision]. URL and title in front are a position bias of the layout:
``fields`` can leave them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from positionbias.core.blocks import Block
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError
from positionbias.core.manifest import Provenance
from positionbias.core.records import Passage
from positionbias.core.steps import MapShards
from positionbias.formats.msmarco import LICENCE
from positionbias.formats.release_import import ReleaseImport
from positionbias.formats.release_settings import MsmarcoDocsSettings
from positionbias.formats.splits import Split

FIELDS = ("url", "title", "body")
_ROLES = {
    "msmarco-docs.tsv": "collection",
    "msmarco-doctrain-queries.tsv": "queries.train",
    "msmarco-doctrain-qrels.tsv": "qrels.train",
    "msmarco-docdev-queries.tsv": "queries.dev",
    "msmarco-docdev-qrels.tsv": "qrels.dev",
    "docleaderboard-queries.tsv": "queries.eval",
}
_TOP100 = re.compile(r"(msmarco-doc(?:train|dev|test20\d\d)|docleaderboard)-top100(?:\.tsv)?")


def _documents(fields: tuple[str, ...], block: Block) -> Iterator[Passage]:
    places = [1 + FIELDS.index(field) for field in fields]
    for number, line in block.lines():
        columns = line.split("\t", 3)
        if len(columns) < 4 or not columns[0]:
            raise block.bad_line(
                number,
                wanted="a document: id, URL, title, body, separated by tabs",
                found="an empty id" if len(columns) == 4 else f"{len(columns)} columns",
                do="fix or drop the line",
            )
        yield Passage(columns[0], " ".join([columns[place] for place in places if columns[place]]))


class _Import(ReleaseImport):
    command = "import msmarco-docs"
    form = "msmarco-docs"
    known = "MS MARCO document ranking"
    published = (
        *_ROLES,
        "msmarco-doctrain-top100",
        "msmarco-docdev-top100",
    )
    licence = LICENCE

    def __init__(self, fields: tuple[str, ...], places: Sequence[Path | str], **more: Any) -> None:
        super().__init__(places, **more)
        self._fields = fields
        self.notes = (
            f"A document's text is its {', '.join(fields)}, joined by one space.",
            "test is docdev, eval docleaderboard, which has no judgements; queries without a "
            "judgement are left out where their part of the release has judgements, and counted.",
        )

    @staticmethod
    def role_of(name: str) -> str | None:
        return _ROLES.get(name) or (name.removesuffix(".tsv") if _TOP100.fullmatch(name) else None)

    @staticmethod
    def kind_of(role: str) -> str | None:
        return "top100" if _TOP100.fullmatch(role) else role.partition(".")[0]

    def passages_of(self) -> Callable[[Block], Iterable[Passage]]:
        return partial(_documents, self._fields)

    def splits(self, *, keep_unjudged: bool) -> list[Split]:
        names = {"train": "train", "test": "dev", "eval": "eval"}
        return [
            self.held.split(
                split, [f"queries.{name}"], [f"qrels.{name}"], keep_unjudged=keep_unjudged
            )
            for split, name in names.items()
        ]


def import_msmarco_docs(
    places: Sequence[Path | str],
    out: Path | str,
    *,
    fields: Sequence[str] = FIELDS,
    release: MsmarcoDocsSettings = MsmarcoDocsSettings(),
    map_shards: MapShards = map,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from the files at ``places``: folders, archives or single files; earlier
    places take precedence.

    Validation queries are drawn from training. ``release.skip`` may hold "top100".

    Raises:
        InputError: nothing to read, or an invalid file (with the line).
        SettingError: an impossible validation draw, invalid ``fields`` or an invalid attachment
            name.
    """
    if not fields or set(fields) - set(FIELDS) or len(set(fields)) < len(fields):
        found = ", ".join(fields) or "none"
        raise SettingError(
            f"--fields: wanted some of {', '.join(FIELDS)}, each once; found {found}; give the "
            "fields in the order you want"
        )
    making = _Import(tuple(fields), places, skip=release.skip, map_shards=map_shards)
    return making.run(
        Path(out),
        settings={"fields": list(fields)},
        release=release,
        overwrite=overwrite,
        provenance=provenance,
    )
