"""``posbias train``: a checkpoint from a collection and candidates, resumed, refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.models.checkpoint import load_checkpoint
from positionbias.models.identity import model_checksum
from positionbias.training.state import unfinished
from tests.commands import posbias

from ..tiny import tiny_encoder

SMALL = (
    *(part for setting in ("dimension=8", "layers=1", "heads=2", "head_size=3", "feed_forward=6",
    "threads=1", "max_steps=4", "validate_every=2", "probe_passages=20", "learning_rate=0.05")
    for part in ("--set", setting)), "--batch-size", 8,
)  # fmt: skip


@pytest.fixture
def train(collection, runs, capsys):
    def run(*arguments, **changes):
        options = {
            "--candidates": runs["train"],
            "--validation-candidates": runs["validation"],
            **changes,
        }
        pairs = [part for option in options.items() for part in option]
        return posbias(capsys, "train", "tk", collection.path, *pairs, *SMALL, *arguments)

    return run


def test_remedies_in_training(train, tmp_path):
    code, _, err = train(
        "--out",
        tmp_path / "tk.ckpt",
        "--set",
        "shuffle_at_reading=true",
        "--set",
        "consistency=0.1",
        "--set",
        "offset_positions=20",
    )
    assert code == 0, err
    settings = load_checkpoint(tmp_path / "tk.ckpt").manifest.settings
    assert settings["training"]["offset_positions"] == 20
    assert settings["training"]["consistency"] == 0.1
    code, _, err = train(
        "--out", tmp_path / "none.ckpt", "--set", "positions=none", "--set", "offset_positions=5"
    )
    assert (
        code,
        err.startswith(
            "posbias: offset_positions: wanted a model with absolute positions; found tk"
        ),
    ) == (2, True)
    assert not (tmp_path / "none.ckpt").exists()


def test_a_checkpoint(train, tmp_path):
    code, _, err = train("--out", tmp_path / "tk.ckpt", "--seed", 3)
    assert code == 0, err
    checkpoint = load_checkpoint(tmp_path / "tk.ckpt")
    assert (checkpoint.manifest.seed, checkpoint.model.config.head_size) == (3, 3)
    lines = err.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["step", "0"], ["step", "2"], ["step", "4"]]
    assert "loss" not in lines[0]
    assert "nDCG@10 0." in lines[0]
    assert "MATS" in lines[1]
    assert (
        "30 training groups; left out: 0 without a candidate to set against them, 0 whose "
        "passage is not in the collection"
    ) in err
    assert f"next: posbias rerank --model {tmp_path / 'tk.ckpt'}" in err


def test_resumed(train, tmp_path, monkeypatch):
    from positionbias.training import train as command

    assert train("--out", tmp_path / "whole" / "tk.ckpt")[0] == 0
    out = tmp_path / "stopped" / "tk.ckpt"

    def stop(row):
        if row["step"] == 4:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(command, "_say_row", stop)
        code, _, err = train("--out", out)
    assert code == 130
    assert err.splitlines() == [
        "posbias: stopped; nothing half-written was left under a final name"
    ]
    assert not out.exists()
    assert unfinished(out) is not None
    code, _, err = train("--out", out)
    assert (code, err.count("\n")) == (2, 1)
    assert "continue it with --resume" in err
    code, _, err = train("--out", out, "--resume", "--set", "learning_rate=0.01")
    assert (code, err.count("\n")) == (2, 1)
    assert "(training.learning_rate = 0.05); found training.learning_rate = 0.01" in err
    code, _, err = train("--out", out, "--resume")
    assert code == 0
    assert "step 0" not in err
    weights = [
        (tmp_path / name / "tk.ckpt" / "model.safetensors").read_bytes()
        for name in ("whole", "stopped")
    ]
    assert weights[0] == weights[1]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--resume",), "wanted a training to resume; found none"),
        (("--batch-size", 0), "'--batch-size': 0 is not in the range x>=1"),
        (("--set", "dimension=7"), "dimension: wanted an even number"),
        (("--set", "precision=int4"), "precision: 'int4' is not one of"),
        (
            ("--set", "start=."),
            "dimension: wanted no shape beside start, which has its own; found 8; leave it out",
        ),
        (("--set", "split=dev"), "wanted split 'dev'; found train, validation, test"),
        (
            ("--word-vectors", "none.txt"),
            "--word-vectors: wanted a path to read; found nothing at none.txt",
        ),
    ],
)
def test_one_clear_line(train, tmp_path, arguments, complaint):
    before = sorted(tmp_path.iterdir())
    code, out, err = train(*arguments, "--out", tmp_path / "tk.ckpt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert sorted(tmp_path.iterdir()) == before


def test_candidates_of_another_collection(train, tmp_path):
    (tmp_path / "alien.run").write_text("q1 Q0 nowhere 1 1.0 bm25\n")
    code, out, err = train(
        "--out", tmp_path / "tk.ckpt", **{"--candidates": tmp_path / "alien.run"}
    )
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "wanted passage 'nowhere' in the collection" in err
    (tmp_path / "broken.run").write_text("q1 Q0 p 1 1.0\n")
    code, _, err = train("--out", tmp_path / "tk.ckpt", **{"--candidates": tmp_path / "broken.run"})
    assert (code, err.count("\n")) == (2, 1)
    assert "broken.run:1: wanted six columns" in err


# -- over an encoder -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_encoder(tmp_path_factory.mktemp("train") / "encoder")


@pytest.fixture
def over_encoder(collection, runs, capsys):
    def run(kind, *arguments):
        options = (
            "--candidates",
            runs["train"],
            "--validation-candidates",
            runs["validation"],
            "--set",
            "threads=1",
        )
        steps = (
            "--set",
            "max_steps=4",
            "--set",
            "validate_every=2",
            "--batch-size",
            4,
            "--set",
            "learning_rate=1e-3",
        )
        return posbias(capsys, "train", kind, collection.path, *options, *steps, *arguments)

    return run


@pytest.mark.parametrize(
    ("kind", "length"),
    [("bert_cat", "pair_length"), ("colbert", "dimension")],
)
def test_over_an_encoder(over_encoder, encoder, tmp_path, kind, length):
    out = tmp_path / "m.ckpt"
    code, _, err = over_encoder(
        kind,
        "--encoder",
        encoder,
        "--set",
        f"{length}=100",
        "--set",
        "accumulate=2",
        "--set",
        "tracker=tensorboard",
        "--out",
        out,
    )
    assert code == 0, err
    lines = err.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [["step", "0"], ["step", "2"], ["step", "4"]]
    assert all(
        part in lines[1] for part in ("loss ", "pair accuracy ", "margin ", "nDCG@10 0.", "pairs/s")
    )
    assert "MATS" not in err
    checkpoint = load_checkpoint(out)
    assert (checkpoint.manifest.command, checkpoint.model.kind) == (f"train {kind}", kind)
    assert checkpoint.manifest.settings["model"][length] == 100
    assert checkpoint.manifest.settings["encoder"] == {
        "name": "encoder",
        "checksum": model_checksum(encoder),
    }
    EventAccumulator = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator"
    ).EventAccumulator
    (events,) = (tmp_path / "tensorboard" / "m").iterdir()
    found = EventAccumulator(str(events)).Reload()
    assert [(event.step, event.value) for event in found.Scalars("ndcg")] == [
        (row["step"], pytest.approx(row["ndcg"])) for row in checkpoint.training.log
    ]
    assert {"loss", "pair_accuracy", "learning_rate"} < set(found.Tags()["scalars"])


# -- other losses, and no validation ---------------------------------------------------------------


@pytest.fixture
def unvalidated(collection, runs, capsys):
    def run(kind, *arguments):
        settings = (
            "--candidates",
            runs["train"],
            "--set",
            "threads=1",
            "--batch-size",
            8,
            "--set",
            "learning_rate=1e-3",
        )
        return posbias(capsys, "train", kind, collection.path, *settings, *arguments)

    return run


@pytest.mark.parametrize(
    ("kind", "arguments", "complaint"),
    [
        (
            "tk",
            ("--loss", "pointwise"),
            (
                "--loss: wanted hinge, lce, margin_mse, kl, ranknet: this tk has no head for "
                "relevant and not relevant; found pointwise"
            ),
        ),
        (
            "mono_t5",
            ("--loss", "hinge"),
            "--loss: wanted pointwise: this mono_t5 scores by log-probability; found hinge",
        ),
        (
            "tk",
            ("--epochs", 2, "--set", "max_steps=9"),
            "--epochs, max_steps: wanted one of the two; found 2 and 9; give one",
        ),
        ("mono_t5", (), "t5-base: wanted a folder, or the id of a model"),
    ],
)
def test_what_does_not_go_together(unvalidated, tmp_path, kind, arguments, complaint):
    code, out, err = unvalidated(kind, *arguments, "--out", tmp_path / "m.ckpt")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert complaint in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("flag", "value", "complaint"),
    [
        (
            "--validation-candidates",
            "gone.run",
            "--validation-candidates: wanted a path to read; found nothing at gone.run",
        ),
        ("--set", "validation_split=text", "found train, validation, test; did you mean test?"),
    ],
)
def test_what_is_not_there_is_named_with_its_flag(train, tmp_path, flag, value, complaint):
    code, _, err = train("--out", tmp_path / "x.ckpt", **{flag: value})
    assert (code, err.count("\n")) == (2, 1), err
    assert complaint in err


def test_a_model_that_no_memory_holds_is_one_line(train, tmp_path):
    code, _, err = train(
        "--set", f"heads={10**9}", "--set", f"head_size={10**9}", "--out", tmp_path / "x.ckpt"
    )
    assert code == 2, err
    assert "wanted more memory; found: " in err.splitlines()[-1]
