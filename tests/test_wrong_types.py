"""Arguments of another type than a public function or class takes: one clear line, and no error
from inside.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import positionbias as pb
from positionbias.core.errors import InputError, PositionBiasError

SCORES = {"q": {"p": 1.0}}
PLACE = "wanted a text or path; found 5; give one"
TEXT = "wanted a text; found 5; give one"
CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "load": (pb.load, f"folder: {PLACE}"),
    "Collection": (pb.Collection, f"collection: {PLACE}"),
    "import_table": (
        lambda it: pb.import_table(it, out="c"),
        "records: wanted objects, one a row; found int",
    ),
    "Run, name": (lambda it: pb.Run(SCORES, name=it), f"Run: name: {TEXT}"),
    "Run, rankings": (
        lambda it: pb.Run("x", it),
        r"Run: rankings: wanted \(query, passages, scores\) triples; found 5",
    ),
    "Run.from_file": (pb.Run.from_file, f"path: {PLACE}"),
    "Run.save": (pb.Run(SCORES).save, f"path: {PLACE}"),
    "Qrels.from_file": (pb.Qrels.from_file, f"path: {PLACE}"),
    "rotate": (lambda it: pb.rotate(it, "p"), f"rotate: text: {TEXT}"),
    "Rotate": (pb.Rotate, f"column: {TEXT}"),
    "Rotate, id_column": (lambda it: pb.Rotate(id_column=it), f"id_column: {TEXT}"),
    "Rotate, identity": (
        lambda it: pb.Rotate(identity=it),
        "--identity: wanted True or False; found 5; give one",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_type_is_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSBIAS_HOME", str(tmp_path))
    call, message = CALLS[name]
    with pytest.raises(InputError, match=message) as caught:
        call(5)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [1.5, True, "1"])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(PositionBiasError, match="--seed: wanted a"):
        pb.rotate("a b c", "p", seed)


def test_a_number_as_an_id_is_its_text() -> None:
    words = " ".join(map(str, range(50)))
    assert pb.rotate(words, 7) == pb.rotate(words, "7")  # type: ignore[arg-type]
    with pytest.raises(
        InputError, match=r"rotate: passage_id: wanted ids as text or whole numbers; found 1\.5"
    ):
        pb.rotate(words, 1.5)  # type: ignore[arg-type]
