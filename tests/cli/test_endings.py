"""What ``train``, ``rerank`` and ``evaluate`` say of a training that is not finished, and of a
model that does not beat its first stage.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest

from positionbias.audit.systems import System
from positionbias.core.collection import Collection
from positionbias.core.manifest import read_manifest
from positionbias.core.rows import load
from positionbias.core.run import Run
from positionbias.evaluation.convergence import Ending, Finish
from positionbias.models.checkpoint import load_checkpoint
from tests import commands
from tests.sealing import reseal

from ..tiny import saved_tk
from .test_train import SMALL


def posbias(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[str, str]:
    code, out, err = commands.posbias(capsys, *arguments)
    assert not code, err
    return out, err


def ended(place: Path, collection: Collection, ending: Ending) -> Path:
    """A checkpoint whose training ended so."""
    saved_tk(place, collection, depth=ending.depth or 1)
    (place / "training.json").write_text(json.dumps({"log": [], "ending": asdict(ending)}))
    reseal(place)
    return place


def test_train_names_depths_and_says_what_changes_nothing(
    collection: Collection,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    options = {
        "--candidates": runs["train"],
        "--validation-candidates": runs["validation"],
        "--out": tmp_path / "tk.ckpt",
    }
    pairs = [part for option in options.items() for part in option]
    out, err = posbias(capsys, "train", "tk", collection.path, *pairs, *SMALL)
    rows = [line for line in err.splitlines() if line.startswith("step ")]
    assert all(re.search(r"nDCG@10 0\.\d{4} \(depth [56]\)", row) for row in rows)
    # BM25 stands at 0.866 on these 12 queries, which an untrained TK of a few hundred weights does
    # not reach
    ending = load_checkpoint(tmp_path / "tk.ckpt").ending
    assert (ending.depth, ending.ndcg, ending.finish) == (1, ending.first_stage, Finish.TOO_FEW)
    shown = f"{ending.first_stage:.4f}"
    assert f"nDCG@10 on validation: {shown} at re-ranking depth 1 with the weights of step" in out
    assert f"first stage {shown}" in out
    assert (
        "tk: too few validations to tell whether the training is finished; validate 4 times or more"
        in err
    )
    assert (
        "tk: does not beat its first stage on validation\ntk: these scores change nothing: "
        "depth 1\n"
    ) in err


def test_at_depth_1_nothing_is_encoded_and_the_order_stays(
    collection: Collection,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = ended(tmp_path / "tk.ckpt", collection, Ending(Finish.FINISHED, 0.8, 1, 0.8))
    place = tmp_path / "tk.run"
    out, err = posbias(
        capsys,
        "rerank",
        collection.path,
        "--model",
        model,
        "--candidates",
        runs["test"],
        "--out",
        place,
    )
    assert out == "tk: 18 queries\n"
    assert (
        "tk: does not beat its first stage on validation\ntk: these scores change nothing: "
        "depth 1\n"
    ) in err
    assert "pairs" not in err
    before, after = Run.from_file(runs["test"]), Run.from_file(place)
    assert after.name == "tk"
    assert [after[query].passage_ids for query in after] == [
        before[query].passage_ids for query in before
    ]
    assert all(bool((after[query].scores[1:] < after[query].scores[:-1]).all()) for query in after)
    assert read_manifest(place).content["passages"] == 0


def test_evaluate_says_it_of_runs_and_names_the_unfinished(
    collection: Collection,
    runs: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    endings = {
        "idle": Ending(Finish.FINISHED, 0.8, 1, 0.8),
        "young": Ending(Finish.NOT_FINISHED, 0.8, 3, 0.7),
    }
    for name, ending in endings.items():
        model = ended(tmp_path / f"{name}.ckpt", collection, ending)
        place = tmp_path / f"{name}.run"
        posbias(
            capsys,
            "rerank",
            collection.path,
            "--model",
            model,
            "--candidates",
            runs["test"],
            "--out",
            place,
        )
    given = [runs["test"], *(tmp_path / f"{name}.run" for name in endings)]
    out, err = posbias(
        capsys, "evaluate", *given, "--collection", collection.path, "--out", tmp_path / "results"
    )
    assert "idle: these scores change nothing: depth 1\n" in err
    assert (
        "young, not finished: not finished: validation nDCG@10 still rose when the training ended"
        in err
    )
    assert "bm25 → young, not finished" in out.lower()
    rows = load(tmp_path / "results")
    assert "young, not finished" in set(rows.model)
    assert "idle: these scores change nothing: depth 1." in out
    # so do an ensemble with one of them, an audit, and the term vectors' probe
    both = tmp_path / "both.run"
    posbias(capsys, "model", "ensemble", runs["test"], tmp_path / "young.run", "--out", both)
    out, err = posbias(capsys, "evaluate", runs["test"], both, "--collection", collection.path)
    assert "ensemble, not finished" in out
    assert (
        "ensemble, not finished: not finished: validation nDCG@10 still rose when the training "
        "ended"
    ) in err
    young = tmp_path / "young.ckpt"
    assert System.of(load_checkpoint(young)).name == "young, not finished"
    out, _ = posbias(capsys, "mats", collection.path, "--model", young, "--json")
    assert {row["model"] for row in json.loads(out)["rows"]} == {"young, not finished"}
