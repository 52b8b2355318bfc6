"""The contamination paper's Table 1 and Table 2 of a study's results, with the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.convergence import UNFINISHED
from positionbias.evaluation.letters import LEVEL
from positionbias.evaluation.significance import HOLM
from positionbias.report.cells import OVER_NOTE, P_NOTE, decimal_cell, text_cell
from positionbias.report.contamination_names import loss_name
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.contamination import (
    CONTAMINATION,
    STANDARD,
    clean_of,
    clean_systems,
    comparisons_along,
    distilled,
    first_stages,
    largest_shares,
    targets_of,
)
from positionbias.results.result import Facts, Result
from positionbias.results.select import MODELS, distinct, model_name

__all__ = ["contamination_table", "sources_table"]

DAGGER, DOUBLE = "†", "‡"  # uncorrected, and after Holm's correction
EMPTY = Cell("")
Key = tuple[str, str, Facts]  # target, measure, system


def _marks(results: Sequence[Result], axis: str) -> dict[Key, str]:
    """Mark each figure whose comparison along this axis is significant, before and after correction."""
    found = {}
    for result, payload in comparisons_along(results, axis):
        corrected = payload.p_adjusted.get(HOLM)
        mark = DOUBLE if _below(corrected) else DAGGER if _below(payload.p) else ""
        found[result.split, result.measure, result.facts] = mark
    return found


def _below(p: float | None) -> bool:
    return p is not None and p < LEVEL


class _Rows:
    """Rows of ours and the paper's below each other; the column that says whose they are goes where nothing is printed."""

    def __init__(self, results: Sequence[Result], published: Published | None, table: int, axis: str) -> None:
        self.values = {(r.split, r.measure, r.facts): r for r in distilled(results)}
        self.published, self.table, self.marks = published, table, _marks(results, axis)
        self.body: list[list[Cell]] = []
        self.printed = False

    def add(self, stub: Sequence[str], keys: Sequence[Key], *, intervals: bool = False) -> None:
        """A row of ours, and one of the paper's where it prints any of it."""
        names = [text_cell(name) for name in stub]
        ours = [self._ours(key, intervals) for key in keys]
        if all(cell.value is None for cell in ours):
            return
        self.body.append([*names, text_cell("ours"), *ours])
        theirs = [self._theirs(key) for key in keys]
        if any(cell.text for cell in theirs):
            self.printed = True
            named = [text_cell(name.removesuffix(f", {UNFINISHED}")) for name in stub]
            self.body.append([*named, text_cell("published"), *theirs])

    def _ours(self, key: Key, intervals: bool) -> Cell:
        result = self.values.get(key)
        if result is None:
            return EMPTY
        cell = decimal_cell(result.value, result.interval, letters=self.marks.get(key, ""))
        return cell if intervals or not cell.brief else replace(cell, text=cell.brief)

    def _theirs(self, key: Key) -> Cell:
        target, measure, facts = key
        cell = self.published.find(self.table, target, measure, facts=facts) if self.published else None
        return decimal_cell(cell.value) if cell else EMPTY

    def make(self, name: str, title: str, stub: Sequence[str], columns: Sequence[Column], notes: Sequence[str]) -> Table:
        """The table, with a note on what is published."""
        heads = [*(Column(text, numeric=False) for text in stub), Column("", numeric=False)]
        if not self.printed:
            del heads[-1]
            for row in self.body:
                del row[len(stub)]
        remarks = [*notes, *(_beside(self.published) if self.published and self.printed else [])]
        return Table(name, title, [*heads, *columns], self.body, remarks, stub=len(stub) + self.printed)


def _beside(published: Published) -> list[str]:
    began = "; ".join(
        f"beside {MODELS.get(model, model)} stands a model that began with {what}"
        for model, what in published.pretrained.items()
    )
    return [
        f"Published: {published.paper}; its marks of significance are left out. Ours is another experiment, not a repetition of it: {began}."
    ]


def contamination_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Table 1: every teacher and student by target and measure; a contaminated row's figures are of what contaminated it."""
    targets, measures = targets_of(results), distinct(result.measure for result in distilled(results))
    columns = [Column(measure, target) for target in targets for measure in measures]
    rows = _Rows(results, published, 1, STANDARD)
    first = first_stages(results)
    if first:
        cells = [first.get((target, measure)) for target in targets for measure in measures]
        plain = [decimal_cell(result.value) if result else EMPTY for result in cells]
        rows.body.append([text_cell("BM25"), EMPTY, EMPTY, EMPTY, text_cell("ours"), *plain])
    largest = largest_shares(result.facts for result in distilled(results))
    for facts in clean_systems(results):
        stub = (facts.role, model_name(facts), loss_name(facts))
        rows.add((*stub, "no"), [(target, measure, facts) for target in targets for measure in measures])
        own = {target: replace(facts, source=target) for target in targets}
        own |= {of.source: of for of in largest if clean_of(of) == facts}
        keys = [(target, measure, own[target]) for target in targets for measure in measures]
        shares = distinct(f"{of.share:g}" for of in own.values() if of.share not in (None, 1.0))
        rows.add((*stub, "yes" + (f", share {' / '.join(shares)}" if shares else "")), keys)
    notes = (
        "A contaminated teacher was trained on the judgements of the target in whose column it stands, beside its other training data; "
        "a contaminated student was distilled from it and saw none of them. BM25 is what all of them re-rank.",
        f"Against the clean teacher: {DAGGER} p < {LEVEL:g}, uncorrected as in the paper; "
        f"{DOUBLE} p < {LEVEL:g} after Holm's correction over all of a measure.",
        P_NOTE,
        f"A query's value is its mean over training seeds. {OVER_NOTE}",
    )
    names = ("Role", "Model", "Loss", "Contaminated")
    return rows.make("contamination", "Effectiveness with clean and with contaminated teachers", names, columns, notes)


def sources_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Table 2: every student, and its teacher, on every target by what contaminated the teacher; the paper's are of KL students."""
    targets, measures = targets_of(results), distinct(result.measure for result in distilled(results))
    rows = _Rows(results, published, 2, CONTAMINATION)
    largest = largest_shares(result.facts for result in distilled(results))
    for facts in clean_systems(results):
        kept = [of for target in targets for of in largest if of.source == target and clean_of(of) == facts]
        for of in (facts, *kept) if kept else ():
            stub = (facts.role, model_name(facts), loss_name(facts), of.source or "none")
            rows.add(stub, [(target, measures[0], of) for target in targets], intervals=True)
    columns = [Column(target, f"{measures[0]} [95\u00a0%]") for target in targets]
    notes = (
        f"Against the same system with nothing contaminated: {DAGGER} p < {LEVEL:g}, uncorrected; {DOUBLE} after "
        "Holm's correction, over all systems on the targets that contaminated them, and over all on the other targets.",
        f"{P_NOTE} {OVER_NOTE}",
    )
    names = ("Role", "Model", "Loss", "Source of contamination")
    return rows.make("contamination-sources", "Contamination source and target", names, columns, notes)
