"""Re-rank: score all candidates of every query with a model, each distinct passage encoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.files import refuse_existing, sha256_file
from positionbias.core.manifest import Manifest, input_ref, manifest_path, package_versions, provenance, write_manifest
from positionbias.core.progress import step
from positionbias.core.records import Query
from positionbias.core.result import Result, Statistics
from positionbias.core.run import Ranking, Run, write_run
from positionbias.evaluation.depth import apply_depth
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.protocols import PassageEncoder
from positionbias.ranking.encode import EncodedPassages, PassageTexts, encode_passages

__all__ = ["Rescored", "known_queries", "rerank_run", "rescore", "score_pairs"]

PAIR_WORDS = 65_536


@dataclass(frozen=True, slots=True)
class Rescored:
    """The model's scores of all candidates as a run, and what was counted on the way."""

    run: Run
    passages: int
    truncated: int
    empty_queries: int

    def result(self, collection: str, split: str) -> Result:
        """The counts as a Result; its value is the number of distinct passages, each encoded once."""
        rows = {
            "queries": len(self.run),
            "candidates": self.run.pairs,
            "passages encoded": self.passages,
            "passages up to the length limit": self.truncated,
            "queries without a word": self.empty_queries,
        }
        value = float(self.passages)
        return Result("re-ranking", collection, split, self.run.name, None, value, None, len(self.run), Statistics(rows))


def known_queries(run: Run, queries: Sequence[Query]) -> dict[str, str]:
    """The text of each query in the run.

    Raises:
        InputError: the run names a query that the split has not.
    """
    texts = {query.query_id: query.text for query in queries}
    unknown = [query_id for query_id in run if query_id not in texts]
    if unknown:
        raise InputError(
            f"run {run.name!r}: wanted queries of the split; found {len(unknown):,} unknown, the first {unknown[0]!r}; "
            "check --split and that the run belongs to this collection"
        )
    return {query_id: texts[query_id] for query_id in run}


def _passages_of(encoded: EncodedPassages, indices: np.ndarray, device: torch.device) -> tuple[Tensor, Tensor]:
    """Padded term vectors ``(n, longest, dim)`` and their mask ``(n, longest)``."""
    lengths = np.diff(encoded.offsets)[indices]
    width = max(1, int(lengths.max(initial=1)))
    vectors = np.zeros((len(indices), width, encoded.vectors.shape[1]), np.float32)
    for row, index in enumerate(indices):
        vectors[row, : lengths[row]] = encoded.vectors[encoded.offsets[index] : encoded.offsets[index + 1]]
    mask = np.arange(width)[None, :] < lengths[:, None]
    return torch.from_numpy(vectors).to(device), torch.from_numpy(mask).to(device)


@torch.inference_mode()
def rescore(
    model: PassageEncoder,
    collection: PassageTexts,
    queries: Sequence[Query],
    candidates: Run,
    *,
    name: str,
    pair_words: int = PAIR_WORDS,
    description: str = "re-ranking",
) -> Rescored:
    """Score every candidate. Padded passage words in one scoring batch stay under ``pair_words``.

    Raises:
        InputError: a candidate names a passage or query that is not there.
    """
    texts = known_queries(candidates, queries)
    with encode_passages(model, collection, candidates.passage_ids, description=f"{description}: passages") as encoded:
        place = {passage_id: index for index, passage_id in enumerate(encoded.passage_ids)}
        rankings = []
        empty = 0
        with step(f"{description}: queries", len(candidates), unit="queries") as bar:
            for ranking in candidates.rankings():
                (numbers,) = model.read_queries([texts[ranking.query_id]])
                empty += not numbers
                scores = _score_query(model, encoded, numbers, ranking, place, pair_words)
                rankings.append((ranking.query_id, ranking.passage_ids, scores))
                bar.advance()
        return Rescored(Run(name, rankings), len(encoded.passage_ids), encoded.truncated, empty)


def _score_query(
    model: PassageEncoder,
    encoded: EncodedPassages,
    numbers: list[int],
    ranking: Ranking,
    place: Mapping[str, int],
    pair_words: int,
) -> np.ndarray:
    indices = np.fromiter((place[item] for item in ranking.passage_ids), np.int64, len(ranking.passage_ids))
    query, query_mask = model.encode_queries([numbers])  # a batch of 1, which serves all passages
    longest = max(1, int(np.diff(encoded.offsets)[indices].max(initial=1)))
    size = max(1, pair_words // longest)
    scores = []
    for start in range(0, len(indices), size):
        vectors, mask = _passages_of(encoded, indices[start : start + size], model.device)
        scores.append(model.interact(query, query_mask, vectors, mask).float().cpu().numpy())
    return np.concatenate(scores) if scores else np.empty(0, np.float32)


@torch.inference_mode()
def score_pairs(model: PassageEncoder, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Scores of (query text, passage text) pairs in one batch, nothing reused: what ``rescore`` must equal, ``(len(pairs),)``."""
    queries, passages = model.read_queries([query for query, _ in pairs]), model.read_passages([text for _, text in pairs])
    inputs = {name: tensor.to(model.device) for name, tensor in model.inputs(queries, passages).items()}
    return model(**inputs).float().cpu().numpy()


def rerank_run(
    checkpoint: Checkpoint,
    collection: Collection,
    split: str,
    candidates: Run,
    candidates_path: Path,
    out: Path,
    *,
    depth: int | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> Rescored:
    """Re-rank ``candidates`` to ``depth`` (default: the checkpoint's tuned one) and write the run with its manifest.

    What stands below that depth keeps its place, so it is neither encoded nor scored.

    Raises:
        SettingError: ``depth`` is below 1.
        InputError: a candidate, at any depth, names a passage or query that is not there.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    depth = checkpoint.depth if depth is None else depth
    if depth < 1:
        raise SettingError(f"--depth: wanted at least 1; found {depth}; raise it")
    name = name or checkpoint.name
    refuse_existing(out, overwrite=overwrite)
    collection.rows(candidates.passage_ids)
    shallow = candidates.top(depth)
    done = rescore(checkpoint.model, collection, collection.queries(split), shallow, name=name, description=name)
    write_run(out, apply_depth(candidates, done.run, depth, name=name), overwrite=overwrite)
    checksums = (checkpoint.manifest.content["checksum"], collection.checksum, sha256_file(candidates_path))
    places = (("model", checkpoint.path), ("collection", collection.path), ("candidates", candidates_path))
    inputs = tuple(input_ref(role, path, c, artefact=out) for (role, path), c in zip(places, checksums, strict=True))
    manifest = Manifest(
        kind="run",
        name=name,
        command="rerank",
        settings={"split": split, "depth": depth},
        inputs=inputs,
        content={
            "checksum": sha256_file(out),
            "passages": done.passages,
            "truncated": done.truncated,
            "empty_queries": done.empty_queries,
        },
        licence=collection.manifest.licence,
        versions=package_versions("torch"),
        provenance=provenance(threads=torch.get_num_threads()),
    )
    write_manifest(manifest_path(out), manifest)
    return done
