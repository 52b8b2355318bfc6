"""Make the results and files of ``find``: the leakage paper's Table 1 by meaning, as the paper
counts, and by words alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from positionbias.core.manifest import Manifest
from positionbias.core.publish import atomic_folder
from positionbias.leakage.find import Found, FoundPair
from positionbias.leakage.labels import DIFFERENT, TYPES
from positionbias.leakage.pairs import PAIRS
from positionbias.leakage.queries import FieldTexts
from positionbias.leakage.settings import FIELDS
from positionbias.results.leakage_pairs import (
    CANDIDATES,
    GUESSED_TYPES,
    QUERIES_READ,
    WORDS_ALONE,
    CandidateCounts,
    LabelCounts,
    QueriesRead,
    ReadCount,
    TopicsAndQueries,
)
from positionbias.results.payloads import Payload
from positionbias.results.result import Result, write_results

__all__ = ["ALL", "PAPER_FIELDS", "UNION", "found_results", "save_found", "table_1"]

ALL, UNION = "all sources", "union"
PAPER_FIELDS = ("title", "description", "variant")  # the fields whose union is in Table 1


def table_1(
    pairs: Iterable[FoundPair], sources: Sequence[str], fields: Sequence[str]
) -> CandidateCounts:
    """Count the paper's Table 1: distinct test queries ("topics") with a pair and distinct training
    queries ("queries"), by field and for the union of fields, by source and for all sources."""
    topics: dict[tuple[str, str], set[str]] = {}
    queries: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for pair in pairs:
        for row in (pair.field, UNION):
            for column in (pair.source, ALL):
                topics.setdefault((row, column), set()).add(pair.test_id)
                queries.setdefault((row, column), set()).add((pair.source, pair.train_id))
    columns = [*sources, *([ALL] if len(sources) > 1 else [])]
    counts = {
        row: {
            column: TopicsAndQueries(
                len(topics.get((row, column), ())), len(queries.get((row, column), ()))
            )
            for column in columns
        }
        for row in (*fields, UNION)
    }
    return CandidateCounts(rows=counts)


def found_results(found: Found, tests: FieldTexts, *, test_name: str) -> list[Result]:
    """Return the results: Table 1 by meaning and by words alone, the guessed types, and the counts
    read. The first ``value`` is the share of test queries with a pair."""
    sources = list(found.queries)
    searched = {text.query_id for text in tests.texts}
    fields = [name for name in FIELDS if any(text.field == name for text in tests.texts)]
    types = {name: sum(pair.type == name for pair in found.pairs) for name in (*TYPES, DIFFERENT)}
    read = {
        name: ReadCount(queries=found.queries[name], empty=found.empty[name]) for name in sources
    }
    of_field = {name: sum(text.field == name for text in tests.texts) for name in fields}
    read["test queries"] = ReadCount(queries=len(searched), texts=of_field, empty=dict(tests.empty))

    def result(measure: str, figures: Payload, value: float, count: int) -> Result:
        return Result(
            measure, test_name, "", " + ".join(sources), None, value, None, count, figures
        )

    def counted(measure: str, pairs: Sequence[FoundPair]) -> Result:
        share = len({pair.test_id for pair in pairs}) / len(searched)
        return result(measure, table_1(pairs, sources, fields), share, len(searched))

    by = {CANDIDATES: found.by_meaning, WORDS_ALONE: found.by_words_alone}
    looked = {
        "semantic": [CANDIDATES],
        "lexical": [WORDS_ALONE],
        "both": [CANDIDATES, WORDS_ALONE],
    }[found.detector]
    return [
        *(counted(measure, by[measure]) for measure in looked),
        result(GUESSED_TYPES, LabelCounts(rows=types), len(found.pairs), len(found.pairs)),
        result(
            QUERIES_READ,
            QueriesRead(rows=read),
            sum(found.queries.values()),
            sum(found.queries.values()),
        ),
    ]


def save_found(
    place: Path,
    found: Found,
    results: Sequence[Result],
    manifest: Manifest,
    *,
    overwrite: bool = False,
) -> None:
    """Write pairs (JSON lines), results and manifest as one folder, whole or not at all."""
    with atomic_folder(place, overwrite=overwrite) as partial:
        with open(partial / PAIRS, "w", encoding="utf-8", newline="\n") as lines:
            for pair in found.pairs:
                lines.write(json.dumps(asdict(pair), ensure_ascii=False, allow_nan=False) + "\n")
        write_results(partial, results, manifest)
