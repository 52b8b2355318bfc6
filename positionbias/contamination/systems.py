"""The systems of a test for contamination: models and runs, opened and measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.contamination.suspect import Contrast, System, against_fresh, suspicion_rows
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.inputs import CollectionLike
from positionbias.core.outcome import Measurements, Read
from positionbias.core.places import Place, input_place
from positionbias.core.records import Qrel
from positionbias.core.rows import Collected
from positionbias.core.run import Run, read_run
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.evaluate import check_run
from positionbias.evaluation.measures import parse_measure, per_query
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.ranking.config import Computing


def suspect_systems(
    collection: CollectionLike,
    suspects: Suspects,
    computing: Computing,
    settings: SuspectSettings,
) -> Measurements:
    """Compare models with controls on queries that they may have seen, and on others.

    Raises:
        SettingError: two systems of one name, a model without candidates, or no such measure.
        InputError: a run of other queries or passages.
    """
    settings = replace(settings, measure=str(parse_measure(settings.measure)))
    reading = _Reading(find_collection(collection), suspects, settings.measure, computing)
    contrast = reading.contrast()
    models = reading.systems("model", suspects.models)
    controls = reading.systems("control", suspects.controls)
    names = [system.name for system in (*models, *controls)]
    if len(set(names)) < len(names):
        raise SettingError(
            f"--model, --control: wanted a name for each; found {', '.join(names)}; rename folders "
            "or the tags of runs"
        )
    common = {
        "study": "contamination suspect",
        "collection": reading.collection.name,
        "split": suspects.split,
    }
    made = Collected(common, ("seen", "other"))
    suspicion_rows(made, models, controls, contrast, settings)
    return Measurements(
        rows=made.rows,
        values=made.values,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(reading.splits)},
        read=reading.inputs,
        seed=settings.seed,
        packages=("ir_measures", "numpy", "scipy"),
    )


@dataclass(slots=True)
class _Reading:
    """The judged queries of the splits, and the systems on them; ``inputs`` grows by what is
    read.
    """

    collection: Collection
    suspects: Suspects
    measure: str
    computing: Computing
    qrels: Mapping[str, list[Qrel]] = field(init=False)
    candidates: Run | None = field(init=False)
    inputs: list[Read] = field(init=False)

    @property
    def splits(self) -> tuple[str, str]:
        return self.suspects.split, self.suspects.fresh

    def __post_init__(self) -> None:
        self.qrels = {split: self.collection.qrels(split) for split in self.splits}
        self.inputs = [Read("collection", self.collection.path, self.collection.checksum)]
        runs = [self.run("candidates", one) for one in self.suspects.candidates]
        self.candidates = _joined(runs) if runs else None

    def run(self, role: str, name: Place) -> Run:
        """Return a run, checked against the collection."""
        path = input_place(name)
        run = read_run(path)
        check_run(run, self.collection, self.suspects.split)
        self.inputs.append(Read.file(role, path))
        return run

    def contrast(self) -> Contrast:
        """Return the two sets of queries."""
        clusters = []
        for qrels in self.qrels.values():
            known = clusters_by_passage(qrels)
            queries = {qrel.query_id for qrel in qrels}
            clusters.append({query_id: known.get(query_id, query_id) for query_id in queries})
        return against_fresh(*clusters, names=self.splits)

    def systems(self, role: str, names: Sequence[Place]) -> list[System]:
        """Measure systems: models, and rankings joined by their tags.

        Raises:
            InputError: rankings without a judged query of a split.
        """
        by_name: dict[str, list[Run]] = {}
        for name in names:
            is_run = input_place(name).is_file()
            run = self.run(role, name) if is_run else self.reranked(role, name)
            by_name.setdefault(run.name, []).append(run)
        systems = []
        for name, runs in by_name.items():
            run, values = _joined(runs), {}
            for split, qrels in self.qrels.items():
                own = per_query(run, qrels, [self.measure])[self.measure]
                if not own.keys() & run.keys():
                    raise InputError(
                        f"run {name!r}: wanted rankings of the judged queries of {split!r}; found "
                        "none; give those of each split, with the same tag"
                    )
                values.update(own)
            systems.append(System(name, role, values))
        return systems

    def reranked(self, role: str, name: Place) -> Run:
        """Return the candidates in a model's order, down to the depth that it was tuned to where it
        was.
        """
        from positionbias.ranking.rerank import rescore  # needs torch

        if self.candidates is None:
            raise SettingError(
                "--candidates: wanted runs for models to re-rank; found none; make one of each "
                f"split: posbias retrieve {self.collection.name} --split {self.suspects.split}"
            )
        checkpoint = self.computing.load(name, self.suspects.kind)
        self.inputs.append(Read(role, checkpoint.path, checkpoint.manifest.checksum))
        depth = checkpoint.depth or max(1, self.candidates.depth)
        queries = [q for split in self.splits for q in self.collection.queries(split)]
        scored = rescore(
            checkpoint.model,
            self.collection,
            queries,
            self.candidates.top(depth),
            config=self.computing.config,
            name=checkpoint.name,
            description=checkpoint.name,
        )
        return apply_depth(self.candidates, scored.run, depth, name=checkpoint.name)


def _joined(runs: Sequence[Run]) -> Run:
    """Return runs of different queries as one, under the name of the first."""
    rankings = (ranking for run in runs for ranking in run.rankings())
    return Run(runs[0].name, ((one.query_id, one.passage_ids, one.scores) for one in rankings))
