"""Is a model, or a run, position-biased, and does it keep given limits?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from positionbias.audit.settings import (
    ANSWERS,
    TERMS,
    Audited,
    AuditSettings,
    Limits,
    ModelLike,
)
from positionbias.core.errors import PositionBiasError, SettingError, check_type, models_extra
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.json_text import JsonObject
from positionbias.core.operation import LeftOut, Overwrite, SavedTo, WithTexts, operation
from positionbias.core.outcome import (
    Judgement,
    Measurements,
    Read,
    refuse_outputs,
    save_if_asked,
)
from positionbias.core.places import Place, home_place, input_place, model_place, pasted
from positionbias.core.progress import gives_hints, hint, say
from positionbias.core.settings import Setting
from positionbias.core.splitter import USUAL_WORDS
from positionbias.engine.choose import Engine
from positionbias.positions.settings import Matching
from positionbias.ranking.config import Computing, Spread

if TYPE_CHECKING:
    import pandas

    from positionbias.audit.answers import Verdict
    from positionbias.audit.evidence import Rule
    from positionbias.audit.limits import Check, Outcome
    from positionbias.audit.systems import Measurement, System, Task
    from positionbias.core.collection import Collection
    from positionbias.core.records import Query
    from positionbias.core.run import Run
    from positionbias.core.steps import MapShards
    from positionbias.models.checkpoint import Checkpoint
    from positionbias.report.presentation import Study
    from positionbias.report.table import Table

__all__ = [
    "Audit",
    "Checked",
    "audit_model",
    "audit_systems",
    "check",
    "evidence_rule",
    "open_model",
    "retrievers",
]

MOST_NAMED = 100  # characters of the name of an audit that is kept
_RE_RANKS = "Models re-rank all candidates to the depth, whatever depth they were tuned to."
_RETRIEVES = (
    "Models rank every passage of the collection by exact search, and each rotation is one of all "
    "its passages."
)

AuditedOf = Annotated[
    CollectionLike,
    Setting(
        "A collection; a split without answers needs --evidence.",
        place="read",
    ),
]
Runs = Annotated[
    Sequence[RunLike],
    Setting("Runs over it, each measured as it is.", metavar="[RUN]...", place="read"),
]
MATCHING = tuple(field.name for field in fields(Matching))  # an audit's answers are found as usual
ComputingOf = Annotated[Computing, LeftOut(("score_label",))]


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Measurements):
    """The results of an audit, with its inputs and settings.

    Example:
        >>> import positionbias as pb
        >>> found = pb.audit_systems("planted", ["test.run"])
        >>> found.rows.query("statistic == 'answer'")[["model", "measure", "answer"]]
          model                  measure       answer
        0  bm25  position in the passage  cannot tell
        >>> [verdict.preference.value for verdict in found.verdicts]
        ['cannot tell']
    """

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The answers: of each system whether the place in the passage matters, and of a model the
        place in the list.
        """
        from positionbias.audit.measured import given_in

        return [] if self.rows is None else [given.verdict for given in given_in(self.rows)]


@dataclass(frozen=True, slots=True, repr=False)
class Checked(Judgement):
    """The checks of all systems, and the audit that they rest on."""

    checks: Sequence[Check]
    audit: Audit

    @property
    def outcome(self) -> Outcome:
        """One outcome for all checks."""
        from positionbias.audit.limits import overall

        return overall(self.checks)

    def __str__(self) -> str:
        from positionbias.core.terminal import wrapped

        return wrapped(self.verdict)

    @property
    def verdict(self) -> str:
        """The outcome of all checks, then a line for each, then what a limit cannot show."""
        from positionbias.audit.limits import headline, sentence

        notes = dict.fromkeys(f"{check.note}." for check in self.checks if check.note)
        return "\n".join([headline(self.checks), *map(sentence, self.checks), *notes])

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each check."""
        import pandas

        return pandas.DataFrame([asdict(check) for check in self.checks])

    def _tables(self) -> Sequence[Table]:
        return ()

    def _study(self, place: Path = Path()) -> Study:
        return self.audit._study(place)

    def to_json(self) -> JsonObject:
        """Return the outcome, the checks and the audit's rows."""
        from positionbias.core.rows import records

        rows = [] if self.audit.rows is None else records(self.audit.rows)
        checks = [asdict(one) for one in self.checks]
        return {"outcome": self.outcome, "checks": checks, "rows": rows}

    @property
    def exit_code(self) -> int:
        """The exit code of ``posbias check``."""
        from positionbias.audit.limits import exit_code

        return exit_code(self.checks)

    @property
    def complaints(self) -> Sequence[str]:
        """A line for each check that does not pass."""
        from positionbias.audit.limits import Outcome, sentence

        failed = [check for check in self.checks if check.outcome is not Outcome.PASS]
        return [f"posbias check: {sentence(check)}" for check in failed]


