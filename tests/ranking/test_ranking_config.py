"""Batch size, precision and device: what auto means, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from positionbias.core.errors import SettingError
from positionbias.ranking.config import Precision, RankingConfig
from positionbias.ranking.loading import pick_device

CPU, GPU = torch.device("cpu"), torch.device("cuda")


def test_auto_goes_by_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    config = RankingConfig()
    assert (config.tokens(CPU), config.dtype(CPU)) == (4_096, torch.float32)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    assert (config.tokens(GPU), config.dtype(GPU)) == (131_072, torch.bfloat16)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    assert config.dtype(GPU) == torch.float16


def test_what_is_given_is_taken() -> None:
    config = RankingConfig(batch_tokens=7, precision="bfloat16")
    assert (config.tokens(CPU), config.tokens(GPU), config.dtype(CPU)) == (7, 7, torch.bfloat16)
    assert [RankingConfig(precision=name).tokens(CPU) for name in ("float32", "bfloat16")] == [
        4_096,
        2_048,
    ]
    with config.autocast(CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16
    with RankingConfig().autocast(CPU):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert (pick_device("auto"), pick_device("cpu")) == (CPU, CPU)
    with pytest.raises(
        SettingError, match="--device: wanted cuda; found no GPU that this torch can use"
    ):
        pick_device("cuda")
    with pytest.raises(SettingError, match="--device: wanted one of auto, cpu, cuda; found 'tpu'"):
        pick_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert pick_device("auto") == GPU


@pytest.mark.parametrize(
    ("precision", "texts", "has", "said"),
    [
        ("auto", 20_000, True, 1),
        ("auto", 19_999, True, 0),
        ("auto", 20_000, False, 0),
    ],
)
def test_advice_on_bfloat16(
    precision: Precision, texts: int, has: bool, said: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    monkeypatch.setattr("positionbias.ranking.config.remark", lines.append)
    monkeypatch.setattr("positionbias.ranking.loading.multiplies_bfloat16", lambda: has)
    monkeypatch.setattr("positionbias.ranking.loading.is_packable", lambda model: model.encodes)
    for encodes in (True, False):
        RankingConfig(precision=precision).advise(
            SimpleNamespace(device=CPU, encodes=encodes), texts
        )
    RankingConfig(precision=precision).advise(SimpleNamespace(device=GPU, encodes=True), texts)
    assert len(lines) == said
    assert all("precision=bfloat16" in line for line in lines)
