"""The TripClick paper's Tables 1 and 2 of a study's results, with the paper's rows beside ours; and the tests of its systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from positionbias.core.convergence import ended_name
from positionbias.evaluation.letters import LEVEL
from positionbias.evaluation.significance import HOLM
from positionbias.report.cells import (
    OVER_NOTE,
    P_NOTE,
    count_cell,
    decimal_cell,
    drop_columns,
    level_heading,
    p_cell,
    percent_cell,
    text_cell,
)
from positionbias.report.published import Published
from positionbias.report.table import Cell, Column, Table
from positionbias.results.payloads import Comparison
from positionbias.results.published import PublishedCell
from positionbias.results.result import Facts, Result
from positionbias.results.select import distinct, model_name, of_type
from positionbias.results.tripclick import (
    AGAINST_BM25,
    ENSEMBLE,
    FIRST,
    NEGATIVES,
    RERANKER,
    RETRIEVER,
    Telemetry,
    TrainingSet,
    compared_along,
    judged_sets,
    of_role,
    set_name,
    short,
)

__all__ = [
    "first_stage_tests_table",
    "negatives_table",
    "reranking_table",
    "retrieval_table",
]

MARK = "‡"
EMPTY = Cell("")
NAMES = {"bm25": "BM25", "ensemble": "Ensemble"}
# as the paper's tables have them
ORDER = ("bm25", "conv_knrm", "tk", "colbert", "bert_cat", "bert_dot")
STUB = ("Model", "Began with", "Negatives", "")


def _model(facts: Facts) -> str:
    return model_name(facts) if facts.model not in NAMES else ended_name(NAMES[facts.model], facts.unfinished)


def _stub(facts: Facts, whose: str) -> list[Cell]:
    return [text_cell(part) for part in (_model(facts), facts.pretrained, set_name(facts), whose)]


def _kinds(results: Sequence[Result], cells: Sequence[PublishedCell]) -> list[str]:
    """The kinds of model that have rows, in the paper's order, ours that it has not before the ensemble."""
    found = distinct(facts.model for facts in [*(r.facts for r in results), *(c.facts for c in cells)])
    known = [kind for kind in ORDER if kind in found]
    others = [kind for kind in found if kind not in (*ORDER, "ensemble")]
    return [*known, *others, *(["ensemble"] if "ensemble" in found else [])]


def _cells(published: Published | None, table: int, tests: Sequence[str]) -> list[PublishedCell]:
    """The paper's figures for those tests that are its own."""
    names = {published.names[test] for test in tests if test in published.names} if published else set()
    return [cell for cell in published.cells if cell.table == table and cell.collection in names] if published else []


def _notes(published: Published | None, cells: Sequence[PublishedCell], notes: Sequence[str]) -> list[str]:
    if not published or not cells:
        return list(notes)
    return [
        *notes,
        f"Published: {published.paper}, with its lines' numbers. Ours is another experiment, not a repetition of it.",
    ]


def _marks(results: Sequence[Result]) -> dict[tuple[str, str, Facts], str]:
    found = {}
    for result, payload in compared_along(results, AGAINST_BM25):
        p = payload.p_adjusted.get(HOLM)
        found[result.split, result.measure, result.facts] = MARK if p is not None and p < LEVEL else ""
    return found


def _made(name: str, title: str, columns: list[Column], rows: list[list[Cell]], notes: Sequence[str], stub: int) -> Table:
    """The table, without those columns of names in which nothing stands."""
    gone = [place for place in range(stub) if not any(row[place].text for row in rows)]
    drop_columns(columns, rows, gone)
    return Table(name, title, columns, rows, notes, stub=max(1, stub - len(gone)))


