"""Where a study's result goes against the paper, said beside what the paper prints."""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.core.formatting import percent
from positionbias.core.manifest import Manifest
from positionbias.report.load import Study
from positionbias.report.published import Published
from positionbias.results.payloads import Comparison, Finding
from positionbias.results.published import DELTA, PublishedCell
from positionbias.results.result import Facts, Result
from positionbias.studies.published import published_for

__all__ = ["MARGIN", "against_change", "against_mats", "against_training", "against_transfer"]

MARGIN = 0.03  # a change whose whole interval lies within ±3 % is called none [decision]
APART = 0.005  # two printed means that differ by less are called alike [decision]
LOOK = "look for the reason before calling it a finding"


def published_of(results: Sequence[Result]) -> Published | None:
    """What the paper prints of the collections that these results are of."""
    return published_for(Study(1, "", "", list(results), Manifest("results", "", "")))


def _cell(
    results: Sequence[Result], result: Result, measure: str, facts: Facts, tables: Sequence[int] = (3, 4)
) -> PublishedCell | None:
    paper = None if result.facts.unfinished else published_of(results)  # what the paper prints is of finished trainings
    found = [paper.find(table, result.collection, measure, facts=facts, split="test") for table in tables] if paper else []
    return next((cell for cell in found if cell is not None), None)


def _direction(value: float, margin: float) -> str:
    return "a fall" if value < -margin else "a rise" if value > margin else f"no change beyond ±{percent(margin, 0)}"


def against_change(results: Sequence[Result], measure: str, result: Result, holds: bool | None) -> list[Finding]:
    """``result`` compares the test sets for one system; ``holds`` says whether there is a change, None where that is open."""
    assert isinstance(result.payload, Comparison)
    trained = Facts(model=result.facts.model, training=result.facts.training)
    cell = _cell(results, result, f"{measure} {DELTA}", trained)
    if holds is None or cell is None:
        return []
    ours = "no change" if not holds else "a fall" if result.payload.difference < 0 else "a rise"
    theirs = _direction(cell.value, MARGIN)
    if theirs.startswith(ours):
        return []
    text = f"Against the paper: for {result.system} it prints Δ {percent(cell.value, sign=True)} ({cell.place}), {theirs}; here it is {ours}; {LOOK}."
    return [Finding(text, None)]


def against_training(results: Sequence[Result], measure: str, result: Result, test: str, better: bool | None) -> list[Finding]:
    """``result`` compares the trainings of one model on the ``test`` passages; ``better`` the rotated one, None where that is open."""
    facts = result.facts
    original, rotated = (
        _cell(results, result, measure, Facts(model=facts.model, training=training, test=test))
        for training in ("original", "rotated")
    )
    if better is None or original is None or rotated is None:
        return []
    difference = rotated.value - original.value
    if abs(difference) < APART or (difference > 0) == better:
        return []
    text = (
        f"Against the paper: on the {test} test passages it prints {measure} {original.value:.3f} for {facts.model} trained on original "
        f"and {rotated.value:.3f} on rotated passages ({original.place}, and the row below it); here the order is the other; {LOOK}."
    )
    return [Finding(text, None)]


def against_mats(results: Sequence[Result], result: Result, falls: bool) -> list[Finding]:
    """``result`` probes a model trained on original passages; ``falls`` whether MATS is lower after training on rotated ones."""
    paper, model = None if result.facts.unfinished else published_of(results), result.facts.model
    found = [
        paper.find(2, result.collection, "MATS", facts=Facts(model=model, training=training, test="original"))
        if paper
        else None
        for training in ("original", "rotated")
    ]
    if found[0] is None or found[1] is None or falls:
        return []
    text = f"Against the paper: it prints MATS {found[0].value:.3f} and {found[1].value:.3f} ({found[0].place}, and the row below it)"
    return [Finding(f"{text}: a fall; {LOOK}.", None)]


def against_transfer(results: Sequence[Result], measure: str, one: Result, other: Result, better: bool | None) -> list[Finding]:
    """``one`` and ``other`` are two rows of Table 5; ``better`` says whether the other is, None where that is open."""
    cells = [_cell(results, item, measure, item.facts, (5,)) for item in (one, other)]
    if better is None or cells[0] is None or cells[1] is None:
        return []
    difference = cells[1].value - cells[0].value
    if difference == 0 or (difference > 0) == better:
        return []
    text = (
        f"Against the paper: it prints {measure} {cells[0].value:.3f} ({cells[0].place}) and {cells[1].value:.3f} ({cells[1].place}); "
        f"here the order of {one.system} and {other.system} is the other; {LOOK}."
    )
    return [Finding(text, None)]
