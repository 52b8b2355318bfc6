"""Re-rank: score all candidates of every query with a model, and sort them by score down to a
depth.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from pandas import DataFrame

from positionbias.core.collection import Collection, find_collection
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.inputs import CollectionLike
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import (
    Manifest,
    input_ref,
    manifest_path,
    package_versions,
    provenance,
    write_manifest,
)
from positionbias.core.outcome import Written, hint_run
from positionbias.core.places import Place, input_place
from positionbias.core.progress import say, step
from positionbias.core.publish import refuse_existing, resumable_folder
from positionbias.core.records import Query
from positionbias.core.rows import counted_rows
from positionbias.core.run import Run
from positionbias.engine.choose import Engine
from positionbias.evaluation.depth import apply_depth
from positionbias.firststage.own_passages import own_queries, own_remarks, without_own
from positionbias.models.checkpoint import Checkpoint, shape_of
from positionbias.models.protocols import AnyRanker, Served, encodes_alone, known_room
from positionbias.ranking.blocks import BlockScorer, blocks_of, cut_pairs, keep_scores, pairs_in
from positionbias.ranking.config import RankingConfig, Reranking, Spread
from positionbias.ranking.loading import Elsewhere, Loading
from positionbias.ranking.score import check_passages, known_queries, score_candidates
from positionbias.ranking.scored import PassageTexts, Scored, missing_behind, missing_scores
from positionbias.ranking.workers import model_workers


@dataclass(frozen=True, slots=True)
class Rescored:
    """The model's scores of all candidates as a run, and counts. Where an endpoint gave no score,
    it is NaN.

    ``cached``: each of the ``passages`` was encoded once, plus ``counts.again`` repetitions in all;
    else each pair was read alone. ``room``: the most tokens that the model reads; None if unknown,
    and then none are counted as cut. ``seconds``: of the scoring; None if an earlier run did a part
    of it. ``blocks``: those that processes could share. ``own``: queries of which the candidates
    held the passage with their id. ``missing``: passages without a score, which were put behind the
    others.
    """

    run: Run
    passages: int
    cached: bool
    room: int | None
    counts: Scored
    seconds: float | None
    blocks: int = 1
    own: Sequence[str] = ()
    missing: int = 0

    def rows(self, collection: str, split: str) -> DataFrame:
        """Return the counts as rows."""
        cut = None if self.room is None else self.counts.truncated
        numbers = {
            "queries": len(self.run),
            "candidates re-ranked": self.run.pairs if self.passages else 0,
            "passages read": self.passages,
            "passages encoded again": self.counts.again,
            "queries without a word": len(self.counts.empty),
            "queries whose passages all tie": self.run.tied,
            f"{'passages' if self.cached else 'pairs'} up to the length limit": cut,
            "passages without a score": self.missing,
        }
        return counted_rows(
            "rerank", numbers, collection=collection, split=split, model=self.run.name
        )


def rescore(
    model: AnyRanker,
    collection: PassageTexts,
    queries: Sequence[Query],
    candidates: Run,
    *,
    name: str,
    config: RankingConfig | None = None,
    description: str = "re-ranking",
    missing: bool = False,
) -> Rescored:
    """Score every candidate: encode each passage once if the model encodes passages alone, else
    read pair by pair or pass texts.

    A pair's score does not depend on other pairs, up to rounding. Texts are read as needed. With
    ``missing`` a score that an endpoint does not give is NaN, else an error.

    Raises:
        InputError: a candidate names an unknown passage or query, a score is not finite, or a
            scorer of texts fails or returns a wrong number of scores.
        SettingError: one text does not fit in the device's memory.
    """
    texts = known_queries(candidates, queries)
    settings = config or RankingConfig()
    began = time.perf_counter()
    with step(description, candidates.pairs, unit="pairs") as bar:
        counts = score_candidates(model, collection, texts, candidates, settings, bar, name=name)
    return _rescored(model, candidates, counts, name, time.perf_counter() - began, missing)


def rescore_by_blocks(
    checkpoint: Checkpoint,
    collection: PassageTexts,
    queries: Sequence[Query],
    candidates: Run,
    spread: Spread | None,
    *,
    name: str,
    config: RankingConfig,
    description: str,
    folder: Path | None = None,
    carried: bool = False,
    missing: bool = False,
) -> Rescored:
    """Score every candidate, as ``rescore``, by blocks of pairs, in the processes of ``spread``;
    the bits are the same for any number.

    ``folder`` (in a ``resumable_folder``) keeps blocks for a later run. Processes read the passages
    from ``collection``; where it has only this process's own texts, they are ``carried`` there.

    Raises:
        InputError, SettingError: as ``rescore``.
    """
    texts = known_queries(candidates, queries)
    cut = cut_pairs(candidates, checkpoint.model)
    blocks = blocks_of(candidates, cut, texts, collection if carried else None)
    sizes = pairs_in(candidates, cut)
    elsewhere = Elsewhere.of(spread.loading, checkpoint) if spread else None
    resumed, began = folder is not None and folder.exists(), time.perf_counter()
    with step(description, candidates.pairs, unit="pairs") as bar:
        scorer = BlockScorer.of(
            checkpoint.model, elsewhere, None if carried else collection, config, name, bar
        )
        map_shards = scorer.advancing(spread.map_shards if spread else map, sizes)
        if folder is not None:
            counts = keep_scores(scorer, candidates, cut, blocks, folder, map_shards)
        else:
            counts = Scored()
            for part, done in zip(cut, map_shards(scorer, blocks), strict=True):
                part.add_to(counts, done, candidates)
    seconds = None if resumed else time.perf_counter() - began
    return replace(
        _rescored(checkpoint.model, candidates, counts, name, seconds, missing), blocks=len(cut)
    )


def _rescored(
    model: AnyRanker,
    candidates: Run,
    counts: Scored,
    name: str,
    seconds: float | None,
    missing: bool,
) -> Rescored:
    run = candidates.rescored(name, counts.scores, missing=missing and isinstance(model, Served))
    counts.scores = {}
    return Rescored(
        run, len(candidates.passage_ids), encodes_alone(model), known_room(model), counts, seconds
    )


def _no_scores(name: str, missing: Mapping[str, Sequence[str]]) -> InputError:
    first, passages = next(iter(missing.items()))
    return InputError(
        f"{name}: no score for {sum(map(len, missing.values())):,} passages of {len(missing):,} "
        f"queries, the first passage {passages[0]!r} of query {first!r}: its answers leave them "
        "out or could not be read; run it again to ask again, or give --allow-missing to put them "
        "behind the others"
    )


def _kept(model: AnyRanker, queries: Sequence[Query], candidates: Run, name: str) -> Rescored:
    """Return the first candidate of each query with its own score, as re-ranking to depth 1 keeps
    it in place.
    """
    known_queries(candidates, queries)
    first = Run(name, candidates.top(1).rankings())
    return Rescored(first, 0, encodes_alone(model), known_room(model), Scored(), 0.0)


def rerank_run(
    checkpoint: Checkpoint,
    collection: Collection,
    candidates: Path,
    out: Path,
    reranking: Reranking | None = None,
    *,
    config: RankingConfig | None = None,
    overwrite: bool = False,
    spread: Spread | None = None,
) -> Rescored:
    """Re-rank the run at ``candidates`` and write the new one with its manifest; a killed run's
    finished blocks are kept.

    The default depth is the checkpoint's tuned one, or all candidates if it has none. Candidates
    below that depth keep their place and are not scored; at depth 1 none are, and all keep their
    order. ``spread`` has other processes score, which load the model once each; the bytes are the
    same.

    Raises:
        InputError: a candidate, at any depth, names an unknown passage or query; an endpoint gives
            no score for one, unless ``reranking.allow_missing``: then they stand behind the others,
            in the candidates' order, and the manifest names them.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
        StorageError: the file system refused; finished blocks are kept.
    """
    reranking, config, run = (
        reranking or Reranking(),
        config or RankingConfig(),
        Run.from_file(candidates),
    )
    own = own_queries(run)
    if reranking.without_own:
        run = Run(run.name, map(without_own, run.rankings()))
    depth = next(
        given
        for given in (reranking.depth, checkpoint.depth, max(1, run.depth))
        if given is not None
    )
    name, device = reranking.name or checkpoint.name, checkpoint.model.device
    refuse_existing(out, overwrite=overwrite, folder=False)
    check_passages(collection, run.passage_ids)
    queries = collection.queries(reranking.split)
    checksums = (checkpoint.manifest.checksum, collection.checksum, sha256_file(candidates))
    places = (
        ("model", checkpoint.path),
        ("collection", collection.path),
        ("candidates", candidates),
    )
    manifest = Manifest(
        kind="run",
        name=name,
        command="rerank",
        settings={
            "split": reranking.split,
            "depth": depth,
            **({"without_own": True} if reranking.without_own else {}),
            "precision": str(config.dtype(device)).removeprefix("torch."),
            "model": shape_of(checkpoint.model),
        },
        inputs=tuple(
            input_ref(role, path, c, artefact=out)
            for (role, path), c in zip(places, checksums, strict=True)
        ),
        licence=collection.manifest.licence,
        notes=checkpoint.manifest.notes,
        versions=package_versions(*config.packages(device)),
    )
    job: JsonObject = {
        "rerank": name,
        **manifest.settings,
        "inputs": checksums,
        **config.arithmetic(checkpoint.model),
    }
    with resumable_folder(out, job, overwrite=overwrite, folder=False) as folder:
        if depth == 1:
            done = _kept(checkpoint.model, queries, run, name)
        else:
            wanted = run.top(depth)
            config.advise(checkpoint.model, wanted.pairs)
            done = rescore_by_blocks(
                checkpoint,
                collection,
                queries,
                wanted,
                spread,
                name=name,
                config=config,
                description=name,
                # an endpoint keeps its answers itself, and is asked again for what is missing
                folder=None if isinstance(checkpoint.model, Served) else folder / "scores",
                missing=True,
            )
        if missing := missing_scores(done.run):
            if not reranking.allow_missing:
                raise _no_scores(name, missing)
            done = replace(
                done, run=missing_behind(done.run), missing=sum(map(len, missing.values()))
            )
        seconds: JsonObject = {} if done.seconds is None else {"seconds": round(done.seconds, 3)}
        told = provenance(threads=torch.get_num_threads(), device=str(device), **seconds)
        manifest, target = replace(manifest, provenance=told), folder / out.name
        # overwrite that of a killed run
        apply_depth(run, done.run, depth, name=name).save(target, overwrite=True)
        content: JsonObject = {
            "checksum": sha256_file(target),
            "pairs": done.run.pairs,
            "passages": done.passages,
            "ending": asdict(checkpoint.ending),
            "truncated": done.counts.truncated,
            "empty_queries": len(done.counts.empty),
            "tied_queries": done.run.tied,
            **({"missing": missing} if missing else {}),
        }
        write_manifest(manifest_path(target), replace(manifest, content=content))
    return replace(done, own=own)


def rerank(
    collection: CollectionLike,
    loading: Loading,
    candidates: Place,
    out: Place,
    reranking: Reranking,
    engine: Engine,
    *,
    overwrite: bool,
) -> Written:
    """Load a model here and in the engine's processes, re-rank a run, and say what is to be known
    of the new one.

    Raises:
        SettingError: several processes for an endpoint.
        InputError: as ``rerank_run``.
    """
    checkpoint = loading()
    opened = find_collection(collection)
    with model_workers(engine, loading, checkpoint) as spread:
        done = rerank_run(
            checkpoint,
            opened,
            input_place(candidates),
            Path(out),
            reranking,
            config=loading.computing.config,
            overwrite=overwrite,
            spread=spread,
        )
    for remark in (
        *(f"{checkpoint.name}: {line}" for line in checkpoint.ending.remarks(reranking.depth)),
        *_remarks(done, engine.workers),
        *own_remarks(
            {done.run.name: (done.own, len(done.run))},
            opened,
            reranking.split,
            left_out=reranking.without_own,
        ),
    ):
        say(remark)
    hint_run(out, opened, reranking.split)
    return Written(Path(out), rows=done.rows(opened.name, reranking.split))


def _remarks(done: Rescored, workers: int) -> Iterator[str]:
    """Yield remarks on idle workers, speed, truncation, smaller batches and empty queries."""
    pairs, counts = done.run.pairs, done.counts
    if not done.passages:
        return
    if workers > done.blocks:
        blocks = f"{done.blocks:,} {'block' if done.blocks == 1 else 'blocks'} of queries"
        why = ", as more would encode more than a tenth of the passages again" * done.cached
        yield f"scored in {blocks}{why}: {done.blocks:,} of the workers had work"
    rate = "" if done.seconds is None else f": {pairs / max(1e-9, done.seconds):,.0f} pairs/s"
    if done.cached:
        times = (
            f"with {counts.again:,} encodings beyond one each"
            if counts.again
            else "each encoded once"
        )
        yield f"{pairs:,} pairs of {done.passages:,} passages, {times}{rate}"
        what, of = "passages", done.passages
    else:
        yield f"{pairs:,} pairs, each read for itself, of {done.passages:,} passages{rate}"
        what, of = "pairs", pairs
    if done.room is not None:
        yield (
            f"{counts.truncated / max(1, of):.1%} of the {what} fill the limit of {done.room} "
            "tokens, and may go on behind it"
        )
    if counts.batch_tokens is not None:
        yield (
            "the device's memory was too small for the batches: went on with "
            f"{counts.batch_tokens:,} tokens a batch"
        )
    if done.missing:
        yield (
            f"{done.missing:,} passages have no score: they stand behind the others of their "
            "query, and the manifest names them (content, missing)"
        )
    if counts.empty:
        yield f"{len(counts.empty):,} queries hold no word: their passages tie"
    if done.run.tied > len(counts.empty):
        yield (
            f"{done.run.tied:,} queries: all passages have the same score to seven digits "
            "(float32), so they tie"
        )
