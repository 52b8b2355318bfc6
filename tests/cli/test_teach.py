"""``posbias model teach``: scores by a model and out of a file, what options go together, and a
student of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.groups import TrainingGroup, write_groups
from positionbias.core.manifest import Manifest
from positionbias.core.run import Run
from positionbias.ranking.teacher_scores import open_teacher_scores

from ..tiny import saved_tk

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run_path(runs: dict[str, Path]) -> Path:
    return runs["train"]


@pytest.fixture(scope="module")
def model(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_tk(tmp_path_factory.mktemp("teach") / "tk.ckpt", collection)


def test_a_model_teaches(
    posbias: Command, collection: Collection, run_path: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scores"
    code, printed, err = posbias(
        "model",
        "teach",
        collection.path,
        "--model",
        model,
        "--candidates",
        run_path,
        "--depth",
        4,
        "--out",
        out,
    )
    assert code == 0, err
    teacher, run = open_teacher_scores(out), Run.from_file(run_path)
    relevant = [q for q in collection.qrels("train") if q.grade]
    added = sum(q.passage_id not in run[q.query_id].passage_ids[:4] for q in relevant)
    assert f"{len(run)} queries, {4 * len(run) + added} pairs, " in printed
    assert ("relevant passages added" in printed) == (added > 0)
    assert all(len(teacher.scores(q.query_id, [q.passage_id])) == 1 for q in relevant)
    assert (
        f"written to {out}; next: posbias train bert_dot {collection.path} --loss margin_mse "
        f"--teacher-scores {out}"
    ) in err
    code, _, err = posbias(
        "model", "teach", collection.path, "--model", model, "--candidates", run_path, "--out", out
    )
    assert (code, "give another --out, or --overwrite" in err) == (2, True)


def test_a_training_set_is_scored_alone(
    posbias: Command, collection: Collection, model: Path, tmp_path: Path
) -> None:
    pairs = [(q.query_id, q.passage_id) for q in collection.qrels("train") if q.grade][:3]
    groups = [
        TrainingGroup(query_id, (passage_id, pairs[n - 1][1]), (1, 0))
        for n, (query_id, passage_id) in enumerate(pairs)
    ]
    (tmp_path / "set").mkdir()
    write_groups(
        tmp_path / "set", list, [groups], Manifest("trainset", "set", "a test"), splits=("train",)
    )
    asked = ("--model", model, "--trainset", tmp_path / "set", "--out", tmp_path / "scores")
    code, printed, err = posbias("model", "teach", collection.path, *asked)
    assert code == 0, err
    assert "3 queries, 6 pairs, 3 training groups, " in printed


def test_an_order_from_outside_and_its_student(
    posbias: Command, collection: Collection, run_path: Path, tmp_path: Path
) -> None:
    scores = tmp_path / "scores"
    code, _, err = posbias(
        "model", "teach", collection.path, "--scores", run_path, "--order-only", "--out", scores
    )
    assert code == 0, err
    assert "--loss ranknet" in err
    run = Run.from_file(run_path)
    table = tmp_path / "positives.tsv"  # a positive that the run lacks is a pair without a score
    told = {
        r.query_id: dict(zip(r.passage_ids, r.scores.tolist(), strict=True)) for r in run.rankings()
    }
    for qrel in collection.qrels("train"):
        told[qrel.query_id].setdefault(qrel.passage_id, 99.0)
    table.write_text(
        "".join(f"{q}\t{p}\t{score!r}\n" for q, own in told.items() for p, score in own.items())
    )
    asked = ("--scores", table, "--order-only", "--out", scores, "--overwrite")
    assert posbias("model", "teach", collection.path, *asked)[0] == 0
    small = (
        "--set",
        "dimension=8",
        "--set",
        "layers=1",
        "--set",
        "heads=2",
        "--set",
        "head_size=3",
        "--set",
        "feed_forward=6",
        "--set",
        "threads=1",
    )
    student = (
        "train",
        "tk",
        collection.path,
        "--teacher-scores",
        scores,
        "--set",
        "max_steps=2",
        "--set",
        "group_size=3",
        *small,
    )
    code, _, err = posbias(*student, "--loss", "kl", "--out", tmp_path / "kl.ckpt")
    assert (code, "--loss: wanted ranknet" in err) == (2, True), err
    code, _, err = posbias(*student, "--loss", "ranknet", "--out", tmp_path / "tk.ckpt")
    assert code == 0, err
    assert "training groups" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--model, --scores: wanted one of the two; found neither; give one"),
        (
            {"--model": "m", "--candidates": "r", "--trainset": "t"},
            "--candidates, --trainset: wanted one of the two; found both",
        ),
        ({"--scores": "s", "--depth": 3}, "--depth: wanted none beside --scores"),
        (
            {"--model": "m", "--candidates": "r", "--order-only": None},
            "--order-only: wanted none beside --model",
        ),
    ],
    ids=[
        "no teacher",
        "two sources",
        "own depth",
        "an order of a model",
    ],
)
def test_options_that_do_not_go_together(
    posbias: Command,
    collection: Collection,
    tmp_path: Path,
    options: dict[str, object],
    message: str,
) -> None:
    given = [part for option in options.items() for part in option if part is not None]
    code, _, err = posbias("model", "teach", collection.path, *given, "--out", tmp_path / "scores")
    assert code == 2
    assert message in err
    assert not (tmp_path / "scores").exists()
