"""The order of systems on leaked and clean queries, in sentences: the answer, its basis, single swaps, power, and advice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from positionbias.core.csv_cells import write_rows
from positionbias.core.formatting import count, decimal, interval, p_value, percent
from positionbias.core.interval import Interval
from positionbias.core.publish import atomic_file
from positionbias.evaluation.leaked import ORDER
from positionbias.report.tiles import Answered, Tile
from positionbias.results.leaked_order import AgainstSplits, LeakedOrder, OrderAnswer, Swap
from positionbias.results.payloads import Finding
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["order_findings", "order_sentences", "order_tiles", "write_swaps"]

SHOWN = 10  # swaps named in words
_HOLDS = {OrderAnswer.CHANGED: True, OrderAnswer.UNCHANGED: False, OrderAnswer.UNKNOWN: None}
_ANSWERS = {OrderAnswer.CHANGED: Answered.YES, OrderAnswer.UNCHANGED: Answered.NO, OrderAnswer.UNKNOWN: Answered.UNKNOWN}
_NEXT = {
    OrderAnswer.CHANGED: "Compare systems on clean queries.",
    OrderAnswer.UNCHANGED: "The order on all queries can be used.",
    OrderAnswer.UNKNOWN: "Compare systems on clean queries, or judge more queries of the smaller part.",
}


def order_findings(results: Sequence[Result]) -> list[Finding]:
    """Return the findings on order among these results, one per measure."""
    found = [(result, result.payload) for result in results if isinstance(result.payload, LeakedOrder)]
    return [Finding(" ".join(order_sentences(result.measure, order)), _HOLDS[order.answer]) for result, order in found]


def order_tiles(results: Sequence[Result]) -> list[Tile]:
    """Return a tile for each order on leaked and clean queries."""
    return [_tile(result, order) for result, order in of_type(results, LeakedOrder)]


def _tile(result: Result, order: LeakedOrder) -> Tile:
    words = {
        OrderAnswer.CHANGED: "The order changes",
        OrderAnswer.UNCHANGED: "No change found",
        OrderAnswer.UNKNOWN: "Cannot tell",
    }
    effect = ""
    if order.tau is not None:
        ends = interval(Interval(*order.tau.excess_ends), sign=True)
        effect = f"{decimal(order.tau.excess, sign=True)} {ends} Kendall's τ beyond random splits"
    basis = [f"{order.leaked:,} leaked, {order.clean:,} clean queries", f"{order.systems:,} systems"]
    basis += [f"detects a gain of {decimal(order.detectable, 2)} with 80 % power"] if order.detectable is not None else []
    return Tile(
        question=f"Does leakage change the order of systems by {result.measure.removeprefix(f'{ORDER} by ')}?",
        subject=result.collection,
        answer=_ANSWERS[order.answer],
        words=words[order.answer],
        welcome=order.answer is OrderAnswer.UNCHANGED,
        effect=effect,
        basis=basis,
        advice="" if order.answer is OrderAnswer.UNCHANGED else _NEXT[order.answer],
    )


def order_sentences(measure: str, order: LeakedOrder) -> list[str]:
    """Return the findings in sentences, the answer first; ``measure`` is the result's."""
    head = f"{measure.removeprefix(f'{ORDER} by ')}: {order.answer}"
    if order.tau is None or order.swaps is None:
        return [f"{head}: {order.undefined}."]
    low, high = (decimal(end, sign=True) for end in order.tau.excess_ends)
    strata = f" and their numbers in {order.strata} classes of difficulty" if order.strata > 1 else ""
    return [
        f"{head}: Kendall's τ {decimal(order.tau.value)} between {order.leaked:,} leaked and {order.clean:,} clean queries, "
        f"{_splits(order.tau, decimal)}.",
        f"Excess {decimal(order.tau.excess, sign=True)} (90 % interval [{low}, {high}]; one-sided p {p_value(order.p)}); "
        f"{count(order.swaps.value)} of {order.pairs:,} pairs change places, {_splits(order.swaps, count)}. "
        f"Random splits keep the sizes{strata}; brackets are their middle 90 %.",
        _named(order),
        _power(order),
        _NEXT[order.answer],
    ]


def _splits(figure: AgainstSplits, form: Callable[[float], str]) -> str:
    return f"random splits {form(figure.expected)} [{form(figure.low)}, {form(figure.high)}]"


def _named(order: LeakedOrder) -> str:
    rate = percent(order.discovery_rate, 0)
    if not order.named:
        return f"Single swaps: none can be named at a false discovery rate of {rate}."
    more = len(order.named) - SHOWN
    listed = [*map(_swap, order.named[:SHOWN]), *([f"{more:,} more"] if more > 0 else [])]
    return f"Single swaps: {len(order.named):,} can be named at a false discovery rate of {rate}: {'; '.join(listed)}."


def _swap(swap: Swap) -> str:
    leads = f"{decimal(swap.lead_clean, sign=True)} on clean, {decimal(swap.lead_leaked, sign=True)} on leaked queries"
    return f"{swap.falls} falls behind {swap.behind} ({leads})"


def _power(order: LeakedOrder) -> str:
    count_of = f"{order.gaining:,} of {order.systems:,} systems"
    tried = "; ".join(f"{decimal(item.gain, 2)}: {percent(item.found, 0)}" for item in order.power)
    if order.detectable is None:
        largest = order.power[-1]
        head = f"not even a gain of {decimal(largest.gain, 2)} on leaked queries by {count_of} would be found in 80 % of cases"
    else:
        head = f"a gain of {decimal(order.detectable, 2)} on leaked queries by {count_of} would be found in 80 % of cases"
    return f"Power: {head} (planted in these data; {tried})."


def write_swaps(out: Path, swaps: Mapping[str, Sequence[Swap]], *, overwrite: bool) -> Path:
    """Write every swap of each measure as TSV, the smallest p first.

    Raises:
        OutputExistsError: something stands at ``out`` and ``overwrite`` is false.
    """
    with atomic_file(out, overwrite=overwrite) as partial, open(partial, "w", encoding="utf-8", newline="") as handle:
        rows = [("measure", "falls", "behind", "lead on clean", "lead on leaked", "p", "q")]
        for measure, found in swaps.items():
            for swap in found:
                leads = f"{swap.lead_clean:.6f}", f"{swap.lead_leaked:.6f}"
                rows.append((measure, swap.falls, swap.behind, *leads, f"{swap.p:.4g}", f"{swap.q:.4g}"))
        write_rows(handle, rows, delimiter="\t")
    return out
