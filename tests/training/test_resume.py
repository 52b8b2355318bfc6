"""A training stopped at any moment and resumed ends as if it had never been stopped, bit for
bit.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from positionbias.core.errors import InputError, OutputExistsError
from positionbias.models.checkpoint import Checkpoint
from positionbias.models.tensors import load_tensors, save_tensors
from positionbias.positions.rotate import Rotation
from positionbias.training import loop
from positionbias.training.state import load_best, unfinished, working_folder
from tests.forked import forked
from tests.sealing import reseal

from .conftest import Task, stop_at

FILES = ("posbias.json", "vocabulary.json", "training.json")
# 3 steps: 5, 5 and 2 batches of 8 pairs
UNVALIDATED = {"validation_candidates": None, "epochs": 3, "accumulate": 5}
EVERYTHING = {
    "accumulate": 2,
    "warmup_steps": 3,
    "bucket": 3,
    "clip": 0.5,
    "rotate": Rotation(seed=1),
    "batch_size": 4,
}
CHANGES: dict[str, dict] = {
    "everything": EVERYTHING,
    "unvalidated": UNVALIDATED,
}


def assert_alike(one: Checkpoint, other: Checkpoint) -> None:
    weights = [path.relative_to(one.path).as_posix() for path in one.path.rglob("*.safetensors")]
    assert weights
    for name in [*weights, *(name for name in FILES if (one.path / name).exists())]:
        assert (one.path / name).read_bytes() == (other.path / name).read_bytes(), name
    records = [checkpoint.manifest.comparable() for checkpoint in (one, other)]
    for record in records:
        # paths are relative to the folder
        record["inputs"] = [(item["role"], item["checksum"]) for item in record["inputs"]]
    assert records[0] == records[1]
    assert not working_folder(other.path).exists()


def test_stopped_at_validations_and_resumed(
    task: Task, uninterrupted: Checkpoint, tmp_path: Path
) -> None:
    out, resume = tmp_path / "tk.ckpt", False
    for step in (2, 4, 6):
        with pytest.raises(KeyboardInterrupt):
            task.train(out, resume=resume, on_validation=stop_at(step))
        assert not out.exists()
        resume = True
    assert_alike(uninterrupted, task.train(out, resume=True))


KILLED = """
import os, signal, sys
from pathlib import Path
from positionbias.core.collection import Collection
from positionbias.training.trainer import Trainer
from tests.training.conftest import Task
from tests.training.test_resume import CHANGES

collection, folder, out, encoder, t5 = map(Path, sys.argv[1:6])
kind, changes, save_every, at = sys.argv[6], CHANGES[sys.argv[7]], int(sys.argv[8]), \
int(sys.argv[9])
task = Task(Collection(collection), {split: folder / f"{split}.run" for split in ("train", \
"validation", "test")}, encoder, t5)
step = Trainer.step

def killed(self, parts):
    if self.record.step == at:  # in the middle of the step after this one: its batches are read, \
nothing of it is computed
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, parts)

