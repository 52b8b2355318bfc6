"""``posbias rerank``: a run in the model's order, its counts, and one clear line for what cannot be re-ranked."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from positionbias.cli.main import main
from positionbias.core.collection import Collection
from positionbias.core.run import read_run

from ..tiny import candidates, planted, saved_tk


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return planted(tmp_path_factory.mktemp("rerank") / "planted")


@pytest.fixture(scope="module")
def run_path(collection: Collection) -> Path:
    return candidates(collection, collection.path.parent)["test"]


@pytest.fixture(scope="module")
def model(collection: Collection) -> Path:
    return saved_tk(collection.path.parent / "tk.ckpt", collection, depth=3)


@pytest.fixture
def rerank(collection, run_path, model, capsys):
    def run(*arguments, **changes):
        options = {"--model": model, "--candidates": run_path, **changes}
        pairs = [part for option in options.items() for part in option]
        with pytest.raises(SystemExit) as stop:
            main([str(item) for item in ("rerank", collection.path, *pairs, *arguments)])
        output = capsys.readouterr()
        return stop.value.code, output.out, output.err

    return run


def test_a_run(rerank, run_path, tmp_path):
    out = tmp_path / "tk.run"
    code, _, err = rerank("--out", out)
    assert code == 0, err
    run, before = read_run(out), read_run(run_path)
    assert run.name == "tk"
    assert all(run[q].passage_ids[3:] == before[q].passage_ids[3:] for q in before)  # the checkpoint's depth
    passages = len(before.top(3).passage_ids)
    assert re.search(rf"54 pairs of {passages} passages, each encoded once: [\d,]+ pairs/s\n", err)
    assert "0.0% of the passages fill the limit of 200 tokens" in err
    assert f"next: posbias evaluate {out}" in err
    assert (tmp_path / "tk.run.manifest.json").exists()


def test_depth_name_and_compression(rerank, run_path, tmp_path):
    out = tmp_path / "tk.run.gz"
    assert rerank("--out", out, "--depth", 6, "--name", "mine")[0] == 0
    run = read_run(out)
    assert run.name == "mine"
    assert json.loads((tmp_path / "tk.run.gz.manifest.json").read_text())["settings"]["depth"] == 6
    assert any(run[q].passage_ids[3:] != read_run(run_path)[q].passage_ids[3:] for q in run)


def test_as_json(rerank, run_path, tmp_path):
    code, out, _ = rerank("--out", tmp_path / "tk.run", "--json")
    assert code == 0
    (result,) = json.loads(out)["results"]
    assert (result["measure"], result["collection"], result["split"], result["system"]) == (
        "re-ranking",
        "planted",
        "test",
        "tk",
    )
    assert result["value"] == len(read_run(run_path).top(3).passage_ids)
    assert result["count"] == 18


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--split", "train"), "wanted queries of the split; found 18 unknown"),
        (("--split", "dev"), "wanted split 'dev'"),
        (("--depth", 0), "'--depth'"),
        (("--batch-tokens", -1), "'--batch-tokens'"),
        (("--precision", "int8"), "'--precision'"),
        (("--model", "nothing-here"), "wanted a posbias checkpoint; found no"),
        (("--candidates", "none.run"), "none.run: wanted a readable file"),
    ],
)
def test_one_clear_line(rerank, tmp_path, arguments, complaint):
    code, out, err = rerank(*arguments, "--out", tmp_path / "tk.run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_another_collection(rerank, tmp_path):
    (tmp_path / "alien.run").write_text("q1 Q0 nowhere 1 1.0 bm25\n")
    code, out, err = rerank("--out", tmp_path / "tk.run", **{"--candidates": tmp_path / "alien.run"})
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "wanted passage 'nowhere' in the collection" in err


FULL_DISK = """
import resource, sys
from positionbias.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))  # refused as on a full disk
main(sys.argv[1:])
"""


def test_a_full_disk(collection, run_path, model, tmp_path):
    collection.find(["any"])  # the index of ids is made beforehand
    place = tmp_path / "room"
    arguments = ("rerank", collection.path, "--model", model, "--candidates", run_path, "--out", place / "tk.run")
    done = subprocess.run([sys.executable, "-c", FULL_DISK, *map(str, arguments)], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"{place}" in done.stderr
    assert list(place.iterdir()) == []
