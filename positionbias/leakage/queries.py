"""Queries of both sides: training queries streamed from any number of sources, test queries with
their fields.

A training source is read again for each pass, so memory does not grow with its queries. A query
without a letter or digit is left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from positionbias.core.blocks import file_lines
from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, bad_input
from positionbias.core.records import Query
from positionbias.leakage.settings import FIELDS

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


def is_empty(text: str) -> bool:
    """Return True if a text has no letter or digit."""
    return _WORD.search(text) is None


def _query_lines(path: Path | str) -> Iterator[tuple[str, str]]:
    """Stream (id, text) of each line ``id TAB text``, plain or compressed; blank lines are skipped.

    Raises:
        InputError: a line that is not one (numbered); not UTF-8; or no lines.
    """
    none = True
    for number, line in file_lines(path):
        if line.strip():
            none = False
            query_id, *texts = line.split("\t")
            if len(texts) != 1 or not query_id.strip():
                found, do = f"{len(texts) + 1} columns", "fix or drop the line"
                wanted = "a query: id, tab, text"
                raise bad_input(path, line=number, wanted=wanted, found=found, do=do)
            yield query_id.strip(), texts[0].strip()
    if none:
        raise bad_input(path, wanted="queries: id, tab, text", found="none", do="check the path")


def tsv_source(name: str, path: Path | str) -> TrainSource:
    """Return a training source in a TSV file."""
    return TrainSource(name, lambda: _query_lines(path))


def collection_source(name: str, collection: Collection, split: str) -> TrainSource:
    """Return a training source in a collection's split."""
    return TrainSource(name, lambda: collection.query_texts(split))


def tsv_queries(path: Path | str) -> list[Query]:
    """Read the test queries of a TSV file; repeated ids give variants.

    Raises:
        InputError: a line that is no query, or none.
    """
    queries: dict[str, Query] = {}
    for query_id, text in _query_lines(path):
        known = queries.get(query_id)
        queries[query_id] = _with_variant(known, text) if known else Query(query_id, text)
    return list(queries.values())


def _with_variant(query: Query, text: str) -> Query:
    count = sum(_VARIANT.match(name) is not None for name in query.fields)
    return replace(query, fields={**query.fields, f"variant{count + 1}": text})


def add_variants(queries: Sequence[Query], path: Path | str) -> list[Query]:
    """Add a file's variants (query id, tab, text; several lines per id) to the queries; lines of
    other queries are left out.

    Raises:
        InputError: a line that is no query; or no line for these queries.
    """
    known = {query.query_id: query for query in queries}
    lines = [line for line in _query_lines(path) if line[0] in known]
    if not lines:
        do = "check that the file belongs to these queries"
        raise bad_input(path, wanted="variants of the test queries", found="none", do=do)
    for query_id, text in lines:
        known[query_id] = _with_variant(known[query_id], text)
    return list(known.values())


def field_texts(queries: Sequence[Query]) -> list[FieldText]:
    """Return the texts of test queries by field.

    A query's own text is its title if any of the queries has a description or narrative, else its
    field "query". Other fields (a type, a domain) are ignored.

    Raises:
        InputError: no query with a text in them.
    """
    topics = any(query.fields.keys() & {"description", "narrative"} for query in queries)
    every = [
        FieldText(query.query_id, "variant" if _VARIANT.match(name) else name, text)
        for query in queries
        for name, text in (("title" if topics else "query", query.text), *query.fields.items())
    ]
    texts = [text for text in every if text.field in FIELDS and not is_empty(text.text)]
    if not texts:
        raise InputError("wanted test queries with text; found none; give others")
    return texts
