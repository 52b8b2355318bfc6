"""The explorer of an audit's page: the figures of every query, the texts of some, and a table of the largest effects.

Texts are read from the collection when the page is made; results hold none. Only a collection with the checksum of the audited one gives them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.audit.packed import packed, utf16
from positionbias.audit.select import series_of, system_of
from positionbias.core.collection import Collection
from positionbias.core.errors import PositionBiasError
from positionbias.core.formatting import count
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import input_name
from positionbias.report.blocks import Block, Interactive
from positionbias.report.cells import count_cell, decimal_cell, drop_constant, drop_empty, percent_cell, text_cell
from positionbias.report.load import Study
from positionbias.report.table import Column, Table
from positionbias.results.audit import DEVIATIONS, WORTH
from positionbias.results.payloads import SIZES
from positionbias.results.query_effects import QueryEffects
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["explorer_block", "largest_table", "quoted_queries"]

LARGEST = 20  # rows of the table
Found = Sequence[tuple[Result, QueryEffects]]


def explorer_block(study: Study) -> Block:
    """Return the explorer of a study's queries and the table of their largest effects; empty where no effect is known by query."""
    block, found = Block(study.title, study.number), of_type(study.results, QueryEffects)
    if not found:
        return block
    texts = _texts(study, found)
    data = {"packed": packed({**_figures(study.results, found), "texts": texts.data})}
    queries = len({query_id for _, payload in found for query_id in payload.query_ids})
    fallback = f"The list of all {count(queries)} queries needs JavaScript. The table has the largest effects."
    block.sentences.append(texts.said)
    block.interactive.append(Interactive(f"explorer-{study.number}", "Queries by effect", "explorer", data, fallback))
    block.add(largest_table(study.results), folded=True)
    return block


def _figures(results: Sequence[Result], found: Found) -> JsonObject:
    """Return the columns of all systems, each distinct one once, and each system's by its number."""
    columns: list[list[Any]] = []
    numbers: dict[str, int] = {}

    def number_of(column: Iterable[Any]) -> int:
        kept = list(column)
        number = numbers.setdefault(repr(kept), len(columns))
        if number == len(columns):
            columns.append(kept)
        return number

    series, systems = series_of(results), list[JsonObject]()
    for result, payload in found:
        named = series.get(system_of(result))
        systems.append(
            {
                "name": named.label if named is not None else result.system,
                "quality": payload.quality,
                "query": number_of(payload.query_ids),
                "passage": number_of(payload.passage_ids),
                "place": number_of(_rounded(payload.places, 3)),
                "words": number_of(payload.words),
                "before": number_of(_rounded(payload.before, 4)),
                "after": number_of(_rounded(payload.after, 4)),
                "rankBefore": number_of(payload.ranks_before),
                "rankAfter": number_of(payload.ranks_after),
                "unit": _unit(payload.moved),
                "moved": [[name, number_of(_rounded(column, 3))] for name, column in payload.moved.items()],
            }
        )
    return {"columns": columns, "systems": systems}


def _rounded(values: Iterable[float | None], decimals: int) -> list[float | None]:
    return [None if value is None else round(value, decimals) for value in values]


def _unit(contrasts: Iterable[str]) -> str:
    """Return the unit of these contrasts: deviations without a side, else shares of the evidence's worth."""
    return DEVIATIONS if set(contrasts) & set(SIZES) else WORTH


def _sizes(payload: QueryEffects) -> list[tuple[float, float]]:
    """Return the size of each query's change by rotation, then of its largest other effect; what is not known is 0."""
    moved = [0.0] * len(payload.query_ids)
    for column in payload.moved.values():
        moved = [max(size, abs(value or 0.0)) for size, value in zip(moved, column, strict=True)]
    return list(zip((abs(change or 0.0) for change in payload.changes), moved, strict=True))


def quoted_queries(payloads: Sequence[QueryEffects], most: int) -> list[str]:
    """Return the queries with the largest change of the first measure by rotation in any system, then the largest other effect, ties by id [decision]."""
    sizes: dict[str, tuple[float, float]] = {}
    for payload in payloads:
        for query_id, size in zip(payload.query_ids, _sizes(payload), strict=True):
            sizes[query_id] = max(size, sizes.get(query_id, (0.0, 0.0)))
    return sorted(sizes, key=lambda query_id: (-sizes[query_id][0], -sizes[query_id][1], query_id))[:most]


@dataclass(frozen=True, slots=True)
class _Texts:
    """The texts for the page, or none; and what the reader must know of them."""

    data: JsonObject | None
    said: str


