"""What every study of position measures, as rows: systems on original and rotated passages,
comparisons, places of answers, term similarity, trainings.

A system has the passages of its training as ``training``, in a study of other collections the first
one with its passages as ``source``, and the arm of the study (a level, a model's positions, a
remedy) as ``variant``; ``test`` are the passages that were re-ranked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any, NamedTuple

from pandas import DataFrame

from positionbias.audit.answers import Contrast
from positionbias.audit.measured import RAW
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import Collected, load, load_values, printed_cells, records
from positionbias.core.run import Run, read_run
from positionbias.core.shard_work import MapShards
from positionbias.evaluation.answers import Compared, compared
from positionbias.evaluation.crossed import Crossed
from positionbias.evaluation.measures import per_query
from positionbias.evaluation.records import Comparison, Facts
from positionbias.evaluation.significance import HOLM, corrected
from positionbias.evaluation.trainings import (
    Repeat,
    Values,
    change_over,
    changes,
    figures_over,
    paired,
)
from positionbias.experiments.against import MARGIN
from positionbias.experiments.candidates import judgements
from positionbias.experiments.described import add_contents, add_rotation
from positionbias.experiments.measured import (
    FIRST_STAGE,
    POSITION_ONLY,
    Systems,
    Tested,
    against,
    over,
    system_cells,
)
from positionbias.models.remedied import trained_folder
from positionbias.papers.position_bias import (
    BASELINES,
    CHANGE,
    CUT,
    DOMINANCE,
    FIRST,
    INSTEAD,
    LEVELS,
    MOVED,
    NO_REMEDY,
    POSITION,
    REMEDIES,
    RERANKER,
    TEST_SETS,
    TRAININGS,
    WHOLE,
    Shift,
)
from positionbias.papers.position_bias.settings import TRAIN, GridSettings, PositionBiasSettings
from positionbias.positions.debias import queries_by_cut
from positionbias.positions.histogram import position_histogram
from positionbias.positions.measured import histogram_rows
from positionbias.positions.settings import HistogramOptions
from positionbias.probe.measured import MATS

__all__ = [
    "ORIGINAL",
    "PositionStudy",
    "Text",
    "Trained",
    "best_of",
    "measure_positions",
]

PUBLISHED = Path(__file__).with_name("published.csv")
# how a collection was made → the paper's collection that it is, whole or in part
COLLECTIONS = {"import msmarco": "MS MARCO", "import squad": "SQuAD 2.0"}
PLACE = ("row", "study", "collection")  # cells of a row that a study sets
Text = tuple[str, int | None]  # passages, "original" or "rotated", and the draw of the latter
ORIGINAL: Text = ("original", None)
BM25 = Facts(model=FIRST_STAGE, role=FIRST)
ALONE = Facts(model=POSITION_ONLY, role=POSITION)


class Trained(NamedTuple):
    """A trained model: its runs by test passages, a path a test split; its probes; in a study of
    remedies the effects of moved sentences, and what its settings were chosen from; in one of
    transfer its training on the source.
    """

    facts: Facts
    path: Path
    runs: Mapping[Text, tuple[Path, ...]]
    probes: Mapping[Text, Path] = {}
    moved: Path | None = None
    choice: Path | None = None
    first: tuple[Facts, Path] | None = None

    @property
    def draw(self) -> int | None:
        """The draw of its training passages."""
        return self.facts.rotation


@dataclass(frozen=True)
class PositionStudy:
    """The inputs of the measurements. ``candidates`` are a run a test split, ``by_position`` runs
    by position alone, ``levels`` collections by variant. ``rotated`` are rotations of the
    collection that is tested, or of the ``source`` that models were trained on first.
    """

    collection: Path
    settings: GridSettings
    candidates: tuple[Path, ...]
    rotated: Mapping[int, Path]
    trained: Sequence[Trained]
    by_position: Mapping[Text, tuple[Path, ...]] = field(default_factory=dict)
    levels: Mapping[str, Path] = field(default_factory=dict)
    source: Path | None = None
    map_shards: MapShards = map

    def inputs(self) -> dict[str, Path]:
        """Return every input artefact, by name."""
        paths: list[tuple[str, Path | None]] = [
            ("collection", self.collection),
            ("source", self.source),
            *((f"rotated {draw}", path) for draw, path in self.rotated.items()),
            *((f"training queries, {variant}", path) for variant, path in self.levels.items()),
            *(
                (f"candidates {split}", path)
                for split, path in zip(self.settings.tests, self.candidates, strict=True)
            ),
        ]
        for runs in (self.by_position, *(one.runs for one in self.trained)):
            paths += [(path.stem, path) for path in chain.from_iterable(runs.values())]
        for one in self.trained:
            paths += [(f"probe {path.name}", path) for path in one.probes.values()]
            paths += [(one.path.name, one.path)]
            paths += [(f"source {one.first[1].name}", one.first[1])] if one.first else []
            paths += [
                (f"moved {one.path.name}", one.moved),
                (f"choice {one.path.name}", one.choice),
            ]
        return {name: path for name, path in paths if path is not None}


def best_of(rows: DataFrame) -> str:
    """Return the model of the largest value, of equal ones the first."""
    return str(rows.loc[rows["value"].fillna(0.0).idxmax(), "model"])


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
        self.rotated = {draw: Collection(path) for draw, path in study.rotated.items()}
        qrels = judgements(self.collection, settings.tests, settings.test_queries, settings.seed)
        made = Collected({"study": "position-bias", "collection": self.collection.name})
        relevant_from = settings.test_relevant_from
        super().__init__(made, {self.split: qrels}, relevant_from=relevant_from, seed=settings.seed)
        self.idle: set[tuple[Facts, Repeat]] = set()  # trainings whose depth is 1
        self.systems: dict[Facts, None] = {}  # without their test passages
        self.tests = ["original"] if study.source else ["original", "rotated"]
        self.whole: dict[int, Set[str]] = {}
        self._read()

    def _read(self) -> None:
        """Evaluate every run once."""
        found: dict[tuple[Facts, str, str], dict[Repeat, Values]] = {}

        def add(facts: Facts, test: str, repeat: Repeat, runs: Sequence[Path]) -> None:
            key = replace(facts, test=test)
            for measure, values in self._by_query(runs).items():
                found.setdefault((key, self.split, measure), {})[repeat] = values
            self.systems[facts] = None

        for test in self.tests:
            add(BM25, test, (None, None), self.study.candidates)
        for (test, draw), runs in self.study.by_position.items():
            add(ALONE, test, (None, draw), runs)
        for one in self.study.trained:
            facts, seed = system_of(one.facts), one.facts.seed
            if read_manifest(trained_folder(one.path)).content.get("depth") == 1:
                self.idle.add((facts, (seed, one.draw)))
            for (test, draw), runs in one.runs.items():
                add(facts, test, (seed, draw if one.draw is None else one.draw), runs)
            if one.moved is not None and (moved := _moved(one.moved)):
                key = (replace(facts, test="original"), self.split, MOVED)
                found.setdefault(key, {})[seed, None] = moved
        self.values = dict(found)

    def _by_query(self, runs: Sequence[Path]) -> dict[str, Values]:
        """Return a system's values by measure, the rankings of several splits joined."""
        rankings = chain.from_iterable(read_run(path).rankings() for path in runs)
        run = Run("joined", ((one.query_id, one.passage_ids, one.scores) for one in rankings))
        return dict(per_query(run, self.qrels[self.split], self.settings.measures))

    def measured(self) -> Collected:
        """Measure collections, effectiveness, comparisons, term similarity, trainings."""
        self._collections()
        for (facts, _, measure), repeats in self.values.items():
            if facts.model != FIRST_STAGE or facts.test == "original":
                self._mean(measure, facts, repeats)
        self.compare(self._by_test_set())
        self.compare(self._by_training())
        self.compare(self._against_baselines())
        self.compare(self._between_levels())
        self.compare(self._instead_of_rotation())
        self.compare(self._remedies())
        self._dominance()
        self._similarity()
        for one in self.study.trained:
            self._training(one)
        self._published()
        return self.made

    # -- collections -------------------------------------------------------------------------------

    def _collections(self) -> None:
        made, study, settings = self.made, self.study, self.settings
        source = None if study.source is None else Collection(study.source)
        add_contents(made, self.collection)
        if source is not None:
            add_contents(made, source, source=source.name)
        for draw, rotated in self.rotated.items():
            add_rotation(made, rotated, rotation=draw, source=source.name if source else "")
        if source is not None:
            return
        answered = [name for name, of in self.collection.split_facts.items() if of.answers]
        for draw, rotated in self.rotated.items():
            self._cuts(draw, rotated, answered)
        if answered:
            split = TRAIN if TRAIN in answered else answered[0]
            histogram_rows(made, position_histogram(self.collection, split), test="original")
            for draw, rotated in self.rotated.items():
                result = position_histogram(rotated, split)
                histogram_rows(made, result, test="rotated", rotation=draw)
        if isinstance(settings, PositionBiasSettings):
            options = HistogramOptions(matching=settings.matching, seed=settings.seed)
            for variant, path in study.levels.items():
                of = Collection(path)
                result = position_histogram(of, TRAIN, options, map_shards=study.map_shards)
                histogram_rows(made, result, variant=variant)

    def _cuts(self, draw: int, rotated: Collection, answered: Sequence[str]) -> None:
        """Count the test queries whose answers a rotation left whole, and those with a cut one."""
        judged = {qrel.query_id for qrel in self.qrels[self.split]}
        sides: tuple[set[str], set[str]] = (set(), set())
        for split in set(self.settings.tests) & set(answered):
            for side, own in zip(
                sides, queries_by_cut(self.collection, rotated, split), strict=True
            ):
                side |= own
        if self.settings.test_queries is not None:
            sides = (sides[0] & judged, sides[1] & judged)
        self.whole[draw] = sides[0]
        for name, side in zip((WHOLE, CUT), sides, strict=True):
            cells: dict[str, Any] = {"test": "rotated", "rotation": draw, "split": self.split}
            self.made.add("test queries", name, len(side), **cells)

    # -- systems -----------------------------------------------------------------------------------

    def _mean(self, measure: str, facts: Facts, repeats: Mapping[Repeat, Values]) -> None:
        """Add a system's mean over its repeats, and that of each where there are several."""
        self.mean(measure, self.split, facts, repeats)
        if len(repeats) > 1:
            for (seed, draw), values in repeats.items():
                own = replace(facts, seed=seed, rotation=draw)
                self.mean(measure, self.split, own, {(seed, draw): values})

    def _models(self) -> list[Facts]:
        """Return the trained systems, without test passages."""
        return [facts for facts in self.systems if facts.role == RERANKER]

    def _tested(self, along: str, measure: str, base: Facts, system: Facts) -> Tested | None:
        """Return the comparison of two systems by the repeats that both have, without those that
        re-rank nothing; None where they have none in common.
        """
        keys = [(facts, self.split, measure) for facts in (base, system)]
        sides = [self.values.get(key, {}) for key in keys]
        every = paired(*sides)
        if not every:
            return None
        repeats = every if along == BASELINES else self._pairs(base, system, *sides)
        return Tested(
            f"{along}: {measure}",
            measure,
            self.split,
            base,
            system,
            repeats or every,
            answer="" if repeats else Compared.IDLE,
        )

    def _pairs(
        self,
        base: Facts,
        system: Facts,
        before: Mapping[Repeat, Values],
        after: Mapping[Repeat, Values],
    ) -> dict[Repeat, tuple[Values, Values]]:
        """Pair the repeats of two systems that re-rank."""
        return paired(self._re_ranking(base, before), self._re_ranking(system, after))

    def _re_ranking(self, facts: Facts, repeats: Mapping[Repeat, Values]) -> dict[Repeat, Values]:
        own = replace(facts, test="")
        return {
            (seed, draw): values
            for (seed, draw), values in repeats.items()
            if not {(own, (seed, draw)), (own, (seed, None))} & self.idle
        }

    # -- comparisons -------------------------------------------------------------------------------

    def _by_test_set(self) -> Iterator[Tested]:
        """Compare each system on the rotated test passages with itself on the original ones, over
        all test queries and over those whose answers were left whole.
        """
        for measure in self.settings.measures if "rotated" in self.tests else ():
            for subset in ("", WHOLE) if any(self.whole.values()) else ("",):
                for facts in (*self._models(), ALONE):
                    base, rotated = (replace(facts, test=test) for test in self.tests)
                    tested = self._tested(TEST_SETS, measure, base, rotated)
                    assert tested is not None
                    if subset:
                        own = {
                            (seed, draw): (
                                _kept(before, self.whole[draw or 0]),
                                _kept(after, self.whole[draw or 0]),
                            )
                            for (seed, draw), (before, after) in tested.repeats.items()
                        }
                        tested = tested._replace(repeats=own, cells={"subset": subset})
                    yield tested

    def _by_training(self) -> Iterator[Tested]:
        """Compare trainings of one model on the same test passages: rotated passages with original
        ones, or any two with another first collection.
        """
        models = self._models()
        transfer = self.study.source is not None
        pairs = [
            (base, facts)
            for base, facts in combinations(models, 2)
            if (transfer and (base.model, base.unfinished) == (facts.model, facts.unfinished))
            or (base.training == "original" and facts == replace(base, training="rotated"))
        ]
        for measure in self.settings.measures:
            for base, facts in pairs:
                for test in self.tests:
                    yield from self._if_tested(TRAININGS, measure, base, facts, test)

    def _if_tested(
        self, along: str, measure: str, base: Facts, facts: Facts, test: str
    ) -> Iterator[Tested]:
        tested = self._tested(along, measure, replace(base, test=test), replace(facts, test=test))
        if tested is not None:
            yield tested

    def _against_baselines(self) -> Iterator[Tested]:
        for measure in self.settings.measures:
            for facts in self._models():
                for test in self.tests:
                    for base in (BM25, ALONE):
                        yield from self._if_tested(BASELINES, measure, base, facts, test)

    def _between_levels(self) -> Iterator[Tested]:
        """Compare the change by rotation of the most front-loaded level with that of the least,
        query by query, so that the effect of rotation on the text itself cancels out.
        """
        levels = self._levels()
        if len(levels) < 2:
            return
        least, most = levels[0], levels[-1]
        measure = self.settings.measures[0]
        for facts in self._models():
            if facts.variant != most:
                continue
            own = [replace(facts, variant=variant) for variant in (least, most)]
            pairs = [
                self._tested(TEST_SETS, measure, *(replace(one, test=test) for test in self.tests))
                for one in own
                if one in self.systems
            ]
            if len(pairs) < 2 or not all(pair and not pair.answer for pair in pairs):
                continue
            moved = paired(*(changes(pair.repeats) for pair in pairs if pair))
            if moved:
                base, system = (replace(one, test="rotated") for one in own)
                name = f"{measure}, {CHANGE}"
                family = f"{LEVELS}: {measure}"
                yield Tested(family, name, self.split, base, system, moved, relative=False)

    def _levels(self) -> list[str]:
        """Return the levels whose answers' mean place is known, the least front-loaded first."""
        rows = self.made.rows.query("measure == 'answer positions' and statistic == 'mean'")
        means = rows[(rows["variant"] != "") & rows["value"].notna()]
        return list(means.sort_values("value", ascending=False, kind="stable")["variant"])

    def _instead_of_rotation(self) -> Iterator[Tested]:
        """Compare the usual model trained on rotated passages with changed ones trained on original
        passages.
        """
        settings = self.settings
        if not (isinstance(settings, PositionBiasSettings) and settings.positions):
            return
        variants = list(dict.fromkeys(facts.variant for facts in self._models()))
        for measure in settings.measures:
            for facts in self._models():
                if (facts.variant, facts.training) == (variants[0], "rotated"):
                    for variant in variants[1:]:
                        base = replace(facts, variant=variant, training="original")
                        for test in self.tests:
                            yield from self._if_tested(INSTEAD, measure, base, facts, test)

    def _remedies(self) -> Iterator[Tested]:
        """Compare each remedy with none on original passages, in quality and in the size of the
        effect of moved sentences.

        |mean with the remedy| − |mean without| has no value by query, so each query's effect counts
        with the sign of its remedy's mean over all trainings: with a sign for each training, a
        remedy whose effects only vary more than another's had more bias.
        """
        for measure in (self.settings.measures[0], MOVED):
            for facts in self._models():
                none = replace(facts, variant=NO_REMEDY)
                if facts.variant == NO_REMEDY or none not in self.systems:
                    continue
                for tested in self._if_tested(REMEDIES, measure, none, facts, "original"):
                    signs = [self._sign(one) for one in (none, facts)] if measure == MOVED else []
                    yield tested._replace(repeats=_signed(tested.repeats, signs))

    def _sign(self, facts: Facts) -> int:
        """Return the sign of the mean effect of moved sentences over all trainings."""
        repeats = self.values[replace(facts, test="original"), self.split, MOVED]
        total = sum(sum(values.values()) / max(len(values), 1) for values in repeats.values())
        return -1 if total < 0 else 1

    def _dominance(self) -> None:
        """Add, for all pairs of a model's remedies, none among them, the differences in quality and
        in the size of the effect of moved sentences; their p-values are corrected together, so that
        the chance of any false sentence about a model is at most 5 %.
        """
        of_models: dict[tuple[str, str], list[Facts]] = defaultdict(list)
        for facts in self._models():
            measured = (replace(facts, test="original"), self.split, MOVED) in self.values
            if measured and not facts.unfinished:
                of_models[facts.model, facts.pretrained].append(facts)
        for (model, _), systems in of_models.items():
            found: list[tuple[str, Facts, Facts, Crossed]] = []
            for pair in combinations(systems, 2):
                base, system = (replace(one, test="original") for one in pair)
                both = {}
                for measure in (self.settings.measures[0], MOVED):
                    sides = [self.values[one, self.split, measure] for one in (base, system)]
                    both[measure] = self._pairs(base, system, *sides)
                for measure, repeats in both.items() if all(both.values()) else ():
                    signs = [self._sign(one) for one in pair] if measure == MOVED else []
                    change = change_over(_signed(repeats, signs), self.clusters[self.split])
                    found.append((measure, base, system, change.difference))
            adjusted = iter(corrected([of.p for *_, of in found if of.p is not None], HOLM))
            for measure, base, system, of in found:
                p = None if of.p is None else next(adjusted)
                cells: dict[str, Any] = {"against": against(base, system), "split": self.split}
                cells |= {"family": f"{DOMINANCE} of {model}", "p": of.p, "p_adjusted": p}
                cells["answer"] = compared(of.value or 0.0, p)
                cells["trainings"] = len(of.by_seed)
                own = {**system_cells(system), **cells}
                self.made.add(measure, DOMINANCE, of.value, of.interval, **own)

    def judged(self, tested: Tested, comparison: Comparison) -> dict[str, Any]:
        """Return the unit of a relative change, and of one by rotation the answer."""
        cells: dict[str, Any] = {"unit": "share"}
        if not tested.family.startswith(TEST_SETS):
            return cells
        bounds = comparison.relative_interval
        side = None if bounds is None else bounds.side(MARGIN)
        answer = {0: Shift.NONE, 1: Shift.RISES, -1: Shift.FALLS, None: Shift.UNKNOWN}[side]
        if tested.answer:
            answer = Shift.IDLE
        if tested.system.unfinished:
            answer = Shift.UNFINISHED
        cells |= {"margin": MARGIN, "count": comparison.queries, "counted": "queries"}
        return {**cells, "trainings": over(tested.repeats)["trainings"], "answer": answer}

    def _add(self, tested: Tested, comparison: Comparison) -> None:
        super()._add(tested, comparison)
        if tested.family.startswith(TEST_SETS):
            cells = {**system_cells(tested.system), **tested.cells, "split": tested.test}
            cells |= {"against": against(tested.base, tested.system), "family": tested.family}
            printed = comparison.relative_as_printed
            self.made.add(tested.measure, "Δ as printed", printed, unit="share", **cells)

    # -- term similarity and trainings -------------------------------------------------------------

    def _similarity(self) -> None:
        """Add MATS by training and probed passages, over trainings and of each."""
        probes: dict[Facts, dict[Repeat, list[dict[str, Any]]]] = {}
        for one in self.study.trained:
            for (test, draw), path in one.probes.items():
                repeat = (one.facts.seed, draw if one.draw is None else one.draw)
                key = replace(system_of(one.facts), test=test)
                probes.setdefault(key, {})[repeat] = records(load(path))
        for facts, repeats in probes.items():
            several, known = len(repeats) > 1, {}
            for (seed, draw), probed in repeats.items():
                own = replace(facts, seed=seed, rotation=draw) if several else facts
                for row in probed:
                    cells = {name: cell for name, cell in row.items() if name not in PLACE}
                    self.made.add(**{"value": None, **cells, **system_cells(own)})
                    if (row["measure"], row["statistic"]) == (MATS, "mean") and "value" in row:
                        known[seed, draw] = row["value"]
            if several and known:
                of = figures_over(known)
                over_all: dict[str, Any] = {**system_cells(facts), "interval": "trainings"}
                over_all["trainings"] = len(of.by_seed)
                self.made.add(MATS, "mean", of.value, of.interval, **over_all)

    def _training(self, one: Trained) -> None:
        """Add the logs of a model's trainings, and the values by which validation chose."""
        seed = one.facts.seed
        assert seed is not None
        for facts, path in (*([one.first] if one.first else []), (one.facts, one.path)):
            if trained_folder(path) == path:  # a remedy at inference trains nothing
                self.training(replace(facts, seed=None, role=RERANKER), seed, path)
        if one.choice is None:
            return
        choices = load(one.choice)
        best = best_of(choices)
        for row in choices.itertuples():
            own: dict[str, Any] = {**system_cells(replace(one.facts, role=RERANKER))}
            own |= {"split": row.split, "axis": "setting", "label": row.model}
            own["answer"] = "chosen" if row.model == best else ""
            own["test"] = "rotated"
            self.made.add(row.measure, "validation", row.value, **own)

    # -- the paper ---------------------------------------------------------------------------------

    def _published(self) -> None:
        """Add the paper's figures of the collection and of the models that were trained, where the
        collection is its own; one made from another is not.
        """
        source = self.study.source and Collection(self.study.source)
        theirs = COLLECTIONS.get(self.collection.manifest.command)
        first = COLLECTIONS.get(source.manifest.command) if source else None
        models = {facts.model for facts in self._models()}
        tables = ("Table 1", "Table 5") if source else ("Table 1", "Table 2", "Table 3", "Table 4")
        for cell in printed_cells(PUBLISHED) if theirs else ():
            place, model = cell["family"], cell.get("model")
            if cell["collection"] != theirs or not any(table in place for table in tables):
                continue
            if model and (model not in models or any(facts.variant for facts in self._models())):
                continue
            own = {**cell, "collection": self.collection.name}
            if began := cell.get("source"):
                name, _, text = began.rpartition(" (")
                if name != first or source is None:
                    continue
                own["source"] = f"{source.name} ({text}"
            self.made.add(**own)


def system_of(facts: Facts) -> Facts:
    """Return a trained system's facts, the same for all repeats and test passages."""
    return replace(facts, seed=None, rotation=None, test="", role=RERANKER)


def _kept(values: Values, kept: Set[str]) -> Values:
    return {query_id: value for query_id, value in values.items() if query_id in kept}


def _signed(
    repeats: Mapping[Repeat, tuple[Values, Values]], signs: Sequence[int]
) -> dict[Repeat, tuple[Values, Values]]:
    """Multiply each side's values by its sign, if any."""
    if not signs:
        return dict(repeats)
    before, after = (
        {
            key: {query_id: sign * value for query_id, value in pair[side].items()}
            for key, pair in repeats.items()
        }
        for side, sign in enumerate(signs)
    )
    return {key: (before[key], after[key]) for key in repeats}


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
