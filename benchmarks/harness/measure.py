"""Measures one row: ours and every peer take turns, and what they computed is compared."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from harness.environments import python_of
from harness.machine import commit_of
from harness.ratios import answer_of, neighbour_ratios, spread_of
from harness.records import OURS, Comparison, Limit, Measured, Peer, Row, RunSettings, Samples, Side
from harness.sides import SideFailed, SideProcess

__all__ = ["Places", "measure"]

LIMIT = "the machine's limit"
PRODUCT = "rows.product:Product"


@dataclass(frozen=True)
class Places:
    """Folders: made inputs, the peers' environments, sources that a user fetched, and logs."""

    data: Path
    environments: Path | None
    sources: Path | None
    logs: Path


@dataclass
class _Running:
    """One side beside ours, with what it gave so far."""

    name: str
    process: SideProcess
    versions: dict[str, str]
    facts: dict[str, Any]
    samples: list[tuple[float, float]]


def measure(row: Row, run: RunSettings, places: Places) -> Measured:
    """Measure a row; a peer that fails is named in ``failed``, and the others go on.

    Raises:
        SideFailed: our own side failed.
    """
    began, load = time.perf_counter(), os.getloadavg()[0]
    folder = places.data / ("quick" if run.quick else "full")
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**_inputs(row, folder, run), "threads": run.threads, "folder": str(folder)}
    failed: dict[str, str] = {}
    with ExitStack() as stack:
        start = _starter(stack, settings, run, places, row.name)
        ours = start(OURS, OURS, row.ours)
        expected = start("reference", OURS, row.reference) if row.reference else None
        others: dict[str, _Running] = {}
        limits = (
            (Peer(LIMIT, OURS, Side(PRODUCT, {"precision": row.limit.precision})),)
            if row.limit
            else ()
        )
        for peer in (*row.peers, *limits):
            try:
                others[peer.name] = start(peer.name, peer.environment, _sourced(peer, places))
            except SideFailed as error:
                failed[peer.name] = _told(error, row.name)
        if row.shared:
            stack.enter_context(_busy(run.threads))
        rounds = {
            name: _take_turns(ours, other, run.rounds, failed, row.name)
            for name, other in others.items()
        }
        proofs = {
            one.name: _proof(one, failed, row.name)
            for one in (ours, *others.values(), *([expected] if expected else []))
        }
    wanted = proofs["reference"] if expected else proofs[OURS]
    comparisons = []
    for peer in row.peers:
        if peer.name in failed:
            continue
        agreement = dict(row.compare(wanted, proofs[peer.name]))
        bound = row.bound if peer.bound is None else peer.bound
        if agreement["apart"] > bound:
            failed[peer.name] = (
                f"{peer.name}: not the same work: {agreement['apart']:.2g} apart, at most "
                f"{bound:g} allowed"
            )
            continue
        scale = float(others[peer.name].facts.get("scale", 1.0))
        comparisons.append(
            _comparison(rounds[peer.name], others[peer.name], peer.goal, agreement, scale=scale)
        )
    if row.limit and LIMIT not in failed:
        comparisons.append(_share(rounds[LIMIT], others[LIMIT], ours.facts, row.limit))
    own = dict(row.compare(wanted, proofs[OURS])) if expected else {}
    if own.get("apart", 0.0) > row.bound:
        raise SideFailed(
            f"{row.name}: ours is {own['apart']:.2g} from its reference, at most {row.bound:g} "
            "allowed"
        )
    return Measured(
        row=row.name,
        work=row.work,
        commit=commit_of(),
        settings=run,
        date=date.today().isoformat(),
        load=(round(load, 2), round(os.getloadavg()[0], 2)),
        ours=_samples(ours.samples),
        facts=ours.facts,
        versions=ours.versions,
        agreement=own,
        comparisons=comparisons,
        failed=failed,
        seconds=round(time.perf_counter() - began, 1),
    )


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Run so many processes that each would fill a core."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def _inputs(row: Row, folder: Path, run: RunSettings) -> Mapping[str, Any]:
    try:
        return row.inputs(folder, run.quick)
    except Exception as error:
        raise SideFailed(
            f"{row.name}: its inputs could not be made: {type(error).__name__}: "
            f"{' '.join(str(error).split())}"
        ) from error


