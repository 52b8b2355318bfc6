"""``posbias study architecture`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

from ..tiny import TINY, planted
from .conftest import RunPosbias


def test_the_command(run_posbias: RunPosbias, tmp_path: Path) -> None:
    collection = planted(tmp_path / "planted")
    given = ["study", "architecture", collection.path, "--out", "./study", "--depth", 6, "--train-depth", 6]
    given += ["--max-steps", 2, "--validate-every", 2, "--threads", 1, "--only", "original", "--probe-passages", 20]
    given += ["--seeds", 1, "--rotations", 1]
    for name in ("dimension", "layers", "heads", "head_size", "feed_forward"):
        given += ["--set", f"{name}={getattr(TINY, name)}"]
    dry = run_posbias(*given, "--dry-run")
    assert dry.returncode == 0, dry.stderr
    assert all(f"train-tk-{positions}-original-seed-1" in dry.stdout for positions in ("sinusoid", "none", "relative"))
    assert not (tmp_path / "study").exists()
    wrong = run_posbias(*given, "--positions", "none")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)
    assert "--positions: wanted two or more of sinusoid, none, relative, each once; found none" in wrong.stderr
    done = run_posbias(*given, "--positions", "sinusoid", "--positions", "none", "--json")
    assert done.returncode == 0, done.stderr
    variants = {item["facts"].get("variant") for item in json.loads(done.stdout)["results"]}
    assert variants == {None, "sinusoid positions", "no positions"}
    assert (tmp_path / "study" / "tables" / "architecture.csv").is_file()
