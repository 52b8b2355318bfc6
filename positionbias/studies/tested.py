"""What a position-bias study has to measure, and every system of it evaluated once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.positions.debias import queries_by_cut
from positionbias.results.result import Facts, Result
from positionbias.studies.sample import judgements
from positionbias.studies.systems import FIRST_STAGE, Subject, SystemRuns, evaluated, split_label

__all__ = ["Measured", "Study", "answered_splits"]


@dataclass(frozen=True)
class Measured:
    """What there is to measure: the test collections by draw, candidates and runs by test split, probes and trained models.

    ``sample`` is how many test queries of a split are measured (None: all), and the seed that draws them.
    """

    original: Path
    rotated: Mapping[int, Path]
    tests: tuple[str, ...]
    candidates: tuple[Path, ...]
    baselines: Sequence[SystemRuns]
    tested: Sequence[SystemRuns]
    probes: Sequence[Path]
    subjects: Sequence[Subject]
    sample: tuple[int | None, int]

    def inputs(self) -> dict[str, Path]:
        """Every artefact that is read, by its part."""
        runs = {path.stem: path for item in (*self.baselines, *self.tested) for path in item.runs}
        return {
            "collection": self.original,
            **{f"rotated {draw}": path for draw, path in self.rotated.items()},
            **{f"candidates {split}": path for split, path in zip(self.tests, self.candidates, strict=True)},
            **runs,
            **{f"probe {path.name}": path for path in self.probes},
            **{subject.path.name: subject.path for subject in self.subjects},
        }


class Study:
    """The collections, the judgements, and every system evaluated once."""

    def __init__(self, measured: Measured, measures: Sequence[str], relevant_from: int, seed: int) -> None:
        self.measured, self.seed, self.label = measured, seed, split_label(measured.tests)
        self.original = Collection(measured.original)
        self.rotated = {draw: Collection(path) for draw, path in measured.rotated.items()}
        self.qrels = judgements(self.original, measured.tests, *measured.sample)
        self.clusters = clusters_by_passage(self.qrels, level=relevant_from)
        self.by_cut = {draw: self._by_cut(rotated) for draw, rotated in self.rotated.items()}
        self.systems = [
            self._measured(item, measures) for item in (*self._first_stage(), *measured.baselines, *measured.tested)
        ]

    def _first_stage(self) -> Iterator[SystemRuns]:
        for draw in (None, *self.rotated):
            facts = Facts(model=FIRST_STAGE, test="original" if draw is None else "rotated", rotation=draw)
            yield SystemRuns(FIRST_STAGE, facts, self.measured.candidates)

    def _measured(self, item: SystemRuns, measures: Sequence[str]) -> tuple[SystemRuns, list[Result]]:
        where = {"collection": self.passages(item.facts).name, "split": self.label}
        return item, evaluated(item, self.qrels, measures, clusters=self.clusters, seed=self.seed, **where)

    def passages(self, facts: Facts) -> Collection:
        """The test passages that these facts speak of."""
        return self.original if facts.test == "original" or facts.rotation is None else self.rotated[facts.rotation]

    def _by_cut(self, rotated: Collection) -> tuple[set[str], set[str]]:
        """Test queries whose answers the rotation left whole, and those with one that it cut."""
        whole: set[str] = set()
        cut: set[str] = set()
        for split in set(self.measured.tests) & set(answered_splits(self.original)):
            for found, more in zip((whole, cut), queries_by_cut(self.original, rotated, split), strict=True):
                found |= more
        if self.measured.sample[0] is not None:
            judged = {qrel.query_id for qrel in self.qrels}
            return whole & judged, cut & judged
        return whole, cut


def answered_splits(collection: Collection) -> list[str]:
    """The splits that hold answers; none where the collection has none."""
    return [split for split, facts in collection.split_facts.items() if facts.answers]
