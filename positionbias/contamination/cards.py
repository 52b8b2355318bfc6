"""Show suspicions on a page: a card per model, with the answer and its reasons."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.blocks import Answer, Block, Card
from positionbias.results.result import Result
from positionbias.results.select import of_type
from positionbias.results.suspicion import LIMITS, Suspected, Suspicion

__all__ = ["add_suspicions"]

_SURE = {Suspected.YES: "beyond", Suspected.NO: "none", Suspected.UNKNOWN: "unknown"}


def add_suspicions(block: Block, results: Sequence[Result]) -> None:
    """Add a card per suspected model, in the order of the call, and the limits of the answers."""
    answers: dict[str, list[Answer]] = {}
    for result, found in of_type(results, Suspicion):
        answers.setdefault(result.system, []).append(_answer(found))
    block.cards += [Card(f"{system}: contaminated?", own) for system, own in answers.items()]
    block.sentences += LIMITS if answers else []


def _answer(found: Suspicion) -> Answer:
    facts = f"{found.seen} against {found.other}"
    return Answer(
        f"{found.answer[:1].upper()}{found.answer[1:]}",
        facts,
        list(found.sentences),
        _SURE[found.answer],
    )
