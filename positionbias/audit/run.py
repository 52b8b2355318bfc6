"""Audit the systems that are named: open them, measure them, keep the results and hold them to
limits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas

from positionbias.audit.answers import Verdict
from positionbias.audit.audit import audit, make_task
from positionbias.audit.evidence import MEASURED, Rule, collection_terms, error_note, model_rule
from positionbias.audit.limits import (
    EXIT_CODES,
    Check,
    Outcome,
    checks_of,
    headline,
    overall,
    sentence,
)
from positionbias.audit.measured import Given, given_in
from positionbias.audit.settings import ANSWERS, TERMS, Audited, AuditSettings, Limits
from positionbias.audit.systems import RotatedRun, System, Task, retriever_of
from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import PositionBiasError, SettingError
from positionbias.core.inputs import CollectionLike, RunLike
from positionbias.core.json_text import JsonObject
from positionbias.core.outcome import Judgement, Measurements, Read
from positionbias.core.places import Place, home_place, input_place, model_place, pasted
from positionbias.core.progress import hint, say
from positionbias.core.records import Query
from positionbias.core.rows import records
from positionbias.core.run import Run, find_run
from positionbias.core.steps import MapShards
from positionbias.core.terminal import wrapped
from positionbias.engine.choose import Engine
from positionbias.firststage.bm25 import retrieve
from positionbias.firststage.settings import Bm25Settings
from positionbias.ranking.config import Computing
from positionbias.text.splitter import USUAL_WORDS

MOST_NAMED = 100  # characters of the name of an audit that is kept
RE_RANKS = "Models re-rank all candidates to the depth, whatever depth they were tuned to."
RETRIEVES = (
    "Models rank every passage of the collection by exact search, and each rotation is one of all "
    "its passages."
)
EVIDENCE = "The evidence of a query is {} in its highest-judged relevant passage."


@dataclass(frozen=True, slots=True, repr=False)
class Audit(Measurements):
    """The results of an audit, with its inputs and settings.

    Example:
        >>> import positionbias as pb
        >>> [verdict.preference for verdict in pb.audit_systems("planted", ["test.run"]).verdicts]
        [<Preference.UNKNOWN: 'cannot tell'>]
    """

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """The answers: of each system whether the place in the passage matters, and of a model the
        place in the list.
        """
        return [answer.verdict for answer in self.answers]

    @property
    def answers(self) -> Sequence[Given]:
        """The verdicts with the names of their systems."""
        return [] if self.rows is None else given_in(self.rows)


@dataclass(frozen=True, slots=True, repr=False)
class Checked(Judgement):
    """The checks of all systems, and the audit that they rest on."""

    checks: Sequence[Check]
    audit: Audit

    def __str__(self) -> str:
        return wrapped(self.verdict)

    @property
    def outcome(self) -> Outcome:
        """One outcome for all checks."""
        return overall(self.checks)

    @property
    def exit_code(self) -> int:
        """The exit code of ``posbias check``."""
        return EXIT_CODES[self.outcome]

    @property
    def verdict(self) -> str:
        """The outcome of all checks, then a line for each, then what a limit cannot show."""
        notes = dict.fromkeys(f"{check.note}." for check in self.checks if check.note)
        return "\n".join([headline(self.checks), *map(sentence, self.checks), *notes])

    @property
    def complaints(self) -> Sequence[str]:
        """A line for each check that does not pass."""
        failed = [check for check in self.checks if check.outcome is not Outcome.PASS]
        return [f"posbias check: {sentence(check)}" for check in failed]

    def to_frame(self) -> pandas.DataFrame:
        """Return a row for each check."""
        return pandas.DataFrame([asdict(check) for check in self.checks])

    def _tables(self) -> Sequence[Any]:
        return ()

    def _study(self, place: Path = Path()) -> Any:
        return self.audit._study(place)

    def to_json(self) -> JsonObject:
        """Return the outcome, the checks and the audit's rows."""
        rows = [] if self.audit.rows is None else records(self.audit.rows)
        checks = [asdict(check) for check in self.checks]
        return {"outcome": self.outcome, "checks": checks, "rows": rows}


def run_audit(
    collection: CollectionLike,
    runs: Sequence[RunLike],
    audited: Audited,
    settings: AuditSettings,
    computing: Computing,
    engine: Engine,
) -> Audit:
    """Audit the systems that are named, as ``posbias audit``."""
    _refuse_mismatches(runs, audited, settings)
    gpus = engine.name == "ray" and bool(audited.models) and computing.pick_device().type == "cuda"
    with engine.open(gpus=gpus) as map_shards:
        task, systems = _opened(collection, runs, audited, settings, computing, map_shards)
        made = audit(task, systems, settings, tell=say)
    evidence = f"the sentence chosen by {task.rule}" if task.rule else "the earliest answer"
    notes = [EVIDENCE.format(evidence), RETRIEVES if settings.retrieve else RE_RANKS]
    if task.rule:
        notes[0] += f" {error_note(task.rule)}"
    for system in systems:
        if system.checkpoint is not None:
            notes += [f"{system.name}: {note}" for note in system.checkpoint.manifest.notes]
    chosen = {"split": task.split, "queries": audited.queries}
    return Audit(
        rows=made.rows,
        values=made.values,
        command="audit",
        settings={**chosen, **asdict(settings), "evidence": task.rule or ANSWERS},
        read=_read(task, systems, runs, audited),
        seed=settings.seed,
        name=f"Audit of {', '.join(system.name for system in systems)} on {task.collection.name}",
        licence=task.collection.manifest.licence,
        notes=notes,
        packages=("numpy", "torch", USUAL_WORDS),
        host=engine.host,
    )


