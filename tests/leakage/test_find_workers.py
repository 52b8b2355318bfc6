"""Queries encoded by several processes: the same pairs; thresholds of encoders."""

from __future__ import annotations

from pathlib import Path

import pytest

import positionbias
from positionbias.core.errors import SettingError
from positionbias.engine.choose import Engine
from positionbias.leakage.settings import FindSettings
from positionbias.models.bert_dot import BertDot
from positionbias.models.encoder import load_encoder
from positionbias.models.shapes import BertDotConfig
from positionbias.ops.query_encoder import Encoder

from ..tiny import tiny_encoder

WORDS = ("lamp", "gate", "green", "iron", "oil", "burn", "hall", "water", "stone")


@pytest.fixture
def queries(tmp_path: Path) -> tuple[Path, Path]:
    train, test = tmp_path / "train.tsv", tmp_path / "test.tsv"
    lines = [
        f"{number}\twhat is the {WORDS[number % 9]} of {WORDS[number % 7]}\n"
        for number in range(23)
    ]
    train.write_text("".join(lines))
    test.write_text("a\twhat is the lamp of lamp\nb\tthe green hall\n")
    return train, test


def test_any_workers_find_the_same(
    queries: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("positionbias.leakage.find.ENCODE_TEXTS", 4)
    model = BertDot(
        BertDotConfig(pooling="mean"), load_encoder(tiny_encoder(tmp_path / "bert"))
    ).eval()
    model.save(tmp_path / "model")
    found = []
    for one in (Engine(), Engine(workers=2)):
        out = tmp_path / f"out-{one.workers}"
        settings = FindSettings(threshold=0.5, neighbours=3)
        encoder = Encoder(str(tmp_path / "model"), precision="float32")
        positionbias.find_leakage(queries, settings=settings, encoder=encoder, engine=one, out=out)
        found.append((out / "pairs.jsonl").read_bytes())
    assert found[0]
    assert found == [found[0]] * 2


def test_an_encoder_without_labelled_cosines_needs_a_threshold() -> None:
    with pytest.raises(
        SettingError, match=r"--threshold: wanted a cosine for the encoder other, as each encoder"
    ):
        Encoder("other").semantic(None)
