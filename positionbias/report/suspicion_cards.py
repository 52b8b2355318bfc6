"""Suspicions on a page: a card per model, with the answer in large words and the sentences of its basis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from positionbias.report.blocks import Answer, Card
from positionbias.results.result import Result
from positionbias.results.suspicion import Suspected, Suspicion

__all__ = ["suspicion_cards", "suspicions"]

_SURE = {Suspected.YES: "beyond", Suspected.NO: "none", Suspected.UNKNOWN: "unknown"}


def suspicions(results: Sequence[Result]) -> Iterator[tuple[Result, Suspicion]]:
    """Yield each suspicion with its Result."""
    for result in results:
        if isinstance(result.payload, Suspicion):
            yield result, result.payload


def suspicion_cards(results: Sequence[Result]) -> list[Card]:
    """Return a card per suspected model, in the order of the call."""
    answers: dict[str, list[Answer]] = {}
    for result, found in suspicions(results):
        answers.setdefault(result.system, []).append(_answer(found))
    return [Card(f"{system}: contaminated?", own) for system, own in answers.items()]


def _answer(found: Suspicion) -> Answer:
    facts = f"{found.seen} against {found.other}"
    return Answer(f"{found.answer[:1].upper()}{found.answer[1:]}", facts, list(found.sentences), _SURE[found.answer])
