"""Tensors on disk: a file system that refuses is one clear line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from positionbias.core.errors import InputError
from positionbias.models.tensors import load_tensors, save_tensors


@pytest.mark.parametrize("refusal", [RuntimeError, OSError])
def test_a_file_system_that_refuses_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: type[Exception]
) -> None:
    """PyTorch, which safetensors has open the file, raises a RuntimeError."""
    place = tmp_path / "a.safetensors"
    save_tensors(place, {"a": torch.zeros(2)})

    def refuse(*given: object) -> None:
        raise refusal(f"unable to open file <{place}>: Too many open files (24)")

    assert load_tensors(place)["a"].tolist() == [0.0, 0.0]
    monkeypatch.setattr("positionbias.models.tensors.load_file", refuse)
    with pytest.raises(
        InputError, match="a.safetensors: wanted a safetensors file; found .*Too many open files"
    ):
        load_tensors(place)
