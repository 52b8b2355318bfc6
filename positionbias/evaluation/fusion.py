"""Fuse several runs into one: by the mean of z-scores, or reciprocal rank fusion (Cormack, Clarke
and Büttcher 2009).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path

import numpy as np
from pandas import DataFrame

from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import sha256_file
from positionbias.core.json_text import Json, JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_if_any,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.outcome import hint_written
from positionbias.core.places import Place, input_place, pasted
from positionbias.core.progress import say
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.rank_order import order_by_score
from positionbias.core.rows import Collected
from positionbias.core.run import Run
from positionbias.core.run_files import strictly_decreasing
from positionbias.core.shown import Shown
from positionbias.evaluation.convergence import Ending, Finish, ending_of_run
from positionbias.evaluation.fusing import Fusing, K

NOTES = (
    "what a run has not, by its name: queries, passages",
    "z-scores: population deviation; equal scores give zeros, and a missing passage gets the run's "
    "minimum for the query; a re-ranked run's scores count down to its depth, and unscored "
    "passages come last, by the sum of 1 / (60 + rank)",
)


@dataclass(slots=True)
class Missing:
    """The queries of an ensemble's runs that one run lacks, and the passages that it lacks for its
    own queries.
    """

    queries: int = 0
    passages: int = 0


@dataclass(frozen=True, slots=True, repr=False)
class Fused(Shown):
    """The fused run; and by run label, what the run lacks and the depth down to which its scores
    were used.

    Collection and split are those of the runs' manifests.
    """

    run: Run
    missing: dict[str, Missing]
    scored: dict[str, int] = field(default_factory=dict)
    collection: str = ""
    split: str = ""

    @property
    def rows(self) -> DataFrame:
        """The counts of the run, and what each of its runs lacks."""
        common = {"study": "ensemble", "collection": self.collection, "split": self.split}
        made = Collected({**common, "model": self.run.name})
        held = {"runs": len(self.missing), "queries": len(self.run), "passages": self.run.pairs}
        for name, number in held.items():
            made.add(name, "count", number)
        for label, lacking in self.missing.items():
            for name, number in asdict(lacking).items():
                made.add(f"{name} missing", "count", number, axis="run", label=label)
        return made.rows


def z_scores(scores: np.ndarray) -> np.ndarray:
    """Standardise one query's scores ``(n,)`` by their mean and population standard deviation;
    zeros if all are equal [decision].

    >>> z_scores(np.array([3.0, 1.0, 1.0, 3.0])).tolist()
    [1.0, -1.0, -1.0, 1.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    if not len(values) or values.max() == values.min():
        return np.zeros(len(values))
    away = values - values.mean()
    return np.asarray(away / np.sqrt(np.square(away).mean()))


def equal_again(scores: np.ndarray) -> np.ndarray:
    """Restore the ties of one ranking's float32 scores ``(n,)``, best first, which ``Run.save``
    set one float32 step apart.

    Scores that fall in such steps take the highest of them, even if a system itself set them one
    step apart.
    """
    values = np.asarray(scores, dtype=np.float32)
    apart = np.ones(len(values), dtype=bool)
    apart[1:] = values[1:] != np.nextafter(values[:-1], np.float32(-np.inf))
    return np.asarray(values[np.maximum.accumulate(np.where(apart, np.arange(len(values)), 0))])


def fuse(
    runs: Sequence[Run],
    fusing: Fusing = Fusing(),
    *,
    scored: Sequence[int | None] | None = None,
    name: str = "ensemble",
) -> Fused:
    """Fuse the runs into one, over every passage that any of them has for a query.

    z-scores:          s(q, p) = 1/R · Σ_r z_r(q, p); a passage missing in run r gets r's minimum
                       for the query [decision]
    reciprocal-ranks:  s(q, p) = Σ_r 1 / (k + rank_r(q, p)); a missing passage gets 0

    A run adds 0 to queries that it lacks [decision]. The order of the runs does not matter.
    ``scored`` is the depth down to which each run's scores are a model's (None: all). Lower scores
    only keep a first stage's order, so for z-scores these passages count as missing; passages that
    no run scored come last, by the sum of 1 / (60 + rank) over the whole runs [decision]. Ties are
    restored by ``equal_again``.

    Raises:
        SettingError: fewer than two runs, or a depth in ``scored`` below 1.
        InputError: a run without any query or passage of the first.
    """
    if len(runs) < 2:
        raise SettingError(f"RUN: wanted at least 2 runs; found {len(runs)}; give more")
    if low := [depth for depth in scored or () if depth is not None and depth < 1]:
        raise SettingError(f"--depth: wanted at least 1; found {low[0]}; raise it")
    _check_alike(runs)
    runs = [run if fusing.depth is None else run.top(fusing.depth) for run in runs]
    reach = [
        run.depth if found is None else found
        for run, found in zip(runs, scored or [None] * len(runs), strict=True)
    ]
    numbers: dict[str, int] = {}
    shared = [
        np.array([numbers.setdefault(p, len(numbers)) for p in run.passage_ids], dtype=np.int64)
        for run in runs
    ]
    ids = list(numbers)
    counts = [Missing() for _ in runs]
    rankings = []
    for query_id in dict.fromkeys(query_id for run in runs for query_id in run):
        held = [
            shared[place][run.numbers(query_id)] if query_id in run else shared[place][:0]
            for place, run in enumerate(runs)
        ]
        union, where = np.unique(np.concatenate(held), return_inverse=True)
        parts = np.split(where, np.cumsum([len(part) for part in held])[:-1])
        own = [
            equal_again(run[query_id].scores[:deep]) if query_id in run else np.empty(0, np.float32)
            for run, deep in zip(runs, reach, strict=True)
        ]
        passage_ids = [ids[number] for number in union]
        for count, part in zip(counts, parts, strict=True):
            count.queries += not len(part)
            count.passages += len(union) - len(part) if len(part) else 0
        if fusing.by == "reciprocal-ranks":
            scores = _by_ranks(parts, len(union), fusing.constant)
        else:
            scores = _by_z_scores(own, parts, passage_ids)
        rankings.append((query_id, passage_ids, scores))
    labels = _distinct([run.name for run in runs])
    cut = {
        label: deep
        for label, run, deep in zip(labels, runs, reach, strict=True)
        if fusing.by == "z-scores" and deep < run.depth
    }
    return Fused(Run(name, rankings), dict(zip(labels, counts, strict=True)), cut)


def _summed(given: np.ndarray) -> np.ndarray:
    """Sum the runs' shares ``(runs, passages)``, sorted so that rounding does not depend on the
    order of the runs.
    """
    return np.asarray(np.sort(given, axis=0).sum(axis=0))


def _by_ranks(parts: Sequence[np.ndarray], union: int, k: int) -> np.ndarray:
    given = np.zeros((len(parts), union))
    for row, part in zip(given, parts, strict=True):
        row[part] = 1 / (k + np.arange(1, len(part) + 1))
    return _summed(given)


def _by_z_scores(
    own: Sequence[np.ndarray], parts: Sequence[np.ndarray], passage_ids: Sequence[str]
) -> np.ndarray:
    given = np.zeros((len(own), len(passage_ids)))
    known = np.zeros(len(passage_ids), dtype=bool)
    for row, scores, part in zip(given, own, parts, strict=True):
        if len(part):
            z = z_scores(scores)
            row[:] = z.min()
            row[part[: len(scores)]] = z
            known[part[: len(scores)]] = True
    scores = _summed(given) / len(own)
    rest = np.flatnonzero(~known)
    if not len(rest):
        return scores
    # unscored passages get each run's minimum: float32 steps keep their order, and z-scores read
    # them as ties again
    rest = rest[
        order_by_score(
            [passage_ids[place] for place in rest.tolist()],
            _by_ranks(parts, len(passage_ids), K)[rest],
        )
    ]
    rounded = scores.astype(np.float32)
    rounded[rest] = strictly_decreasing(np.append(rounded[known].min(), rounded[rest]))[1:]
    return rounded


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
                    f"run {other.name!r}: wanted {what} of run {first.name!r}; found none of them; "
                    "give runs over the same queries and collection"
                )


