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

import hashlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from positionbias.audit.audit import audit, make_task
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import System
from positionbias.core import rows
from positionbias.core.collection import Collection
from positionbias.core.errors import bad_input
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    manifest_path,
    package_versions,
    provenance,
    read_manifest,
    write_manifest,
)
from positionbias.core.progress import track
from positionbias.core.publish import atomic_file
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.core.seeds import drawn_order
from positionbias.dense.encode import encode_collection
from positionbias.dense.retrieve import retrieve_dense
from positionbias.dense.vectors import Vectors
from positionbias.engine.choose import Engine
from positionbias.evaluation.depth import apply_depth
from positionbias.evaluation.fusion import fuse
from positionbias.experiments.measured import checkpoint_facts, drawn_queries
from positionbias.experiments.models import ModelSettings
from positionbias.experiments.parts import in_parts
from positionbias.experiments.step import Planned, Steps, record_of
from positionbias.firststage.bm25 import retrieve_run
from positionbias.firststage.retrieval import Retrieval
from positionbias.firststage.settings import Bm25Settings
from positionbias.models.checkpoint import LOG, Checkpoint, load_checkpoint, save_remedied
from positionbias.models.remedies import AnyRemedy
from positionbias.positions.debias import debias
from positionbias.positions.rotate import Rotation
from positionbias.probe.measured import similarity_rows
from positionbias.probe.settings import ProbeSettings
from positionbias.probe.term_vectors import probe_model
from positionbias.ranking.config import Reranking, TaughtPassages
from positionbias.ranking.loading import pick_device
from positionbias.ranking.rerank import rerank_run
from positionbias.ranking.teach import teach
from positionbias.text.overlap import position_only
from positionbias.training.plan import INPUTS, TrainPlan
from positionbias.training.planned import settings_of
from positionbias.training.state import unfinished
from positionbias.training.train import train_model

Item = TypeVar("Item")
Out = TypeVar("Out")
Given = ParamSpec("Given")


def step(
    name: str, place: str
) -> Callable[
    [Callable[Concatenate[Any, Path, Given], None]], Callable[Concatenate[Any, Given], Path]
]:
    """Make a method of a workspace a step: it writes the artefact to its first argument, and the
    step takes the others and returns the artefact's path.

    ``name`` of the step and ``place`` in the study's folder are templates of the arguments. Those
    that are paths are the step's inputs, the rest its settings.
    """

    def decorated(write: Any) -> Any:
        signature = inspect.signature(write)

        @wraps(write)
        def made(self: Workspace, *arguments: Any, **options: Any) -> Path:
            bound = signature.bind(self, Path(), *arguments, **options)
            bound.apply_defaults()
            given = dict(list(bound.arguments.items())[2:])
            inputs = {key: value for key, value in given.items() if isinstance(value, Path)}
            settings = {key: record_of(given[key]) for key in given.keys() - inputs.keys()}
            label, where = (text.format(**given).replace(":", "-") for text in (name, place))
            artefact = self.folder / where
            return self.make(
                label, artefact, settings, inputs, lambda: write(self, artefact, **given)
            )

        return made

    return decorated


