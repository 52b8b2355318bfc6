"""``posbias pool`` as a user runs it: the three commands on simulated runs, what is saved, and bad
input in one line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from positionbias.core.manifest import read_manifest
from positionbias.core.qrels import Qrels
from positionbias.core.rows import load
from tests.pooling.simulated import Simulation, simulated_qrels, simulated_runs

from .conftest import RunPosbias

SIMULATION = Simulation(rate=0.5, queries=6, groups=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Six runs, half of them packed, their table and judgements, and a run that is not among
    them.
    """
    systems = []
    for number, (system, run) in enumerate(simulated_runs(SIMULATION)):
        run.save(tmp_path / "runs" / f"{system.run}.run{'.gz' if number % 2 else ''}")
        systems.append(system)
    lines = ["run\tgroup\tkind", *("\t".join(system) for system in systems), "absent\tg\tneural"]
    (tmp_path / "systems.tsv").write_text("\n".join(lines) + "\n")
    Qrels(simulated_qrels(SIMULATION)).save(tmp_path / "qrels.txt")
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    new.save(tmp_path / "new.run")
    return tmp_path


POOL = ("runs", "qrels.txt", "--systems", "systems.tsv")


def test_coverage(run_posbias: RunPosbias, folder: Path) -> None:
    done = run_posbias("pool", "coverage", *POOL, "--depth", "5", "--out", "./covered")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "written to covered; for a page: posbias report covered --out covered.html",
    ]
    assert done.stdout.startswith(
        "Relevant documents in pools of depth 5: of traditional runs 42, 34 of them in no other; "
        "of neural runs 40, 32 of them in no other.\n\n"
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    # runs, groups, queries, judgements, relevant from grade 1
    assert ["all", "6", "6", "6", "780", "180", "1"] in lines
    rows = [line.split() for line in done.stdout.splitlines() if line.strip()[:1].isdigit()]
    assert [row[0] for row in rows] == ["1", "2", "3", "5", "10"]
    # in traditional runs' pool, in no other, in neural runs' pool, in no other
    assert rows[3] == ["5", "42", "34", "40", "32"]
    found = load(folder / "covered").query("statistic == 'found' and at == 5")
    assert found["value"].tolist() == [42, 40]
    manifest = read_manifest(folder / "covered", kind="results")
    assert [(item.role, item.path) for item in manifest.inputs] == [
        ("runs", "../runs"), ("qrels", "../qrels.txt"), ("systems", "../systems.tsv"),
    ]  # fmt: skip


def test_reliability(run_posbias: RunPosbias, folder: Path) -> None:
    done = run_posbias("--quiet", "pool", "reliability", *POOL, "--pools", "4", "--out", "./pools")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.startswith(
        "Cannot tell whether pools of one kind judge the other as they judge their own (of 8 "
        "tests, 0 worse, 0 better, 0 within 0.03, 8 cannot tell).\n"
    )
    for part in (
        "Does kind matter?",
        "kinds can be permuted in only 20 ways",
        "Kendall's τ by pools and test systems",
        "Change of score by kind of system",
    ):
        assert part in done.stdout
    assert (
        read_manifest(folder / "pools").notes[0].startswith("Half of a kind's groups feed a pool")
    )
    saved = load(folder / "pools")
    assert set(saved["variant"]) - {""} == {"beside unseen", "beyond mixed pools", "pool 0"}
    assert saved.query("counted == 'pools'")["count"].max() == 4


@pytest.fixture
def seen(folder: Path) -> tuple[Path, float]:
    """The judgements of the traditional runs' pool alone, and the unjudged share of the new run,
    which is neural.
    """
    runs = [run for system, run in simulated_runs(SIMULATION) if system.kind == "traditional"]
    ids = {
        (ranking.query_id, passage)
        for run in runs
        for ranking in run.rankings()
        for passage in ranking.passage_ids
    }
    Qrels([qrel for qrel in simulated_qrels(SIMULATION) if qrel[:2] in ids]).save(
        folder / "pool.txt"
    )
    *_, (_, new) = simulated_runs(replace(SIMULATION, seed=9))
    return folder, sum(
        (r.query_id, passage) not in ids for r in new.rankings() for passage in r.passage_ids
    ) / 60


def test_verdict(run_posbias: RunPosbias, seen: tuple[Path, float]) -> None:
    folder, unjudged = seen
    pool = ("new.run", "pool.txt", "--pool-runs", "runs", "--systems", "systems.tsv", "-m", "P@10")
    done = run_posbias("pool", "verdict", *pool, "--json")
    assert done.returncode == 0, done.stderr
    own = {
        row["statistic"]: row for row in json.loads(done.stdout)["rows"] if row.get("run") == "new"
    }
    assert 0.3 < unjudged < 1
    assert own["unjudged"]["value"] == pytest.approx(unjudged)
    # each of ten ranks is worth a tenth
    assert own["most"]["value"] - own["least"]["value"] == pytest.approx(unjudged)
    predicted = own["predicted"]
    assert predicted["low"] <= predicted["value"] <= predicted["high"]
    done = run_posbias("pool", "verdict", *pool, "--out", "./said")
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first.startswith("new can")
    assert {item.role for item in read_manifest(folder / "said").inputs} == {
        "runs",
        "qrels",
        "systems",
        "run",
    }
    assert read_manifest(folder / "said").seed == 1


def test_a_verdict_needs_a_run_and_judgements_alone(
    run_posbias: RunPosbias, seen: tuple[Path, float]
) -> None:
    done = run_posbias("pool", "verdict", "new.run", "pool.txt", "-m", "RR", "--out", "./said")
    assert done.returncode == 0, done.stderr
    first, *_ = done.stdout.splitlines()
    assert first == "Cannot tell whether new can be judged by RR: no pooled runs are given."
    assert run_posbias("report", "./said", "--out", "./page").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("coverage", "./nowhere", "qrels.txt", "--systems", "systems.tsv"),
            "nowhere: wanted a folder of runs in TREC form, one file each; found 0 runs",
        ),
        (
            ("coverage", "runs", "qrels.txt", "--systems", "short.tsv"),
            "short.tsv: wanted a line for every run of runs; found none for neural-0, neural-1",
        ),
        (
            ("coverage", "runs", "qrels.txt", "--systems", "bad.tsv"),
            "bad.tsv: wanted run, group and kind by tabs, named in the first line",
        ),
        (("reliability", *POOL, "-m", "quality"), "-m: wanted a measure; found 'quality'"),
        (
            ("reliability", "runs", "qrels.txt", "--systems", "one.tsv"),
            "systems: wanted at least 2 kinds, one with at least 2 groups",
        ),
        (
            ("verdict", "runs/traditional-0.run", "qrels.txt", "--pool-runs", "runs"),
            "runs/traditional-0.run: wanted a new run; found one of the pooled runs",
        ),
    ],
    ids=lambda value: "-".join(value[:3:2]) if isinstance(value, tuple) else value.split(":")[0],
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "short.tsv").write_text("run\tgroup\tkind\ntraditional-0\tg\told\n")
    (folder / "bad.tsv").write_text("run\tgroup\tkind\ntraditional-0\tg\n")
    (folder / "bad.txt").write_text("1 0 d\n")
    (folder / "broken.run").write_text("1 Q0 d\n")
    names = [system.run for system, _ in simulated_runs(SIMULATION)]
    (folder / "one.tsv").write_text(
        "run\tgroup\tkind\n" + "".join(f"{name}\t{name}\told\n" for name in names)
    )
    done = run_posbias("pool", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    *_, last = done.stderr.splitlines()
    assert last.startswith(f"posbias: {message}")
    assert "Traceback" not in done.stderr


def test_two_pooled_runs_of_one_name_are_refused_without_a_table_too(
    run_posbias: RunPosbias, folder: Path
) -> None:
    (folder / "runs" / "traditional-0.txt").write_bytes(
        (folder / "runs" / "traditional-2.run").read_bytes()
    )
    done = run_posbias("pool", "verdict", "new.run", "qrels.txt", "--pool-runs", "runs")
    assert (done.returncode, done.stdout) == (2, "")
    assert "runs: wanted a folder of runs in TREC form, one file each" in done.stderr
