"""Rank one query's passages by score with trec_eval's tie rule.

Scores are rounded to float32, ordered from high to low, equal scores by passage id descending.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from positionbias.core.errors import InputError


class Ranking(NamedTuple):
    """One query's passages, best first: ids and float32 scores of the same length."""

    query_id: str
    passage_ids: list[str]
    scores: np.ndarray


def order_by_score(
    passages: Sequence[Any] | np.ndarray, scores: np.ndarray, names: Sequence[str] = ()
) -> np.ndarray:
    """Return the indices in rank order: float32 score descending, then id descending. Passages are
    ids, or with ``names`` their positions in these.
    """
    rounded = np.asarray(scores, dtype=np.float32)
    order = np.argsort(-rounded, kind="stable")
    in_order = rounded[order]
    ties = np.flatnonzero(in_order[1:] == in_order[:-1])
    apart = np.flatnonzero(ties[1:] > ties[:-1] + 1)
    firsts, lasts = [*ties[:1], *ties[apart + 1]], [*ties[apart], *ties[-1:]]
    for first, last in zip(firsts, lasts, strict=True):
        tied = order[first : last + 2].tolist()
        ids = {place: names[passages[place]] if names else passages[place] for place in tied}
        order[first : last + 2] = sorted(tied, key=ids.__getitem__, reverse=True)
    return order


def ranked(
    source: Path | str,
    query_id: str,
    passages: Sequence[Any] | np.ndarray,
    scores: Sequence[float] | np.ndarray,
    *,
    names: Sequence[str] = (),
    missing: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank order of a query's passages, ids or with ``names`` their positions in these,
    and the scores in it. With ``missing`` a NaN is a missing score, behind the others in the given
    order.

    Raises:
        InputError: a repeated passage, or a score that is not a finite number.
    """
    fault = ""
    try:
        with np.errstate(over="ignore"):  # overflow becomes infinite and is refused below
            values = np.asarray(scores, dtype=np.float32)
        finite = np.isfinite(values) | np.isnan(values) if missing else np.isfinite(values)
        if not finite.all():
            place = int(finite.argmin())
            passage_id = names[passages[place]] if names else passages[place]
            fault = f"{values[place]} for passage {passage_id!r} of query {query_id!r}"
    except (TypeError, ValueError):
        fault = f"what is no number for query {query_id!r}"
    if fault:
        raise InputError(
            f"{source}: wanted finite scores; found {fault}; check the system that made it"
        )
    # a set of texts, and differences of numbers, are the quickest
    if not np.diff(np.sort(passages)).all() if names else len(set(passages)) < len(passages):
        twice, _ = Counter(passages).most_common(1)[0]
        raise InputError(
            f"{source}: wanted each passage once a query; found "
            f"{(names[twice] if names else twice)!r} twice for query {query_id!r}; drop one"
        )
    if (values[1:] < values[:-1]).all():
        return np.arange(len(values)), values
    order = order_by_score(passages, values, names)
    return order, values[order]


def tag_of(name: str) -> str:
    """Return a run's name as its tag, which has no white space."""
    return "_".join(name.split()) or "posbias"


def run_stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".run")