@operation
def audit_systems(
    collection: AuditedOf,
    runs: Runs = (),
    *,
    audited: Audited = Audited(),
    settings: Annotated[AuditSettings, LeftOut(MATCHING)] = AuditSettings(),
    computing: ComputingOf = Computing(),
    engine: Engine = Engine(),
    texts: WithTexts = True,
    out: SavedTo = None,
    overwrite: Overwrite = False,
) -> Audit:
    """Audit models and runs: does where an answer stands in its passage change how they rank it?

    A run is measured as it is; a model re-ranks the candidates, or with ``retrieve`` ranks the
    whole collection, once as it is and once with its passages rotated. A split without
    answers needs a rule that chooses the evidence (--evidence terms). On the command line, results
    and page are kept under $POSBIAS_HOME without --out.

        posbias audit squad --model minilm --out squad-minilm
        posbias audit squad --model minilm --retrieve --out squad-minilm-retriever
        posbias audit squad bm25.run splade.run

    Returns:
        The verdicts on all systems, with what they and the description rest on.

    Raises:
        SettingError: neither a model nor a run, or settings that do not go together.
        InputError: what cannot be read, or a model whose scores are no finite numbers.

    Example:
        >>> import positionbias as pb
        >>> print(pb.audit_systems("planted", ["test.run"]).verdict)
        bm25: cannot tell from one run; harder questions may have their answers elsewhere.
        To find out: posbias debias COLLECTION, run your system on it, then posbias audit COLLECTION
        RUN --rotated COLLECTION2 RUN2.
    """
    refuse_outputs(out, overwrite=overwrite)
    found, _ = _measured(collection, runs, audited, settings, computing, engine)
    if out is None and gives_hints():
        _keep(found, texts=texts)
    else:
        save_if_asked(found, out, overwrite=overwrite)
    return found


def _keep(found: Audit, *, texts: bool) -> None:
    """Keep an audit's results and page under $POSBIAS_HOME, in the place of those of an earlier
    audit of the same name.
    """
    place = home_place(re.sub(r"[^\w.]+", "-", found.name)[:MOST_NAMED].strip("-").lower())
    try:
        found.save(place, overwrite=True)
        page = found.report(place.with_name(f"{place.name}.html"), texts=texts, overwrite=True)
    except PositionBiasError as error:
        hint(f"not kept: {error}; give --out DIR")
    else:
        hint(
            f"results in {pasted(place)}, the page is {pasted(page)}; another audit of this name "
            "replaces both (--out DIR keeps them elsewhere)"
        )


def _measured(
    collection: CollectionLike,
    runs: Sequence[RunLike],
    audited: Audited,
    settings: AuditSettings,
    computing: Computing,
    engine: Engine,
) -> tuple[Audit, list[Measurement]]:
    """Return an audit, and what it measured."""
    from positionbias.audit.audit import audit
    from positionbias.audit.measured import audit_rows

    gpus = engine.name == "ray" and bool(audited.models) and computing.pick_device().type == "cuda"
    with engine.open(gpus=gpus) as map_shards:
        task, systems = _opened(collection, runs, audited, settings, computing, map_shards)
        measurements = audit(task, systems, settings, tell=say)
    made = audit_rows(task, measurements)
    names = ", ".join(system.name for system in systems)
    notes = [_evidence(task.rule), _RETRIEVES if settings.retrieve else _RE_RANKS]
    for system in systems:
        if system.checkpoint is not None:
            notes += [f"{system.name}: {note}" for note in system.checkpoint.manifest.notes]
    outcome = Audit(
        rows=made.rows,
        values=made.values,
        command="audit",
        settings={
            "split": task.split,
            "queries": audited.queries,
            **asdict(settings),
            "evidence": task.rule or ANSWERS,
        },
        read=_read(task, systems, runs, audited),
        seed=settings.seed,
        name=f"Audit of {names} on {task.collection.name}",
        licence=task.collection.manifest.licence,
        notes=notes,
        packages=("numpy", "torch", USUAL_WORDS),
        host=engine.host,
    )
    return outcome, measurements


