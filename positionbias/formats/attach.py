"""Attach more queries and judgements to a release, such as TREC Deep Learning, DL-Hard or your own.

Queries are TSV (``id<TAB>text``) or TREC topics; judgements have TREC's four columns. The content
identifies the format.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from positionbias.core.blocks import file_lines
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.files import input_errors, open_bytes
from positionbias.core.qrels import parse_qrels
from positionbias.core.records import Qrel, Query
from positionbias.formats.splits import Split, judged_split
from positionbias.formats.trec_topics import read_topics

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class Attachment(NamedTuple):
    """``--attach NAME QUERIES QRELS``: a split and the two files it comes from."""

    name: str
    queries: Path
    qrels: Path


def parse_queries(lines: Iterable[tuple[int, str]], source: Path | str) -> dict[str, str]:
    """Parse numbered lines ``id<TAB>text`` into query texts by id, split at the first tab.

    Raises:
        InputError: a line without a tab or an id, a repeated id, or no lines.
    """
    texts: dict[str, str] = {}
    for number, line in lines:
        query_id, tab, text = line.partition("\t")
        if not tab or not query_id or query_id.split() != [query_id]:
            raise bad_input(
                source,
                line=number,
                wanted="a query: id (without spaces), tab, text",
                found="no tab" if not tab else f"the id {query_id!r}",
                do="fix or drop the line",
            )
        if query_id in texts:
            raise bad_input(
                source,
                line=number,
                wanted="every query id once",
                found=f"{query_id!r} again",
                do="rename or drop one",
            )
        texts[query_id] = text
    if not texts:
        raise bad_input(
            source, wanted="queries: id, tab, text", found="an empty file", do="check the path"
        )
    return texts


def read_queries(path: Path | str) -> list[Query]:
    """Read the queries of a file, TSV or TREC topics, plain or compressed.

    Raises:
        InputError: no such file, an unknown format, a malformed line (numbered), or a repeated id.
    """
    path = Path(path)
    with input_errors(path, wanted="queries"), open_bytes(path) as handle:
        start = handle.read(1 << 12)
    if start.removeprefix(BOM_UTF8).lstrip().startswith(b"<"):
        return read_topics(path)
    return [
        Query(query_id, text) for query_id, text in parse_queries(file_lines(path), path).items()
    ]


def read_judgements(path: Path | str) -> list[Qrel]:
    """Read judgements: four columns separated by spaces or tabs, plain or compressed.

    Raises:
        InputError: no such file, a malformed line (numbered), a pair judged twice, or an empty
            file.
    """
    return parse_qrels(file_lines(path), path)


def attach(
    splits: list[Split], attachments: Sequence[Attachment], *, keep_unjudged: bool = False
) -> None:
    """Add each attachment to ``splits`` as a new split, or, named ``SPLIT.SET``, as another
    judgement set of an existing split.

    Queries without a judgement are left out of a new split and counted (``judged_split``).

    Raises:
        InputError: an unreadable file, queries and judgements without a common query, or a query
            whose text differs in the split.
        SettingError: a name that is taken or not a plain word, or a judgement set of an unknown
            split.
    """
    for attachment in attachments:
        name, dot, further = attachment.name.partition(".")
        if not _NAME.fullmatch(name) or (dot and not _NAME.fullmatch(further)):
            raise SettingError(
                f"--attach: wanted a name of letters, digits, - and _; found {attachment.name!r}; "
                "give another"
            )
        present = next((split for split in splits if split.name == name), None)
        if dot and present is None:
            raise SettingError(
                f"--attach: wanted split {name!r} before {attachment.name!r}; found no such split; "
                "attach it first"
            )
        if present is not None and (not dot or further in present.further):
            raise SettingError(
                f"--attach: wanted a new name; found {attachment.name!r}, which is taken; "
                "give another, or SPLIT.SET for further judgements of a split"
            )
        queries, qrels = read_queries(attachment.queries), read_judgements(attachment.qrels)
        split = judged_split(
            name,
            queries if present is None else present.queries,
            qrels,
            keep_unjudged=keep_unjudged,
        )
        if not split.qrels:
            raise InputError(
                f"{attachment.qrels}: wanted judgements of the queries in {attachment.queries}; "
                "found none of them; check that the files belong together"
            )
        if present is None:
            splits.append(split)
        else:
            _check_texts(present, queries, attachment.queries)
            present.further[further] = split.qrels
            present.without_query += split.without_query


def _check_texts(split: Split, queries: Iterable[Query], path: Path) -> None:
    texts = {query.query_id: query.text for query in split.queries}
    for query in queries:
        if texts.get(query.query_id, query.text) != query.text:
            raise bad_input(
                path,
                wanted=f"the queries of split {split.name!r}",
                found=f"another text for query {query.query_id!r}",
                do="give the split's own queries",
            )
