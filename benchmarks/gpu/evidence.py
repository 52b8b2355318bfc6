"""The steps of ``evidence.sh``: trainings and what they show, on a machine with a GPU and no
network.

    python evidence.py prepare     collections, candidates, word vectors
    python evidence.py train       units (``evidence_study``), until all are done or the time is up
    python evidence.py results     results.json from the units that are done

$DATA is what ``pack.py`` made, $OUT gets ``units.jsonl`` (the state: a line a unit) and
``results.json``, $WORK all else. ``train`` exits with 0 when no unit is left to be made, with 75
when some are and another step may make them, with 1 where one failed.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from evidence_results import MEASURE, results
from evidence_study import (
    ROTATED,
    SEED,
    SIZES,
    Size,
    Study,
    Unit,
    cores,
    models,
    studies,
    units,
    unpacked_encoder,
)

from positionbias.audit.answers import Verdict
from positionbias.audit.audit import audit, make_task
from positionbias.audit.measured import given_in
from positionbias.audit.systems import System
from positionbias.core.collection import Collection
from positionbias.core.files import read_json, sha256_file
from positionbias.core.manifest import read_manifest
from positionbias.core.progress import set_quiet
from positionbias.core.publish import write_json
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.models.checkpoint import load_checkpoint
from positionbias.ranking.loading import pick_device
from positionbias.training.plan import TrainPlan
from positionbias.training.planned import settings_of

LEFT = 75  # as EX_TEMPFAIL: call again
DIGITS = 6


@dataclass(frozen=True)
class Evidence:
    """A chain of steps: where its data, its artefacts and its state are, and how much it does."""

    data: Path
    work: Path
    out: Path
    size: Size

    @staticmethod
    def from_environment() -> Evidence:
        """What $DATA, $WORK, $OUT and $SIZE say."""
        data, work, out = (Path(os.environ[name]).resolve() for name in ("DATA", "WORK", "OUT"))
        return Evidence(data, work, out, SIZES[os.environ.get("SIZE", "full")])

    @cached_property
    def studies(self) -> dict[str, Study]:
        """The studies by name, what they need made."""
        return studies(self.data, self.work, self.size)

    @cached_property
    def encoder(self) -> Path:
        """What models over an encoder start from, and word vectors are distilled from."""
        return unpacked_encoder(self.data, self.work)

    @property
    def units(self) -> list[Unit]:
        """All units, most valuable first."""
        return list(units(self.size, self.studies))

    # -- the state ---------------------------------------------------------------------------------

    @property
    def state(self) -> Path:
        """A line of JSON for each unit that is done."""
        return self.out / "units.jsonl"

    def lines(self) -> Iterator[dict[str, Any]]:
        """What is done; a line that was cut off by an interruption is none."""
        for line in self.state.read_text().splitlines() if self.state.exists() else ():
            try:
                yield json.loads(line)
            except ValueError:
                continue

    @cached_property
    def fingerprints(self) -> dict[Unit, str]:
        """Of every unit."""
        return {unit: self.fingerprint(unit) for unit in self.units}

    def done(self) -> dict[Unit, dict[str, Any]]:
        """The lines of units as they would be made now; those of other data or settings do not
        count.
        """
        prints = self.fingerprints
        found = {Unit(**line["unit"]): line for line in self.lines()}
        return {
            unit: line for unit, line in found.items() if prints.get(unit) == line["fingerprint"]
        }

    def keep(self, line: Mapping[str, Any]) -> None:
        """Add a unit to the state, on a line of its own whatever an interruption left."""
        self.out.mkdir(parents=True, exist_ok=True)
        torn = self.state.exists() and not self.state.read_bytes().endswith(b"\n")
        with open(self.state, "a") as handle:
            handle.write(("\n" if torn else "") + json.dumps(line) + "\n")
            handle.flush()
            os.fsync(handle.fileno())

    # -- a unit ------------------------------------------------------------------------------------

    @cached_property
    def models(self) -> dict[str, Any]:
        """The models of each study."""
        return {
            name: models(self.size, study, self.encoder) for name, study in self.studies.items()
        }

    def plan(self, unit: Unit) -> TrainPlan:
        """How a unit is trained."""
        study = self.studies[unit.study]
        model = self.models[unit.study][unit.model]
        validation = study.candidates("validation"), "validation"
        plan: TrainPlan = model.plan(
            candidates=study.candidates("train"), validation=validation, seed=unit.seed
        )
        return plan

    def fingerprint(self, unit: Unit) -> str:
        """What a unit's line depends on: the plan of its training, all passages that it is tested
        on, the audit's settings.

        Word vectors count as what they are distilled from, the encoder and the passages: their last
        bits differ between machines.
        """
        study = self.studies[unit.study]
        collections = {arm: Collection(study.passages(arm, unit.seed)) for arm in study.trainings}
        tests = {arm: collection.checksum for arm, collection in collections.items()}
        plan = settings_of(self.plan(unit), collections[unit.arm])
        if plan.get("word_vectors"):
            plan = {**plan, "word_vectors": sha256_file(self.encoder / "model.safetensors")}
        record = [asdict(unit), plan, tests, asdict(self.size.audit), self.size.audited]
        return hashlib.sha256(json.dumps(record, sort_keys=True, default=str).encode()).hexdigest()

    def make(self, unit: Unit) -> dict[str, Any]:
        """Train, re-rank every arm's test passages, audit; the line of the state."""
        began = time.monotonic()
        study = self.studies[unit.study]
        model = study.workspace.trained(
            unit.name, study.passages(unit.arm, unit.seed), self.plan(unit)
        )
        tests = {}
        for arm in study.trainings:
            passages = study.passages(arm, unit.seed)
            tests[arm] = self._values(
                study, model, passages, f"{arm}-{unit.seed}" if arm == ROTATED else arm
            )
        found = read_manifest(model).content
        return {
            "unit": asdict(unit),
            "fingerprint": self.fingerprint(unit),
            "training": {
                "kept": {
                    name: found[name]
                    for name in ("best_step", "steps", "stopped", "depth", "validation_ndcg@10")
                },
                **read_json(model / "training.json", what="a training log"),
            },
            "tests": tests,
            "verdicts": self._verdicts(study, model) if study.audited else [],
            "seconds": round(time.monotonic() - began, 1),
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
            "commit": self.commit,
        }

    @property
    def commit(self) -> str:
        """The commit that the data were packed at."""
        return str(read_json(self.data / "pack.json", what="a pack's list")["commit"])

    def _values(self, study: Study, model: Path, passages: Path, on: str) -> list[float]:
        """nDCG@10 of every test query, in the order of their ids."""
        values: dict[str, float] = {}
        for split in study.splits:
            first = study.candidates(split)
            run = study.workspace.reranked(model, passages, split, first, on=f"{on}-")
            values |= per_query(Run.from_file(run), Collection(passages).qrels(split), [MEASURE])[
                MEASURE
            ]
        return [round(values[query_id], DIGITS) for query_id in sorted(values)]

    def _verdicts(self, study: Study, model: Path) -> list[dict[str, Any]]:
        """What an audit says of a model; without examples, so without texts."""
        split, settings = study.splits[0], self.size.audit
        candidates = Run.from_file(study.candidates(split))
        task = make_task(
            Collection(study.passages(study.audited, SEED)),
            split,
            candidates,
            settings,
            queries=self.size.audited,
        )
        checkpoint = load_checkpoint(model)
        checkpoint.model.to(pick_device("auto"))
        made = audit(task, [System.of(checkpoint)], settings)
        return [_kept(one.verdict) for one in given_in(made.rows)]


