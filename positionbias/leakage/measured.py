"""Found pairs as rows: the leakage paper's Table 1 by meaning and by words alone; and the paper's
figures, where the target has the topics of one of its three collections.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pandas import read_csv

from positionbias.core.rows import Collected, printed_cells
from positionbias.leakage.pairs import SEMANTIC, Pair
from positionbias.leakage.queries import FieldText
from positionbias.leakage.settings import FIELDS, Detector

STUDY = "leaked queries"  # of all rows about pairs of queries, and training sets with them
MEANING, WORDS = "candidates by meaning", "candidates by words alone"
ALL, UNION = "all sources", "union"

PAPER = "How Train–Test Leakage Affects Zero-shot Retrieval (SPIRE 2022)"
TARGETS = ("Robust04", "Core 2017", "Core 2018")  # as Table 1 writes them
_CSV = Path(__file__).with_name("published.csv")  # Tables 1, 2a, 2b
_TOPICS = _CSV.with_name("topics.csv")  # of each target, without 672


def collected(name: str) -> Collected:
    """Return an empty collection of rows about the pairs or queries of this name."""
    return Collected({"study": STUDY, "collection": name})


def found_rows(
    pairs: Sequence[Pair],
    sources: Sequence[str],
    texts: Sequence[FieldText],
    name: str,
    detector: Detector,
) -> Collected:
    """Return Table 1 of each detector, with the share of test queries that have a pair. By words
    alone are the pairs that the semantic detector finds in no field.
    """
    made = collected(name)
    fields = [field for field in FIELDS if any(text.field == field for text in texts)]
    tests = len({text.query_id for text in texts})
    by_meaning = [pair for pair in pairs if SEMANTIC in pair.found_by]
    known = {pair.ids for pair in by_meaning}
    by_words = [pair for pair in pairs if pair.ids not in known]
    for measure, found in {MEANING: by_meaning, WORDS: by_words}.items():
        if measure != {"semantic": WORDS, "lexical": MEANING}.get(detector):
            share = len({pair.test_id for pair in found}) / tests
            made.add(measure, "share", share, count=tests, counted="test queries")
            _table_1(made, measure, found, sources, fields)
    return made


def _table_1(
    made: Collected,
    measure: str,
    pairs: Sequence[Pair],
    sources: Sequence[str],
    fields: Sequence[str],
) -> None:
    """Count distinct test queries ("topics") with a pair and distinct training queries ("queries"),
    by field and for the union of fields, by source and for all sources.
    """
    for subset in (*fields, UNION):
        for source in (*sources, *([ALL] if len(sources) > 1 else [])):
            own = [
                pair
                for pair in pairs
                if subset in (UNION, pair.field) and source in (ALL, pair.source)
            ]
            cells: dict[str, Any] = {"subset": subset, "source": source}
            made.add(measure, "topics", len({pair.test_id for pair in own}), **cells)
            queries = {(pair.source, pair.train_id) for pair in own}
            made.add(measure, "queries", len(queries), **cells)


def target_of(query_ids: Collection[str]) -> str:
    """Return the paper's collection with exactly these topics, which a merged collection may
    prefix; "" for any other. 672, judged without a relevant document, is left out of many copies
    of Robust04.

    >>> target_of(["301", "302"])
    ''
    """
    topics = {query_id.rpartition(":")[2] for query_id in query_ids} - {"672"}
    known = read_csv(_TOPICS, index_col="collection")["topics"].str.split()
    return next((name for name, own in known.items() if topics == {*own}), "")


def add_published(made: Collected, target: str, measures: Sequence[str]) -> None:
    """Add the paper's figures of a target, and of all three together."""
    for cell in printed_cells(_CSV) if target else ():
        if cell["measure"] in measures and cell["collection"] in (target, "all three"):
            made.add(**cell)
