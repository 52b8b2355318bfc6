"""``posbias retrieve``: a run with its manifest, the index reused, one clear line where it
cannot.
"""

import json

import pytest

from positionbias.core.files import sha256_file
from positionbias.core.run import Run
from tests.commands import posbias
from tests.lucene import needs_lucene


def test_a_run_and_its_manifest(small_collection, tmp_path, capsys):
    out = tmp_path / "bm25.run"
    code, printed, err = posbias(
        capsys, "retrieve", small_collection.path, "--split", "train", "--depth", 2, "--out", out
    )
    assert code == 0
    assert "index built" in err
    run = Run.from_file(out)
    assert printed == f"bm25: 2 queries, {run.pairs} candidates\n"
    assert (
        f"written to {out}; next: posbias evaluate {out} --collection {small_collection.path} "
        "--split train"
    ) in err
    assert run.name == "bm25"
    # both passages hold "Orvell"; only the lamp's also holds "lamp" and "burns"
    assert run["q1"].passage_ids == ["p-lamp", "p-gate"]
    assert run["q2"].passage_ids[0] == "p-gate"
    manifest = json.loads((tmp_path / "bm25.run.manifest.json").read_text())
    assert (manifest["kind"], manifest["settings"]["k1"], manifest["settings"]["b"]) == (
        "run",
        0.9,
        0.4,
    )
    assert manifest["inputs"] == [
        {"role": "collection", "path": "../small", "checksum": small_collection.checksum}
    ]
    assert manifest["content"]["checksum"] == sha256_file(out)
    assert (manifest["content"]["queries"], manifest["content"]["pairs"]) == (2, run.pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "k1=-1"), "k1: -1.0 is not in the range x>=0"),
        (("--set", "b=x"), "b: 'x' is not a valid number"),
        (
            ("--set", "backend=lucene", "--set", "engine=ray"),
            "engine: wanted local with backend lucene",
        ),
        (("--split", "dev"), "wanted split 'dev'"),
    ],
)
def test_one_clear_line(small_collection, tmp_path, capsys, arguments, message):
    before = sorted(tmp_path.iterdir())
    code, out, err = posbias(
        capsys, "retrieve", small_collection.path, "--out", tmp_path / "x.run", *arguments
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert sorted(tmp_path.iterdir()) == before


def test_without_the_extra_one_line_says_what_brings_it(
    small_collection, tmp_path, capsys, monkeypatch
):
    from positionbias.firststage import java

    monkeypatch.setattr(java, "find_spec", lambda name: None)
    arguments = (
        "retrieve",
        small_collection.path,
        "--out",
        tmp_path / "x.run",
        "--set",
        "backend=lucene",
    )
    code, out, err = posbias(capsys, *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert 'run: pip install "positionbias[lucene]"' in err


@needs_lucene
def test_lucene_in_a_process_of_its_own_says_nothing_but_ours(
    small_collection, tmp_path, run_posbias
):
    out = tmp_path / "lucene.run"
    arguments = (
        "retrieve",
        small_collection.path,
        "--split",
        "train",
        "--set",
        "backend=lucene",
        "--set",
        "preset=msmarco",
        "--out",
        out,
    )
    done = run_posbias(*arguments, "--json")
    assert done.returncode == 0
    said, then = done.stderr.splitlines()
    assert said == "BM25 by lucene with k1 0.82, b 0.68; index built"
    assert then == (
        "written to lucene.run; next: posbias evaluate lucene.run --collection small --split train"
    )
    assert Run.from_file(out)["q1"].passage_ids == ["p-lamp", "p-gate"]
    manifest = json.loads((tmp_path / "lucene.run.manifest.json").read_text())
    assert (manifest["settings"]["backend"], manifest["settings"]["k1"]) == ("lucene", 0.82)
    assert "Porter" in manifest["settings"]["analysis"]
    assert {"pyserini", "anserini", "lucene"} < set(manifest["versions"])
    assert manifest["provenance"]["java"].startswith("2")
    again = run_posbias(*arguments, "--overwrite", "--workers", 2)
    assert "index reused" in again.stderr
    broken = run_posbias(*arguments, "--overwrite", JAVA_HOME=str(_broken_java(tmp_path)))
    assert (broken.returncode, broken.stdout, broken.stderr.count("\n")) == (2, "", 1)
    assert "wanted a running Java; found one that does not start" in broken.stderr


def _broken_java(folder):
    """A folder that calls itself Java 21 and cannot be loaded."""
    library = folder / "java" / "lib" / "server" / "libjvm.so"
    library.parent.mkdir(parents=True)
    library.write_text("no library")
    (folder / "java" / "release").write_text('JAVA_VERSION="21.0.1"\n')
    return folder / "java"