def _starter(
    stack: ExitStack, settings: Mapping[str, Any], run: RunSettings, places: Places, row: str
) -> Callable[[str, str, Side], _Running]:
    def start(name: str, environment: str, side: Side) -> _Running:
        python = python_of(environment, places.environments)
        log = places.logs / row / f"{name.replace(' ', '_')}.txt"
        ours = environment == OURS
        process = stack.enter_context(
            SideProcess(f"{row}: {name}", [str(python)], log, run.threads, ours=ours)
        )
        said = process.prepare(side, settings)
        process.run()  # first allocations, kernels that are made at the first use
        print(f"{row}: {name} is prepared", file=sys.stderr, flush=True)
        return _Running(name, process, said["versions"], said["facts"], [])

    return start


def _sourced(peer: Peer, places: Places) -> Side:
    """The peer's side, with the file that it needs of the user's sources."""
    if not peer.needs:
        return peer.side
    if places.sources is None or not (places.sources / peer.needs).exists():
        raise SideFailed(
            f"{peer.name}: wanted {peer.needs} below the folder of --sources; found none"
        )
    return Side(peer.side.work, {**peer.side.settings, "source": str(places.sources / peer.needs)})


Rounds = tuple[list[tuple[float, float]], list[tuple[float, float]]]


def _take_turns(
    ours: _Running, other: _Running, rounds: int, failed: dict[str, str], row: str
) -> Rounds:
    """A B A B … A: the seconds of both; ours are also added to ours of the whole row."""
    mine, theirs = [ours.process.run()], []
    try:
        for _ in range(rounds):
            theirs.append(other.process.run())
            mine.append(ours.process.run())
    except SideFailed as error:
        failed[other.name] = _told(error, row)
    ours.samples += mine
    other.samples += theirs
    return mine, theirs


def _proof(one: _Running, failed: dict[str, str], row: str) -> Any:
    if one.name in failed or one.name == LIMIT:
        return None
    try:
        return one.process.proof()
    except SideFailed as error:
        if one.name in (OURS, "reference"):
            raise
        failed[one.name] = _told(error, row)
        return None


def _told(error: SideFailed, row: str) -> str:
    """Print what failed; return it without the place of its messages."""
    print(error, file=sys.stderr, flush=True)
    return error.kept.removeprefix(f"{row}: ")


def _samples(found: Sequence[tuple[float, float]]) -> Samples:
    return Samples(
        [round(wall, 6) for wall, _ in found], [round(processor, 6) for _, processor in found]
    )


def _comparison(
    rounds: Rounds,
    other: _Running,
    goal: float | None,
    agreement: dict[str, float],
    *,
    scale: float = 1.0,
    note: str = "",
) -> Comparison:
    """``scale``: what the other's seconds are multiplied by, to stand for the same work."""
    mine, theirs = rounds
    spreads = [
        spread_of(
            [
                scale * ratio
                for ratio in neighbour_ratios([a[clock] for a in mine], [b[clock] for b in theirs])
            ]
        )
        for clock in (0, 1)
    ]
    answer = answer_of(spreads, goal, len(theirs))
    note = note or str(other.facts.get("note", ""))
    return Comparison(
        other.name, _samples(other.samples), *spreads, goal, answer, agreement, other.versions, note
    )


def _share(rounds: Rounds, other: _Running, facts: Mapping[str, Any], limit: Limit) -> Comparison:
    """Ours beside the seconds that the products of the limit would take for our operations."""
    scale = facts["flops"] / other.facts["flops"]
    rate = other.facts["flops"] / min(processor for _, processor in other.samples) / 1e9
    note = (
        f"{limit.precision} by oneDNN, {other.facts['shape']}: {rate:.0f} GFLOP/s a core at its "
        "best"
    )
    return _comparison(rounds, other, limit.goal, {}, scale=scale, note=note)
