"""The rows of the paper's result tables: one per training of a model, over all seeds and draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from positionbias.core.formatting import count
from positionbias.core.interval import Interval
from positionbias.evaluation.crossed import ENOUGH, LEAST, OVER_QUERIES, OVER_TRAININGS
from positionbias.evaluation.letters import LEVEL, letter_of, significance_letters
from positionbias.evaluation.trainings import Repeat, Values, change_over, mean_over, paired
from positionbias.report.cells import text_cell
from positionbias.report.table import Cell
from positionbias.results.payloads import Comparison, PerQuery
from positionbias.results.result import Facts, Result
from positionbias.results.select import (
    ALL_QUERIES,
    BASELINES,
    MODELS,
    comparisons,
    distinct,
    model_name,
    of_kind,
    repeat_of,
)

__all__ = [
    "TrainingRow",
    "blocks",
    "letters_of",
    "repeats_cell",
    "row_notes",
    "shown_letters",
    "stub_cells",
    "training_rows",
]

SEED = 1  # seed of the sign flips for letters, as a report is made of results alone


@dataclass(slots=True)
class TrainingRow:
    """One training with all repeats: results by measure and test passages, comparisons of the two
    test sets by measure.

    ``facts`` exclude test passages, seed and draw; ``letter`` is the row's, "" if its model has no
    other row.
    """

    facts: Facts
    results: dict[tuple[str, str], dict[Repeat, Result]] = field(default_factory=dict)
    changes: dict[str, dict[Repeat, Comparison]] = field(default_factory=dict)
    letter: str = ""

    def mean(self, measure: str, test: str) -> tuple[float | None, Interval | None]:
        """Return the mean over trainings and queries; for a single training its value with the
        interval over queries.
        """
        found = self.results.get((measure, test), {})
        if len(found) == 1:
            (result,) = found.values()
            return result.value, result.interval
        if repeats := self.repeated(measure, test):
            of = mean_over(repeats, self.clusters)
            return of.value, of.interval
        part = "baseline_mean" if test == "original" else "candidate_mean"
        return _mean(
            [getattr(comparison, part) for comparison in self.changes.get(measure, {}).values()]
        ), None

    def change(self, measure: str, part: str) -> tuple[float | None, Interval | None]:
        """Return ``relative_as_printed`` or ``relative`` with its interval, over trainings and
        queries or for a single training.
        """
        found = self.changes.get(measure, {})
        if len(found) == 1:
            (comparison,) = found.values()
            return getattr(
                comparison, part
            ), comparison.relative_interval if part == "relative" else None
        original, rotated = (self.repeated(measure, test) for test in ("original", "rotated"))
        if not original or not rotated:
            return _mean(
                [value for of in found.values() if (value := getattr(of, part)) is not None]
            ), None
        change = change_over(paired(original, rotated), self.clusters)
        if part == "relative":
            return (
                (change.relative.value, change.relative.interval)
                if change.relative
                else (None, None)
            )
        return (change.after - change.before) / change.after if change.after else None, None

    def repeated(self, measure: str, test: str) -> dict[Repeat, Values]:
        """Return the values per query of every repeat."""
        found = self.results.get((measure, test), {})
        return {
            key: result.payload.by_query
            for key, result in found.items()
            if isinstance(result.payload, PerQuery)
        }

    @property
    def clusters(self) -> dict[str, str]:
        """Return each query's cluster; queries of one cluster are drawn together."""
        payloads = [result.payload for found in self.results.values() for result in found.values()]
        named = [p for p in payloads if isinstance(p, PerQuery) and p.clusters]
        return {
            query_id: label
            for p in named
            for query_id, label in zip(p.query_ids, p.clusters, strict=True)
        }

    @property
    def repeats(self) -> list[Repeat]:
        """Return every seed and draw, preferably from comparisons, as results on original passages
        may have no draw.
        """
        return distinct(key for found in (self.changes or self.results).values() for key in found)

    @property
    def queries(self) -> int | None:
        """Return the number of queries behind the means."""
        counts = [result.count for found in self.results.values() for result in found.values()]
        counts += [
            c.noted.queries
            for found in self.changes.values()
            for c in found.values()
            if "queries" in c.notes
        ]
        return max(counts, default=None)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def training_rows(
    results: Sequence[Result], keep: Callable[[TrainingRow], bool] = lambda row: True
) -> list[TrainingRow]:
    """Return the trainings of one test set: models in the paper's order, original before rotated,
    single before transferred.

    Results without a model and baselines are skipped. ``keep`` chooses rows before they get
    letters.
    """
    rows: dict[Facts, TrainingRow] = {}
    compared = [result for result, _ in comparisons(results, "test sets", subset=ALL_QUERIES)]
    for result in [*of_kind(results, "per_query"), *compared]:
        facts = replace(result.facts, test="", seed=None, rotation=None)
        if not facts.model or facts.model in BASELINES:
            continue
        row = rows.setdefault(facts, TrainingRow(facts))
        if isinstance(result.payload, Comparison):
            row.changes.setdefault(result.measure, {})[repeat_of(result)] = result.payload
        else:
            row.results.setdefault((result.measure, result.facts.test), {})[repeat_of(result)] = (
                result
            )
    order = [*MODELS, *distinct(facts.model for facts in rows)]

    def place(row: TrainingRow) -> tuple[int, bool, bool, bool]:
        f = row.facts
        return (
            order.index(f.model),
            bool(f.source),
            f.source_training == "rotated",
            f.training == "rotated",
        )

    found = sorted(filter(keep, rows.values()), key=place)
    for block in blocks(found):
        for number, row in enumerate(block):
            row.letter = letter_of(number) if len(block) > 1 else ""
    return found


