"""Read the queries of both sides: training queries streamed from any number of sources, test
queries with their fields.

A training source is read again for each pass, so memory does not grow with its queries. A query
without a letter or digit is empty: it is counted and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from positionbias.core.blocks import file_blocks
from positionbias.core.closest import or_closest
from positionbias.core.collection import Collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.records import Query
from positionbias.leakage.settings import FIELDS

__all__ = [
    "FieldText",
    "FieldTexts",
    "TrainSource",
    "add_variants",
    "collection_source",
    "field_texts",
    "read_query_lines",
    "tsv_queries",
    "tsv_source",
]

_VARIANT = re.compile(r"variant\d*\Z")
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class TrainSource:
    """A named source of training queries; ``read`` yields (id, text) of all, in the same order each
    time.
    """

    name: str
    read: Callable[[], Iterator[tuple[str, str]]]

    def take(self, numbers: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return (id, text) of the queries with these numbers, by number."""
        wanted = set(numbers)
        return {number: query for number, query in enumerate(self.read()) if number in wanted}


class FieldText(NamedTuple):
    """One text of a test query; a query may have several in the field "variant"."""

    query_id: str
    field: str
    text: str


class FieldTexts(NamedTuple):
    """The searched texts of test queries, and the number of empty ones, by field."""

    texts: list[FieldText]
    empty: Mapping[str, int]


def is_empty(text: str) -> bool:
    """Return True if a text has no letter or digit."""
    return _WORD.search(text) is None


def read_query_lines(path: Path | str) -> Iterator[tuple[str, str]]:
    """Stream (id, text) of each line ``id TAB text``, plain or compressed; texts may be empty, and
    blank lines are skipped.

    Raises:
        InputError: a line without a tab or id, or with more than two columns (numbered); not UTF-8;
            or no lines.
    """
    none = True
    for block in file_blocks(path):
        for number, line in block.lines():
            if not line.strip():
                continue
            none = False
            columns = line.split("\t")
            query_id = columns[0].strip()
            if len(columns) != 2 or not query_id:
                found = (
                    "no id"
                    if not query_id
                    else "no tab"
                    if len(columns) == 1
                    else f"{len(columns)} columns"
                )
                raise block.bad_line(
                    number, wanted="a query: id, tab, text", found=found, do="fix or drop the line"
                )
            yield query_id, columns[1].strip()
    if none:
        raise bad_input(path, wanted="queries: id, tab, text", found="none", do="check the path")


def tsv_source(name: str, path: Path | str) -> TrainSource:
    """Return a training source in a TSV file."""
    return TrainSource(name, lambda: read_query_lines(path))


def collection_source(name: str, collection: Collection, split: str) -> TrainSource:
    """Return a training source in a collection's split."""
    return TrainSource(name, lambda: collection.query_texts(split))


def tsv_queries(path: Path | str) -> list[Query]:
    """Read the test queries of a TSV file; repeated ids give variants.

    Raises:
        InputError: as ``read_query_lines``.
    """
    found: dict[str, Query] = {}
    for query_id, text in read_query_lines(path):
        known = found.get(query_id)
        found[query_id] = Query(query_id, text) if known is None else _with_variant(known, text)
    return list(found.values())


def _with_variant(query: Query, text: str) -> Query:
    count = sum(_VARIANT.match(name) is not None for name in query.fields)
    return replace(query, fields={**query.fields, f"variant{count + 1}": text})


def add_variants(queries: Sequence[Query], path: Path | str) -> tuple[list[Query], int]:
    """Add a file's variants (query id, tab, text; several lines per id) to the queries; also return
    the number of lines for other queries.

    Raises:
        InputError: as ``read_query_lines``; or no line for these queries.
    """
    found = {query.query_id: query for query in queries}
    added = others = 0
    for query_id, text in read_query_lines(path):
        if query_id in found:
            found[query_id] = _with_variant(found[query_id], text)
            added += 1
        else:
            others += 1
    if not added:
        do = "check that the file belongs to these queries"
        raise bad_input(
            path,
            wanted="variants of the test queries",
            found=f"{others:,} lines for other queries",
            do=do,
        )
    return list(found.values()), others


def field_texts(queries: Sequence[Query], fields: Sequence[str] = ()) -> FieldTexts:
    """Return the texts of test queries by field, for these ``fields`` (default: all of ``FIELDS``).

    A query's own text is its title if any of the queries has a description or narrative, else its
    field "query". Other fields (a type, a domain) are ignored.

    Raises:
        SettingError: an unknown field, or no query with a text in these fields.
    """
    for name in fields:
        if name not in FIELDS:
            raise SettingError(
                f"--field: wanted one of {', '.join(FIELDS)}; found {name!r}; "
                f"{or_closest(name, FIELDS, 'give one of these')}"
            )
    texts: list[FieldText] = []
    empty: dict[str, int] = {}
    seen: set[str] = set()
    own = (
        "title"
        if any(query.fields.keys() & {"description", "narrative"} for query in queries)
        else "query"
    )
    for query in queries:
        for name, text in ((own, query.text), *query.fields.items()):
            field = "variant" if _VARIANT.match(name) else name
            if field not in FIELDS:
                continue
            seen.add(field)
            if fields and field not in fields:
                continue
            if is_empty(text):
                empty[field] = empty.get(field, 0) + 1
            else:
                texts.append(FieldText(query.query_id, field, text))
    if not texts:
        found = ", ".join(name for name in FIELDS if name in seen) or "no text"
        raise SettingError(
            f"--field: wanted test queries with text in {', '.join(fields or FIELDS)}; found "
            f"{found}; give another"
        )
    return FieldTexts(texts, empty)
