"""Example queries: the relevant passage original and rotated, side by side, with the answers marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from positionbias.core.formatting import MISSING, count, decimal
from positionbias.results.payloads import Example, Examples
from positionbias.results.result import Result
from positionbias.results.select import labels, of_kind

__all__ = ["ExampleGroup", "Piece", "ShownExample", "example_groups", "marked", "without_texts"]

Piece = tuple[str, bool]  # a piece of text, and whether it is marked


@dataclass(frozen=True, slots=True)
class ShownExample:
    """One query as shown on the page; the texts are cut into pieces, so that marking needs no markup in them."""

    query: str
    change: str
    ranks: str
    query_id: str
    passage_id: str
    original: list[Piece]
    rotated: list[Piece]


@dataclass(frozen=True, slots=True)
class ExampleGroup:
    """The examples of one system."""

    label: str
    examples: list[ShownExample]


def marked(text: str, spans: Iterable[Sequence[int]]) -> list[Piece]:
    """Return the text in pieces, marked where a span covers it; their concatenation is the text.

    Spans may overlap, touch, come in any order, or reach beyond the text; empty ones mark nothing.
    """
    pieces: list[Piece] = []
    at = 0
    inside = [(max(0, int(span[0])), min(len(text), int(span[1]))) for span in spans]
    for start, end in _joined(sorted((start, end) for start, end in inside if start < end)):
        if at < start:
            pieces.append((text[at:start], False))
        pieces.append((text[start:end], True))
        at = end
    if at < len(text) or not pieces:
        pieces.append((text[at:], False))
    return pieces


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge sorted spans that overlap or touch."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def example_groups(results: Sequence[Result]) -> list[ExampleGroup]:
    """Return the examples among the results, a group per system, in the order given."""
    groups = []
    found = of_kind(results, "examples")
    for result, label in zip(found, labels(found), strict=True):
        assert isinstance(result.payload, Examples)
        shown = [_shown(example, result.payload.quality) for example in result.payload.examples]
        if shown:
            groups.append(ExampleGroup(label, shown))
    return groups


def without_texts(results: Iterable[Result]) -> list[Result]:
    """Return the results with the ids of their examples, and without the texts of queries and passages."""
    return [
        replace(result, payload=replace(result.payload, examples=[_bare(example) for example in result.payload.examples]))
        if isinstance(result.payload, Examples)
        else result
        for result in results
    ]


def _bare(example: Example) -> Example:
    return replace(example, query="", original="", original_spans=(), rotated="", rotated_spans=())


def _shown(example: Example, quality: str) -> ShownExample:
    ranks = [MISSING if rank is None else count(rank) for rank in (example.rank_before, example.rank_after)]
    return ShownExample(
        query=example.query or example.query_id,
        change=f"{quality} {decimal(example.before)} → {decimal(example.after)}",
        ranks=f"rank {ranks[0]} → {ranks[1]}",
        query_id=example.query_id,
        passage_id=example.passage_id,
        original=marked(example.original, example.original_spans) if example.original else [],
        rotated=marked(example.rotated, example.rotated_spans) if example.rotated else [],
    )
