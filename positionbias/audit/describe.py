"""Describe the quality of a ranking by the place of its evidence, without a conclusion: it mixes a
system's preference with the difficulty of the questions.

    PSI = 1 − min_b m_b / max_b m_b,
    m_b the mean of the measure over the queries whose evidence lies in share b of its passage

PSI is never negative, and noise alone raises it, more with fewer queries. So it comes with its mean
where values are shuffled over the queries, and p = (1 + #{PSI* ≥ PSI}) / (1 + shuffles).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from positionbias.audit.systems import Rows, Task
from positionbias.core.seeds import generator
from positionbias.evaluation.bootstrap import span_of
from positionbias.evaluation.clustered import clustered_mean

POSITION, PSI = "position", "PSI"
SHARES, QUERIES_A_SHARE, FEWEST = 20, 30, 20  # most shares; queries in one on average, and at least
SHUFFLES = 1_000


def position_rows(task: Task, values: np.ndarray, measure: str, seed: int) -> Rows:
    """Return the mean of a measure, ``values (queries,)``, in each of 2 to 20 equal shares of the
    passage that holds at least 20 queries, then PSI. Answers that fill their passage have no place.
    """
    places = np.array([item.relative for item in task.evidence.by_query.values()])
    known = np.flatnonzero(~np.isnan(places))
    shares = min(SHARES, max(2, len(known) // QUERIES_A_SHARE))
    share = np.minimum((places[known] * shares).astype(np.int64), shares - 1)
    clusters, rows = np.array(task.clusters, dtype=np.str_), []
    held = [place for place in range(shares) if (share == place).sum() >= FEWEST]
    common: dict[str, Any] = {"measure": measure, "counted": "queries"}
    for place in held:
        here = known[share == place]
        mean = clustered_mean(values[here], clusters[here].tolist(), span_of(values))
        row = {"statistic": "mean", "value": mean.value, "bounds": mean.interval}
        row |= {"axis": POSITION, "at": (place + 0.5) / shares, "count": len(here)}
        label = f"{place / shares:.2f} to {(place + 1) / shares:.2f}"
        rows.append({**common, **row, "label": label})
    used = np.isin(share, held)
    rows.append({**common, "statistic": PSI, "value": None, "count": int(used.sum())})
    if len(held) < 2:
        rows[-1]["reason"] = f"fewer than two shares with {FEWEST} queries"
        return rows
    by_share = np.lexsort((values[known][used], share[used]))  # whatever the order of queries
    numbers = np.searchsorted(held, share[used][by_share])
    own = values[known][used][by_share]
    counts, draw = np.bincount(numbers), generator(seed, "position permutations")
    psi = psi_of(np.bincount(numbers, own) / counts)
    shuffled = (draw.permutation(own) for _ in range(SHUFFLES))
    drawn = np.array([psi_of(np.bincount(numbers, each) / counts) for each in shuffled])
    rows[-1] |= {
        "value": psi,
        "expected": float(drawn.mean()),
        "p": float((1 + (drawn >= psi - 1e-12).sum()) / (1 + SHUFFLES)),
        "reason": "every mean is 0" if np.isnan(psi) else "",
    }
    return rows


def psi_of(means: np.ndarray) -> float:
    """Return the position sensitivity index of means ``(shares,)``; NaN where none is above 0.

    Example:
        >>> psi_of(np.array([0.8, 0.6, 0.4]))
        0.5
    """
    return float(1 - means.min() / means.max()) if means.max() > 0 else float("nan")
