"""What ``audit`` and ``check`` share: what is audited, on which queries, by what measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import (
    Ranking,
    all_of,
    input_place,
    kind_option,
    matching_options,
    model_place,
    output_place,
    ranking_options,
    say,
    seed_option,
    workers_option,
)

if TYPE_CHECKING:
    from positionbias.audit.settings import AuditSettings
    from positionbias.audit.systems import System, Task
    from positionbias.core.collection import Collection
    from positionbias.core.records import Query
    from positionbias.core.run import Run
    from positionbias.results.result import Result

__all__ = ["Audited", "audit_options", "save_audit"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_RE_RANKS = "Models re-rank all candidates to the depth, whatever depth they were tuned to [decision]."
_RETRIEVES = (
    "Models rank every passage of the collection by exact search, and each rotation is one of all its passages [decision]."
)


@dataclass(frozen=True, slots=True)
class Audited:
    """What was asked to be audited, as ``audit_options`` hands it to a command."""

    collection: str
    runs: tuple[str, ...]
    models: tuple[str, ...]
    kind: str | None
    split: str
    candidates: str | None
    queries: int | None
    workers: int
    ranking: Ranking
    retrieve: bool
    vectors: tuple[str, ...]
    memory: float | None
    rotated: tuple[tuple[str, str], ...] = ()

    def settings(self, **chosen: Any) -> AuditSettings:
        """The settings that were chosen, and for what was not, those of what is audited."""
        from positionbias.audit.settings import AuditSettings

        return AuditSettings.of_retrieval(**chosen) if self.retrieve else AuditSettings(**chosen)

    def open(self, settings: AuditSettings) -> tuple[Task, list[System]]:
        """The task and the systems, the first stage first where it is one that models re-rank or was given.

        Raises:
            SettingError: neither a model nor a run, or vectors without a retriever.
            InputError: what cannot be read.
        """
        from positionbias.audit.audit import make_task
        from positionbias.audit.retriever import MEMORY, fitting_vectors
        from positionbias.audit.systems import System, retrievers
        from positionbias.audit.two_runs import RotatedRun
        from positionbias.core.collection import find_collection
        from positionbias.core.errors import SettingError
        from positionbias.core.run import read_run
        from positionbias.dense.vectors import Vectors
        from positionbias.engine.local import map_shards
        from positionbias.models.checkpoint import load_checkpoint

        if not self.models and not self.runs:
            raise SettingError("audit: wanted a model or a run; found neither; give --model NAME or the files of runs")
        if self.rotated and len(self.runs) != 1:
            raise SettingError(
                f"--rotated: wanted one RUN over the original collection beside it; found {len(self.runs)}; name the run of the same system"
            )
        if self.retrieve and not self.models:
            raise SettingError("--retrieve: wanted a --model that retrieves; found runs alone; they are measured as they are")
        if self.vectors and not self.retrieve:
            raise SettingError("--vectors: wanted --retrieve beside it; found none; a re-ranker encodes its candidates")
        if self.memory is not None and not self.retrieve:
            raise SettingError("--memory: wanted --retrieve beside it; found none; leave it out")
        found = find_collection(self.collection)
        runs = [read_run(input_place(run)) for run in self.runs]
        checkpoints = [load_checkpoint(model_place(model), self.kind) for model in self.models]
        for checkpoint in checkpoints:
            checkpoint.model.to(self.ranking.device)
        config, memory = self.ranking.config, MEMORY if self.memory is None else self.memory
        vectors = [Vectors(input_place(place)) for place in self.vectors]
        if self.retrieve:  # what cannot be is said before BM25 goes through the collection
            fitting_vectors(checkpoints, found, vectors, depth=settings.depth, config=config, memory=memory)
        candidates = self._candidates(found, settings, runs)
        task = make_task(
            found,
            self.split,
            candidates,
            settings,
            queries=self.queries,
            config=config,
            map_shards=partial(map_shards, workers=self.workers),
        )
        for _, rotated_run in self.rotated:
            if input_place(rotated_run).resolve() == input_place(self.runs[0]).resolve():
                raise SettingError(
                    f"--rotated: wanted the run over the rotated collection; found {rotated_run}, the run over the original one; give the other"
                )
        rotated = [RotatedRun(find_collection(place), read_run(input_place(run))) for place, run in self.rotated]
        systems = [
            System(run.name, run=run, rotated=rotated)
            for file, run in zip(self.runs, runs, strict=True)
            if not self._given_twice(file)
        ]
        if self.retrieve:
            systems += retrievers(checkpoints, task, depth=settings.depth, memory=memory, vectors=vectors)
        else:
            systems += [System.of(checkpoint) for checkpoint in checkpoints]
        return task, [System.of_candidates(task), *systems] if self.models or self.candidates else systems

    def _given_twice(self, run: str) -> bool:
        """Whether a RUN is the file of the candidates, which are measured anyway."""
        from positionbias.core.files import sha256_file

        if not self.candidates or sha256_file(input_place(run)) != sha256_file(input_place(self.candidates)):
            return False
        say(f"{run} is what --candidates names: measured once")
        return True

    def _candidates(
        self, collection: Collection, settings: AuditSettings, runs: Sequence[Run]
    ) -> Run | Callable[[Sequence[Query]], Run]:
        """The run given; else BM25 where a model has to re-rank something; of runs alone the first, which nothing re-ranks."""
        from positionbias.core.run import read_run
        from positionbias.firststage.bm25 import Bm25Settings, retrieve

        if self.candidates:
            return read_run(input_place(self.candidates))
        if not self.models:
            return runs[0]
        beside = ", to stand beside" if self.retrieve else ""
        say(f"no --candidates: ranking by BM25 to depth {settings.depth}{beside}")
        return lambda queries: retrieve(collection, queries, settings.depth, Bm25Settings())

    def inputs(self, task: Task, systems: Sequence[System], place: Path) -> tuple[Any, ...]:
        """What the audit read, for its manifest."""
        from positionbias.core.collection import find_collection
        from positionbias.core.files import sha256_file
        from positionbias.core.manifest import input_ref

        found = [input_ref("collection", task.collection.path, task.collection.checksum, artefact=place)]
        for system in systems:
            if system.checkpoint is not None:
                checksum = system.checkpoint.manifest.content["checksum"]
                found.append(input_ref("model", system.checkpoint.path, checksum, artefact=place))
            if system.retriever is not None and (vectors := system.retriever.vectors) is not None:
                found.append(input_ref("vectors", vectors.path, vectors.checksum, artefact=place))
        named = [("run", run) for run in self.runs] + ([("candidates", self.candidates)] if self.candidates else [])
        named += [("rotated run", run) for _, run in self.rotated]
        for place_of, _ in self.rotated:
            collection = find_collection(place_of)
            found.append(input_ref("rotated collection", collection.path, collection.checksum, artefact=place))
        found += [input_ref(role, input_place(run), sha256_file(input_place(run)), artefact=place) for role, run in named]
        return tuple(found)


_OPTIONS = all_of(
    click.argument("collection"),
    click.argument("runs", nargs=-1, metavar="[RUN]..."),
    click.option(
        "--rotated",
        nargs=2,
        multiple=True,
        metavar="COLLECTION RUN",
        help="A rotated collection (posbias debias) and the same system's run over it, beside one RUN; may be given again.",
    ),
    click.option(
        "--model",
        "models",
        multiple=True,
        metavar="NAME",
        help="A checkpoint, a model of transformers or sentence-transformers (folder or id), minilm, or your own module:function; "
        "may be given again.",
    ),
    kind_option,
    click.option("--split", default="test", show_default=True, help="Whose queries."),
    click.option("--candidates", metavar="RUN", help="What models re-rank, measured beside them. [default: BM25's]"),
    click.option(
        "--retrieve",
        is_flag=True,
        help="Let models rank the whole collection, as retrievers: one vector a text, every passage encoded anew for each rotation.",
    ),
    click.option(
        "--vectors",
        multiple=True,
        metavar="VECTORS",
        help="With --retrieve: a model's vectors of the passages as they are, from posbias encode; may be given again.",
    ),
    click.option("--memory", type=float, help="With --retrieve: GiB that a search may hold. [default: 4]"),
    click.option(
        "--depth",
        type=click.IntRange(min=1),
        help="Candidates a query that models re-rank, or passages that they retrieve. [default: 30; 1000 with --retrieve]",
    ),
    click.option(
        "--queries", type=click.IntRange(min=1), metavar="N", help="Audit N queries, drawn by the seed. [default: all]"
    ),
    click.option(
        "-m",
        "--measure",
        "measures",
        multiple=True,
        metavar="MEASURE",
        help="As ir_measures names it; the first makes the verdict; may be given again. [default: nDCG@10, RR@10, R@10, and R@100 with --retrieve]",
    ),
    click.option(
        "--buckets",
        multiple=True,
        metavar="EDGES",
        help="Of positions, as 0,0.2,0.5,1 (shares of the passage) or 0,100,500 (characters); may be given again. "
        "[default: up to 20 equal shares, as the queries allow; the characters of SQuAD-PosQ]",
    ),
    click.option("--minimum", type=int, default=20, show_default=True, help="Queries that a bucket must have to count."),
    click.option("--permutations", type=int, default=1_000, show_default=True, help="Of positions, for the null of PSI."),
    click.option("--draws", type=int, default=1, show_default=True, help="Rotations of every passage; 0 leaves them out."),
    click.option(
        "--needles",
        type=click.IntRange(min=0),
        default=1_000,
        show_default=True,
        help="Queries whose answering sentence is moved through its passage; 0 leaves it out, and with it the verdict.",
    ),
    click.option(
        "--margin",
        type=float,
        default=0.1,
        show_default=True,
        help="The smallest effect of interest, in deviations of a query's candidates' scores.",
    ),
    click.option("--reads", type=int, metavar="N", help="Words that the model reads of a text. [default: found out]"),
    click.option(
        "--pointwise/--listwise",
        "pointwise",
        default=None,
        help="Whether your function scores each passage by itself, or a list. [default: found out]",
    ),
    click.option(
        "--relevant-from", type=int, default=1, show_default=True, help="Grade from which a passage is relevant evidence."
    ),
    matching_options,
    workers_option,
    ranking_options,
    seed_option(),
)


def audit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of an audit, which the command gets as ``audited`` and as keyword arguments of ``Audited.settings`` in ``chosen``."""

    @wraps(command)
    def with_audited(
        *,
        measures: tuple[str, ...],
        buckets: tuple[str, ...],
        depth: int | None,
        minimum: int,
        permutations: int,
        draws: int,
        needles: int,
        margin: float,
        reads: int | None,
        pointwise: bool | None,
        relevant_from: int,
        matching: Any,
        seed: int,
        **named: Any,
    ) -> Any:
        from positionbias.evaluation.buckets import Buckets

        chosen: dict[str, Any] = {
            "minimum": minimum,
            "permutations": permutations,
            "draws": draws,
            "needles": needles,
            "margin": margin,
            "reads": reads,
            "lists": {None: "test", True: "pointwise", False: "listwise"}[pointwise],
            "relevant_from": relevant_from,
            "matching": matching,
            "seed": seed,
        }
        if depth is not None:
            chosen["depth"] = depth
        if measures:
            chosen["measures"] = measures
        if buckets:
            chosen["buckets"] = tuple(Buckets.parse(edges) for edges in buckets)
        of_audited = {name: named.pop(name) for name in Audited.__slots__ if name in named}
        return command(audited=Audited(**of_audited), chosen=chosen, **named)

    return _OPTIONS(with_audited)