def _distinct(names: Sequence[str]) -> list[str]:
    """Return the names, with numbers appended to repeated ones."""
    return [
        f"{name} ({place})" if names.count(name) > 1 else name
        for place, name in enumerate(names, 1)
    ]


def fuse_runs(
    given: Sequence[Place],
    out: Place,
    fusing: Fusing = Fusing(),
    *,
    name: str = "ensemble",
    overwrite: bool = False,
) -> Fused:
    """Fuse run files as ``fuse`` does, and write the run with its manifest. A re-ranked run's
    manifest gives the depth of its scores.

    Raises:
        SettingError: as ``fuse``; or a run given twice, or also as ``out``.
        InputError: as ``fuse``; or a file that is not a run, or whose manifest names a collection
            other than the first's.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    paths, out = [input_place(run) for run in given], Path(out)
    places = [path.resolve() for path in paths]
    if twice := [path for number, path in enumerate(paths) if places[number] in places[:number]]:
        raise SettingError(f"RUN: wanted each run once; found {twice[0]} twice; give it once")
    if out.resolve() in places:
        raise SettingError(f"--out: wanted a new file; found {out}, one of the runs; give another")
    refuse_existing(out, overwrite=overwrite, folder=False)
    manifests = [manifest_if_any(path, kind="run") for path in paths]
    collection = _one_collection(paths, manifests)
    runs = [Run.from_file(path) for path in paths]
    inputs = [
        input_ref(f"run {number}", path, sha256_file(path), artefact=out)
        for number, path in enumerate(paths, 1)
    ]
    if collection is not None:
        inputs.append(input_ref("collection", *collection, artefact=out))
    done = fuse(runs, fusing, scored=[_reranked_to(manifest) for manifest in manifests], name=name)
    with atomic_file(out, overwrite=overwrite) as partial:
        settings: dict[str, Json] = {"by": fusing.by, "depth": fusing.depth}
        settings |= {"k": fusing.constant} if fusing.by == "reciprocal-ranks" else {}
        settings |= {"scored": done.scored} if done.scored else {}
        found = [manifest for manifest in manifests if manifest is not None]
        splits = {manifest.settings.get("split") for manifest in found}
        split = str(splits.pop() or "") if len(splits) == 1 else ""
        missing = {label: list(astuple(counts)) for label, counts in done.missing.items()}
        endings = [
            ending_of_run(manifest.content, path)
            for path, manifest in zip(paths, manifests, strict=True)
            if manifest
        ]
        ending = (
            {"ending": asdict(Ending(Finish.NOT_FINISHED))}
            if any(one is not None and one.unfinished for one in endings)
            else {}
        )
        manifest = Manifest(
            kind="run",
            name=done.run.name,
            command="ensemble",
            settings={**settings, **({"split": split} if split else {})},
            inputs=tuple(inputs),
            licence="; ".join(
                dict.fromkeys(manifest.licence for manifest in found if manifest.licence)
            ),
            notes=NOTES if fusing.by == "z-scores" else NOTES[:1],
            versions=package_versions("numpy"),
            provenance=provenance(),
        )
        done.run.save(partial)
        content: JsonObject = {
            "checksum": sha256_file(partial),
            "pairs": done.run.pairs,
            "missing": missing,
            **ending,
        }
        write_manifest(manifest_path(partial), replace(manifest, content=content))
    for line in _lacking(done):
        say(line)
    hint_written(out, f"next: posbias evaluate {pasted(out)} --collection COLLECTION --split SPLIT")
    return replace(done, collection=collection[0].name if collection else "", split=split)


def _reranked_to(manifest: Manifest | None) -> int | None:
    """Return the depth down to which a re-ranked run's scores are its model's; None for other runs,
    where all are.
    """
    return manifest.depth if manifest is not None and manifest.command == "rerank" else None


def _one_collection(
    paths: Sequence[Path], manifests: Sequence[Manifest | None]
) -> tuple[Path, str] | None:
    """Return the path and checksum of the collection that the runs' manifests name; None if no
    manifest names one.

    Raises:
        InputError: two manifests name different collections.
    """
    found: tuple[Path, str] | None = None
    for path, manifest in zip(paths, manifests, strict=True):
        named = manifest.input("collection") if manifest is not None else None
        if named is None:
            continue
        if found is not None and named.checksum != found[1]:
            raise InputError(
                f"{path}: wanted a run on the collection {found[0].name}, like the earlier runs; "
                f"found one on {Path(named.path).name} with other content; give runs on one "
                "collection"
            )
        found = found or (path / named.path, named.checksum)
    return found


def _lacking(fused: Fused) -> Iterator[str]:
    """Describe what each run lacks."""
    for label, missing in fused.missing.items():
        counts = (
            (missing.queries, "queries that others have"),
            (missing.passages, "passages that others have"),
        )
        if parts := [f"{count:,} {what}" for count, what in counts if count]:
            yield f"{label} is without {' and '.join(parts)}"