def _kept(verdict: Verdict) -> dict[str, Any]:
    """Return what is kept of a verdict: its answer and its deciding effect."""
    head = verdict.leading
    known = head is not None and head.low is not None and head.high is not None
    return {
        "value": head.value if head is not None else None,
        "interval": {"low": head.low, "high": head.high} if head is not None and known else None,
        "payload": {"question": str(verdict.question), "preference": str(verdict.preference)},
    }


def prepare(evidence: Evidence) -> int:
    """Everything that units share, indexes too, so that units running side by side find it made."""
    for study in evidence.studies.values():
        for split in study.splits:
            study.candidates(split)
        for seed, arm in product(evidence.size.seeds(study.name), study.trainings):
            collection = Collection(study.passages(arm, seed))
            collection.texts([next(iter(collection.passages())).passage_id])
    print(f"{len(evidence.units)} units, {len(evidence.done())} done before")
    return 0


def train(evidence: Evidence) -> int:
    """Make units in their order, $WORKERS side by side, and begin none that would probably not end
    within $STEP seconds.
    """
    until = time.monotonic() + float(os.environ.get("STEP", "480"))
    done = evidence.done()
    open_units = [unit for unit in evidence.units if unit not in done]
    workers = int(os.environ.get("WORKERS", "7" if torch.cuda.is_available() else "1"))
    typical: dict[tuple[str, str], float] = {}
    for unit, known in done.items():
        _longest(typical, unit, known)
    made = failed = 0
    for unit, line, problem in _made(evidence, open_units, workers, until, typical):
        if line is None:
            failed += 1
            print(f"{unit.name}: failed\n{problem}", file=sys.stderr)
            continue
        made += 1
        evidence.keep(line)
        _longest(typical, unit, line)
        print(f"{unit.name}: {line['seconds']:.0f} s", flush=True)
    left = len(evidence.units) - len(evidence.done()) - failed
    return LEFT if left and made else int(failed > 0)