def save_audit(
    out: str, results: Sequence[Result], audited: Audited, task: Task, systems: Sequence[System], settings: AuditSettings,
    *, overwrite: bool,
) -> None:  # fmt: skip
    """The results as a folder with its manifest, for ``posbias report``."""
    from dataclasses import asdict

    from positionbias.core.manifest import Manifest, package_versions, provenance
    from positionbias.results.result import save_results

    place = output_place(out)
    notes = tuple(
        f"{system.name}: {note}" for system in systems if system.checkpoint for note in system.checkpoint.manifest.notes
    )
    manifest = Manifest(
        kind="results",
        name=f"Audit of {', '.join(system.name for system in systems if not system.first_stage)} on {task.collection.name}",
        command="audit",
        settings={"split": task.split, "queries": audited.queries, "retrieve": audited.retrieve, **asdict(settings)},
        seed=settings.seed,
        inputs=audited.inputs(task, systems, place),
        licence=task.collection.manifest.licence,
        notes=(
            "The evidence of a query is the earliest answer in its highest-judged relevant passage [decision].",
            _RETRIEVES if audited.retrieve else _RE_RANKS,
            *notes,
        ),
        versions=package_versions("numpy", "torch"),
        provenance=provenance(workers=audited.workers),
    )
    save_results(place, results, manifest, overwrite=overwrite)
    say(f"saved to {place}; for a page: posbias report {out}")