def run_check(
    collection: CollectionLike,
    runs: Sequence[RunLike],
    limits: Limits,
    audited: Audited,
    settings: AuditSettings,
    computing: Computing,
    engine: Engine,
) -> Checked:
    """Hold systems to limits, as ``posbias check``; what no limit is on is not measured."""
    rotation = settings.rotation and limits.max_movement is not None
    needed = replace(settings, rotation=rotation, lengths=(), describe=False)
    results = run_audit(collection, runs, audited, needed, computing, engine)
    return Checked(checks_of(results.answers, limits, settings.measure), results)


def keep(results: Audit, *, texts: bool) -> None:
    """Keep an audit's results and page under $POSBIAS_HOME, in the place of those of an earlier
    audit of the same name.
    """
    place = home_place(re.sub(r"[^\w.]+", "-", results.name)[:MOST_NAMED].strip("-").lower())
    try:
        results.save(place, overwrite=True)
        page = results.report(place.with_name(f"{place.name}.html"), texts=texts, overwrite=True)
    except PositionBiasError as error:
        hint(f"not kept: {error}; give --out DIR")
    else:
        hint(
            f"results in {pasted(place)}, the page is {pasted(page)}; another audit of this name "
            "replaces both (--out DIR keeps them elsewhere)"
        )


def evidence_rule(
    collection: Collection,
    settings: AuditSettings,
    computing: Computing,
    map_shards: MapShards = map,
    models: Sequence[Any] = (),
) -> Rule | None:
    """Return the rule that chooses the evidence; None: the answers are it.

    Raises:
        SettingError: a model that shall choose is one of the audited ``models``, or of their base.
    """
    if settings.evidence == ANSWERS:
        return None
    if settings.evidence == TERMS:
        return collection_terms(collection, map_shards)
    from positionbias.models.kinship import kinship  # with torch

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


def _opened(
    collection: CollectionLike,
    runs: Sequence[RunLike],
    audited: Audited,
    settings: AuditSettings,
    computing: Computing,
    map_shards: MapShards,
) -> tuple[Task, list[System]]:
    """Return the task and the systems."""
    opened, loaded = find_collection(collection), [find_run(run) for run in runs]
    models = [computing.open(model, audited.kind) for model in audited.models]
    if settings.retrieve:  # what cannot be is said before BM25 goes through the collection
        from positionbias.dense.single_vectors import SingleVectors  # with torch

        for model in models:
            SingleVectors(model, computing.config)
    rule = evidence_rule(opened, settings, computing, map_shards, models)
    task = make_task(
        opened,
        audited.split,
        _candidates(opened, loaded, audited, settings),
        settings,
        queries=audited.queries,
        config=computing.config,
        map_shards=map_shards,
        rule=rule,
    )
    rotated = [RotatedRun(find_collection(place), find_run(run)) for place, run in audited.rotated]
    systems = [System(run.name, run=run, rotated=rotated) for run in loaded]
    for name, model in zip(audited.models, models, strict=True):
        spread = computing.spread(name, model, audited.kind, map_shards)
        if settings.retrieve:
            systems.append(retriever_of(model, task, settings.depth, spread))
        else:
            systems.append(System.of(model, spread=spread))
    return task, systems


def _refuse_mismatches(runs: Sequence[RunLike], audited: Audited, settings: AuditSettings) -> None:
    """Refuse what does not go together, before anything is read."""
    if not audited.models and not runs:
        raise SettingError(
            "audit: wanted a model or a run; found neither; give --model NAME or the files of runs"
        )
    if audited.rotated and len(runs) != 1:
        raise SettingError(
            f"--rotated: wanted one RUN over the original collection beside it; found {len(runs)}; "
            "name the run of the same system"
        )
    files = [input_place(run).resolve() if isinstance(run, Place) else run for run in runs]
    for _, run in audited.rotated:
        if (input_place(run).resolve() if isinstance(run, Place) else run) in files:
            raise SettingError(
                f"--rotated: wanted the run over the rotated collection; found {run}, the run over "
                "the original one; give the other"
            )
    if settings.retrieve and not audited.models:
        raise SettingError(
            "--retrieve: wanted a --model that retrieves; found runs alone; they are measured as "
            "they are"
        )


def _candidates(
    collection: Collection, runs: Sequence[Run], audited: Audited, settings: AuditSettings
) -> Run | Callable[[Sequence[Query]], Run]:
    """Return the run given; else BM25 for models to re-rank, or the first of runs alone."""
    if audited.candidates is not None:
        return find_run(audited.candidates)
    if not audited.models:
        return runs[0]
    say(f"no --candidates: ranking by BM25 to depth {settings.depth}")
    return lambda queries: retrieve(collection, queries, settings.depth, Bm25Settings())


def _read(
    task: Task, systems: Sequence[System], runs: Sequence[RunLike], audited: Audited
) -> list[Read]:
    """Return the audit's inputs on disk; a model that is a function has no checksum."""
    opened = [("collection", task.collection)]
    pairs = [pair for system in systems for pair in system.rotated]
    opened += [("rotated collection", pair.collection) for pair in pairs]
    files = [("run", run) for run in runs] + [("candidates", audited.candidates)]
    files += [("rotated run", run) for _, run in audited.rotated]
    models = [system.checkpoint for system in systems if system.checkpoint is not None]
    known = [model for model in models if model.manifest.checksum]
    return [
        *(Read(role, collection.path, collection.checksum) for role, collection in opened),
        *(Read("model", model.path, model.manifest.checksum) for model in known),
        *(Read.file(role, input_place(run)) for role, run in files if isinstance(run, Place)),
    ]
