"""Read PosIR's evidence spans (Zeng et al. 2026): BEIR's layout in Parquet, with the place of each
query's evidence in its one relevant passage.

A folder LANGUAGE/DOMAIN of the Hub's infgrad/PosIR-Benchmark-v1 has ``corpus.parquet``,
``queries.parquet`` and ``qrels/test.parquet``. A query has ``_id``, ``text``, ``pos_char_span``
(start and end character of the evidence) and ``pos_char_length`` (the passage's length in
characters). Read in github.com/Ziyang1060/PosIR at c8ad9bf: eval.sh, eval.py,
gradient_saliency_analysis/qwen3_exp.py.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from positionbias.core.records import Answer, Passage, Qrel, relevant_passages
from positionbias.formats.json_lines import FIX, Bad, named

SPAN_COLUMNS = ("pos_char_span", "pos_char_length")


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """Characters ``[start, end)`` of a passage, and the passage's length if known."""

    start: int
    end: int
    length: int | None


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """The manifest's facts about evidence spans: how many became answers, and how many did not, by
    cause.
    """

    answers: int
    left_out: Mapping[str, int]


def span_of(record: Mapping[str, Any], bad: Bad) -> EvidenceSpan | None:
    """Return the evidence span of a query's row, or None.

    Raises:
        InputError: a span that is not two whole numbers, or a length that is not one.
    """
    span, length = (record.get(column) for column in SPAN_COLUMNS)
    if span is None:
        return None
    if (
        not isinstance(span, list)
        or len(span) != 2
        or not all(type(place) is int for place in span)
    ):
        raise bad(wanted="'pos_char_span' as two whole numbers", found=named(span), do=FIX)
    if length is not None and type(length) is not int:
        raise bad(wanted="'pos_char_length' as a whole number", found=named(length), do=FIX)
    return EvidenceSpan(span[0], span[1], length)


def answers_of_spans(
    spans: Mapping[str, EvidenceSpan], qrels: Sequence[Qrel], passages: Iterable[Passage]
) -> tuple[list[Answer], Counter[str]]:
    """Return the text of each judged query's span as an answer, in the order of ``spans``, and
    counts of spans left out, by cause.

    The end of a span is exclusive. A span belongs to the one relevant passage of its query. If that
    passage's length differs from the row's, the span is of another text, such as a passage in
    another language, and is left out [decision].
    """
    relevant, judged = relevant_passages(qrels), {qrel.query_id for qrel in qrels}
    queries = defaultdict(list)
    causes = {
        query_id: "query without one relevant passage" for query_id in spans if query_id in judged
    }
    for query_id in causes:
        if len(own := relevant.get(query_id, ())) == 1:
            queries[own[0]].append(query_id)
            causes[query_id] = "passage not in the corpus"
    found = {}
    for passage in passages:
        for query_id in queries.get(passage.passage_id, ()):
            span = spans[query_id]
            if span.length not in (None, len(passage.text)):
                causes[query_id] = "passage length differs from pos_char_length"
            elif not 0 <= span.start < span.end <= len(passage.text):
                causes[query_id] = "span outside the passage"
            else:
                text = passage.text[span.start : span.end]
                found[query_id] = Answer(query_id, passage.passage_id, text, span.start, span.end)
    answers = [found[query_id] for query_id in causes if query_id in found]
    return answers, Counter(cause for query_id, cause in causes.items() if query_id not in found)