def audit_model(
    model: ModelLike | Sequence[ModelLike],
    collection: CollectionLike,
    *,
    split: str = "test",
    candidates: RunLike | None = None,
    queries: int | None = None,
    settings: AuditSettings = AuditSettings(),
) -> Audit:
    """Audit one model or several on a split, as ``audit_systems`` does.

    A model is a name (a checkpoint, a folder or id of transformers or sentence-transformers,
    ``minilm``, ``module:object``), a loaded checkpoint, a function ``(query, passages) → scores``,
    an encoder (a function ``texts → array`` or an object with ``encode``), or a PyTerrier
    transformer. ``candidates`` are what it re-ranks, by default BM25's. With
    ``AuditSettings(retrieve=True)`` it ranks the whole collection instead, which a model of one
    vector a text can.

        found = positionbias.audit_model("minilm", "squad", queries=500)
        print(found.verdict)
        found.to_frame()
        found.plot()
        found.save("squad-minilm")

    Args:
        model: One model, or several to compare.
        collection: A collection, its folder, or its name under $POSBIAS_HOME.
        split: Whose queries.
        candidates: The run that models re-rank; by default BM25's.
        queries: How many queries to draw by the seed; by default all.
        settings: What is moved, measured and drawn.

    Returns:
        The verdicts on all models, with what they and the description rest on.

    Raises:
        InputError: what cannot be read, or a model whose scores are no finite numbers.
        SettingError: a setting out of range.

    Example:
        >>> import positionbias as pb
        >>> def early(query, passages):
        ...     return [
        ...         sum(len(text) - text.find(word) for word in query.split() if word in text)
        ...         for text in passages
        ...     ]
        >>> print(pb.audit_model(early, "planted").verdict)
        early prefers the front: end − front −... of the evidence's worth (18 queries), beyond the
        margin of ...
        ...
    """
    check_type("settings", settings, AuditSettings, "AuditSettings")
    audited = Audited(
        models=_listed(model),
        split=split,
        queries=queries,
        candidates=candidates,
    )
    return audit_systems(collection, audited=audited, settings=settings)


@operation
def check(
    collection: AuditedOf,
    runs: Runs = (),
    *,
    limits: Limits,
    audited: Audited = Audited(),
    settings: Annotated[
        AuditSettings, LeftOut((*MATCHING, "describe", "lengths"))
    ] = AuditSettings(),
    computing: ComputingOf = Computing(),
    engine: Engine = Engine(),
) -> Checked:
    """Hold each model or run to limits on its position bias: pass, fail or cannot tell.

    A limit passes where the 95 % interval of the effect lies within ± X, and fails where it lies
    wholly beyond. All else is "cannot tell": too few queries, nothing measured, undefined. A run
    alone is always that. The exit code is 0 where all pass, 1 where one fails, else 3; 2 is bad
    input.

        posbias check squad --model minilm --max-response 0.02
        posbias check squad --model minilm --max-response 0.02 --max-order 1

    Returns:
        A check for each system and limit, with the audit; what no limit needs is not measured.

    Raises:
        SettingError: neither a model nor a run, or settings that do not go together.
        InputError: what cannot be read, or a model whose scores are no finite numbers.

    Example:
        >>> import positionbias as pb
        >>> from positionbias.settings import Audited, Limits
        >>> def words(query, passages):
        ...     return [
        ...         float(sum(word in text.split() for word in query.split()))
        ...         for text in passages
        ...     ]
        >>> print(
        ...     pb.check(
        ...         "planted", limits=Limits(max_response=0.05), audited=Audited(models=[words])
        ...     )
        ... )
        Limits on position bias: pass (1 system).
        words: passes --max-response 0.05 ...
    """
    from positionbias.audit.limits import checks_of

    needed = replace(  # what no limit is on is not measured
        settings,
        rotation=settings.rotation and limits.max_movement is not None,
        lengths=(),
        describe=False,
    )
    outcome, measurements = _measured(collection, runs, audited, needed, computing, engine)
    checks = checks_of(measurements, limits, settings.measure)
    return Checked(checks, outcome)


