"""Re-rank: score all candidates of every query with a model, and sort them by score down to a depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch

from positionbias.core.collection import Collection
from positionbias.core.computed import Computed, Spent, Stopwatch
from positionbias.core.errors import InputError
from positionbias.core.files import sha256_file
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, write_manifest
from positionbias.core.progress import Progress, say, step
from positionbias.core.publish import atomic_file, refuse_existing
from positionbias.core.records import Query
from positionbias.core.run import Run, read_run, write_run
from positionbias.evaluation.depth import apply_depth
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import AnyRanker, PassageEncoder, Ranker, Served, known_room
from positionbias.ranking.agreement import ListAgreement, drawn_lists, list_agreement
from positionbias.ranking.cached import score_cached
from positionbias.ranking.config import RankingConfig, Reranking
from positionbias.ranking.pairs import score_by_pair
from positionbias.ranking.scored import PassageTexts, Scored
from positionbias.ranking.spent import computed_on
from positionbias.ranking.texts import score_texts
from positionbias.results.result import Result
from positionbias.results.runs import RerankingFigures

__all__ = ["Rescored", "int8_agreement", "known_queries", "rerank_run", "rescore", "score_candidates"]

FOUND_BLOCK = 1 << 16  # passages looked up at once


@dataclass(frozen=True, slots=True)
class Rescored:
    """The model's scores of all candidates as a run, and counts.

    ``cached``: each of the ``passages`` was encoded once, plus ``counts.again`` repetitions in all; else each pair was read alone.
    ``room``: the most tokens that the model reads; None if unknown, and then none are counted as cut.
    """

    run: Run
    passages: int
    cached: bool
    room: int | None
    counts: Scored
    spent: Spent

    @property
    def seconds(self) -> float:
        """Return the seconds of scoring."""
        return self.spent.seconds

    def result(self, collection: str, split: str) -> Result:
        """Return the counts as a Result; its value is the number of distinct passages."""
        long = None if self.room is None else self.counts.truncated
        figures = RerankingFigures(
            queries=len(self.run),
            candidates=self.run.pairs,
            passages=self.passages,
            encoded_again=self.counts.again,
            without_word=self.counts.empty_queries,
            long_passages=long if self.cached else None,
            long_pairs=None if self.cached else long,
        )
        value = float(self.passages)
        return Result("re-ranking", collection, split, self.run.name, None, value, None, len(self.run), figures)


def known_queries(run: Run, queries: Sequence[Query]) -> dict[str, str]:
    """Return the text of each query in the run, in the run's order.

    Raises:
        InputError: the run names a query that is not in the split.
    """
    texts = {query.query_id: query.text for query in queries}
    unknown = [query_id for query_id in run if query_id not in texts]
    if unknown:
        raise InputError(
            f"run {run.name!r}: wanted queries of the split; found {len(unknown):,} unknown, the first {unknown[0]!r}; "
            "check --split and that the run belongs to this collection"
        )
    return {query_id: texts[query_id] for query_id in run}


def rescore(
    model: AnyRanker,
    collection: PassageTexts,
    queries: Sequence[Query],
    candidates: Run,
    *,
    name: str,
    config: RankingConfig | None = None,
    description: str = "re-ranking",
) -> Rescored:
    """Score every candidate: encode each passage once if the model encodes passages alone, else read pair by pair or pass texts.

    A pair's score does not depend on other pairs, up to rounding. Texts are read as needed.

    Raises:
        InputError: a candidate names an unknown passage or query, a score is not finite, or a scorer of texts fails or returns a
            wrong number of scores.
        SettingError: one text does not fit in the device's memory.
    """
    texts = known_queries(candidates, queries)
    settings = config or RankingConfig()
    watch = Stopwatch()
    with step(description, candidates.pairs, unit="pairs") as bar:
        counts = score_candidates(model, collection, texts, candidates, settings, bar, name=name)
    spent = watch.spent()
    run = candidates.rescored(name, counts.scores)
    counts.scores = {}
    return Rescored(run, len(candidates.passage_ids), isinstance(model, PassageEncoder), known_room(model), counts, spent)


def _kept(model: AnyRanker, queries: Sequence[Query], candidates: Run, name: str) -> Rescored:
    """Return the first candidate of each query with its own score, as re-ranking to depth 1 keeps it in place."""
    known_queries(candidates, queries)
    first = Run(name, candidates.top(1).rankings())
    return Rescored(first, 0, isinstance(model, PassageEncoder), known_room(model), Scored(), Spent())


def score_candidates(
    model: AnyRanker,
    collection: PassageTexts,
    texts: Mapping[str, str],
    candidates: Run,
    config: RankingConfig,
    bar: Progress,
    *,
    name: str,
) -> Scored:
    """Score all candidates as ``rescore``; ``texts`` are the queries' texts by id."""
    if isinstance(model, Served):
        encoded = [len(texts) + len(candidates.passage_ids)]
        model.begin(encoded if isinstance(model, PassageEncoder) else [len(candidates.numbers(query_id)) for query_id in texts])
    if isinstance(model, PassageEncoder):
        return score_cached(model, collection, texts, candidates, config, bar)
    if isinstance(model, Ranker):
        return score_by_pair(model, collection, texts, candidates, config, bar)
    return score_texts(model, collection, texts, candidates, config, bar, name=name)


