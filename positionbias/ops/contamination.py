"""A test of whether a model has seen the test set that it is measured on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from positionbias.contamination.settings import QuerySets, Suspects, SuspectSettings
from positionbias.core.errors import InputError, SettingError, bad_input
from positionbias.core.json_text import Json
from positionbias.core.operation import Overwrite, SavedTo, Source, operation
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say
from positionbias.ops.outcome import Measurements, Read, refuse_outputs, save_if_asked
from positionbias.ranking.config import Computing

if TYPE_CHECKING:
    from positionbias.contamination.configuration import Configuration
    from positionbias.contamination.contrast import Contrast, Measured
    from positionbias.core.collection import Collection
    from positionbias.core.records import Qrel
    from positionbias.core.run import Run
    from positionbias.models.checkpoint import Checkpoint

__all__ = ["suspect_contamination"]


@operation
def suspect_contamination(
    collection: Source,
    *,
    suspects: Suspects,
    queries: QuerySets,
    computing: Computing = Computing(),
    settings: SuspectSettings = SuspectSettings(),
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Measurements:
    """Test whether a model is suspiciously good on the test queries of ``collection`` that
    everybody has.

    Its advantage over controls, clean trainings of the same architecture and settings, is held
    against that on judged queries which it cannot have seen: other queries (``fresh``), or
    paraphrases of the same ones (paired; they find memory of the wording only). An excess is tested
    against how far clean trainings differ by chance, with Holm's correction over all models and
    sets of the call; score margins stand beside it.

    The answer is suspicious, not suspicious (an excess of 0.05 lies outside the interval), or
    cannot tell: with fewer than two controls, with controls of another configuration, without
    spread, or where too little is known. How often the call is wrong, and what it would find, is
    simulated and printed.

        posbias import planted --fresh-queries 2000 --paraphrased --out p
        posbias retrieve p --split test --depth 10 --out test.run
        posbias retrieve p --split fresh --depth 10 --out fresh.run
        posbias contamination suspect p --model m.ckpt --candidates test.run --fresh fresh \\
                --fresh-candidates fresh.run \\
          --control c1.ckpt --control c2.ckpt --control c3.ckpt

    Returns:
        Rows: the answer about each model on each pair of query sets with the figures behind it, the
        means of each system, and each model's advantage by query.

    Raises:
        SettingError: runs that do not come in pairs, fresh queries without candidates, or a measure
            that does not exist.
        InputError: a run of other queries or passages, or a malformed file.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import QuerySets, Suspects
        >>> suspects = Suspects(models=["tk.ckpt"], controls=["tk-2.ckpt", "tk-3.ckpt"])
        >>> queries = QuerySets("test.run", fresh="fresh", fresh_candidates="fresh.run")
        >>> print(pb.suspect_contamination("planted", suspects=suspects, queries=queries))
        Cannot tell whether tk saw test: nothing shows that the 2 controls have its configuration.
        ...
    """
    from positionbias.contamination.measured import KEYS, suspicion_rows
    from positionbias.contamination.suspect import Known, suspect
    from positionbias.core.collection import find_collection
    from positionbias.core.rows import Collected
    from positionbias.evaluation.measures import parse_measure

    suspects.check_runs(queries.fresh)
    settings = replace(settings, measure=str(parse_measure(settings.measure)))
    refuse_outputs(out, overwrite=overwrite)
    sets = _Sets(find_collection(collection), queries, settings.measure, computing, suspects.kind)
    contrasts = sets.contrasts()
    public = sets.candidates[queries.split]
    order = sets.measured(public.name, sets.candidates)
    for of, count in sets.without_candidates().items():
        if count:
            say(f"{of}: {count:,} judged queries without candidates, 0 for every system")
    controls = sets.systems(
        "control", suspects.controls, suspects.control_runs, suspects.control_fresh_runs
    )
    known = Known(list(controls), [sets.bank(input_place(name)) for name in suspects.banks])
    models = list(sets.systems("model", suspects.models, suspects.runs, suspects.fresh_runs))
    common = {
        "study": "contamination suspect",
        "collection": sets.collection.name,
        "split": queries.split,
    }
    made = Collected(common, KEYS)
    suspicion_rows(made, suspect(models, known, order, contrasts, settings), settings.measure)
    found = Measurements(
        rows=made.rows,
        values=made.values,
        command="contamination suspect",
        settings={**asdict(settings), "splits": list(queries.splits)},
        read=sets.inputs,
        seed=settings.seed,
        packages=("ir_measures", "numpy", "scipy"),
    )
    return save_if_asked(found, out, overwrite=overwrite)


@dataclass(slots=True)
class _Sets:
    """The public split and perhaps a fresh one, each with its judgements and candidates; ``inputs``
    grows by what is read.
    """

    collection: Collection
    queries: QuerySets
    measure: str
    computing: Computing
    kind: str | None
    qrels: dict[str, list[Qrel]] = field(init=False)
    candidates: dict[str, Run] = field(init=False)
    inputs: list[Read] = field(init=False)

    def __post_init__(self) -> None:
        self.qrels = {split: self.collection.qrels(split) for split in self.queries.splits}
        self.inputs = [Read("collection", self.collection.path, self.collection.checksum)]
        self.candidates = {
            self.queries.split: self.read("candidates", self.queries.candidates, self.queries.split)
        }

    def read(self, role: str, name: Place, split: str) -> Run:
        """Return a run of a split's queries, checked against the collection."""
        from positionbias.core.run import read_run
        from positionbias.evaluation.evaluate import check_run

        path = input_place(name)
        run = read_run(path)
        check_run(run, self.collection, split)
        self.inputs.append(Read.file(role, path))
        return run

    def contrasts(self) -> list[Contrast]:
        """Return what is compared; read the fresh queries' candidates, or make them from those of
        the queries that they paraphrase.
        """
        from positionbias.contamination.contrast import (
            against_fresh,
            against_paraphrases,
            by_near_duplicates,
        )
        from positionbias.evaluation.significance import clusters_by_passage
        from positionbias.leakage.leaks import leaked_tests
        from positionbias.leakage.pairs import pairs_file, read_pairs

        judged = {split: {qrel.query_id for qrel in qrels} for split, qrels in self.qrels.items()}
        clusters = {split: clusters_by_passage(qrels) for split, qrels in self.qrels.items()}
        public, fresh = self.queries.split, self.queries.fresh
        found = []
        if fresh is not None:
            of = self._paraphrased(fresh)
            paired = of is not None or judged[fresh] <= judged[public]
            self.candidates[fresh] = self._fresh_candidates(fresh, of, paired=paired)
            sides, names = (judged[public], judged[fresh]), (public, fresh)
            if paired:
                found.append(
                    against_paraphrases(*sides, of, names=names, clusters=clusters[public])
                )
            else:
                both = {"clusters": clusters[public], "fresh_clusters": clusters[fresh]}
                found.append(against_fresh(*sides, names=names, **both))
        if self.queries.pairs is not None:
            path = pairs_file(input_place(self.queries.pairs))
            self.inputs.append(Read.file("pairs", path))
            leaked = leaked_tests(read_pairs(path))
            found.append(
                by_near_duplicates(judged[public], leaked, name=public, clusters=clusters[public])
            )
        return found

    def _paraphrased(self, fresh: str) -> dict[str, str] | None:
        if self.queries.paraphrases is None:
            return None
        public, other = (
            {query.query_id for query in self.collection.queries(of)}
            for of in (self.queries.split, fresh)
        )
        return _read_paraphrases(input_place(self.queries.paraphrases), public, other)

    def _fresh_candidates(self, fresh: str, of: Mapping[str, str] | None, *, paired: bool) -> Run:
        from positionbias.core.run import Run

        public, base = self.queries.split, self.candidates[self.queries.split]
        if self.queries.fresh_candidates is not None:
            return self.read("fresh candidates", self.queries.fresh_candidates, fresh)
        if not paired:
            raise SettingError(
                f"--fresh-candidates: wanted a run of {fresh!r}, whose queries are none of "
                f"{public!r}; found none; make one: posbias retrieve {self.collection.name} "
                f"--split {fresh}"
            )
        rankings = []
        for query in self.collection.queries(fresh):
            own = query.query_id if of is None else of.get(query.query_id)
            if own is not None and own in base:
                rankings.append((query.query_id, base[own].passage_ids, base[own].scores))
        return Run(base.name, rankings)

    def systems(
        self, role: str, models: Sequence[Place], runs: Sequence[Place], fresh_runs: Sequence[Place]
    ) -> Iterator[Measured]:
        """Measure models, and after them those of which there are runs alone."""
        for name in models:
            yield self.of_model(name, role)
        for number, run in enumerate(runs):
            yield self.ranked(role, [run, *fresh_runs[number : number + 1]])

    def ranked(self, role: str, names: Sequence[Place]) -> Measured:
        """Measure a system of which there are runs alone, one a split, under the tag of the
        first.
        """
        runs = {
            split: self.read(role, name, split)
            for split, name in zip(self.queries.splits, names, strict=True)
        }
        return self.measured(runs[self.queries.split].name, runs)

    def bank(self, place: Path) -> list[Measured]:
        """Measure the trainings that a file names, a line each: a checkpoint, or runs of the splits
        with tabs between.

        Raises:
            InputError: fewer than two, a line with other columns, or a training twice.
        """
        from positionbias.core.blocks import file_lines

        columns = len(self.queries.splits)
        rows = [
            (number, line.strip().split("\t")) for number, line in file_lines(place) if line.strip()
        ]
        first: dict[tuple[str, ...], int] = {}
        for number, cells in rows:
            if len(cells) > columns:
                do = "give a run of each split, and no more"
                raise bad_input(
                    place,
                    line=number,
                    wanted=f"at most {columns} columns",
                    found=f"{len(cells)}",
                    do=do,
                )
            if first.setdefault(tuple(cells), number) != number:
                do = "name each training once: a copy says nothing of chance"
                raise bad_input(
                    place,
                    line=number,
                    wanted="another training",
                    found=f"{cells[0]!r} again",
                    do=do,
                )
        if len(rows) < 2:
            wanted = "a line each for two trainings or more, a checkpoint or its runs"
            raise bad_input(
                place,
                wanted=wanted,
                found=f"{len(rows)}",
                do="add trainings of the same configuration",
            )
        return [
            self.ranked("bank", cells) if self._is_run(cells) else self.of_model(cells[0], "bank")
            for _, cells in rows
        ]

    def _is_run(self, cells: Sequence[str]) -> bool:
        return len(cells) == len(self.queries.splits) and (
            len(cells) > 1 or input_place(cells[0]).is_file()
        )

    def of_model(self, name: Place, role: str) -> Measured:
        """Measure a model's order of both splits' candidates, down to the depth that it was tuned
        to where it was.
        """
        from positionbias.evaluation.depth import apply_depth
        from positionbias.ranking.rerank import rescore

        checkpoint = self.computing.load(name, self.kind)
        self.inputs.append(Read(role, checkpoint.path, checkpoint.manifest.checksum))
        runs, scored = {}, {}
        for split in self.queries.splits:
            candidates = self.candidates[split]
            depth = checkpoint.depth or max(1, candidates.depth)
            wanted, queries = candidates.top(depth), self.collection.queries(split)
            scored[split] = rescore(
                checkpoint.model,
                self.collection,
                queries,
                wanted,
                config=self.computing.config,
                name=checkpoint.name,
                description=f"{checkpoint.name} on {split}",
            ).run
            runs[split] = apply_depth(candidates, scored[split], depth, name=checkpoint.name)
        return self.measured(checkpoint.name, runs, scored, _configuration_of(checkpoint))

    def measured(
        self,
        name: str,
        runs: Mapping[str, Run],
        scored: Mapping[str, Run] | None = None,
        configuration: Configuration | None = None,
    ) -> Measured:
        """Return a system's measure of every judged query of both splits, and its score margins
        among what it ``scored`` (None: its runs).

        Raises:
            InputError: a split of whose judged queries the run has none.
        """
        from positionbias.contamination.configuration import Configuration
        from positionbias.contamination.contrast import Measured, Sides
        from positionbias.contamination.margins import score_margins
        from positionbias.evaluation.measures import per_query

        quality, margins = [], []
        for split, qrels in self.qrels.items():
            values = per_query(runs[split], qrels, [self.measure])[self.measure]
            if not any(query_id in runs[split] for query_id in values):
                raise InputError(
                    f"run {runs[split].name!r}: wanted candidates of the judged queries of "
                    f"{split!r}; found none; check which split it is of"
                )
            quality.append(values)
            margins.append(score_margins((scored or runs)[split], qrels))
        none: list[dict[str, float]] = [{}] * (2 - len(self.qrels))
        return Measured(
            name, Sides(*quality, *none), Sides(*margins, *none), configuration or Configuration()
        )

    def without_candidates(self) -> dict[str, int]:
        """Count the judged queries by split that have no candidates and count 0 for every
        system.
        """
        return {
            split: len({qrel.query_id for qrel in qrels}.difference(self.candidates[split]))
            for split, qrels in self.qrels.items()
        }


