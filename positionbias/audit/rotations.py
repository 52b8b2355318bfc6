"""Describe the change of a model's ranking when every passage is rotated, in several draws, by how
far the evidence moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from positionbias.audit.evidence import Movement, movements
from positionbias.audit.missing import completed
from positionbias.audit.settings import AuditSettings
from positionbias.audit.systems import Measurement, System, Task
from positionbias.core.interval import Interval
from positionbias.core.run import Run
from positionbias.evaluation.clustered import clustered_mean
from positionbias.evaluation.described import MOVEMENT
from positionbias.evaluation.rank_overlap import rank_biased_overlaps
from positionbias.evaluation.rotation_gap import change_by_movement, rotation_gap
from positionbias.models.protocols import PassageEncoder, token_reader
from positionbias.positions.rotate import Rotation
from positionbias.positions.rotated_texts import RotatedTexts

__all__ = ["GAP", "Gap", "Rotated", "compared", "rotate_and_rank", "rotation_results"]

GAP = "rotation gap"


@dataclass(frozen=True, slots=True)
class Gap:
    """The change of a quality when the whole collection is rotated, as its mean over ``queries``.

    ``first_changed`` is the share of queries with another first passage, ``overlap`` the rankings'
    rank-biased overlap. ``cut`` and ``truncated`` are shares of answers, ``truncated`` None where
    the model's limit is unknown.
    """

    quality: str
    draws: int
    queries: int
    change: float | None
    interval: Interval | None
    original: float | None
    rotated: float | None
    p: float | None
    detectable: float | None
    first_changed: float | None
    overlap: float | None
    cut: float | None
    truncated: float | None


@dataclass(frozen=True, slots=True)
class Rotated:
    """The result of each draw for every audited query: ``values`` by measure ``(draws, queries)``,
    ``first_changed`` and ``overlap`` ``(draws, queries)``. ``truncated`` is the share of answers
    that end beyond the model's length limit (None: unknown), ``movement`` that of the evidence
    (None: it has no place), ``first_run`` the ranking of the first draw. Where scores are missing,
    ``values`` are the least that any in their place could give, and ``best`` the greatest."""

    values: Mapping[str, np.ndarray]
    best: Mapping[str, np.ndarray]
    first_changed: np.ndarray
    overlap: np.ndarray
    truncated: float | None
    movement: Movement | None
    first_run: Run


def rotate_and_rank(system: System, task: Task, ranked: Run, settings: AuditSettings) -> Rotated:
    """Rank rotated passages, candidates or the whole collection, once per draw; an encoder encodes
    each passage once per draw.
    """
    rotations = settings.rotations()
    movement = None if task.evidence.whole else movements(task.collection, task.evidence, rotations)
    truncated = None if movement is None else _truncated_share(system, task, rotations, movement)
    runs = (
        system.ranked(
            task,
            RotatedTexts(task.collection, rotation),
            f"{system.name}, rotation {draw + 1} of {len(rotations)}",
        )
        for draw, rotation in enumerate(rotations)
    )
    return compared(task, ranked, runs, settings.measures, truncated, movement)


def compared(
    task: Task,
    ranked: Run,
    runs: Iterable[Run],
    measures: Sequence[str],
    truncated: float | None = None,
    movement: Movement | None = None,
) -> Rotated:
    """Compare rankings of rotated passages with that of the original ones; one is in memory at a
    time.
    """
    by_measure: dict[str, list[np.ndarray]] = {name: [] for name in measures}
    best: dict[str, list[np.ndarray]] = {name: [] for name in measures}
    changed, overlap, first_run = [], [], None
    for given in runs:
        run = completed(given, task.qrels, best=False)
        lowest = task.values(run, measures)
        highest = (
            lowest
            if run is given
            else task.values(completed(given, task.qrels, best=True), measures)
        )
        for name in measures:
            by_measure[name].append(lowest[name])
            best[name].append(highest[name])
        pairs = [(_ids(ranked, query_id), _ids(run, query_id)) for query_id in task.query_ids]
        changed.append([before[:1] != after[:1] for before, after in pairs])
        overlap.append(
            rank_biased_overlaps([before for before, _ in pairs], [after for _, after in pairs])
        )
        first_run = first_run or run
    return Rotated(
        {name: np.array(values) for name, values in by_measure.items()},
        {name: np.array(values) for name, values in best.items()},
        np.array(changed),
        np.array(overlap),
        truncated,
        movement,
        first_run or ranked,
    )


def rotation_results(
    system: System,
    task: Task,
    values: Mapping[str, np.ndarray],
    rotated: Rotated,
    settings: AuditSettings,
    best: Mapping[str, np.ndarray] | None = None,
) -> list[Measurement]:
    """Return the gap of each measure, and of the first one by how far the evidence moved, if it has
    a place.

    Where scores are missing, ``best`` are the greatest values that any in their place could give,
    ``values`` the least; the gap spans both ways.
    """
    best = best or values
    movement = rotated.movement
    overlap = clustered_mean(rotated.overlap.mean(axis=0), task.clusters)
    results = []
    for measure, original in values.items():
        ways = [(best[measure], rotated.values[measure]), (original, rotated.best[measure])]
        gap, other = (
            rotation_gap(*way, task.clusters, first_changed=rotated.first_changed) for way in ways
        )
        change, count = gap.change, len(task.query_ids)
        value, interval = change.value, change.interval
        if interval is not None and other.change.interval is not None and other.change != change:
            interval = replace(interval, high=other.change.interval.high)
            value = (
                (value + other.change.value) / 2
                if value is not None and other.change.value is not None
                else None
            )
        results.append(
            system.measured(
                GAP,
                Gap(
                    quality=measure,
                    draws=gap.draws,
                    queries=count,
                    change=value,
                    interval=interval,
                    original=gap.original_mean,
                    rotated=gap.rotated_mean,
                    p=change.p,
                    detectable=change.detectable,
                    first_changed=gap.first_changed.value,
                    overlap=overlap.value,
                    cut=None if movement is None else float((movement.ends < 0).mean()),
                    truncated=rotated.truncated,
                ),
            )
        )
    if movement is None:
        return results
    measure = settings.measures[0]
    moved = movement.after - task.evidence.column("relative")
    buckets = change_by_movement(
        values[measure],
        rotated.values[measure],
        moved,
        task.clusters,
        seed=settings.seed,
        minimum=settings.minimum,
        quality=f"change of {measure}",
    )
    results.append(system.measured(MOVEMENT, buckets))
    return results


def _ids(run: Run, query_id: str) -> Sequence[str]:
    return run[query_id].passage_ids if query_id in run else []


def _truncated_share(
    system: System, task: Task, rotations: Sequence[Rotation], movement: Movement
) -> float | None:
    """Return the share of whole answers, over draws, whose end is beyond a model's length limit;
    None if the limit is unknown.
    """
    reader = token_reader(system.model)
    if reader is None:
        return None
    items = list(task.evidence.by_query.values())
    used = np.zeros(len(items), np.int64)
    if not isinstance(reader, PassageEncoder):  # the query takes part of the limit
        texts = {query.query_id: query.text for query in task.queries}
        used = np.array(
            [len(row) for row in reader.read_queries([texts[item.query_id] for item in items])]
        )
    beyond = whole = 0
    for draw, rotation in enumerate(rotations):
        ends = movement.ends[draw]
        kept = np.flatnonzero(ends >= 0)
        passages = RotatedTexts(task.collection, rotation).texts(
            [items[index].passage_id for index in kept]
        )
        prefixes = [text[: ends[index]] for text, index in zip(passages, kept, strict=True)]
        lengths = np.array([len(row) for row in reader.read_passages(prefixes)])
        # one that just fills the limit counts too, as it may have been cut
        beyond += int((lengths + used[kept] >= reader.room).sum())
        whole += len(kept)
    return beyond / whole if whole else None