def _texts(study: Study, found: Found) -> _Texts:
    if study.texts < 1:
        return _Texts(None, "This page holds figures only, no texts.")
    collection = _collection(study)
    if isinstance(collection, str):
        return _Texts(None, f"This page holds figures only, no texts: {collection}.")
    payloads = [payload for _, payload in found]
    queries = quoted_queries(payloads, study.texts)
    total = len({query_id for payload in payloads for query_id in payload.query_ids})
    which = f"the {count(len(queries))} queries with the largest effects" if len(queries) < total else "all queries"
    return _Texts(
        _quoted(collection, found, set(queries)),
        f"This page holds the texts of {which}. They are the collection's, under its licence.",
    )


def _collection(study: Study) -> Collection | str:
    """Return the audited collection, or why it is not at hand."""
    recorded = study.manifest.input("collection")
    if recorded is None or study.place is None:
        return "the results do not name their collection"
    try:
        collection = Collection(os.path.normpath(study.place / recorded.path))
    except PositionBiasError:
        return f"the collection {input_name(recorded.path)} was not found or cannot be read"
    return (
        collection
        if collection.checksum == recorded.checksum
        else f"the collection {input_name(recorded.path)} is not the audited one"
    )


def _quoted(collection: Collection, found: Found, queries: set[str]) -> JsonObject:
    """Return the texts of these queries and their passages, with answers by query and cuts by system and passage, in UTF-16 units."""
    chosen = {
        (query_id, passage_id)
        for _, payload in found
        for query_id, passage_id in zip(payload.query_ids, payload.passage_ids, strict=True)
        if query_id in queries
    }
    ids = sorted({passage_id for _, passage_id in chosen})
    passages = dict(zip(ids, collection.texts(ids), strict=True))
    answers: dict[str, list[int]] = {}
    cuts: list[dict[str, int]] = []
    for _, payload in found:
        cuts.append({})
        columns = (payload.query_ids, payload.passage_ids, payload.starts, payload.ends, payload.cuts)
        for query_id, passage_id, start, end, cut in zip(*columns, strict=True):
            if query_id not in queries:
                continue
            text = passages[passage_id]
            if start is not None and end is not None:
                answers[query_id] = [utf16(text, start), utf16(text, end)]
            if cut is not None:
                cuts[-1][passage_id] = utf16(text, cut)
    splits = {result.split for result, _ in found}
    asked = {name: text for split in sorted(splits) for name, text in collection.query_texts(split) if name in queries}
    return {"queries": asked, "passages": passages, "answers": answers, "cuts": cuts}


def largest_table(results: Sequence[Result]) -> Table:
    """Return the queries with the largest effects, each beside its system, for readers without the explorer."""
    found, series = of_type(results, QueryEffects), series_of(results)
    every = [(size, payload, index, result) for result, payload in found for index, size in enumerate(_sizes(payload))]
    every.sort(key=lambda one: (-one[0][0], -one[0][1], one[1].query_ids[one[2]]))
    contrasts = list(dict.fromkeys(name for _, payload in found for name in payload.moved))
    rows = []
    for _, payload, index, result in every[:LARGEST]:
        named = series.get(system_of(result))
        rows.append(
            [
                text_cell(payload.query_ids[index]),
                text_cell(named.label if named is not None else result.system),
                text_cell(payload.passage_ids[index]),
                percent_cell(payload.places[index], sign=False),
                count_cell(payload.words[index]),
                decimal_cell(payload.before[index]),
                decimal_cell(payload.after[index]),
                decimal_cell(payload.changes[index], sign=True),
                count_cell(payload.ranks_before[index]),
                count_cell(payload.ranks_after[index]),
                *(decimal_cell(_at(payload.moved, name, index), sign=True) for name in contrasts),
            ]
        )
    quality = found[0][1].quality if found else ""
    columns = [Column("Query", numeric=False), Column("System", numeric=False), Column("Passage", numeric=False)]
    columns += [Column("Place"), Column("Words"), *(Column(name, quality) for name in ("as it is", "rotated", "change"))]
    columns += [
        Column("as it is", "Rank"),
        Column("rotated", "Rank"),
        *(Column(name, _unit([name]).capitalize()) for name in contrasts),
    ]
    drop_empty(columns, rows, first=3)
    drop_constant(columns, rows, [1])
    notes = ["Place: where the answer starts, from the first word (0 %) to the last one at which it could start (100 %)."]
    return Table("largest-effects", "The largest effects by query", columns, rows, notes)


def _at(moved: Mapping[str, Sequence[float | None]], name: str, index: int) -> float | None:
    return moved[name][index] if name in moved else None