def _longest(typical: dict[tuple[str, str], float], unit: Unit, line: Mapping[str, Any]) -> None:
    kind = (unit.study, unit.model)
    typical[kind] = max(typical.get(kind, 0.0), line["seconds"])


Made = tuple[Unit, dict[str, Any] | None, str]


def _made(
    evidence: Evidence,
    wanted: Sequence[Unit],
    workers: int,
    until: float,
    typical: dict[tuple[str, str], float],
) -> Iterator[Made]:
    def in_time(unit: Unit) -> bool:
        return time.monotonic() + typical.get((unit.study, unit.model), 0.0) < until

    if workers == 1:
        for unit in wanted:
            if in_time(unit):
                yield _unit(evidence.data, evidence.work, evidence.out, evidence.size, unit)
        return
    queue, running = list(wanted), set[Future[Made]]()
    with ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_share, initargs=(workers,)
    ) as pool:
        while queue or running:
            while queue and len(running) < workers:
                unit = queue.pop(0)
                if in_time(unit):
                    running.add(
                        pool.submit(
                            _unit, evidence.data, evidence.work, evidence.out, evidence.size, unit
                        )
                    )
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for one in ended:
                yield one.result()


def _share(workers: int) -> None:
    """A worker's part of the processors."""
    torch.set_num_threads(max(1, cores() // workers))
    set_quiet(True)


def _unit(data: Path, work: Path, out: Path, size: Size, unit: Unit) -> Made:
    try:
        return unit, Evidence(data, work, out, size).make(unit), ""
    except Exception:  # one unit's failure must not end the others
        return unit, None, traceback.format_exc()


def write_results(evidence: Evidence) -> int:
    """results.json, from what is done."""
    done = evidence.done()
    write_json(
        evidence.out / "results.json",
        results(evidence.size, evidence.studies, evidence.units, done),
    )
    print(f"{len(done)} of {len(evidence.units)} units in {evidence.out / 'results.json'}")
    return 0


STEPS = {"prepare": prepare, "train": train, "results": write_results}

if __name__ == "__main__":
    set_quiet(True)
    sys.exit(STEPS[sys.argv[1]](Evidence.from_environment()))