def _opened(
    collection: CollectionLike,
    runs: Sequence[RunLike],
    audited: Audited,
    settings: AuditSettings,
    computing: Computing,
    map_shards: MapShards,
) -> tuple[Task, list[System]]:
    """The task and the systems."""
    from positionbias.audit.audit import make_task
    from positionbias.audit.systems import RotatedRun, System
    from positionbias.core.collection import find_collection
    from positionbias.core.run import find_run

    _refuse_mismatches(runs, audited, settings)
    opened = find_collection(collection)
    loaded = [find_run(run) for run in runs]
    models = [open_model(model, audited.kind, computing) for model in audited.models]
    config = computing.config
    if settings.retrieve:  # what cannot be is said before BM25 goes through the collection
        from positionbias.dense.single_vectors import SingleVectors

        for model in models:
            SingleVectors(model, config)
    rule = evidence_rule(opened, settings, computing, map_shards, models)
    spreads = [
        _spread(one, model, audited.kind, computing, map_shards)
        for one, model in zip(audited.models, models, strict=True)
    ]
    task = make_task(
        opened,
        audited.split,
        _candidates(opened, loaded, audited, settings),
        settings,
        queries=audited.queries,
        config=config,
        map_shards=map_shards,
        rule=rule,
    )
    rotated = [RotatedRun(find_collection(place), find_run(run)) for place, run in audited.rotated]
    systems = [System(run.name, run=run, rotated=rotated) for run in loaded]
    if settings.retrieve:
        systems += retrievers(models, task, settings.depth, spreads=spreads)
    else:
        systems += [
            System.of(model, spread=spread) for model, spread in zip(models, spreads, strict=True)
        ]
    return task, systems


def retrievers(
    checkpoints: Sequence[Checkpoint],
    task: Task,
    depth: int,
    *,
    spreads: Sequence[Spread | None] = (),
) -> list[System]:
    """Return each model as a retriever over the whole collection, and if given the processes that
    encode with it.

    Raises:
        InputError, SettingError: as ``Retriever``.
    """
    from positionbias.audit.retriever import Retriever
    from positionbias.audit.systems import System

    systems = []
    for checkpoint, spread in zip(checkpoints, spreads or [None] * len(checkpoints), strict=True):
        retriever = Retriever(
            checkpoint,
            task.collection,
            task.queries,
            depth=depth,
            config=task.config,
            spread=spread,
        )
        name = f"{checkpoint.ended_name}, whole collection"
        systems.append(
            System(name, model=checkpoint.model, checkpoint=checkpoint, retriever=retriever)
        )
    return systems


def evidence_rule(
    collection: Collection,
    settings: AuditSettings,
    computing: Computing,
    map_shards: MapShards,
    models: Sequence[Checkpoint] = (),
) -> Rule | None:
    """The rule that chooses the evidence; None: the answers are it.

    Raises:
        SettingError: a model that shall choose is one of the audited ``models``, or of their base.
    """
    from positionbias.audit.evidence import MEASURED, collection_terms, model_rule

    if settings.evidence == ANSWERS:
        return None
    if settings.evidence == TERMS:
        return collection_terms(collection, map_shards)
    from positionbias.models.kinship import kinship

    chooser = computing.load(settings.evidence)
    for model in models:
        if kin := kinship(chooser, model):
            raise SettingError(
                "--evidence: wanted a model apart from those audited and their base; found "
                f"{chooser.name}, which {kin}; give another, or --evidence {TERMS}"
            )
    # a folder of the same name is not the model whose errors were measured
    other = chooser.name in MEASURED and isinstance(model_place(settings.evidence), Path)
    name = f"{chooser.name} ({chooser.manifest.checksum[:8]})" if other else ""
    return model_rule(chooser, computing.config, name)