Trainer.step = killed
task.train(out, task.plan(kind, save_every=save_every, **changes))
"""


@pytest.mark.parametrize(
    ("kind", "changed", "save_every", "at", "left"),
    [
        (
            "tk",
            "everything",
            1,
            3,
            3,
            # saved at every step: between two validations, inside an accumulation's window, in a
            # warm-up
        ),
        ("tk", "unvalidated", 0, 2, 2),  # back to the last look at the loss
    ],
)
def test_killed_and_resumed(
    task: Task, tmp_path: Path, kind: str, changed: str, save_every: int, at: int, left: int
) -> None:
    whole = task.train(tmp_path / "whole" / "m.ckpt", task.plan(kind, **CHANGES[changed]))
    out, folder = tmp_path / "cut" / "m.ckpt", task.runs["train"].parent
    arguments = [
        task.collection.path,
        folder,
        out,
        task.encoder,
        task.t5,
        kind,
        changed,
        save_every,
        at,
    ]
    done = forked(arguments, Path(__file__).parents[2], os.environ, KILLED)
    assert done.returncode == -9, done.stderr
    found = unfinished(out)
    assert found is not None
    assert found.name == f"state-{left:08d}"
    # saving between validations is no setting: the rest may go another way
    plan = task.plan(kind, **CHANGES[changed])
    assert_alike(whole, task.train(out, plan, resume=True))


@pytest.mark.parametrize("step", [0, 4])
def test_killed_between_the_best_weights_and_the_state(
    task: Task,
    uninterrupted: Checkpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
) -> None:
    # validation is done and better weights are kept, but the state that names them is not yet
    # written
    def stopped(folder, model, optimizers, scaler, record):
        if record["step"] == step:
            raise KeyboardInterrupt
        save_state(folder, model, optimizers, scaler, record)

    save_state = loop.save_state
    out = tmp_path / "tk.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(loop, "save_state", stopped)
        with pytest.raises(KeyboardInterrupt):
            task.train(out)
    found = unfinished(out)
    if step == 0:  # nothing to continue from, and so nothing in the way of beginning anew
        assert found is None
        assert_alike(uninterrupted, task.train(out))
    else:
        assert found is not None
        state = json.loads((found / "state.json").read_text())
        assert (working_folder(out) / f"best-{state['record']['best_step']:08d}").is_dir()
        assert_alike(uninterrupted, task.train(out, resume=True))


def test_only_the_last_state_and_its_best_weights_are_kept(task: Task, tmp_path: Path) -> None:
    out = tmp_path / "tk.ckpt"
    with pytest.raises(KeyboardInterrupt):
        task.train(out, on_validation=stop_at(6))
    state = json.loads((working_folder(out) / "state-00000004" / "state.json").read_text())
    kept = sorted(item.name for item in working_folder(out).iterdir())
    assert kept == [f"best-{state['record']['best_step']:08d}", "log.jsonl", "state-00000004"]


# -- what cannot be resumed ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def stopped_once(task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stopped") / "tk.ckpt"
    with pytest.raises(KeyboardInterrupt):
        task.train(out, on_validation=stop_at(4))
    return out


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Path:
    """Where a training stopped at its second validation was going."""
    out = tmp_path / "tk.ckpt"
    shutil.copytree(working_folder(stopped_once), working_folder(out))
    return out


@pytest.mark.parametrize(
    ("changes", "named", "before", "now"),
    [
        ({"learning_rate": 0.5}, "training.learning_rate", "0.1", "0.5"),
        ({"rotate": Rotation(seed=1)}, "rotate.identity", "None", "True"),
    ],
)
def test_other_settings_are_named(
    task: Task, stopped: Path, changes: dict, named: str, before: str, now: str
) -> None:
    with pytest.raises(InputError) as stop:
        task.train(stopped, task.plan(**changes), resume=True)
    assert str(stop.value) == (
        f"{working_folder(stopped)}: wanted the settings it began with ({named} = {before}); found "
        f"{named} = {now}; resume with the same, or remove the folder to start over"
    )


def test_an_unfinished_training_is_not_begun_anew_unasked(task: Task, stopped: Path) -> None:
    with pytest.raises(
        OutputExistsError,
        match="wanted no unfinished training here; found one; continue it with --resume, or",
    ):
        task.train(stopped)
    with pytest.raises(OutputExistsError, match="--resume"):
        task.train(stopped, overwrite=True)  # replaces a checkpoint, not a training


def damaged(state: Path, change) -> None:
    record = json.loads((state / "state.json").read_text())
    change(record)
    (state / "state.json").write_text(json.dumps(record))


def renamed(state: Path, name: str, to: str) -> None:
    tensors = load_tensors(state / "optimizers.safetensors")
    save_tensors(
        state / "optimizers.safetensors",
        {to if each == name else each: tensor for each, tensor in tensors.items()},
    )


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (
            lambda s: damaged(s, lambda r: r["record"].update(colour=1)),
            "wanted fields as posbias writes them; found the unknown field `colour`",
        ),
        (
            lambda s: renamed(s, "0.0.step", "0.999.step"),
            "optimizers.safetensors: wanted the state of this training's optimisers",
        ),
        (
            lambda s: (s / "model.safetensors").write_bytes(b"x"),
            "model.safetensors: wanted a safetensors file",
        ),
    ],
)
def test_a_damaged_state_is_one_line(task: Task, stopped: Path, damage, complaint: str) -> None:
    damage(unfinished(stopped))
    reseal(unfinished(stopped))
    with pytest.raises(InputError, match=complaint) as stop:
        task.train(stopped, resume=True)
    assert "\n" not in str(stop.value)


def test_weights_of_another_moment_are_not_gone_on_from(task: Task, stopped: Path) -> None:
    path = unfinished(stopped) / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        InputError, match="model.safetensors: wanted the content that its manifest names"
    ):
        task.train(stopped, resume=True)


def test_best_weights_that_nothing_vouches_for_are_not_taken(task: Task, stopped: Path) -> None:
    for best in working_folder(stopped).glob("best-*"):
        (best / "manifest.json").unlink()
    with pytest.raises(InputError, match="wanted a posbias training-state; found no manifest.json"):
        load_best(
            working_folder(stopped),
            task.train(stopped.with_name("x"), task.plan(max_steps=1)).ranker,
            0,
        )


def test_a_training_never_works_through_a_link(task: Task, tmp_path: Path) -> None:
    out, elsewhere = tmp_path / "tk.ckpt", tmp_path / "elsewhere"
    elsewhere.mkdir()
    working_folder(out).symlink_to(elsewhere)
    with pytest.raises(InputError, match="wanted a folder; found a link; remove it"):
        task.train(out, task.plan(max_steps=1))
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize(
    "inside",
    [
        "state.json",
    ],
)
def test_a_training_is_not_resumed_from_a_link(
    task: Task, stopped: Path, tmp_path: Path, inside: str
) -> None:
    state = unfinished(stopped)
    assert state is not None
    place, elsewhere = state / inside, tmp_path / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    with pytest.raises(
        InputError,
        match=f"{place.name}: wanted a {'file' if inside else 'folder'}; found a link; remove it",
    ):
        task.train(stopped, resume=True)


def test_nothing_to_resume(task: Task, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match="wanted a training to resume; found none; start it without --resume"
    ):
        task.train(tmp_path / "tk.ckpt", resume=True)
