"""Steps shared by all studies: rotated collections, candidates, trained models, re-ranked runs,
probes, results.

Each is a restartable step (``experiments.step``) that leaves an artefact with its manifest in the
study's folder:

    rotated-SEED/              a collection rotated by one draw
    runs/bm25-SPLIT.run        candidates
    models/NAME/               checkpoints
    taught/NAME-on-SPLIT/      a model's scores of training candidates, for students
    vectors/NAME/              a model's vectors of a collection's passages
    runs/NAME-on-TEST.run      candidates re-ranked by a model, or by position alone; a model's own
                               retrieval by vectors
    probes/NAME-on-TEST/       MATS of a model
    results/                   what was measured
    steps/                     receipts

Steps take and return paths, and open their inputs only when made. So a study holds one model at a
time, and a dry run can follow it through artefacts that do not exist yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

from positionbias.audit.audit import audit, make_task
from positionbias.audit.measured import audit_rows
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core import rows
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    manifest_path,
    write_manifest,
)
from positionbias.core.progress import track
from positionbias.core.publish import atomic_file
from positionbias.core.retrieval import Retrieval
from positionbias.core.rows import Collected
from positionbias.core.run import Run, read_run, write_run
from positionbias.core.seeds import drawn_order
from positionbias.dense.encode import encode_collection
from positionbias.dense.retrieve import retrieve_dense
from positionbias.dense.settings import DenseSearch, Index
from positionbias.dense.vectors import Vectors
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.fusion import fuse
from positionbias.evaluation.measures import evaluate_run
from positionbias.evaluation.significance import clusters_by_passage
from positionbias.experiments.artefacts import Artefacts, checkpoint_facts
from positionbias.experiments.estimate import Work, training
from positionbias.experiments.sample import drawn_queries
from positionbias.firststage.bm25 import Bm25Settings, retrieve_run
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, save_remedied
from positionbias.models.remedies import AnyRemedy
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.probe.measured import similarity_rows
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe_model
from positionbias.ranking.config import Reranking, TaughtPassages, pick_device
from positionbias.ranking.rerank import rerank_run
from positionbias.ranking.teach import teach
from positionbias.results.result import Result, save_results
from positionbias.text.overlap import position_only
from positionbias.training.plan import INPUTS, TrainPlan
from positionbias.training.state import unfinished
from positionbias.training.train import train_model

__all__ = ["Workspace", "drawing", "position_only_run"]

drawing = partial(Work, "training instances drawn")


class Workspace(Artefacts):
    """The shared steps of studies, made in a study's folder."""

    # -- steps -------------------------------------------------------------------------------------

    def rotated(self, collection: Path, rotation: Rotation) -> Path:
        """Return the collection with every passage rotated once, like ``debias``, named for the
        draw.
        """
        place = self.folder / f"rotated-{rotation.seed}"
        self.stands_for(place, collection)

        def make() -> None:
            source = Collection(collection)
            debias(
                source,
                place,
                rotation,
                map_shards=self.map_shards,
                overwrite=True,
                name=f"{source.name}-rotated-{rotation.seed}",
                provenance=self.engine.host,
            )

        inputs = {"collection": self.checksum(collection)}
        work = Work(f"passages rotated by {rotation.words}", len(self.counted(collection)))
        return self.steps.make(
            f"{self.prefix}rotate-{rotation.seed}", place, asdict(rotation), inputs, make, work=work
        )

    def candidates(self, collection: Path, split: str, depth: int, bm25: Bm25Settings) -> Path:
        """Return a BM25 run of the split's queries."""
        place = self.folder / "runs" / f"bm25-{split}.run"

        def make() -> None:
            wanted = Retrieval(split, depth)
            workers, over = self.engine.workers, self.map_shards
            retrieve_run(
                Collection(collection),
                wanted,
                bm25,
                place,
                overwrite=True,
                workers=workers,
                map_shards=over,
            )

        settings: JsonObject = {"split": split, "depth": depth, **asdict(bm25)}
        inputs = {"collection": self.checksum(collection)}
        counted = self.counted(collection)
        # the index is built once, and each query reads postings in proportion to the passages
        amount = len(counted) * (counted.count_queries(split) + 1000)
        work = Work("BM25 passages × (queries + 1000)", amount)
        return self.steps.make(
            f"{self.prefix}bm25-{split}", place, settings, inputs, make, work=work
        )

    def trained(
        self, name: str, collection: Path, plan: TrainPlan, *, groups: int | None = None
    ) -> Path:
        """Return the checkpoint of a training, resumed if interrupted; ``groups`` is its training
        set's size, for a dry run.
        """
        place = self.folder / "models" / name
        files = (getattr(plan, role) for role in INPUTS)
        made = self._made(collection, *(path for path in files if path is not None))
        settings = plan.settings(Collection(collection)) if made else {}
        inputs = {"collection": self.checksum(collection) if made else None}
        self._plans[place] = plan
        work, note = training(self.counted(collection), plan, unfinished(place), groups)
        make = partial(_train, collection, plan, place)
        return self.steps.make(
            f"{self.prefix}train-{name}", place, settings, inputs, make, work=work, note=note
        )

    def some_queries(self, split: str, candidates: Path, number: int, *, seed: int) -> Path:
        """Return the candidates of the first ``number`` queries, in an order keyed by seed and
        id.
        """

        def made() -> Run:
            run = read_run(candidates)
            return run.only(drawn_order(run, seed, "some queries")[:number], run.name)

        settings: JsonObject = {"split": split, "queries": number, "seed": seed}
        label = f"{candidates.stem}-of-{number}"
        return self._drawn_run(
            label, "some queries", number, settings, {"candidates": candidates}, made
        )

    def test_sample(
        self, collection: Path, split: str, candidates: Path, number: int, *, seed: int
    ) -> Path:
        """Return the candidates of ``number`` of the split's judged queries
        (``studies.sample``).
        """

        def made() -> Run:
            run = read_run(candidates)
            drawn = drawn_queries(Collection(collection).qrels(split), number, seed)
            if not (kept := drawn.intersection(run)):
                raise bad_input(
                    candidates,
                    wanted=f"candidates of one of {len(drawn):,} drawn queries of {split}",
                    found="none",
                    do="raise --test-queries",
                )
            return run.only(sorted(kept), run.name)

        settings: JsonObject = {"split": split, "queries": number, "seed": seed}
        inputs = {"candidates": candidates, "collection": collection}
        return self._drawn_run(
            f"{number}-queries-of-{split}", "test queries drawn", number, settings, inputs, made
        )

    def _drawn_run(
        self,
        label: str,
        command: str,
        number: int,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        made: Callable[[], Run],
    ) -> Path:
        """Make a run of ``number`` queries, by which a dry run counts the work on it."""
        place = self.derived_run(label, command, settings, inputs, made, work=drawing(number))
        self._drawn[place] = number
        return place

    def taught(
        self,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        depth: int | None,
        *,
        relevant_from: int = 1,
    ) -> Path:
        """Return the model's scores of the first ``depth`` candidates (None: all) and of relevant
        passages; an interrupted run is resumed."""
        label = f"{model.name}-on-{split}"
        place = self.folder / "taught" / label
        settings: JsonObject = {"split": split, "depth": depth, "relevant_from": relevant_from}

        def make() -> None:
            passages = TaughtPassages(
                split=split, candidates=candidates, depth=depth, relevant_from=relevant_from
            )
            teach(_at_work(model), Collection(collection), passages, place, overwrite=True)

        inputs = {
            "model": self.scorer(model),
            "collection": self.checksum(collection),
            "candidates": self.checksum(candidates),
        }
        work = self._reranking(model, collection, split, candidates, depth)
        return self.steps.make(
            f"{self.prefix}teach-{label}", place, settings, inputs, make, work=work
        )

    def reranked(
        self,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        *,
        on: str = "",
        depth: int | None = None,
    ) -> Path:
        """Return the candidates in the model's order, down to ``depth`` (default: the tuned one).
        ``on`` names the test passages in the run's file name, if there are several."""
        label = f"{model.name}-on-{on}-{split}" if on else f"{model.name}-on-{split}"
        place = self.folder / "runs" / f"{label}.run"

        def make() -> None:
            rerank_run(
                _at_work(model),
                Collection(collection),
                candidates,
                place,
                Reranking(split, reach),
                overwrite=True,
            )

        tuned = checkpoint_facts(model)["depth"] if self._made(model) else None
        reach = tuned if depth is None else depth
        inputs = {
            "model": self.scorer(model),
            "collection": self.checksum(collection),
            "candidates": self.checksum(candidates),
        }
        work = self._reranking(model, collection, split, candidates, reach)
        return self.steps.make(
            f"{self.prefix}rerank-{label}",
            place,
            {"split": split, "depth": reach},
            inputs,
            make,
            work=work,
        )

    def _reranking(
        self, model: Path, collection: Path, split: str, candidates: Path, depth: int | None
    ) -> Work | None:
        """Return the work of scoring pairs down to ``depth``, or the deepest allowed for the
        model.
        """
        plan, counted = self._plans.get(model), self.counted(collection)
        queries = min(counted.count_queries(split), self._drawn.get(candidates, math.inf))
        if plan is None or not queries:
            return None
        pairs = queries * (depth or plan.training.most_depth)
        return Work(f"pairs re-ranked by {plan.named}", pairs)

    def remedied(self, model: Path, remedy: AnyRemedy) -> Path:
        """Return the model with a remedy at inference."""
        place = self.folder / "models" / f"{model.name}-{str(remedy).replace(':', '-')}"

        def make() -> None:
            found = self._manifest(place, "checkpoint", "debias-model", settings, {"model": model})
            save_remedied(place, load_checkpoint(model), remedy, found, overwrite=True)

        settings: JsonObject = {"remedy": str(remedy)}
        if (plan := self._plans.get(model)) is not None:
            self._plans[place] = plan  # a dry run takes the price of one reading
        return self.steps.make(
            f"{self.prefix}remedy-{place.name}",
            place,
            settings,
            {"model": self.scorer(model)},
            make,
        )

    def moved(
        self,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        settings: AuditSettings,
    ) -> Path:
        """Return the audit of a model that moves answering sentences, as a folder of rows."""
        place = self.folder / "moved" / f"{model.name}-on-{split}"

        def make() -> None:
            task = make_task(
                Collection(collection),
                split,
                read_run(candidates),
                settings,
                queries=settings.needles,
            )
            system = System.of(_at_work(model), model.name)
            found = audit_rows(task, audit(task, [system], settings))
            manifest = self._manifest(
                place, "results", "audit", record, {"model": model, "collection": collection}
            )
            rows.save(place, found.rows, manifest, found.values, overwrite=True)

        record: JsonObject = {
            "split": split,
            "queries": settings.needles,
            "depth": settings.depth,
            "seed": settings.seed,
        }
        inputs = {
            "model": self.scorer(model),
            "collection": self.checksum(collection),
            "candidates": self.checksum(candidates),
        }
        work = self._reranking(model, collection, split, candidates, settings.depth)
        return self.steps.make(
            f"{self.prefix}move-{place.name}", place, record, inputs, make, work=work
        )

    def evaluated(
        self,
        name: str,
        runs: Mapping[str, Path],
        collection: Path,
        split: str,
        measure: str,
        *,
        seed: int,
    ) -> Path:
        """Return the quality of runs over one split, by their names, as a folder of a Result
        each.
        """
        place = self.folder / "evaluated" / f"{name}-on-{split}"

        def make() -> None:
            found = Collection(collection)
            qrels, where = list(found.qrels(split)), {"collection": found.name, "split": split}
            clusters = clusters_by_passage(qrels, level=1)
            results = [
                replace(one, system=system)
                for system, run in runs.items()
                for one in evaluate_run(
                    read_run(run), qrels, [measure], clusters=clusters, seed=seed, **where
                )
            ]
            manifest = self._manifest(
                place, "results", "evaluate", record, {**runs, "collection": collection}
            )
            save_results(place, results, manifest, overwrite=True)

        record: JsonObject = {
            "split": split,
            "measure": measure,
            "seed": seed,
        }
        inputs = {
            name: self.checksum(path) for name, path in {**runs, "collection": collection}.items()
        }
        work = Work("queries evaluated", len(runs) * self.counted(collection).count_queries(split))
        return self.steps.make(
            f"{self.prefix}evaluate-{place.name}", place, record, inputs, make, work=work
        )

    def encoded(self, model: Path, collection: Path) -> Path:
        """Return a model's vectors of every passage; an interrupted run is resumed."""
        place = self.folder / "vectors" / model.name

        def make() -> None:
            encode_collection(_at_work(model), Collection(collection), place, overwrite=True)

        inputs = {"model": self.scorer(model), "collection": self.checksum(collection)}
        plan, counted, work = self._plans.get(model), self.counted(collection), None
        if plan is not None:
            work = Work(f"passages encoded by {plan.named}", len(counted))
        return self.steps.make(
            f"{self.prefix}encode-{model.name}", place, {}, inputs, make, work=work
        )

    def retrieved_dense(
        self,
        model: Path,
        vectors: Path,
        collection: Path,
        split: str,
        depth: int,
        *,
        index: Index = "exact",
    ) -> Path:
        """Return a model's retrieval for a split's queries over the whole collection."""
        label = f"{model.name}-retrieving-{split}"
        place = self.folder / "runs" / f"{label}.run"

        def make() -> None:
            found, wanted, how = Collection(collection), Retrieval(split, depth), DenseSearch(index)
            retrieve_dense(
                _at_work(model), Vectors(vectors), found, wanted, place, how=how, overwrite=True
            )

        inputs = {
            "model": self.scorer(model),
            "vectors": self.checksum(vectors),
            "collection": self.checksum(collection),
        }
        counted = self.counted(collection)
        work = Work("vectors × queries", len(counted) * counted.count_queries(split))
        settings: JsonObject = {"split": split, "depth": depth, "index": index}
        return self.steps.make(
            f"{self.prefix}retrieve-{label}", place, settings, inputs, make, work=work
        )

    def by_position(self, collection: Path, split: str, candidates: Path, *, on: str) -> Path:
        """Return the candidates as ordered by a position-only scorer
        (``text.overlap.position_only``).
        """

        def made() -> Run:
            return position_only_run(Collection(collection), split, read_run(candidates))

        named = {"collection": collection, "candidates": candidates}
        work = Work("queries ordered by position", self.counted(collection).count_queries(split))
        label = f"position-only-on-{on}-{split}"
        return self.derived_run(label, "position only", {"split": split}, named, made, work=work)

    def ensembled(
        self, label: str, runs: Mapping[str, Path], candidates: Path, *, split: str, depth: int
    ) -> Path:
        """Return an ensemble of re-rankers of the same candidates: the mean of their z-scores over
        a query's first ``depth``, the rest behind them in the candidates' order; ``runs`` by
        model."""

        def made() -> Run:
            first = read_run(candidates)
            reranked = [
                apply_depth(first, read_run(path), depth, name=name) for name, path in runs.items()
            ]
            return fuse(reranked, scored=[depth] * len(reranked)).run

        below = "the candidates' order"
        settings: JsonObject = {
            "split": split,
            "depth": depth,
            "by": "z-scores",
            "models": list(runs),
            "below": below,
        }
        return self.derived_run(
            label, "ensemble", settings, {"candidates": candidates, **runs}, made, work=None
        )

    def derived_run(
        self,
        label: str,
        command: str,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        made: Callable[[], Run],
        *,
        work: Work | None,
    ) -> Path:
        """Make a run without a model, from artefacts by role; ``made()`` opens them."""
        place = self.folder / "runs" / f"{label}.run"

        def make() -> None:
            run = made()
            with atomic_file(place, overwrite=True) as partial_run:
                write_run(partial_run, run)
                content: JsonObject = {
                    "checksum": sha256_file(partial_run),
                    "queries": len(run),
                    "pairs": run.pairs,
                }
                manifest = self._manifest(place, "run", command, settings, inputs)
                write_manifest(
                    manifest_path(partial_run), replace(manifest, name=run.name, content=content)
                )

        sums = {role: self.checksum(path) for role, path in inputs.items()}
        return self.steps.make(f"{self.prefix}{label}", place, settings, sums, make, work=work)

    def probed(
        self,
        model: Path,
        collection: Path,
        *,
        on: str,
        passages: int | None,
        seed: int,
    ) -> Path:
        """Return the rows of MATS and the ATS curve of a model with term vectors, on the passages
        named ``on``.
        """
        place = self.folder / "probes" / f"{model.name}-on-{on}"

        def make() -> None:
            read = Collection(collection)
            probing = ProbeSettings(probe_passages=passages, seed=seed)
            (probed,) = probe_model(load_checkpoint(model), read, probing)
            made = Collected({"study": "mats", "collection": read.name})
            similarity_rows(made, probed)
            manifest = self._manifest(
                place, "results", "mats", settings, {"model": model, "collection": collection}
            )
            rows.save(place, made.rows, manifest, overwrite=True)

        settings = {"passages": passages, "seed": seed}
        inputs = {"model": self.scorer(model), "collection": self.checksum(collection)}
        plan, counted, work = self._plans.get(model), self.counted(collection), None
        if plan is not None:
            work = Work(
                f"passages probed of {plan.kind}", min(passages or len(counted), len(counted))
            )
        return self.steps.make(
            f"{self.prefix}probe-{model.name}-on-{on}", place, settings, inputs, make, work=work
        )

    def results(
        self,
        title: str,
        command: str,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        measure: Callable[[], Collected | Sequence[Result]],
        *,
        notes: Sequence[str] = (),
        seed: int | None = None,
    ) -> Path:
        """Return the study's rows, or results, in ``results``; ``measure()`` opens its inputs
        itself, and ``inputs`` names all of them.

        ``settings`` are JSON-ready, and recorded in the manifest under "study"; the licences are
        those of the inputs.
        """
        place = self.folder / "results"

        def make() -> None:
            found = measure()
            manifest = self._manifest(place, "results", command, {"study": settings}, inputs)
            named = replace(manifest, name=title or place.name, notes=tuple(notes), seed=seed)
            if isinstance(found, Collected):
                rows.save(place, found.rows, named, found.values, overwrite=True)
            else:
                save_results(place, found, named, overwrite=True)

        sums = {role: self.checksum(path) for role, path in inputs.items()}
        counted = self._collection_among(inputs.values())
        tested = (
            sum(counted.count_queries(split) for split in counted.splits if split != "train")
            if counted
            else 0
        )
        work = Work("queries of artefacts measured", len(inputs) * max(tested, 1))
        record = {"title": title, "study": settings, "seed": seed}
        return self.steps.make(f"{self.prefix}measure", place, record, sums, make, work=work)


def _at_work(model: Path) -> Checkpoint:
    """Load the checkpoint, on the GPU if there is one."""
    checkpoint = load_checkpoint(model)
    checkpoint.model.to(pick_device("auto"))
    return checkpoint


def _train(collection: Path, plan: TrainPlan, place: Path) -> None:
    train_model(
        Collection(collection), plan, place, resume=unfinished(place) is not None, overwrite=True
    )


def position_only_run(collection: Collection, split: str, candidates: Run) -> Run:
    """Return the candidates ordered only by how early the query occurs."""
    texts = {query.query_id: query.text for query in collection.queries(split)}
    rankings = (
        (
            r.query_id,
            r.passage_ids,
            [position_only(texts[r.query_id], text) for text in collection.texts(r.passage_ids)],
        )
        for r in track(candidates.rankings(), "position only", len(candidates), unit="queries")
    )
    return Run("position-only", rankings)
