"""Test whether leakage changes the order of systems: Kendall's τ_b between leaked and clean
queries, against random splits (``random_splits``).

p is one-sided, as leakage that changes the order makes the parts agree less:

    p = (1 + splits with τ no larger) / (1 + splits)
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from positionbias.evaluation.random_splits import Marked, random_parts
from positionbias.evaluation.rank_correlation import agreement
from positionbias.evaluation.records import LeakedOrder

SPLITS = 1_999


def order_found(marked: Marked, *, seed: int) -> LeakedOrder:
    """Test the order of two or more systems on leaked against clean queries; it is undefined
    without a clean query.
    """
    systems, leaked = len(marked.values), int(marked.sizes[marked.leaked].sum())
    pairs, strata = systems * (systems - 1) // 2, len(np.unique(marked.strata))
    order = LeakedOrder(
        leaked, int(marked.sizes.sum()) - leaked, systems, pairs, splits=SPLITS, strata=strata
    )
    if not order.clean:
        return replace(order, undefined="no clean query")
    observed = agreement(*marked.parts(marked.leaked[None]))
    tau = float(observed.tau[0])
    if np.isnan(tau):
        return replace(order, undefined="all systems tie on leaked or on clean queries")
    null = agreement(*random_parts(marked, SPLITS, seed=seed)).tau
    null = null[~np.isnan(null)]
    p = (1 + int((null <= tau).sum())) / (1 + len(null))
    return replace(order, tau=tau, expected=float(null.mean()), p=p, swaps=int(observed.swaps[0]))