def _configuration_of(checkpoint: Checkpoint) -> Configuration:
    """Return a checkpoint's configuration: kind and shape and, for a training of ours, its settings
    and starting point.
    """
    from positionbias.contamination.configuration import Configuration
    from positionbias.core.schema import converted
    from positionbias.models.checkpoint import shape_of

    settings = checkpoint.manifest.settings
    if "training" not in settings:
        return Configuration(shape_of(checkpoint.model))
    training = converted(dict[str, Json], settings["training"])
    deciding = {name: value for name, value in training.items() if name != "seed"}
    begun = {
        of.role: of.checksum
        for of in checkpoint.manifest.inputs
        if of.role in ("start", "word_vectors")
    }
    return Configuration(
        shape_of(checkpoint.model),
        {**deciding, "encoder": settings.get("encoder"), "rotate": settings.get("rotate"), **begun},
    )


def _read_paraphrases(place: Path, public: set[str], fresh: set[str]) -> dict[str, str]:
    """Read lines ``fresh id<TAB>public id``, of queries of the two splits.

    Raises:
        InputError: a line that is none, an unknown id, or a fresh one twice (with the line); no
            line.
    """
    from positionbias.core.blocks import file_lines

    found: dict[str, str] = {}
    wanted = "lines of a fresh query's id, tab, the public query's id"
    for number, line in file_lines(place):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != 2:
            raise bad_input(
                place, line=number, wanted=wanted, found=f"{len(cells)} columns", do="fix the line"
            )
        for query_id, known, of in ((cells[0], fresh, "fresh"), (cells[1], public, "public")):
            if query_id not in known:
                do = "check the ids, and which column is which"
                raise bad_input(
                    place,
                    line=number,
                    wanted=f"a query of the {of} split",
                    found=repr(query_id),
                    do=do,
                )
        if cells[0] in found:
            do = "name one public query for it"
            raise bad_input(
                place,
                line=number,
                wanted="every fresh query once",
                found=f"{cells[0]!r} again",
                do=do,
            )
        found[cells[0]] = cells[1]
    if not found:
        raise bad_input(place, wanted=wanted, found="an empty file", do="check the path")
    return found
