"""The order of systems on leaked and clean queries, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import decimal, p_value
from positionbias.evaluation.leaked import ORDER
from positionbias.results.leaked_order import LeakedOrder
from positionbias.results.payloads import Finding
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["order_findings", "order_sentence"]

LEVEL = 0.05


def order_findings(results: Sequence[Result]) -> list[Finding]:
    """Return the findings on order among these results, one per measure; a finding without a small
    p is open.
    """
    return [
        Finding(
            order_sentence(result.measure, order),
            True if order.p is not None and order.p <= LEVEL else None,
        )
        for result, order in of_type(results, LeakedOrder)
    ]


def order_sentence(measure: str, order: LeakedOrder) -> str:
    """Return τ with its p; ``measure`` is the result's."""
    head = (
        f"{measure.removeprefix(f'{ORDER} by ')}: order of systems on leaked and on clean queries"
    )
    if order.tau is None:
        return f"{head}: undefined, {order.undefined}."
    strata = (
        f" and their numbers in {order.strata} classes of difficulty" if order.strata > 1 else ""
    )
    return (
        f"{head}: Kendall's τ {decimal(order.tau)} between {order.leaked:,} leaked and "
        f"{order.clean:,} clean queries, {decimal(order.expected)} in random splits (one-sided p "
        f"{p_value(order.p)}); {order.swaps:,} of {order.pairs:,} pairs change places. Random "
        f"splits keep the sizes{strata}."
    )
