"""Several runs as one: the mean of z-scores, or reciprocal rank fusion (Cormack, Clarke and Büttcher 2009)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import refuse_existing, sha256_file
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    read_manifest,
    write_manifest,
)
from positionbias.core.payloads import Statistics
from positionbias.core.result import Result
from positionbias.core.run import Run, read_run, write_run

__all__ = ["FUSIONS", "Fused", "Fusion", "K", "Missing", "fuse", "fuse_runs", "z_scores"]

Fusion = Literal["z-scores", "reciprocal-ranks"]
FUSIONS: tuple[Fusion, ...] = get_args(Fusion)
K = 60  # Cormack et al.'s


@dataclass(slots=True)
class Missing:
    """What one run has not of what all have together: queries, passages of the queries that it has; and how many of its queries' scores
    are all equal, so that they say nothing."""

    queries: int = 0
    passages: int = 0
    equal: int = 0


@dataclass(frozen=True, slots=True)
class Fused:
    """The ensemble's run, and by the label of each run what it has not; collection and split where the runs' manifests name them."""

    run: Run
    missing: dict[str, Missing]
    collection: str = ""
    split: str = ""

    def result(self) -> Result:
        """The counts as a Result; its value is the number of (query, passage) pairs."""
        rows = {"queries": len(self.run), "passages": self.run.pairs}
        for label, missing in self.missing.items():
            rows |= {
                f"{label}: queries missing": missing.queries,
                f"{label}: passages missing": missing.passages,
                f"{label}: queries with equal scores": missing.equal,
            }
        value, payload = float(self.run.pairs), Statistics(rows)
        return Result("ensemble", self.collection, self.split, self.run.name, None, value, None, len(self.run), payload)


def z_scores(scores: np.ndarray) -> np.ndarray:
    """One query's scores ``(n,)`` less their mean, in their deviations (of the population); zeros where all are equal [decision].

    >>> z_scores(np.array([3.0, 1.0, 1.0, 3.0])).tolist()
    [1.0, -1.0, -1.0, 1.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not len(values) or values.max() == values.min():
        return np.zeros(len(values))
    away = values - values.mean()
    return np.asarray(away / np.sqrt(np.square(away).mean()))


def fuse(runs: Sequence[Run], by: Fusion, *, k: int = K, depth: int | None = None, name: str = "ensemble") -> Fused:
    """The runs as one, their first ``depth`` passages a query (None: all), over every passage that any of them has for a query.

    z-scores:          s(q, p) = 1/R · Σ_r z_r(q, p); a passage that run r has not gets the least of r's for the query [decision]
    reciprocal-ranks:  s(q, p) = Σ_r 1 / (k + rank_r(q, p)); such a passage gets nothing from r

    A query that a run has not gets nothing from it [decision]. The order of the runs does not matter.

    Raises:
        SettingError: fewer than two runs, ``by`` is none of ``FUSIONS``, ``k`` is below 0, or ``depth`` below 1.
        InputError: a run shares no query, or no passage, with the first.
    """
    if len(runs) < 2:
        raise SettingError(f"RUN: wanted two runs or more; found {len(runs)}; give another")
    if by not in FUSIONS:
        raise SettingError(f"--by: wanted one of {', '.join(FUSIONS)}; found {by!r}; give one of these")
    if k < 0:
        raise SettingError(f"--k: wanted a number from 0; found {k}; raise it")
    if depth is not None and depth < 1:
        raise SettingError(f"--depth: wanted at least 1; found {depth}; raise it")
    _check_alike(runs)
    runs = [run if depth is None else run.top(depth) for run in runs]
    numbers: dict[str, int] = {}
    shared = [np.array([numbers.setdefault(p, len(numbers)) for p in run.passage_ids], dtype=np.int64) for run in runs]
    ids = list(numbers)
    counts = [Missing() for _ in runs]
    rankings = []
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        held = [
            shared[place][run.numbers(query_id)] if query_id in run else shared[place][:0] for place, run in enumerate(runs)
        ]
        union, where = np.unique(np.concatenate(held), return_inverse=True)
        parts = np.split(where, np.cumsum([len(part) for part in held])[:-1])
        given = np.zeros((len(runs), len(union)))
        for place, (run, part) in enumerate(zip(runs, parts, strict=True)):
            if not len(part):
                counts[place].queries += 1
                continue
            counts[place].passages += len(union) - len(part)
            if by == "reciprocal-ranks":
                given[place, part] = 1 / (k + np.arange(1, len(part) + 1))
                continue
            scores = run[query_id].scores
            counts[place].equal += bool(scores[0] == scores[-1])
            found = z_scores(scores)
            given[place] = found.min()
            given[place, part] = found
        total = np.sort(given, axis=0).sum(axis=0)  # sorted, so that the order of the runs does not show in the rounding
        scores = total / len(runs) if by == "z-scores" else total
        rankings.append((query_id, [ids[number] for number in union], scores))
    return Fused(Run(name, rankings), dict(zip(_distinct([run.name for run in runs]), counts, strict=True)))


def _check_alike(runs: Sequence[Run]) -> None:
    first = runs[0]
    passages = set(first.passage_ids)
    for other in runs[1:]:
        for what, apart in (
            ("queries", not any(query_id in first for query_id in other)),
            ("passages", passages.isdisjoint(other.passage_ids)),
        ):
            if apart:
                raise InputError(
                    f"run {other.name!r}: wanted {what} of run {first.name!r}; found none of them; give runs over the same queries and "
                    "collection"
                )


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number behind those that stand more than once."""
    return [f"{name} ({place})" if names.count(name) > 1 else name for place, name in enumerate(names, 1)]


def fuse_runs(
    paths: Sequence[Path],
    out: Path,
    *,
    by: Fusion,
    k: int = K,
    depth: int | None = None,
    name: str = "ensemble",
    overwrite: bool = False,
) -> Fused:
    """Fuse runs in files as ``fuse``, and write the run with its manifest.

    Raises:
        SettingError: as ``fuse``; or a run is given twice.
        InputError: as ``fuse``; a file is no run, or its manifest names another collection than the first's.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    if twice := [path for place, path in enumerate(paths) if path in paths[:place]]:
        raise SettingError(f"RUN: wanted each run once; found {twice[0]} twice; give it once")
    refuse_existing(out, overwrite=overwrite)
    manifests = [read_manifest(path, kind="run") if manifest_path(path).is_file() else None for path in paths]
    collection = _one_collection(paths, manifests)
    runs = [read_run(path) for path in paths]
    done = fuse(runs, by, k=k, depth=depth, name=name)
    write_run(out, done.run, overwrite=overwrite)
    inputs = [input_ref(f"run {place}", path, sha256_file(path), artefact=out) for place, path in enumerate(paths, 1)]
    if collection is not None:
        inputs.append(input_ref("collection", *collection, artefact=out))
    found = [manifest for manifest in manifests if manifest is not None]
    settings = {"by": by, "depth": depth, **({"k": k} if by == "reciprocal-ranks" else {})}
    splits = {manifest.settings.get("split") for manifest in found}
    split = str(splits.pop() or "") if len(splits) == 1 else ""
    missing = {label: [counts.queries, counts.passages, counts.equal] for label, counts in done.missing.items()}
    notes = (
        "what a run has not, by its name: queries, passages, queries whose scores are all equal",
        "z-scores: population deviation; equal scores give zeros, and a missing passage the run's least for the query [decision]",
    )
    manifest = Manifest(
        kind="run",
        name=done.run.name,
        command="ensemble",
        settings={**settings, **({"split": split} if split else {})},
        inputs=tuple(inputs),
        content={"checksum": sha256_file(out), "pairs": done.run.pairs, "missing": missing},
        licence="; ".join(dict.fromkeys(manifest.licence for manifest in found if manifest.licence)),
        notes=notes if by == "z-scores" else notes[:1],
        versions=package_versions("numpy"),
        provenance=provenance(),
    )
    write_manifest(manifest_path(out), manifest)
    return replace(done, collection=collection[0].name if collection else "", split=split)


def _one_collection(paths: Sequence[Path], manifests: Sequence[Manifest | None]) -> tuple[Path, str] | None:
    """Place and checksum of the collection that the runs' manifests name; None where no manifest names one.

    Raises:
        InputError: two name different ones.
    """
    found: tuple[Path, str] | None = None
    for path, manifest in zip(paths, manifests, strict=True):
        named = manifest.input("collection") if manifest is not None else None
        if named is None:
            continue
        if found is not None and named.checksum != found[1]:
            raise InputError(
                f"{path}: wanted a run on the collection {found[0].name} like the runs before it; found one on {Path(named.path).name} of "
                "other content; give runs on one collection"
            )
        found = found or (path / named.path, named.checksum)
    return found
