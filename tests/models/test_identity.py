"""What a model is known by: all that it computes with, and nothing that says where or by whom it
was saved.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import InputError
from positionbias.core.manifest import Manifest
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import load_checkpoint, save_checkpoint
from positionbias.models.encoder import load_encoder
from positionbias.models.identity import model_checksum
from positionbias.models.shapes import BertDotConfig
from tests.sealing import reseal

from ..tiny import tiny_encoder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    model = BertDot(
        BertDotConfig(query_length=6, passage_length=12),
        load_encoder(tiny_encoder(folder / "encoder")),
    )
    manifest = Manifest(kind="checkpoint", name="dot", command="a test")
    save_checkpoint(folder / "dot.ckpt", model, depth=3, training={"log": []}, manifest=manifest)
    return folder / "dot.ckpt"


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "elsewhere" / "copy"))


def change(file: str, how: Callable[[Any], object]) -> Callable[[Path], object]:
    def changed(place: Path) -> None:
        record = json.loads((place / file).read_text())
        how(record)
        (place / file).write_text(json.dumps(record))

    return changed


def reverse_vocabulary(record: Any) -> None:
    """The numbers of all pieces that are not special, in the other order."""
    known = record["model"]["vocab"]
    words = [piece for piece in known if not piece.startswith("[")]
    numbers = [known[word] for word in words]
    known.update(zip(words, numbers[::-1], strict=True))


def beside(name: str) -> Callable[[Path], object]:
    def wrote(place: Path) -> None:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text("{}")

    return wrote


SAME: dict[str, Callable[[Path], object]] = {
    "a copy": lambda p: None,
    "who saved it": change("config.json",
    lambda c: c.update(_name_or_path="/a/b", transformers_version="1.2.3")),
    "deeper": change("config_sentence_transformers.json",
    lambda c: c.update({"__version__": {"transformers": "1.2.3"}})),
    "where the tokenizer was": change("tokenizer_config.json",
    lambda c: c.update(name_or_path="/a", is_local=True)),
    "what each call sets": change("tokenizer.json",
    lambda c: c.update(truncation={"max_length": 3}, padding={"length": 3})),
    "another form": lambda p: (p / "config.json").write_text(
    json.dumps(json.loads((p / "config.json").read_text()), indent=7)),
    "its depth": change("posbias.json", lambda c: c.update(depth=9)),
    "its log": lambda p: (p / "training.json").write_text("{}"),
    "a card": beside("README.md"),
    "figures": beside("eval_results.json"),
    "another copy": beside("onnx/model.safetensors"),
    "a save on the way": beside("checkpoint-500/config.json"),
}  # fmt: skip
OTHER: dict[str, Callable[[Path], object]] = {
    "activation": change("config.json", lambda c: c.update(hidden_act="relu")),
    "vocabulary": change("tokenizer.json", lambda c: reverse_vocabulary(c)),
    "length": change("tokenizer_config.json", lambda c: c.update(model_max_length=9)),
    "pooling": change("1_Pooling/config.json", lambda c: c.update(pooling_mode="mean")),
    "shape": change("posbias.json", lambda c: c["shape"].update(passage_length=11)),
    "weights": lambda p: (p / "model.safetensors").write_bytes(
    (p / "model.safetensors").read_bytes()[:-1] + b"\x01"),
    "a module of other form": beside("3_Dense/pytorch_model.bin"),
}  # fmt: skip


@pytest.mark.parametrize("what", SAME)
def test_what_a_model_does_not_compute_with_changes_nothing(
    made: Path, place: Path, what: str
) -> None:
    SAME[what](place)
    assert model_checksum(place) == model_checksum(made)


@pytest.mark.parametrize("what", OTHER)
def test_what_a_model_computes_with_makes_it_another(made: Path, place: Path, what: str) -> None:
    OTHER[what](place)
    reseal(place)
    assert model_checksum(place) != model_checksum(made)
    with pytest.raises(
        InputError,
        match="wanted the weights, settings and words that manifest.json names; found other",
    ):
        load_checkpoint(place)


def test_a_folder_of_a_list_of_modules_is_of_the_model(made: Path, place: Path) -> None:
    record = json.loads((made / "modules.json").read_text())
    change("modules.json", lambda c: c[1].update(path="pooling"))(place)
    assert record[1]["path"] == "1_Pooling"
    before = model_checksum(place)
    beside("pooling/config.json")(place)
    assert model_checksum(place) != before