class Workspace:
    """The shared steps of studies, made in a study's folder. With ``dry_run`` nothing is made or
    written: ``planned`` lists the steps.
    """

    def __init__(
        self,
        folder: Path,
        tell: Callable[[str], None] = lambda line: None,
        *,
        engine: Engine | None = None,
        dry_run: bool = False,
    ) -> None:
        self.folder, self.engine, self.prefix = folder, engine or Engine(), ""
        self.steps = Steps(folder, tell, dry_run=dry_run)

    def within(self, name: str) -> Self:
        """Return the same workspace in the subfolder ``name``, for a study of several
        collections.
        """
        part = object.__new__(type(self))
        part.__dict__ |= self.__dict__
        part.folder, part.prefix = self.folder / name, f"{self.prefix}{name}/"
        return part

    def __getstate__(self) -> dict[str, object]:
        # in another process, which is one of the engine's
        return {**self.__dict__, "engine": Engine(engine="local")}

    @property
    def planned(self) -> Sequence[Planned]:
        """Return the steps that a dry run has met, in their order."""
        return self.steps.planned

    def map_shards(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        """Work on shards by the study's engine."""
        with self.engine.open() as map_shards:
            yield from map_shards(function, items)

    def side_by_side(
        self,
        function: Callable[[Item], Out],
        items: Iterable[Item],
        models: Sequence[ModelSettings],
    ) -> Iterator[Out]:
        """Yield ``function`` of every item, in order; it makes the steps of these ``models`` in
        this workspace, as ``in_parts``.
        """
        return in_parts(self.engine, self.steps, function, items, models)

    def checksum(self, artefact: Path) -> str | None:
        """Return an artefact's checksum for receipts, of its content and origin; None if a dry run
        has not made it.
        """
        if artefact in self.steps.unmade:
            return None
        if artefact.is_file():
            return sha256_file(artefact)
        manifest = read_manifest(artefact)
        if manifest.kind == "collection":
            return manifest.checksum
        # another training may reach the same weights in another way, so its log counts too
        log = artefact / LOG
        return _digest([manifest.comparable(), sha256_file(log) if log.exists() else None])

    def scorer(self, model: Path) -> str | None:
        """Return a checksum of what a model's ranking depends on (weights, kind, shape and
        re-ranking depth), so that a training with the same result needs no new scores; None if a
        dry run has not made it.
        """
        if model in self.steps.unmade:
            return None
        facts = checkpoint_facts(model)
        of_scores = [facts[name] for name in ("kind", "shape", "depth")]
        return _digest([read_manifest(model).checksum, *of_scores])

    def manifest(
        self, place: Path, kind: str, command: str, settings: JsonObject, inputs: Mapping[str, Path]
    ) -> Manifest:
        """Return the manifest of an artefact made of ``inputs``, with their licences."""
        made = [manifest_if_any(path) for path in inputs.values()]
        licences = dict.fromkeys(one.licence for one in made if one is not None and one.licence)
        return Manifest(
            kind=kind,
            name=place.name,
            command=command,
            settings=settings,
            inputs=tuple(
                input_ref(role, path, self.checksum(path) or "", artefact=place)
                for role, path in inputs.items()
            ),
            licence="; ".join(licences),
            versions=package_versions("torch", "numpy", "bm25s", "ir_measures", "scipy"),
            provenance=provenance(),
        )

    def save(
        self,
        place: Path,
        made: Collected,
        command: str,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        **named: Any,
    ) -> None:
        """Write rows with their manifest, of which ``named`` are further fields."""
        manifest = replace(self.manifest(place, "results", command, settings, inputs), **named)
        rows.save(place, made.rows, manifest, made.values, overwrite=True)

    def make(
        self,
        name: str,
        artefact: Path,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        make: Callable[[], object],
    ) -> Path:
        """Return ``artefact``, made from artefacts by role; of one called "model" only what its
        ranking depends on counts.
        """
        sums = {
            role: self.scorer(path) if role == "model" else self.checksum(path)
            for role, path in inputs.items()
        }
        return self.steps.make(f"{self.prefix}{name}", artefact, settings, sums, make)

    @step("rotate-{rotation.seed}", "rotated-{rotation.seed}")
    def rotated(self, place: Path, collection: Path, rotation: Rotation) -> None:
        """Return the collection with every passage rotated once, like ``debias``, named for the
        draw.
        """
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

    @step("bm25-{split}", "runs/bm25-{split}.run")
    def candidates(
        self, place: Path, collection: Path, split: str, depth: int, bm25: Bm25Settings
    ) -> None:
        """Return a BM25 run of the split's queries."""
        retrieve_run(
            Collection(collection),
            Retrieval(split, depth),
            bm25,
            place,
            overwrite=True,
            workers=self.engine.workers,
            map_shards=self.map_shards,
        )

    def trained(self, name: str, collection: Path, plan: TrainPlan) -> Path:
        """Return the checkpoint of a training, resumed if interrupted."""
        place = self.folder / "models" / name
        files = {collection, *(getattr(plan, role) for role in INPUTS)}
        made = not files & self.steps.unmade
        settings = settings_of(plan, Collection(collection)) if made else {}

        def make() -> None:
            resume = unfinished(place) is not None
            train_model(Collection(collection), plan, place, resume=resume, overwrite=True)

        sums = {"collection": self.checksum(collection) if made else None}
        return self.steps.make(f"{self.prefix}train-{name}", place, settings, sums, make)

    @step("teach-{model.name}-on-{split}", "taught/{model.name}-on-{split}")
    def taught(
        self,
        place: Path,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        depth: int | None,
        relevant_from: int = 1,
    ) -> None:
        """Return the model's scores of the first ``depth`` candidates (None: all) and of relevant
        passages; an interrupted run is resumed."""
        passages = TaughtPassages(
            split=split, candidates=candidates, depth=depth, relevant_from=relevant_from
        )
        teach(_at_work(model), Collection(collection), passages, place, overwrite=True)

    @step("rerank-{model.name}-on-{on}{split}", "runs/{model.name}-on-{on}{split}.run")
    def reranked(
        self,
        place: Path,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        depth: int | None = None,
        on: str = "",
    ) -> None:
        """Return the candidates in the model's order, down to ``depth`` (default: the tuned one).
        ``on`` names the test passages in the run's file name, if there are several."""
        run, wanted = Collection(collection), Reranking(split, depth)
        rerank_run(_at_work(model), run, candidates, place, wanted, overwrite=True)

    @step("remedy-{model.name}-{remedy}", "models/{model.name}-{remedy}")
    def remedied(self, place: Path, model: Path, remedy: AnyRemedy) -> None:
        """Return the model with a remedy at inference."""
        settings: JsonObject = {"remedy": str(remedy)}
        manifest = self.manifest(place, "checkpoint", "remedy", settings, {"model": model})
        save_remedied(place, load_checkpoint(model), remedy, manifest, overwrite=True)

    @step("move-{model.name}-on-{split}", "moved/{model.name}-on-{split}")
    def moved(
        self,
        place: Path,
        model: Path,
        collection: Path,
        split: str,
        candidates: Path,
        settings: AuditSettings,
    ) -> None:
        """Return the audit of a model that moves answering sentences, as a folder of rows."""
        tested, run = Collection(collection), Run.from_file(candidates)
        task = make_task(tested, split, run, settings, queries=settings.needles)
        system = System.of(_at_work(model), model.name)
        made = audit(task, [system], settings)
        record: JsonObject = {"split": split, "queries": settings.needles, "seed": settings.seed}
        self.save(place, made, "audit", record, {"model": model, "collection": collection})

    @step("encode-{model.name}", "vectors/{model.name}")
    def encoded(self, place: Path, model: Path, collection: Path) -> None:
        """Return a model's vectors of every passage; an interrupted run is resumed."""
        encode_collection(_at_work(model), Collection(collection), place, overwrite=True)

    @step("retrieve-{model.name}-retrieving-{split}", "runs/{model.name}-retrieving-{split}.run")
    def retrieved_dense(
        self,
        place: Path,
        model: Path,
        vectors: Path,
        collection: Path,
        split: str,
        depth: int,
    ) -> None:
        """Return a model's retrieval for a split's queries over the whole collection."""
        retrieve_dense(
            _at_work(model),
            Vectors(vectors),
            Collection(collection),
            Retrieval(split, depth),
            place,
            overwrite=True,
        )

    @step("probe-{model.name}-on-{on}", "probes/{model.name}-on-{on}")
    def probed(
        self, place: Path, model: Path, collection: Path, on: str, passages: int | None, seed: int
    ) -> None:
        """Return the rows of MATS and the ATS curve of a model with term vectors, on the passages
        named ``on``.
        """
        read, settings = Collection(collection), ProbeSettings(probe_passages=passages, seed=seed)
        made = Collected({"study": "mats", "collection": read.name})
        for probed in probe_model(load_checkpoint(model), read, settings):
            similarity_rows(made, probed)
        record: JsonObject = {"passages": passages, "seed": seed}
        self.save(place, made, "mats", record, {"model": model, "collection": collection})

    def derived_run(
        self,
        label: str,
        command: str,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        made: Callable[[], Run],
    ) -> Path:
        """Make a run without a model, from artefacts by role; ``made()`` opens them."""
        place = self.folder / "runs" / f"{label}.run"

        def make() -> None:
            run = made()
            with atomic_file(place, overwrite=True) as partial_run:
                run.save(partial_run)
                content: JsonObject = {
                    "checksum": sha256_file(partial_run),
                    "queries": len(run),
                    "pairs": run.pairs,
                }
                manifest = self.manifest(place, "run", command, settings, inputs)
                manifest = replace(manifest, name=run.name, content=content)
                write_manifest(manifest_path(partial_run), manifest)

        return self.make(label, place, settings, inputs, make)

    def some_queries(self, split: str, candidates: Path, number: int, *, seed: int) -> Path:
        """Return the candidates of the first ``number`` queries, in an order keyed by seed and
        id.
        """

        def made() -> Run:
            run = Run.from_file(candidates)
            return run.only(drawn_order(run, seed, "some queries")[:number], run.name)

        settings: JsonObject = {"split": split, "queries": number, "seed": seed}
        label = f"{candidates.stem}-of-{number}"
        return self.derived_run(label, "some queries", settings, {"candidates": candidates}, made)

    def test_sample(
        self, collection: Path, split: str, candidates: Path, number: int, *, seed: int
    ) -> Path:
        """Return the candidates of ``number`` of the split's judged queries."""

        def made() -> Run:
            run = Run.from_file(candidates)
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
        label = f"{number}-queries-of-{split}"
        return self.derived_run(label, "test queries drawn", settings, inputs, made)

    def by_position(self, collection: Path, split: str, candidates: Path, *, on: str) -> Path:
        """Return the candidates as ordered by a position-only scorer
        (``text.overlap.position_only``).
        """

        def made() -> Run:
            return position_only_run(Collection(collection), split, Run.from_file(candidates))

        inputs = {"collection": collection, "candidates": candidates}
        label = f"position-only-on-{on}{split}"
        return self.derived_run(label, "position only", {"split": split}, inputs, made)

    def ensembled(
        self, label: str, runs: Mapping[str, Path], candidates: Path, *, split: str, depth: int
    ) -> Path:
        """Return an ensemble of re-rankers of the same candidates: the mean of their z-scores over
        a query's first ``depth``, the rest behind them in the candidates' order; ``runs`` by
        model."""

        def made() -> Run:
            first = Run.from_file(candidates)
            reranked = [
                apply_depth(first, Run.from_file(path), depth, name=name)
                for name, path in runs.items()
            ]
            return fuse(reranked, scored=[depth] * len(reranked)).run

        settings: JsonObject = {
            "split": split,
            "depth": depth,
            "by": "z-scores",
            "models": list(runs),
            "below": "the candidates' order",
        }
        return self.derived_run(
            label, "ensemble", settings, {"candidates": candidates, **runs}, made
        )

    def results(
        self,
        title: str,
        command: str,
        settings: JsonObject,
        inputs: Mapping[str, Path],
        measure: Callable[[], Collected],
        *,
        notes: Sequence[str] = (),
        seed: int | None = None,
    ) -> Path:
        """Return the study's rows in ``results``; ``measure()`` opens its inputs itself, and
        ``inputs`` names all of them.

        ``settings`` are JSON-ready, and recorded in the manifest under "study"; the licences are
        those of the inputs.
        """
        place, record = self.folder / "results", {"study": settings}

        def make() -> None:
            named = {"name": title, "notes": tuple(notes), "seed": seed}
            self.save(place, measure(), command, record, inputs, **named)

        # a model's log is shown, so it counts here beside its weights
        sums = {role: self.checksum(path) for role, path in inputs.items()}
        settled = {"title": title, "seed": seed, **record}
        return self.steps.make(f"{self.prefix}measure", place, settled, sums, make)


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _at_work(model: Path) -> Checkpoint:
    """Load the checkpoint, on the GPU if there is one."""
    checkpoint = load_checkpoint(model)
    checkpoint.model.to(pick_device("auto"))
    return checkpoint


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
