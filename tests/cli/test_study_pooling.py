"""``posbias study pooling`` as a user runs it: the study and its report, published cells,
bad input in one line.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.qrels import Qrels
from positionbias.core.run import Run
from positionbias.papers.pooling.study import TOPICS
from tests.pooling.simulated import Simulation, simulated_qrels, simulated_runs

from .conftest import RunPosbias

SIMULATION = Simulation(queries=43, groups=2)
TASK = ("--task", "docs", "runs", "qrels.txt", "systems.tsv")
SMALL = ("--pools", 2, "-m", "RR")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four simulated runs that have the track's topics and its documents' form of names."""
    topics = dict(enumerate(sorted(TOPICS)))

    def document(name: str) -> str:
        what, _, number = name.partition("-")
        return f"D{['common', 'hidden', 'other'].index(what)}{number}"

    lines = ["run\tgroup\tkind"]
    for system, run in simulated_runs(SIMULATION):
        rankings = [
            (topics[int(r.query_id)], [document(p) for p in r.passage_ids], list(r.scores))
            for r in run.rankings()
        ]
        Run(system.run, rankings).save(tmp_path / "runs" / f"{system.run}.run")
        lines.append("\t".join(system))
    (tmp_path / "systems.tsv").write_text("\n".join(lines) + "\n")
    qrels = simulated_qrels(SIMULATION)
    Qrels(
        [
            q._replace(query_id=topics[int(q.query_id)], passage_id=document(q.passage_id))
            for q in qrels
        ]
    ).save(tmp_path / "qrels.txt")
    return tmp_path


def test_the_study(run_posbias: RunPosbias, folder: Path) -> None:
    done = run_posbias("study", "pooling", *TASK, *SMALL, "--out", "./study")
    assert done.returncode == 0, done.stderr
    assert "Kendall's τ by pools and test systems" in done.stdout
    assert "Published: On the Reliability of Test Collections" in done.stdout
    assert "−0.190" in done.stdout  # Table 1, traditional pools, MRR, all
    assert "Cannot tell whether pools of one kind judge the other" in done.stdout
    page = (folder / "study" / "report.html").read_text("utf-8")
    assert '<section id="pool-order"' in page
    assert (folder / "study" / "tables" / "pool-order.csv").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*TASK, *TASK), "--task: wanted at least one, each name once; found docs, docs"),
        (
            ("--task", "docs", "./nowhere", *TASK[3:]),
            "nowhere: wanted a folder of runs in TREC form, one file each; found 0 runs",
        ),
    ],
    ids=[
        "twice",
        "runs",
    ],
)
def test_bad_input_is_one_line(
    run_posbias: RunPosbias, folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = run_posbias("study", "pooling", *arguments, "--out", "./study")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith(f"posbias: {message}")
    assert not (folder / "study").exists()