def reranking_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Table 1: BM25, every re-ranker and the ensemble on every test."""
    shown = of_role(results, FIRST, RERANKER, ENSEMBLE)
    if not any(result.facts.role == RERANKER for result in shown):
        return Table("tripclick-reranking", "", [Column("Model")], [])
    measures = distinct(result.measure for result in shown if result.facts.role == RERANKER)
    tests, marks = judged_sets(shown), _marks(results)
    cells = _cells(published, 1, tests)
    keys = [(test, measure) for test in tests for measure in measures]
    values = {(r.split, r.measure, r.facts): r for r in shown}
    rows = []
    for kind in _kinds(shown, cells):
        for facts in distinct(result.facts for result in shown if result.facts.model == kind):
            ours = [_brief(values.get((*key, facts)), marks.get((*key, facts), "")) for key in keys]
            rows.append([*_stub(facts, "ours" if cells else ""), *ours])
        for line in distinct(cell.row for cell in cells if cell.facts.model == kind):
            theirs = {(c.collection, c.measure): c for c in cells if c.row == line}
            names = published.names if published else {}
            figures = [decimal_cell(c.value) if (c := theirs.get((names.get(t, ""), m))) else EMPTY for t, m in keys]
            rows.append([*_stub(next(iter(theirs.values())).facts, f"published, line {line}"), *figures])
    columns = [*(Column(text, numeric=False) for text in STUB), *(Column(measure, test) for test, measure in keys)]
    notes = _notes(
        published,
        cells,
        (
            f"{MARK} against BM25, which all re-rank: p < {LEVEL:g} after Holm's correction over all systems of a test and measure.",
            P_NOTE,
            f"A query's value is its mean over training seeds; intervals stand in the CSV. {OVER_NOTE}",
        ),
    )
    return _made("tripclick-reranking", "Re-ranking BM25's candidates", columns, rows, notes, len(STUB))


def _brief(result: Result | None, mark: str) -> Cell:
    if result is None:
        return EMPTY
    cell = decimal_cell(result.value, result.interval, letters=mark)
    return replace(cell, text=cell.brief) if cell.brief else cell


def retrieval_table(results: Sequence[Result], published: Published | None = None) -> Table:
    """Table 2: BM25 and dense retrieval over the whole collection."""
    shown = of_role(results, FIRST, RETRIEVER)
    if not any(result.facts.role == RETRIEVER for result in shown):
        return Table("tripclick-retrieval", "", [Column("Model")], [])
    measures, tests = distinct(result.measure for result in shown), judged_sets(shown)
    cells = _cells(published, 2, tests)
    values = {(r.split, r.measure, r.facts): r for r in shown}
    rows = []
    for test in tests:
        own = [cell for cell in cells if published and cell.collection == published.names.get(test)]
        for kind in _kinds(shown, own):
            for facts in distinct(result.facts for result in shown if result.facts.model == kind):
                ours = [_retrieved(values.get((test, measure, facts)), measure) for measure in measures]
                rows.append([text_cell(test), *_stub(facts, "ours" if cells else ""), *ours])
            for line in distinct(cell.row for cell in own if cell.facts.model == kind):
                theirs = {c.measure: c for c in own if c.row == line}
                figures = [_figure(theirs.get(measure)) for measure in measures]
                rows.append([text_cell(test), *_stub(next(iter(theirs.values())).facts, f"published, line {line}"), *figures])
    heads = [Column(text, numeric=False) for text in ("Test", *STUB)]
    indexes = distinct(index for r in shown if (index := getattr(r.payload, "notes", {}).get("index")))
    by = [
        f"Dense retrieval by an approximate index ({index}), which can miss passages." for index in indexes if index != "exact"
    ]
    columns = [*heads, *(Column("J@10" if measure == "Judged@10" else measure) for measure in measures)]
    notes = _notes(
        published,
        cells,
        (
            "J@10: the share of the first 10 that anybody judged; what nobody judged counts as not relevant. " + OVER_NOTE,
            *by,
        ),
    )
    return _made("tripclick-retrieval", "Retrieval from the whole collection", columns, rows, notes, 1 + len(STUB))


def _retrieved(result: Result | None, measure: str) -> Cell:
    if result is None:
        return EMPTY
    if measure == "Judged@10":
        return percent_cell(result.value, sign=False)
    return decimal_cell(result.value, result.interval)


def _figure(cell: PublishedCell | None) -> Cell:
    if cell is None:
        return EMPTY
    return percent_cell(cell.value, sign=False) if cell.measure == "Judged@10" else decimal_cell(cell.value)


def _tests(
    found: Sequence[tuple[Result, Comparison, list[str]]], heads: Sequence[str]
) -> tuple[list[Column], list[list[Cell]]]:
    """Comparisons as rows behind what names them."""
    rows = [
        [
            *map(text_cell, (result.split, result.measure, *names)),
            decimal_cell(payload.baseline_mean),
            decimal_cell(payload.candidate_mean),
            decimal_cell(payload.difference, payload.difference_interval, sign=True),
            decimal_cell(payload.effect_size, places=2, sign=True),
            p_cell(payload.p),
            p_cell(payload.p_adjusted.get(HOLM)),
            p_cell(payload.p_t),
            count_cell(result.count),
        ]
        for result, payload, names in found
    ]
    columns = [Column(text, numeric=False) for text in ("Test", "Measure", *heads[:-2])]
    columns += [Column(heads[-2]), Column(heads[-1])]
    columns += [Column(level_heading("Difference", (payload.difference_interval for _, payload, _ in found)))]
    return [*columns, *map(Column, ("Effect size", "p", "p Holm", "p Student's t", "Queries"))], rows


EFFECT = "Effect size: the mean difference over the deviation of the differences (d_z). " + OVER_NOTE


def negatives_table(results: Sequence[Result]) -> Table:
    """Each model on one training set against the same on another."""
    found = [
        (result, payload, [short(result.facts), set_name(Facts(**payload.notes["baseline facts"])), set_name(result.facts)])
        for result, payload in compared_along(results, NEGATIVES)
    ]
    columns, rows = _tests(found, ("Model", "Training set A", "Training set B", "With A", "With B"))
    notes = [*_what_differs(results), EFFECT, P_NOTE]
    return Table("tripclick-negatives", "What one training set gains over another", columns, rows, notes, stub=5)


def _what_differs(results: Sequence[Result]) -> list[str]:
    """What is alike and what is not in trainings on different sets, in numbers."""
    held = [
        f"{set_name(result.facts)} {of.groups:,} triples of {of.queries:,} queries and {of.positives:,} clicked passages"
        for result, of in of_type(results, TrainingSet)
        if of.positives is not None
    ]
    steps: dict[str, list[str]] = {}
    for result, logged in of_type(results, Telemetry):
        steps.setdefault(set_name(result.facts), []).extend(f"{step:,}" for step in logged.steps if step is not None)
    alike = len({step for of in steps.values() for step in of}) == 1
    notes = ["B less A: the same model and seeds" + (" and number of steps" if alike else "") + "."]
    if not alike and any(steps.values()):
        made = [f"{name} {', '.join(distinct(of))}" for name, of in steps.items()]
        notes.append(f"Steps: {'; '.join(made)}.")
    if held:
        notes.append(f"Where negatives come from is not all in which the sets differ: {'; '.join(held)}.")
    return notes


def first_stage_tests_table(results: Sequence[Result]) -> Table:
    """Every system against BM25: the tests behind the marks."""
    found = [(result, payload, [result.system]) for result, payload in compared_along(results, AGAINST_BM25)]
    columns, rows = _tests(found, ("System", "BM25", "System's"))
    return Table("tripclick-bm25", "Against BM25", columns, rows, (EFFECT, P_NOTE), stub=3)
