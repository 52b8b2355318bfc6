"""From a checkpoint and candidates to a run on disk: order, tail, manifest, faults; and chance."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.manifest import manifest_path
from positionbias.core.run import Run
from positionbias.evaluation.measures import per_query
from positionbias.models.checkpoint import Checkpoint, load_checkpoint
from positionbias.planted.settings import PlantedSettings
from positionbias.ranking.config import Reranking
from positionbias.ranking.rerank import rerank_run, rescore

from ..tiny import candidates, planted, saved_tk


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("ranking") / "planted")


@pytest.fixture(scope="module")
def run_path(collection: Collection) -> Path:
    return candidates(collection, collection.path.parent, depth=9)["test"]


@pytest.fixture(scope="module")
def checkpoint(collection: Collection) -> Checkpoint:
    return load_checkpoint(saved_tk(collection.path.parent / "tk.ckpt", collection, depth=4))


def test_the_models_order_to_the_depth_and_the_tail_behind(
    collection: Collection, run_path: Path, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    before = Run.from_file(run_path)
    done = rerank_run(checkpoint, collection, run_path, tmp_path / "tk.run")
    after = Run.from_file(tmp_path / "tk.run")
    scored = rescore(
        checkpoint.model, collection, collection.queries("test"), before, name="tk"
    ).run
    assert after.name == "tk"
    moved = 0
    for ranking in after.rankings():
        first, model_order = (
            before[ranking.query_id].passage_ids,
            scored[ranking.query_id].passage_ids,
        )
        head = [passage_id for passage_id in model_order if passage_id in first[:4]]
        assert ranking.passage_ids == head + first[4:]
        assert (np.diff(ranking.scores) < 0).all()
        moved += head != first[:4]
    assert moved > len(after) / 2
    # strictly decreasing as text as well: any evaluator sees these ranks
    lines = [line.split() for line in (tmp_path / "tk.run").read_text().splitlines()]
    for one, other in pairwise(lines):
        assert one[0] != other[0] or (
            float(one[4]) > float(other[4]) and int(one[3]) + 1 == int(other[3])
        )
    # what keeps its place is not encoded
    assert done.passages == len(before.top(4).passage_ids) < len(before.passage_ids)


@pytest.mark.parametrize("depth", [1000])
def test_a_depth_beyond_the_candidates_re_ranks_all(
    collection: Collection, run_path: Path, checkpoint: Checkpoint, tmp_path: Path, depth: int
) -> None:
    before = Run.from_file(run_path)
    rerank_run(checkpoint, collection, run_path, tmp_path / "tk.run", Reranking(depth=depth))
    scored = rescore(
        checkpoint.model, collection, collection.queries("test"), before, name="tk"
    ).run
    after = Run.from_file(tmp_path / "tk.run")
    assert all(after[q].passage_ids == scored[q].passage_ids for q in before)


def test_depth_1_changes_nothing(
    collection: Collection, run_path: Path, checkpoint: Checkpoint, tmp_path: Path
) -> None:
    rerank_run(checkpoint, collection, run_path, tmp_path / "tk.run", Reranking(depth=1))
    before, after = Run.from_file(run_path), Run.from_file(tmp_path / "tk.run")
    assert [after[q].passage_ids for q in before] == [before[q].passage_ids for q in before]


def test_faults(
    collection: Collection,
    run_path: Path,
    checkpoint: Checkpoint,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    out = tmp_path / "tk.run"
    first = next(Run.from_file(run_path).rankings())
    alien = tmp_path_factory.mktemp("alien") / "bm25.run"
    Run("bm25", [(first.query_id, [*first.passage_ids, "nowhere"], [*first.scores, -9])]).save(
        alien
    )
    # though it stands below the depth
    with pytest.raises(InputError, match="wanted passage 'nowhere' in the collection"):
        rerank_run(checkpoint, collection, alien, out)
    with pytest.raises(InputError, match="wanted queries of the split; found 18 unknown"):
        rerank_run(checkpoint, collection, run_path, out, Reranking("train"))
    assert list(tmp_path.iterdir()) == []
    out.write_text("mine")
    with pytest.raises(OutputExistsError, match="--overwrite"):
        rerank_run(checkpoint, collection, run_path, out)
    assert out.read_text() == "mine"
    rerank_run(checkpoint, collection, run_path, out, overwrite=True)
    assert (Run.from_file(out).name, manifest_path(out).exists()) == ("tk", True)


def test_a_constant_scorer_ranks_at_chance(tmp_path: Path) -> None:
    # all weights of the kernels zero: every score is 0, and ties fall to the ids, which are hashes
    # and know nothing
    collection = planted(
        tmp_path / "planted",
        PlantedSettings(queries=300, passages=1000, test_share=0.9, validation_share=0.02),
    )
    path = candidates(collection, tmp_path, depth=10)["test"]
    checkpoint = load_checkpoint(saved_tk(tmp_path / "constant.ckpt", collection, depth=10))
    with torch.no_grad():
        checkpoint.model.pooling.weight.zero_()
    rerank_run(checkpoint, collection, path, tmp_path / "constant.run")
    run, relevant = (
        Run.from_file(tmp_path / "constant.run"),
        {q.query_id: q.passage_id for q in collection.qrels("test")},
    )
    ranks = [
        r.passage_ids.index(relevant[r.query_id])
        for r in run.rankings()
        if relevant[r.query_id] in r.passage_ids
    ]
    lengths = [len(r.passage_ids) for r in run.rankings() if relevant[r.query_id] in r.passage_ids]
    # a rank drawn evenly from 0 … n − 1 has mean (n − 1)/2 and variance (n² − 1)/12
    expected = sum((n - 1) / 2 for n in lengths)
    deviation = sum((n * n - 1) / 12 for n in lengths) ** 0.5
    assert len(ranks) > 200
    assert abs(sum(ranks) - expected) < 3 * deviation
    # and the same of the measure the study reports
    chance = [np.mean([1 / np.log2(rank + 2) for rank in range(n)]) for n in lengths]
    values = per_query(run, collection.qrels("test"), ["nDCG@10"])["nDCG@10"]
    found = [values[r.query_id] for r in run.rankings() if relevant[r.query_id] in r.passage_ids]
    assert np.mean(found) == pytest.approx(
        np.mean(chance), abs=3 * np.std(found) / len(found) ** 0.5
    )
