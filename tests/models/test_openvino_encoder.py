"""Encoders run by OpenVINO give the model's states up to bfloat16, and the packed form is used
where it is not installed.
"""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from positionbias.models import inference, openvino_encoder
from positionbias.models.encoder import open_encoder
from positionbias.models.inference import inference_form
from positionbias.models.openvino_encoder import OpenVINOEncoder
from positionbias.models.packed import PackedEncoder

from .encoders import ARCHITECTURES, saved

PACKED = [name for name in ARCHITECTURES if name not in ("modernbert", "mpnet")]
TEXTS = [
    "green oil in the hall",
    "a stone",
    "",
    "water and iron and stone of the green gate in the hall",
]
installed = pytest.mark.skipif(
    find_spec("openvino") is None, reason="needs pip install 'positionbias[openvino]'"
)


def half() -> Any:
    return torch.autocast("cpu", dtype=torch.bfloat16)


@installed
@pytest.mark.parametrize("architecture", PACKED)
def test_states_are_those_of_the_model(tmp_path: Path, architecture: str) -> None:
    encoder = open_encoder(saved(architecture, tmp_path / "encoder")).eval()
    if not isinstance(openvino_encoder.openvino_encoder(encoder.backbone), OpenVINOEncoder):
        pytest.skip("no bfloat16 on this processor")
    for texts in (TEXTS, ["a stone", "a stone"]):
        given = encoder.assemble(encoder.read(texts, 40), limit=60)
        mask = given.get("attention_mask", torch.ones_like(given["input_ids"])).bool()
        with torch.no_grad():
            expected = encoder.backbone(**given).last_hidden_state
            with half():
                assert isinstance(inference_form(encoder.backbone), OpenVINOEncoder)
                cls, states = encoder.cls(**given), encoder.last_hidden(**given)
        assert cls.dtype == states.dtype == torch.float32
        assert (states - expected)[mask].abs().mean() < 0.05 * expected[mask].abs().mean()
        assert (cls - expected[:, 0]).abs().mean() < 0.05 * expected[:, 0].abs().mean()


@installed
def test_a_model_is_freed(tmp_path: Path) -> None:
    encoder = open_encoder(saved("bert", tmp_path / "encoder")).eval()
    given = encoder.assemble(encoder.read(TEXTS, 40), limit=60)
    with torch.no_grad(), half():
        encoder.cls(**given)
    seen = weakref.ref(encoder.backbone)
    del encoder
    gc.collect()
    assert seen() is None


@installed
def test_threads_get_their_own_states(tmp_path: Path) -> None:
    encoder = open_encoder(saved("bert", tmp_path / "encoder")).eval()
    given = [
        encoder.assemble(encoder.read([text] * n, 40), limit=60) for n, text in enumerate(TEXTS, 1)
    ]

    def states(number: int) -> torch.Tensor:
        with torch.no_grad(), half():
            return encoder.last_hidden(**given[number])

    alone = [states(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for number, found in zip(
            [0, 1, 2, 3] * 100, pool.map(states, [0, 1, 2, 3] * 100), strict=True
        ):
            assert torch.equal(found, alone[number])


@pytest.mark.parametrize(
    ("lacks", "says"),
    [
        ("package", "pip install 'positionbias[openvino]'"),
        ("instructions", "--set precision=float32 is faster"),
    ],
)
def test_without_it_texts_are_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lacks: str, says: str
) -> None:
    encoder = open_encoder(saved("bert", tmp_path / "encoder")).eval()
    said: list[str] = []
    monkeypatch.setattr(openvino_encoder, "find_spec", lambda name: None)
    monkeypatch.setattr(inference, "multiplies_bfloat16", lambda: lacks == "package")
    monkeypatch.setattr(inference, "remark", said.append)
    with torch.no_grad(), half():
        assert isinstance(inference_form(encoder.backbone), PackedEncoder)
        inference_form(encoder.backbone)
    assert len(said) == 1
    assert says in said[0]