def int8_agreement(
    model: AnyRanker, collection: PassageTexts, queries: Sequence[Query], candidates: Run, config: RankingConfig
) -> ListAgreement | None:
    """Score a drawn part of the candidates in int8 and in float32, and say how the lists agree; None in other precisions, or without lists."""
    if not config.rounds(model.device) or not len(lists := drawn_lists(candidates)):
        return None
    texts = known_queries(lists, queries)
    with step("int8 beside float32", 2 * lists.pairs, unit="pairs") as bar:
        found, expected = (
            score_candidates(model, collection, texts, lists, one, bar, name=candidates.name).scores
            for one in (config, replace(config, precision="float32"))
        )
    agreement = list_agreement(expected, found)
    say(agreement.told())
    return agreement


def _spent(model: AnyRanker, done: Rescored) -> Computed:
    encoded = done.passages + done.counts.again if done.cached else 0
    return computed_on(model.device, done.spent, passages=encoded, pairs=done.run.pairs)


def rerank_run(
    checkpoint: Checkpoint,
    collection: Collection,
    candidates: Path,
    out: Path,
    reranking: Reranking | None = None,
    *,
    config: RankingConfig | None = None,
    overwrite: bool = False,
) -> Rescored:
    """Re-rank the run at ``candidates`` and write the new one with its manifest.

    The default depth is the checkpoint's tuned one, or all candidates if it has none. Candidates below that depth keep their
    place and are not scored; at depth 1 none are, and all keep their order.

    Raises:
        InputError: a candidate, at any depth, names an unknown passage or query.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    reranking, config, run = reranking or Reranking(), config or RankingConfig(), read_run(candidates)
    depth = next(given for given in (reranking.depth, checkpoint.depth, max(1, run.depth)) if given is not None)
    name = reranking.name or checkpoint.name
    model = checkpoint.model
    refuse_existing(out, overwrite=overwrite, folder=False)
    for start in range(0, len(run.passage_ids), FOUND_BLOCK):
        collection.rows(run.passage_ids[start : start + FOUND_BLOCK])
    queries = collection.queries(reranking.split)
    agreement = None
    if depth == 1:
        done = _kept(model, queries, run, name)
    else:
        wanted = run.top(depth)
        config.advise(model, wanted.pairs)
        agreement = int8_agreement(model, collection, queries, wanted, config)
        done = rescore(model, collection, queries, wanted, name=name, config=config, description=name)
    with atomic_file(out, overwrite=overwrite) as partial:
        checksums = (checkpoint.manifest.checksum, collection.checksum, sha256_file(candidates))
        places = (("model", checkpoint.path), ("collection", collection.path), ("candidates", candidates))
        inputs = tuple(input_ref(role, path, c, artefact=out) for (role, path), c in zip(places, checksums, strict=True))
        precision = str(config.dtype(model.device)).removeprefix("torch.")
        manifest = Manifest(
            kind="run",
            name=name,
            command="rerank",
            settings={"split": reranking.split, "depth": depth, "precision": precision},
            inputs=inputs,
            licence=collection.manifest.licence,
            versions=package_versions(*config.packages(model.device)),
            provenance=provenance(
                threads=torch.get_num_threads(),
                device=str(model.device),
                seconds=round(done.seconds, 3),
                **_spent(model, done).facts(),
            ),
        )
        write_run(partial, apply_depth(run, done.run, depth, name=name), header=reranking.header.lines(manifest))
        content: JsonObject = {
            "checksum": sha256_file(partial),
            "pairs": done.run.pairs,
            "passages": done.passages,
            "ending": asdict(checkpoint.ending),
            "truncated": done.counts.truncated,
            "empty_queries": done.counts.empty_queries,
            **({} if agreement is None else {"int8_agreement": asdict(agreement)}),
        }
        write_manifest(manifest_path(partial), replace(manifest, content=content))
    return done