def _evidence(rule: str) -> str:
    """Say what the evidence is."""
    from positionbias.audit.evidence import error_note

    if rule:
        return (
            f"The evidence of a query is the sentence chosen by {rule} in its highest-judged "
            f"relevant passage. {error_note(rule)}"
        )
    return "The evidence of a query is the earliest answer in its highest-judged relevant passage."


def _refuse_mismatches(runs: Sequence[RunLike], audited: Audited, settings: AuditSettings) -> None:
    """Refuse what does not go together, before anything is read.

    Raises:
        SettingError: the first of it.
    """
    if not audited.models and not runs:
        raise SettingError(
            "audit: wanted a model or a run; found neither; give --model NAME or the files of runs"
        )
    if audited.rotated and len(runs) != 1:
        raise SettingError(
            f"--rotated: wanted one RUN over the original collection beside it; found {len(runs)}; "
            "name the run of the same system"
        )
    for _, run in audited.rotated:
        if _is_same(run, runs[0]):
            raise SettingError(
                f"--rotated: wanted the run over the rotated collection; found {run}, the run over "
                "the original one; give the other"
            )
    if settings.retrieve and not audited.models:
        raise SettingError(
            "--retrieve: wanted a --model that retrieves; found runs alone; they are measured as "
            "they are"
        )


def _spread(
    model: ModelLike,
    opened: Checkpoint,
    kind: str | None,
    computing: Computing,
    map_shards: MapShards,
) -> Spread | None:
    """Return how other processes compute with a model; None for an object, which is in this one,
    and an endpoint, which one asks.
    """
    from positionbias.models.protocols import Served

    if not isinstance(model, Place) or isinstance(opened.model, Served):
        return None
    return Spread(computing.loading(model, kind), map_shards)


@models_extra()
def open_model(model: ModelLike, kind: str | None, computing: Computing) -> Checkpoint:
    """Return a model as it was given, or loaded by its name to where it shall compute.

    Raises:
        InputError, SettingError: as ``load_checkpoint``.
        DependencyError: the extra ``models`` is not installed.
    """
    from positionbias.models.checkpoint import Checkpoint, user_checkpoint

    if isinstance(model, Place):
        return computing.load(model, kind)
    return model if isinstance(model, Checkpoint) else user_checkpoint(model, _name(model), kind)


def _name(model: Any) -> str:
    return getattr(model, "__name__", type(model).__name__)


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _candidates(
    collection: Collection, runs: Sequence[Run], audited: Audited, settings: AuditSettings
) -> Run | Callable[[Sequence[Query]], Run]:
    """The run given; else BM25 where a model has to re-rank something; of runs alone the first,
    which nothing re-ranks.
    """
    from positionbias.core.run import find_run
    from positionbias.firststage.bm25 import retrieve
    from positionbias.firststage.settings import Bm25Settings

    if audited.candidates is not None:
        return find_run(audited.candidates)
    if not audited.models:
        return runs[0]
    say(f"no --candidates: ranking by BM25 to depth {settings.depth}")
    return lambda queries: retrieve(collection, queries, settings.depth, Bm25Settings())


def _is_same(run: RunLike, other: RunLike | None) -> bool:
    """Return True for two names of one file, or one object."""
    if isinstance(run, Place) and isinstance(other, Place):
        return input_place(run).resolve() == input_place(other).resolve()
    return run is other


def _read(
    task: Task,
    systems: Sequence[System],
    runs: Sequence[RunLike],
    audited: Audited,
) -> list[Read]:
    """Return the audit's inputs on disk."""
    from positionbias.core.collection import find_collection

    found = [Read("collection", task.collection.path, task.collection.checksum)]
    for system in systems:
        # a function has none
        if system.checkpoint is not None and system.checkpoint.manifest.checksum:
            found.append(Read("model", system.checkpoint.path, system.checkpoint.manifest.checksum))
    for place, _ in audited.rotated:
        rotated = find_collection(place)
        found.append(Read("rotated collection", rotated.path, rotated.checksum))
    given = [("run", run) for run in runs] + [("candidates", audited.candidates)]
    given += [("rotated run", run) for _, run in audited.rotated]
    return [
        *found,
        *(Read.file(role, input_place(run)) for role, run in given if isinstance(run, Place)),
    ]
