"""A test of whether a model has seen the test set that it is measured on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from positionbias.contamination.settings import Suspects, SuspectSettings
from positionbias.core.errors import InputError, SettingError
from positionbias.core.operation import Overwrite, SavedTo, Source, operation
from positionbias.core.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.core.places import Place, input_place
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.contamination.suspect import Contrast, System
    from positionbias.core.collection import Collection
    from positionbias.core.records import Qrel
    from positionbias.core.run import Run

__all__ = ["suspect_contamination"]


@operation
def suspect_contamination(
    collection: Source,
    *,
    suspects: Suspects,
    computing: Computing = Computing(),
    settings: SuspectSettings = SuspectSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Test whether a model is suspiciously good on the test queries of ``collection`` that
    everybody has.

    Its advantage over controls, clean trainings of the same architecture and settings, is compared
    with that on judged queries which it cannot have seen. The excess is tested against how far
    clean trainings differ by chance, with Holm's correction over all models of the call.

    The answer is suspicious, not suspicious (an excess of 0.05 lies outside the interval), or
    cannot tell: with fewer than two controls, without spread, or where too little is known. How
    often the call is wrong, and what it would find, is simulated and printed.

        posbias import planted --set fresh_queries=2000 --out p
        posbias retrieve p --split test --depth 10 --out test.run
        posbias retrieve p --split fresh --depth 10 --out fresh.run
        posbias contamination suspect p --model m.ckpt --fresh fresh \\
                --candidates test.run --candidates fresh.run \\
          --control c1.ckpt --control c2.ckpt --control c3.ckpt

    Returns:
        Rows: the answer about each model with its error rates, and the means of each system with
        its values by query.

    Raises:
        SettingError: two systems of one name, a model without candidates, or a measure that does
            not exist.
        InputError: a run of other queries or passages, or a malformed file.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Suspects
        >>> suspects = Suspects(
        ...     models=["tk.ckpt"],
        ...     controls=["tk-2.ckpt", "tk-3.ckpt"],
        ...     candidates=["test.run", "fresh.run"],
        ...     fresh="fresh",
        ... )
        >>> print(pb.suspect_contamination("planted", suspects=suspects))
        Cannot tell whether tk saw test: over its 2 controls it gains ...
        ...
    """
    from positionbias.contamination.suspect import suspicion_rows
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.evaluation.measures import parse_measure

    refuse_outputs(out, overwrite=overwrite)
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
    found = Measurements(
        rows=made.rows,
        values=made.values,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(reading.splits)},
        read=reading.inputs,
        seed=settings.seed,
        packages=("ir_measures", "numpy", "scipy"),
    )
    return save_if_asked(found, out, overwrite=overwrite)


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
        from positionbias.core.run import read_run
        from positionbias.evaluation.evaluate import check_run

        path = input_place(name)
        run = read_run(path)
        check_run(run, self.collection, self.suspects.split)
        self.inputs.append(Read.file(role, path))
        return run

    def contrast(self) -> Contrast:
        """Return the two sets of queries."""
        from positionbias.contamination.suspect import against_fresh
        from positionbias.evaluation.significance import clusters_by_passage

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
        from positionbias.contamination.suspect import System
        from positionbias.evaluation.measures import per_query

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
        from positionbias.evaluation.depth import apply_depth
        from positionbias.ranking.rerank import rescore

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
    from positionbias.core.run import Run

    rankings = (ranking for run in runs for ranking in run.rankings())
    return Run(runs[0].name, ((one.query_id, one.passage_ids, one.scores) for one in rankings))
