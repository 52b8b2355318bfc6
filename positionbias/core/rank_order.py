"""Rank one query's passages by score with trec_eval's tie rule.

Scores are rounded to float32, ordered from high to low, equal scores by passage id descending.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.errors import InputError


class Ranking(NamedTuple):
    """One query's passages, best first: ids and float32 scores of the same length."""

    query_id: str
    passage_ids: list[str]
    scores: np.ndarray


def order_by_score(passage_ids: Sequence[str], scores: np.ndarray) -> np.ndarray:
    """Return the indices in rank order: float32 score descending, then id descending."""
    rounded = np.asarray(scores, dtype=np.float32)
    order = np.argsort(-rounded, kind="stable")
    in_order = rounded[order]
    breaks = np.flatnonzero(np.append(True, in_order[1:] != in_order[:-1])[: len(order)])
    ends = np.append(breaks[1:], len(order))
    for start, end in zip(
        breaks[tied := ends - breaks > 1].tolist(), ends[tied].tolist(), strict=True
    ):
        order[start:end] = sorted(
            order[start:end].tolist(), key=passage_ids.__getitem__, reverse=True
        )
    return order


def ranked(
    name: str, query_id: str, passage_ids: Sequence[str], scores: Sequence[float] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank order, and the scores in it; refuse repeated passages."""
    if len(set(passage_ids)) != len(passage_ids):
        seen: set[str] = set()
        twice = next(
            p
            for p in passage_ids
            if p in seen or seen.add(p)  # type: ignore[func-returns-value]
        )
        raise InputError(
            f"run {name!r}: wanted each passage once a query; found {twice!r} twice for query "
            f"{query_id!r}; drop one"
        )
    return ordered(name, query_id, passage_ids, scores)


def ordered(
    name: str,
    query_id: str,
    passage_ids: Sequence[str],
    scores: Sequence[float] | np.ndarray,
    *,
    missing: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank order, and the scores in it. With ``missing`` a NaN is a missing score,
    behind the others in the given order.

    Raises:
        InputError: a score that is not a finite number.
    """
    found = ""
    try:
        with np.errstate(over="ignore"):  # overflow becomes infinite and is refused below
            values = np.asarray(scores, dtype=np.float32)
        if not (finite := np.isfinite(values) | (np.isnan(values) & missing)).all():
            place = int(finite.argmin())
            found = f"{values[place]} for passage {passage_ids[place]!r} of query {query_id!r}"
    except (TypeError, ValueError):
        found = f"what is no number for query {query_id!r}"
    if found:
        raise InputError(
            f"run {name!r}: wanted finite scores; found {found}; check the system that made it"
        )
    order = order_by_score(passage_ids, values)
    return order, values[order]


def tag_of(name: str) -> str:
    """Return a run's name as its tag, which has no white space."""
    return "_".join(name.split()) or "posbias"


def run_stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".run")
