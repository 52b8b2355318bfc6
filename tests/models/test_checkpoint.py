"""A checkpoint comes back as it was; whatever is wrong with one is one clear line; nothing in it
can run.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import positionbias
from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.protocols import pad_rows
from tests.forked import forked
from tests.sealing import reseal

from ..tiny import tiny_tk

TEXTS = [
    "the lamp of orvell burns green oil",
    "the iron gate of orvell burns",
    "green oil in the iron lamp",
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    manifest = Manifest(
        kind="checkpoint",
        name="tk",
        command="train tk",
        content={"steps": 7, "checksum": "of something else"},
    )
    save_checkpoint(
        tmp_path / "tk.ckpt",
        tiny_tk(TEXTS),
        depth=7,
        training={"log": [{"step": 0}]},
        manifest=manifest,
    )
    return tmp_path / "tk.ckpt"


def test_round_trip(place: Path) -> None:
    model, loaded = tiny_tk(TEXTS), load_checkpoint(place)
    assert (loaded.name, loaded.depth, loaded.training.log, loaded.path) == (
        "tk",
        7,
        [{"step": 0}],
        place,
    )
    assert loaded.model.config == model.config
    assert loaded.model.vocabulary.words == model.vocabulary.words
    assert not loaded.model.training
    queries, passages = (
        pad_rows(model.read_queries(TEXTS)),
        pad_rows(model.read_passages(TEXTS[::-1])),
    )
    with torch.no_grad():
        # to the last bit
        assert loaded.model(queries, passages).tolist() == model(queries, passages).tolist()
    assert sorted(item.name for item in place.iterdir()) == [
        "README.md", "manifest.json", "model.safetensors", "posbias.json", "training.json",
        "vocabulary.json",
    ]  # fmt: skip


def tensors(place: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    found = load_file(place / "model.safetensors")
    change(found)
    save_file(found, place / "model.safetensors")


def record(place: Path, name: str, change: Callable[[dict], object]) -> None:
    found = json.loads((place / name).read_text())
    change(found)
    (place / name).write_text(json.dumps(found))


def cut(place: Path, name: str) -> None:
    data = (place / name).read_bytes()
    (place / name).write_bytes(data[: len(data) // 2])


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "missing tensor": (
        lambda p: tensors(p, lambda t: t.pop("gate")),
        (
            r"model.safetensors: wanted the tensor gate; found none of this name; train again, or "
            r"fetch the checkpoint again"
        ),
    ),
    "extra tensor": (
        lambda p: tensors(p, lambda t: t.update(more=torch.zeros(1))),
        "wanted the model's own tensors only; found also more",
    ),
    "wrong shape": (
        lambda p: tensors(p, lambda t: t.update({"pooling.scale": torch.ones(10)})),
        r"wanted pooling.scale of shape \(11,\); found shape \(10,\)",
    ),
    "other weights": (
        lambda p: tensors(p, lambda t: t["gate"].add_(1)),
        "wanted the weights, settings and words that manifest.json names; found other content",
    ),
    "weights cut short": (
        lambda p: cut(p, "model.safetensors"),
        "model.safetensors: wanted a safetensors file; found ",
    ),
    "no weights": (
        lambda p: (p / "model.safetensors").unlink(),
        "model.safetensors: wanted a safetensors file; found no such file",
    ),
    "another kind of model": (
        lambda p: record(p, "posbias.json", lambda c: c.update(kind="abacus")),
        (
            "posbias.json: wanted a checkpoint's facts; found model: wanted one of tk, .*; found "
            "'abacus'"
        ),
    ),
    "an unknown setting": (
        lambda p: record(p, "posbias.json", lambda c: c["shape"].update(colour=1)),
        "posbias.json: wanted fields .*; found the unknown field `colour`",
    ),
    "a length beyond all memory": (
        lambda p: record(p, "posbias.json", lambda c: c["shape"].update(passage_length=10**30)),
        "posbias.json: wanted .*; found ",
    ),
    "depth 0": (
        lambda p: record(p, "posbias.json", lambda c: c.update(depth=0)),
        "found a re-ranking depth of 0",
    ),
    "configuration cut short": (
        lambda p: cut(p, "posbias.json"),
        r"posbias.json:\d+: wanted a checkpoint's facts; found .* at column",
    ),
    "other words": (
        lambda p: (p / "vocabulary.json").write_text('["lamp"]'),
        r"wanted embedding.weight of shape \(3, 8\); found shape \(\d+, 8\)",
    ),
    "no manifest": (
        lambda p: (p / "manifest.json").unlink(),
        "wanted a posbias checkpoint; found no manifest.json",
    ),
    "the manifest of a run": (
        lambda p: record(p, "manifest.json", lambda m: m.update(kind="run")),
        "wanted a posbias checkpoint; found a run",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_one_clear_line(place: Path, fault: str) -> None:
    damage, complaint = FAULTS[fault]
    damage(place)
    reseal(place)
    with pytest.raises(InputError, match=complaint) as stop:
        load_checkpoint(place)
    assert "\n" not in str(stop.value)


FULL_DISK = """
import resource, sys
from pathlib import Path
import torch
from positionbias.core.errors import StorageError
from positionbias.core.manifest import Manifest
from positionbias.models.checkpoint import save_checkpoint
from positionbias.models.tk import TK
from positionbias.models.shapes import TKConfig
from positionbias.text.vocabulary import Vocabulary

model = TK(TKConfig(dimension=64), Vocabulary([f"w{i}" for i in range(2000)]))  # half a megabyte \
and more
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))  # refused as on a full disk, with \
EFBIG for ENOSPC
try:
    save_checkpoint(Path(sys.argv[1]), model, depth=1, training={}, manifest=Manifest("checkpoint",\
 "tk", "train tk"))
except StorageError as error:
    print(error)
"""


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    place = tmp_path / "full" / "tk.ckpt"
    done = forked([place], tmp_path, os.environ, FULL_DISK)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert "tk.ckpt/model.safetensors: wanted to write here; found: " in line
    assert "partial" not in line
    assert "free some space" in line
    assert list(place.parent.iterdir()) == []


def test_nothing_is_unpickled() -> None:
    package = Path(positionbias.__file__).parent
    # between two processes of one command, by a pipe that has no name
    messages = package / "engine" / "ray_driver.py"
    for path in {*package.rglob("*.py")} - {messages}:
        text = path.read_text(encoding="utf-8")
        assert "allow_pickle" not in text, path
        if not re.search(r"pickle|dill|joblib|shelve|marshal|torch", text):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import):
                names = {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {
                    node.module or "",
                    *(f"{node.module}.{alias.name}" for alias in node.names),
                }
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names = {f"{node.value.id}.{node.attr}"}
            else:
                continue
            roots = {name.split(".")[0] for name in names}
            assert not roots & {
                "pickle",
                "cPickle",
                "dill",
                "cloudpickle",
                "joblib",
                "shelve",
                "marshal",
            }, (path, names)
            assert not names & {"torch.load", "torch.save", "torch.jit.load"}, (path, names)
