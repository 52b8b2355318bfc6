"""``posbias rerank``: a run in the model's order, its counts, and one clear line for what cannot be
re-ranked.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from positionbias.core import publish
from positionbias.core.collection import Collection
from positionbias.core.run import Run
from tests.commands import posbias
from tests.forked import forked

from ..tiny import saved_tk


@pytest.fixture(scope="module")
def run_path(runs: dict[str, Path]) -> Path:
    return runs["test"]


@pytest.fixture(scope="module")
def model(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_tk(tmp_path_factory.mktemp("rerank") / "tk.ckpt", collection, depth=3)


@pytest.fixture
def rerank(collection, run_path, model, capsys):
    def run(*arguments, **changes):
        options = {"--model": model, "--candidates": run_path, **changes}
        pairs = [part for option in options.items() for part in option]
        return posbias(capsys, "rerank", collection.path, *pairs, *arguments)

    return run


def test_a_run(rerank, run_path, tmp_path):
    out = tmp_path / "tk.run"
    code, _, err = rerank("--out", out)
    assert code == 0, err
    run, before = Run.from_file(out), Run.from_file(run_path)
    assert run.name == "tk"
    # the checkpoint's depth
    assert all(run[q].passage_ids[3:] == before[q].passage_ids[3:] for q in before)
    passages = len(before.top(3).passage_ids)
    assert re.search(rf"54 pairs of {passages} passages, each encoded once: [\d,]+ pairs/s\n", err)
    assert "0.0% of the passages fill the limit of 200 tokens" in err
    assert f"next: posbias evaluate {out}" in err
    assert (tmp_path / "tk.run.manifest.json").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--split", "train"), "wanted queries of the split; found 18 unknown"),
        (("--depth", 0), "'--depth': 0 is not in the range x>=1"),
        (("--model", "nothing-here"), "nothing-here: wanted a folder"),
        (("--candidates", "none.run"), "none.run: wanted a readable file"),
    ],
)
def test_one_clear_line(rerank, tmp_path, arguments, complaint):
    code, out, err = rerank(*arguments, "--out", tmp_path / "tk.run")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert list(tmp_path.iterdir()) == []


FULL_DISK = """
import resource, sys
from positionbias.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))  # refused as on a full disk
main(sys.argv[1:])
"""


def test_a_full_disk(collection, run_path, model, tmp_path):
    place = tmp_path / "room"
    arguments = (
        "rerank",
        collection.path,
        "--model",
        model,
        "--candidates",
        run_path,
        "--out",
        place / "tk.run",
    )
    done = forked(arguments, tmp_path, os.environ, FULL_DISK)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"{place}" in done.stderr
    assert done.stderr.endswith("; what is finished is kept: run the same command again to go on\n")
    assert [path.name for path in place.iterdir()] == [".tk.run.work"]


def test_a_function_of_ones_own(rerank, run_path, tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text(
        "def shortest(query, passages):\n    return [-len(passage) for passage in passages]\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    code, out, err = rerank("--out", tmp_path / "own.run", **{"--model": "own:shortest"})
    assert code == 0, err
    assert "each read for itself" in err
    assert "fill the limit" not in err
    done = Run.from_file(tmp_path / "own.run")
    assert done.name == "own:shortest"
    assert done.pairs == Run.from_file(run_path).pairs  # no depth was tuned: all candidates
    code, out, err = rerank(
        "--out", tmp_path / "other.run", "--set", "kind=bi-encoder", **{"--model": "own:shortest"}
    )
    assert (code, out, err.count("\n")) == (2, "", 1)


def test_the_same_command_goes_on_before_publication_and_is_done_after_it(
    rerank, run_path, tmp_path, monkeypatch
):
    counted = (
        "from pathlib import Path\ndef scores(query, passages):\n    with Path('asked').open('a') "
        "as log:\n        log.write('.')\n"
    )
    (tmp_path / "counting.py").write_text(
        f"{counted}    return [-len(passage) for passage in passages]\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    candidates = tmp_path / "bm25.run"
    shutil.copyfile(run_path, candidates)
    arguments = {"--model": "counting:scores", "--candidates": candidates}
    assert rerank("--out", "whole.run", **arguments)[0] == 0
    asked = (tmp_path / "asked").stat().st_size

    put = publish._put

    def stop(made, final):
        if final.name == "a.run" and final.parent.name != "content":
            raise KeyboardInterrupt
        put(made, final)

    with monkeypatch.context() as patched:
        patched.setattr("positionbias.core.publish._put", stop)
        assert rerank("--out", "a.run", **arguments)[0] == 130
    assert (tmp_path / ".a.run.work" / "content" / "a.run").exists()  # all but its publication
    assert rerank("--out", "a.run", **arguments)[0] == 0
    assert read_bytes("a.run") == read_bytes("whole.run")
    assert (tmp_path / "asked").stat().st_size == 2 * asked  # nothing was scored again

    (tmp_path / ".a.run.work").mkdir()  # of a run that was killed after it
    code, _, err = rerank("--out", "a.run", **arguments)
    assert (code, err) == (
        0,
        "posbias: a.run: done before, by the same command from the same inputs\n",
    )
    assert sorted(path.name for path in tmp_path.glob(".a.run*")) == []
    assert rerank("--out", "a.run", "--depth", "2", **arguments)[0] == 2
    (tmp_path / "bm25.run").write_text((tmp_path / "bm25.run").read_text())
    assert rerank("--out", "a.run", **arguments)[0] == 2  # the candidates were written again
    assert (tmp_path / "asked").stat().st_size == 2 * asked


def read_bytes(name: str) -> bytes:
    return Path(name).read_bytes()
