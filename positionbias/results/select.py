"""Select results for figures and tables, and give them the shortest distinct labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from positionbias.results.payloads import Payload
from positionbias.results.result import Result

__all__ = [
    "MODELS",
    "distinct",
    "labels",
    "of_kind",
    "of_type",
    "repeat_of",
]

T = TypeVar("T")
P = TypeVar("P", bound=Payload)

# the papers' names, those of the position-bias paper in its order
MODELS = {
    "bert_cat": "BERT_CAT",
    "bert_dot": "BERT_DOT",
    "tk": "TK",
    "colbert": "ColBERT",
    "knrm": "KNRM",
    "conv_knrm": "ConvKNRM",
    "duet": "Duet",
    "pacrr": "PACRR",
    "mono_t5": "monoT5",
}


def of_type(results: Iterable[Result], kind: type[P]) -> list[tuple[Result, P]]:
    """Return results of this payload type with their payloads, in the given order."""
    return [(result, result.payload) for result in results if isinstance(result.payload, kind)]


def of_kind(results: Iterable[Result], kind: str) -> list[Result]:
    """Return results of this kind of payload ("histogram", "ats", …), in the given order."""
    return [result for result in results if result.kind == kind]


def distinct(items: Iterable[T]) -> list[T]:
    """Return each item once, in order of first appearance."""
    return list(dict.fromkeys(items))


def repeat_of(result: Result) -> tuple[int | None, int | None]:
    """Return the repeat: the training's seed (else the measurement's own) and the rotation draw."""
    return (result.seed if result.facts.seed is None else result.facts.seed), result.facts.rotation


_FIELDS: tuple[Callable[[Result], str], ...] = (
    lambda result: result.system,
    lambda result: result.collection,
    lambda result: result.split,
    lambda result: "" if (seed := repeat_of(result)[0]) is None else f"seed {seed}",
    lambda result: "" if (draw := repeat_of(result)[1]) is None else f"draw {draw}",
)


def labels(results: Sequence[Result], *, first: int = 0) -> list[str]:
    """Return one label per result: the field numbered ``first``, then the other fields that differ
    among these results.

    Fields: 0 system, 1 collection, 2 split, 3 seed, 4 rotation draw. "tk-original" alone where all
    else is equal; "tk-original · squad" with several collections.
    """
    order = [first, *(index for index in range(len(_FIELDS)) if index != first)]
    columns = [[_FIELDS[index](result) for result in results] for index in order]
    kept = [column for number, column in enumerate(columns) if number == 0 or len(set(column)) > 1]
    return [
        " · ".join(part for part in parts if part) or "unnamed" for parts in zip(*kept, strict=True)
    ]