def blocks(rows: Sequence[TrainingRow]) -> list[list[TrainingRow]]:
    """Return the rows of each model, with finished and unfinished trainings separate, as they are
    not compared.
    """
    return [
        [row for row in rows if model_name(row.facts) == name]
        for name in distinct(model_name(row.facts) for row in rows)
    ]


def letters_of(
    rows: Sequence[TrainingRow], measures: Sequence[str], test: str
) -> dict[tuple[Facts, str], tuple[str, str]]:
    """Return, by training and measure, the letters of the model's other trainings that it beats,
    and those left by Holm's correction.
    """
    found: dict[tuple[Facts, str], tuple[str, str]] = {}
    for block in blocks(rows):
        for measure in measures:
            having = [(row, values) for row in block if (values := row.repeated(measure, test))]
            if len(having) < 2:
                continue
            clusters = {
                query_id: label for row, _ in having for query_id, label in row.clusters.items()
            }
            letters = significance_letters([values for _, values in having], clusters, seed=SEED)
            # significance_letters counts rows with values, but a row's letter counts all rows of
            # the block
            names = {letter_of(number): row.letter for number, (row, _) in enumerate(having)}
            for (row, _), plain, holm in zip(having, letters.plain, letters.holm, strict=True):
                found[row.facts, measure] = (
                    "".join(map(names.__getitem__, plain)),
                    "".join(map(names.__getitem__, holm)),
                )
    return found


def shown_letters(letters: tuple[str, str]) -> str:
    """Return ``ab``, or ``a(b)`` if b is lost by Holm's correction."""
    plain, holm = letters
    return "".join(letter if letter in holm else f"({letter})" for letter in plain).replace(
        ")(", ""
    )


def stub_cells(row: TrainingRow, rows: Sequence[TrainingRow], collection: str) -> list[Cell]:
    """Return model, training and the row's letter. Initial weights are named if only they
    distinguish two rows.
    """
    alike = [
        other
        for other in rows
        if replace(other.facts, pretrained="") == replace(row.facts, pretrained="")
    ]
    began = f", from {row.facts.pretrained or 'random weights'}" if len(alike) > 1 else ""
    facts = row.facts
    trained = facts.training or "untrained"
    if any(other.facts.source for other in rows):
        target = f"{collection} ({trained})"
        trained = f"{facts.source} ({facts.source_training}) → {target}" if facts.source else target
    trained += f", {facts.variant}" if facts.variant else ""
    return [text_cell(model_name(facts)), text_cell(trained + began), text_cell(row.letter)]


def repeats_cell(row: TrainingRow) -> Cell:
    """Return the number of repeats: ``6 (3 seeds, 2 draws)``."""
    seeds, draws = (
        distinct(key[place] for key in row.repeats if key[place] is not None) for place in (0, 1)
    )
    parts = [
        f"{len(items)} {word}"
        for items, word in ((seeds, "seeds"), (draws, "draws"))
        if len(items) > 1
    ]
    shown = count(len(row.repeats)) + (f" ({', '.join(parts)})" if parts else "")
    return Cell(shown, len(row.repeats), brief=count(len(row.repeats)))


def row_notes(rows: Sequence[TrainingRow], *, lettered: bool) -> list[str]:
    """Explain the intervals and the letters."""
    notes = []
    if any(len(found) == 1 for row in rows for found in row.results.values()):
        notes.append(f"95 % intervals of what was measured once: {OVER_QUERIES}.")
    seeds = {len({seed for seed, _ in row.repeats}) for row in rows}
    if any(number >= LEAST for number in seeds):
        notes.append(
            "Of several repeats: the mean over seeds and rotation draws, with its 95 % t interval "
            f"{OVER_TRAININGS}, paired by seed. It speaks of the method where it leaves out 0, or "
            f"from {ENOUGH} seeds."
        )
    if 1 in seeds and any(len(row.repeats) > 1 for row in rows):
        notes.append(
            "Of one seed with several rotation draws: their mean, its 95 % interval "
            f"{OVER_QUERIES}."
        )
    if 2 in seeds:
        notes.append(
            "Two seeds have no interval and no letters: each seed's values stand in the table of "
            "all systems."
        )
    if lettered:
        notes.append(
            f"Letters: the rows of the same model that are significantly worse (p < {LEVEL:g} by "
            f"sign flips of clusters of queries, of several trainings by t {OVER_TRAININGS}; "
            "uncorrected as in the paper, which has Wilcoxon's p); those in brackets are lost by "
            "Holm's correction over the model's pairs."
        )
    return notes
