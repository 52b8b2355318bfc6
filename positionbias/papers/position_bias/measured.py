"""Rows of every study of position: systems on original and rotated passages,
comparisons, places of answers, term similarity, trainings.

A system has the passages of its training as ``training``, in a study of other collections the first
one with its passages as ``source``, and the arm of the study (a model's positions, a
remedy) as ``variant``; ``test`` are the passages that were re-ranked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, product
from pathlib import Path
from typing import Any, NamedTuple

from positionbias.audit.answers import Contrast
from positionbias.audit.measured import RAW
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import Collected, load, load_values, printed_cells, records
from positionbias.core.run import Run
from positionbias.core.steps import MapShards
from positionbias.evaluation.answers import MARGIN, Compared
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.records import Comparison, Facts
from positionbias.evaluation.trainings import Repeat, Values, figures_over, paired
from positionbias.experiments.measured import (
    FIRST_STAGE,
    POSITION_ONLY,
    Systems,
    Tested,
    add_contents,
    add_rotation,
    against,
    judgements,
    over,
    system_cells,
)
from positionbias.models.remedied import trained_folder
from positionbias.papers.position_bias import (
    BASELINES,
    CUT,
    FIRST,
    INSTEAD,
    MOVED,
    NO_REMEDY,
    POSITION,
    REMEDIES,
    RERANKER,
    TEST_SETS,
    TRAININGS,
    VARIANTS,
    WHOLE,
    Shift,
)
from positionbias.papers.position_bias.settings import TRAIN, GridSettings, PositionBiasSettings
from positionbias.positions.debias import queries_by_cut
from positionbias.positions.histogram import position_histogram
from positionbias.positions.measured import histogram_rows
from positionbias.positions.settings import HistogramOptions
from positionbias.probe.measured import MATS

PUBLISHED = Path(__file__).with_name("published.csv")
# how a collection was made → the paper's collection that it is, whole or in part
COLLECTIONS = {"import msmarco": "MS MARCO", "import squad": "SQuAD 2.0"}
PLACE = ("row", "study", "collection")  # cells of a row that a study sets
Text = tuple[str, int | None]  # passages, "original" or "rotated", and the draw of the latter
ORIGINAL: Text = ("original", None)
BM25 = Facts(model=FIRST_STAGE, role=FIRST)
ALONE = Facts(model=POSITION_ONLY, role=POSITION)


class Trained(NamedTuple):
    """A trained model: its runs by test passages, a path a test split (none: it was only begun);
    its probes; in a study of remedies the effects of moved sentences.
    """

    facts: Facts
    path: Path
    runs: Mapping[Text, tuple[Path, ...]]
    probes: Mapping[Text, Path] = {}
    moved: Path | None = None

    def repeat(self, draw: int | None) -> Repeat:
        """Return its seed, and the draw of its training passages or else of those tested."""
        own = self.facts.rotation
        return self.facts.seed, draw if own is None else own


@dataclass(frozen=True)
class PositionStudy:
    """The inputs of the measurements. ``candidates`` are a run a test split, ``by_position`` runs
    by position alone. ``rotated`` are rotations of the
    collection that is tested, or of the ``source`` that models were trained on first.
    """

    collection: Path
    settings: GridSettings
    candidates: tuple[Path, ...]
    rotated: Mapping[int, Path]
    trained: Sequence[Trained]
    by_position: Mapping[Text, tuple[Path, ...]] = field(default_factory=dict)
    source: Path | None = None
    map_shards: MapShards = map

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        runs = [self.by_position, *(one.runs for one in self.trained)]
        made = [
            *(path for of in runs for paths in of.values() for path in paths),
            *(path for one in self.trained for path in (one.path, *one.probes.values())),
            *(one.moved for one in self.trained if one.moved),
        ]
        return {
            "collection": self.collection,
            **({"source": self.source} if self.source else {}),
            **{f"rotated {draw}": path for draw, path in self.rotated.items()},
            **dict(
                zip(
                    [f"candidates {split}" for split in self.settings.tests],
                    self.candidates,
                    strict=True,
                )
            ),
            **{f"{path.parent.name}/{path.name}": path for path in made},
        }


def measure_positions(study: PositionStudy) -> Collected:
    """Return the rows of a study, those of the paper for its own collections among them.

    A query's value is its mean over the repeats of a training, its seeds and rotation draws; with
    three seeds or more, intervals and tests are over trainings and queries
    (``evaluation.trainings``). Comparisons leave out trainings that re-rank nothing, but with
    baselines. MATS of every model is on the same passages.
    """
    return _Measuring(study).measured()


class _Measuring(Systems):
    """The measurements of one study."""

    def __init__(self, study: PositionStudy) -> None:
        self.study, self.settings = study, study.settings
        settings = self.settings
        self.collection, self.split = Collection(study.collection), "+".join(settings.tests)
        qrels = judgements(self.collection, settings.tests, settings.test_queries, settings.seed)
        made = Collected({"study": "position-bias", "collection": self.collection.name})
        level = settings.test_relevant_from
        super().__init__(made, {self.split: qrels}, relevant_from=level, seed=settings.seed)
        self.idle: set[tuple[Facts, Repeat]] = set()  # trainings whose depth is 1
        self.systems: dict[Facts, None] = {}  # without their test passages
        self.tests = ["original"] if study.source else ["original", "rotated"]
        self.whole: dict[int, Set[str]] = {}  # queries whose answer a draw left whole
        self._read()

    def _read(self) -> None:
        """Evaluate every run once."""
        values: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}

        def add(facts: Facts, test: str, repeat: Repeat, by_measure: Mapping[str, Values]) -> None:
            self.systems[facts] = None
            for measure, by_query in by_measure.items():
                key = (replace(facts, test=test), self.split, measure)
                values.setdefault(key, {})[repeat] = by_query

        for test in self.tests:
            add(BM25, test, (None, None), self._by_query(self.study.candidates))
        for (test, draw), runs in self.study.by_position.items():
            add(ALONE, test, (None, draw), self._by_query(runs))
        for one in self.study.trained:
            facts = system_of(one.facts)
            if read_manifest(trained_folder(one.path)).content.get("depth") == 1:
                self.idle.add((facts, one.repeat(None)))
            for (test, draw), runs in one.runs.items():
                add(facts, test, one.repeat(draw), self._by_query(runs))
            if one.moved is not None and (moved := _moved(one.moved)):
                add(facts, "original", one.repeat(None), {MOVED: moved})
        self.values = dict(values)

    def _by_query(self, runs: Sequence[Path]) -> dict[str, Values]:
        """Return a system's values by measure, the rankings of several splits joined."""
        rankings = chain.from_iterable(Run.from_file(path).rankings() for path in runs)
        run = Run("joined", ((one.query_id, one.passage_ids, one.scores) for one in rankings))
        return dict(per_query(run, self.qrels[self.split], self.settings.measures))

    def measured(self) -> Collected:
        """Measure collections, effectiveness, comparisons, term similarity, trainings."""
        self._collections()
        for (facts, _, measure), repeats in self.values.items():
            if facts.model != FIRST_STAGE or facts.test == "original":
                self.mean(measure, self.split, facts, repeats)
                for (seed, draw), values in repeats.items() if len(repeats) > 1 else ():
                    own = replace(facts, seed=seed, rotation=draw)
                    self.mean(measure, self.split, own, {(seed, draw): values})
        self.compare([*self.by_test_set(), *self.by_system()])
        self._similarity()
        for one in self.study.trained:
            if trained_folder(one.path) == one.path:  # a remedy at inference trains nothing
                assert one.facts.seed is not None
                own = replace(one.facts, seed=None, role=RERANKER)
                self.training(own, one.facts.seed, one.path)
        self._published()
        return self.made

    def _collections(self) -> None:
        made, study, settings = self.made, self.study, self.settings
        options = HistogramOptions(seed=settings.seed)

        def add_places(collection: Collection, **cells: Any) -> None:
            over = study.map_shards
            places = position_histogram(collection, TRAIN, options, map_shards=over)
            histogram_rows(made, places, **cells)

        add_contents(made, self.collection)
        source = Collection(study.source) if study.source else None
        name = source.name if source else ""
        if source:
            add_contents(made, source, source=name)
        answered = {split for split, of in self.collection.split_facts.items() if of.answers}
        if TRAIN in answered and not source:
            add_places(self.collection, test="original")
        for draw, path in study.rotated.items():
            rotated = Collection(path)
            cells: dict[str, Any] = {"test": "rotated", "rotation": draw}
            add_rotation(made, rotated, rotation=draw, source=name)
            if TRAIN in answered and not source:
                add_places(rotated, **cells)
            if not source:
                sides = self._cut(rotated, answered.intersection(settings.tests))
                self.whole[draw] = sides[WHOLE]
                for side, queries in sides.items():
                    made.add("test queries", side, len(queries), split=self.split, **cells)

    def _cut(self, rotated: Collection, splits: Set[str]) -> dict[str, set[str]]:
        """Return the test queries whose answers a rotation left whole, and those with a cut one."""
        judged = {qrel.query_id for qrel in self.qrels[self.split]}
        sides: dict[str, set[str]] = {WHOLE: set(), CUT: set()}
        for split in splits:
            both = queries_by_cut(self.collection, rotated, split)
            for side, queries in zip(sides, both, strict=True):
                chosen = queries if self.settings.test_queries is None else queries & judged
                sides[side] |= chosen
        return sides

    def _models(self) -> list[Facts]:
        """Return the trained systems, without test passages."""
        return [facts for facts in self.systems if facts.role == RERANKER]

    def _tested(self, along: str, measure: str, base: Facts, system: Facts) -> Iterator[Tested]:
        """Yield the comparison of two systems by the repeats that both have, without those that
        re-rank nothing; none where they have none in common.
        """
        sides = [self._values(facts, measure, sized=along == REMEDIES) for facts in (base, system)]
        if every := paired(*sides):
            kept = paired(self._re_ranking(base, sides[0]), self._re_ranking(system, sides[1]))
            repeats = every if along == BASELINES else kept
            idle = "" if repeats else Compared.IDLE
            name = f"{along}: {measure}"
            yield Tested(name, measure, self.split, base, system, repeats or every, answer=idle)

    def _values(self, facts: Facts, measure: str, *, sized: bool) -> Mapping[Repeat, Values]:
        """Return a system's values; ``sized``: of moved sentences by the size of their effect.

        |mean with a remedy| − |mean without| has no value by query, so each query's effect counts
        with the sign of its remedy's mean over all trainings: with a sign for each training, a
        remedy whose effects only vary more than another's had more bias.
        """
        repeats = self.values.get((facts, self.split, measure), {})
        total = sum(sum(own.values()) / max(len(own), 1) for own in repeats.values())
        if not sized or measure != MOVED or total >= 0:
            return repeats
        return {
            repeat: {query_id: -value for query_id, value in own.items()}
            for repeat, own in repeats.items()
        }

    def _re_ranking(self, facts: Facts, repeats: Mapping[Repeat, Values]) -> dict[Repeat, Values]:
        own = replace(facts, test="")
        return {
            (seed, draw): values
            for (seed, draw), values in repeats.items()
            if not {(own, (seed, draw)), (own, (seed, None))} & self.idle
        }

    def by_test_set(self) -> Iterator[Tested]:
        """Compare each system on the rotated test passages with itself on the original ones, over
        all test queries and over those whose answers were left whole.
        """
        for facts in (*self._models(), ALONE):
            for measure in self.settings.measures if "rotated" in self.tests else ():
                for tested in self._tested(TEST_SETS, measure, *self._on_tests(facts)):
                    yield tested
                    if any(self.whole.values()):
                        kept = {
                            (seed, draw): _kept(pair, self.whole[draw or 0])
                            for (seed, draw), pair in tested.repeats.items()
                        }
                        yield tested._replace(repeats=kept, cells={"subset": WHOLE})

    def by_system(self) -> Iterator[Tested]:
        """Compare systems on the same test passages; remedies on original ones, in quality and in
        the size of the effect of moved sentences.
        """
        measures = self.settings.measures
        for along, base, system in self._pairs():
            remedies = along == REMEDIES
            chosen = [measures[0], MOVED] if remedies else measures
            for measure, test in product(chosen, self.tests[:1] if remedies else self.tests):
                sides = [replace(facts, test=test) for facts in (base, system)]
                yield from self._tested(along, measure, *sides)

    def _pairs(self) -> Iterator[tuple[str, Facts, Facts]]:
        """Yield what is compared along a family: a baseline or another system, and a system."""
        models, usual = self._models(), next(iter(self.variants()), "")
        for base, system in combinations(models, 2):
            if self.study.source is not None:
                if (base.model, base.unfinished) == (system.model, system.unfinished):
                    yield TRAININGS, base, system
            elif base.training == "original" and system == replace(base, training="rotated"):
                yield TRAININGS, base, system
        for system in models:
            yield BASELINES, BM25, system
            yield BASELINES, ALONE, system
            if system.training == "rotated" and system.variant == usual:
                for variant in self.variants()[1:]:
                    yield INSTEAD, replace(system, variant=variant, training="original"), system
            none = replace(system, variant=NO_REMEDY)
            if system.variant != NO_REMEDY and none in self.systems:
                yield REMEDIES, none, system

    def variants(self) -> list[str]:
        """Return the kinds of positions that are compared, the usual one first."""
        settings = self.settings
        kinds = settings.positions if isinstance(settings, PositionBiasSettings) else ()
        return [VARIANTS[kind] for kind in kinds]

    def _on_tests(self, facts: Facts) -> tuple[Facts, Facts]:
        """Return a system on original and on rotated passages."""
        return replace(facts, test="original"), replace(facts, test="rotated")

    def judged(self, tested: Tested, comparison: Comparison) -> dict[str, Any]:
        """Return the unit of a relative change, and of one by rotation the answer."""
        cells: dict[str, Any] = {"unit": "share"}
        if not tested.family.startswith(TEST_SETS):
            return cells
        bounds = comparison.relative_interval
        side = None if bounds is None else bounds.side(MARGIN)
        answer = {0: Shift.NONE, 1: Shift.RISES, -1: Shift.FALLS, None: Shift.UNKNOWN}[side]
        if tested.system.unfinished or tested.answer:
            answer = Shift.UNFINISHED if tested.system.unfinished else Shift.IDLE
        cells |= {"margin": MARGIN, "count": comparison.queries, "counted": "queries"}
        return {**cells, "trainings": over(tested.repeats)["trainings"], "answer": answer}

    def _add(self, tested: Tested, comparison: Comparison) -> None:
        super()._add(tested, comparison)
        if tested.family.startswith(TEST_SETS):
            cells = {**system_cells(tested.system), **tested.cells, "split": tested.test}
            cells |= {"against": against(tested.base, tested.system), "family": tested.family}
            printed = comparison.relative_as_printed
            self.made.add(tested.measure, "Δ as printed", printed, unit="share", **cells)

    def _similarity(self) -> None:
        """Add MATS by training and probed passages, over trainings and of each."""
        probes: dict[Facts, dict[Repeat, list[dict[str, Any]]]] = {}
        for one in self.study.trained:
            for (test, draw), path in one.probes.items():
                key = replace(system_of(one.facts), test=test)
                probes.setdefault(key, {})[one.repeat(draw)] = records(load(path))
        for facts, repeats in probes.items():
            several, known = len(repeats) > 1, {}
            for (seed, draw), probed in repeats.items():
                system = replace(facts, seed=seed, rotation=draw) if several else facts
                for row in probed:
                    cells = {name: cell for name, cell in row.items() if name not in PLACE}
                    self.made.add(**{"value": None, **cells, **system_cells(system)})
                    if (row["measure"], row["statistic"]) == (MATS, "mean") and "value" in row:
                        known[seed, draw] = row["value"]
            if several and known:
                mean = figures_over(known)
                cells = {"interval": "trainings", "trainings": len(mean.by_seed)}
                self.made.add(
                    MATS, "mean", mean.value, mean.interval, **system_cells(facts), **cells
                )

    def _published(self) -> None:
        """Add the paper's figures of the collection and of the models that were trained, where the
        collection is its own; one made from another is not.
        """
        source = Collection(self.study.source) if self.study.source else None
        theirs = COLLECTIONS.get(self.collection.manifest.command)
        first = COLLECTIONS.get(source.manifest.command) if source else None
        # of positions and remedies the paper prints nothing
        plain = not any(facts.variant for facts in self._models())
        models = {"", *(facts.model for facts in self._models() if plain)}
        tables = ("Table 1", "Table 5") if source else ("Table 1", "Table 2", "Table 3", "Table 4")
        for cell in printed_cells(PUBLISHED) if theirs else ():
            wanted = cell["collection"] == theirs and cell.get("model", "") in models
            if not wanted or not any(table in cell["family"] for table in tables):
                continue
            began, _, text = cell.get("source", "").rpartition(" (")
            if began and began != first:
                continue
            own = {"source": f"{source.name} ({text}"} if began and source else {}
            self.made.add(**{**cell, **own, "collection": self.collection.name})


def system_of(facts: Facts) -> Facts:
    """Return a trained system's facts, the same for all repeats and test passages."""
    return replace(facts, seed=None, rotation=None, test="", role=RERANKER)


def _kept(pair: tuple[Values, Values], kept: Set[str]) -> tuple[Values, Values]:
    before, after = ({key: own[key] for key in own if key in kept} for own in pair)
    return before, after


def _moved(path: Path) -> dict[str, float]:
    """Return each query's effect of moving its sentence to the end less to the front, as a share of
    the evidence's mean worth; nothing where that is not above 0.
    """
    rows = load(path)
    raw = rows[(rows["statistic"] == RAW) & (rows["subset"] == "")].set_index("measure")
    values = load_values(path, rows)
    if {Contrast.ENDS, Contrast.WORTH} - set(raw.index):
        return {}
    moved, worth = (
        values[values["row"] == raw.loc[contrast, "row"]].set_index("item")["value"]
        for contrast in (Contrast.ENDS, Contrast.WORTH)
    )
    return (moved / worth.mean()).to_dict() if worth.mean() > 0 else {}
