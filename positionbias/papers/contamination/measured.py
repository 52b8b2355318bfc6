"""What the contamination study measures, as rows: systems on targets, effects of contamination,
training sets, trainings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from positionbias.contamination.trainsets import add_origins
from positionbias.core.collection import Collection
from positionbias.core.groups import Groups
from positionbias.core.rows import Collected, printed_cells
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.records import Facts
from positionbias.evaluation.trainings import Repeat, Values, paired
from positionbias.experiments.measured import (
    FIRST_STAGE,
    Systems,
    Tested,
    Trial,
    as_ended,
    own_judgements,
    trial_inputs,
)
from positionbias.papers.contamination import HEADLINE

PUBLISHED = Path(__file__).with_name("published.csv")
TARGETS = {"dl19": "Deep Learning 2019", "dl20": "Deep Learning 2020", "covid": "TREC COVID"}
# a split's name, in a merged collection behind a prefix -> its name in the paper's Table 1
CLEAN, STANDARD = "clean", "the clean teacher"  # what a system is compared with


@dataclass(frozen=True)
class ContaminationStudy:
    """The inputs of the measurements; a trial's ``runs`` are its re-ranked candidates by target.

    ``candidates`` by target: the runs that are re-ranked. ``trainsets`` by source: the teachers'
    training sets, "" the clean one. Passages are relevant from grade ``relevant_from`` on where a
    measure is binary.
    """

    collection: Path
    targets: tuple[str, ...]
    candidates: Mapping[str, Path]
    trainsets: Mapping[str, Path]
    trials: Sequence[Trial]
    relevant_from: int = 2
    seed: int = 1

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        candidates = {f"candidates of {name}": path for name, path in self.candidates.items()}
        sets = {f"training set {name or CLEAN}": path for name, path in self.trainsets.items()}
        return {"collection": self.collection, **candidates, **sets, **trial_inputs(self.trials)}


def measure_contamination(study: ContaminationStudy) -> Collected:
    """Return the rows of the study, those of the paper for its own targets among them.

    Measures are nDCG@10, AP and R@100, the latter two of passages judged ``relevant_from`` or
    higher; a query's value is its mean over training seeds, and intervals and tests are over
    trainings and queries where there are three seeds or more (``evaluation.trainings``). A
    contaminated system's clean paired model differs only in the contamination: it has the same
    role, model, loss and seeds.

    Raises:
        InputError: a target without judgements of its own queries.
    """
    measuring = _Measuring(study)
    measuring.measure()
    return measuring.made


class _Measuring(Systems):
    """The measurements of one study."""

    def __init__(self, study: ContaminationStudy) -> None:
        collection = Collection(study.collection)
        qrels = {target: own_judgements(collection, target) for target in study.targets}
        made = Collected({"study": "contamination", "collection": collection.name})
        super().__init__(made, qrels, relevant_from=study.relevant_from, seed=study.seed)
        self.study = study
        self.trials = [(self._ended(trial), trial) for trial in study.trials]
        level = f"(rel={study.relevant_from})" if study.relevant_from > 1 else ""
        self.measures = (HEADLINE, f"AP{level}", f"R{level}@100")
        values: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}
        for system, trial in self.trials:
            for target, path in trial.runs.items():
                for measure, own in self._by_query(path, target).items():
                    values.setdefault((system, target, measure), {})[trial.seed, None] = own
        self.values = dict(values)

    def _by_query(self, run: Path, target: str) -> Mapping[str, Values]:
        return per_query(Run.from_file(run), self.qrels[target], self.measures)

    def _ended(self, trial: Trial) -> Facts:
        """Return a trial's facts with the ending of its training and of its teacher's."""
        teachers = [
            other
            for other in self.study.trials
            if (other.facts.role, other.facts.source, other.seed)
            == ("teacher", trial.facts.source, trial.seed)
        ]
        places = [one.trained for one in (trial, *teachers) if one.trained is not None]
        return as_ended(trial.facts, *places)

    def measure(self) -> None:
        """Measure effectiveness, tests, training sets and trainings."""
        first = Facts(model=FIRST_STAGE, role="first stage")
        for target, run in self.study.candidates.items():
            for measure, own in self._by_query(run, target).items():
                self.mean(measure, target, first, {(None, None): own})
        for (system, target, measure), repeats in self.values.items():
            self.mean(measure, target, system, repeats)
        self._published()
        self.compare(self._against_clean())
        self.compare(self._against_standard())
        for source, path in self.study.trainsets.items():
            add_origins(self.made, Groups(path), source=source)
        for system, trial in self.trials:
            if trial.trained is not None:
                self.training(system, trial.seed, trial.trained)

    def _published(self) -> None:
        """Add the paper's figures for those targets that are its own by name."""
        names = {TARGETS.get(target.rpartition(".")[2], ""): target for target in self.qrels}
        names[""] = ""
        for cell in printed_cells(PUBLISHED):
            split, source = cell["split"], cell.get("source", "")
            if split in names and source in names:
                self.made.add(**{**cell, "split": names[split], "source": names[source]})

    def _against_clean(self) -> Iterator[Tested]:
        """Compare every contaminated system with its clean paired model.

        A family of tests belongs to a measure, on the contaminating targets or on the others
        [decision].
        """
        for (system, target, measure), own in self.values.items():
            clean = replace(system, source="")
            base = self.values.get((clean, target, measure), {})
            if system.source and (pairs := paired(base, own)):
                where = "on what contaminated" if system.source == target else "on other targets"
                family = f"against clean: {measure} {where}"
                yield Tested(family, measure, target, clean, system, pairs, CLEAN)

    def _against_standard(self) -> Iterator[Tested]:
        """Yield Table 1's tests: every system against the clean teacher, contaminated ones on their
        source; by measure.
        """
        teachers = (one for one, _ in self.trials if one.role == "teacher" and not one.source)
        standard = next(teachers, None)
        for (system, target, measure), own in self.values.items():
            if standard is None or system == standard or system.source not in ("", target):
                continue
            base = self.values[standard, target, measure]
            if system.unfinished == standard.unfinished and (pairs := paired(base, own)):
                family = f"against {STANDARD}: {measure}"
                yield Tested(family, measure, target, standard, system, pairs, STANDARD)
