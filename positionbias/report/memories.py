"""Tables of what models remember of leaked passages, in the form of the leakage paper's Tables 6 to 8."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.report.cells import count_cell, decimal_cell, level_heading, text_cell
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.leakage import NEGATIVE_RANK, OFFSET, RANK, SCORE, WITH, WITHOUT, Memory
from positionbias.results.published import DEVIATION
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, of_type

__all__ = ["memory_tables"]

TABLES = {RANK: 6, SCORE: 7, OFFSET: 8, NEGATIVE_RANK: 0}  # the paper's; of the last it prints none
NAMES = {RANK: "memory-ranks", SCORE: "memory-scores", OFFSET: "memory-offsets", NEGATIVE_RANK: "memory-other-ranks"}
EXPLAINED = {
    RANK: "The rank in the re-ranked candidates, of a passage that was not retrieved by its score among them.",
    SCORE: "The model's own score; models have scales of their own.",
    OFFSET: "By topic the mean of (rank of the leaked non-relevant passage − rank of the leaked relevant one); the difference is the "
    "increase by leakage.",
    NEGATIVE_RANK: "As the ranks of the relevant ones.",
}


def memory_tables(results: Sequence[Result], published: Published | None = None) -> list[Table]:
    """A table for each of rank, score, offset, and the rank of the non-relevant, where there are any."""
    found = of_type(results, Memory)
    tables = (_table([item for item in found if item[0].measure == measure], measure, published) for measure in TABLES)
    return [table for table in tables if table.rows]


def _table(found: Sequence[tuple[Result, Memory]], measure: str, published: Published | None) -> Table:
    places = 2 if measure in (RANK, NEGATIVE_RANK) else 3
    body: list[list[Cell]] = []
    printed = False
    for result, memory in found:
        stub = [text_cell(result.facts.variant), text_cell(MODELS.get(result.facts.model, result.facts.model))]
        values = (memory.with_mean, memory.with_deviation, memory.without_mean, memory.without_deviation)
        body.append(
            [
                *stub,
                text_cell("ours"),
                *(decimal_cell(value, places=places) for value in values),
                decimal_cell(result.value, result.interval, places=places, sign=True),
                decimal_cell(memory.difference_deviation, places=places),
                count_cell(memory.count),
                count_cell(memory.repeats),
            ]
        )
        theirs = _printed(result, measure, published)
        if any(value is not None for value in theirs):
            printed = True
            cells = [decimal_cell(value, places=places, sign=place == 4) for place, value in enumerate(theirs)]
            body.append([*stub, text_cell("published"), *cells, Cell(""), Cell("")])
    columns = [Column(name, numeric=False) for name in ("Leakage", "Model", "")]
    columns += [Column(name, side) for side in (WITH.capitalize(), WITHOUT.capitalize()) for name in ("Mean", "Deviation")]
    columns += [Column(level_heading("Difference", (r.interval for r, _ in found))), Column("Its deviation")]
    columns += [Column("Topics" if measure == OFFSET else "Passages"), Column("Models")]
    if not printed:
        del columns[2]
        for row in body:
            del row[2]
    notes = [
        EXPLAINED[measure],
        "Each model with leakage stands against the one that was trained alike without it (size, seed); intervals over topics.",
        *(
            [f"Published: {published.paper}. Ours is another experiment, not a repetition of it."]
            if published and printed
            else []
        ),
    ]
    title = measure[:1].upper() + measure[1:]
    return Table(NAMES[measure], title, columns, body, notes, stub=2 + printed)


def _printed(result: Result, measure: str, published: Published | None) -> list[float | None]:
    """The paper's figures where ours stand: mean and deviation with, without, the difference and its deviation."""
    facts = Facts(model=result.facts.model, variant=result.facts.variant)

    def figure(name: str) -> float | None:
        cell = published.find(TABLES[measure], result.collection, name, facts=facts) if published else None
        return cell.value if cell else None

    if measure == OFFSET:
        return [None, None, None, None, figure(OFFSET), figure(f"{OFFSET} {DEVIATION}")]
    states = [f"{measure}, {state}" for state in (WITH, WITHOUT)]
    found = [figure(name) for state in states for name in (state, f"{state} {DEVIATION}")]
    difference = found[0] - found[2] if found[0] is not None and found[2] is not None else None
    return [*found, difference, None]
