"""``Rotate``: the same draw on strings, examples, batches, data sets in processes, torch data sets
and collections.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from datasets.fingerprint import Hasher
from torch.utils.data import DataLoader, Dataset

import positionbias as pb
from positionbias.core.errors import InputError, SettingError
from positionbias.positions.rotate import Rotation

TEXTS = [
    f"number {n} has green oil and burns in the north hall of Orvell , where {n % 7} lamps hang."
    for n in range(40)
]
IDS = [f"d{n}" for n in range(40)]


@pytest.fixture
def data() -> datasets.Dataset:
    return datasets.Dataset.from_dict(
        {"pid": IDS, "passage": TEXTS, "label": [n % 2 for n in range(40)]}
    )


def rotated(**settings: Any) -> list[str]:
    return [pb.rotate(text, own, **settings) for text, own in zip(TEXTS, IDS, strict=True)]


def test_a_string_is_rotated_as_rotate_does() -> None:
    turn = pb.Rotate(seed=3, words="whitespace", mode="words", identity=False)
    assert list(map(turn, TEXTS, IDS)) == rotated(seed=3, words="whitespace", identity=False)
    assert pb.Rotate()("one two three four", 7) == pb.rotate("one two three four", "7")
    assert pb.Rotate()("") == ""
    with pytest.raises(SettingError):
        pb.Rotate(words="letters")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"batched": True, "batch_size": 3},
    ],
)
def test_a_data_set_is_mapped(data: datasets.Dataset, how: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = data.map(pb.Rotate("passage", id_column="pid", seed=2), **how)
    assert found["passage"][:] == rotated(seed=2)
    assert (found["pid"][:], found["label"][:], found.column_names) == (
        IDS,
        data["label"][:],
        data.column_names,
    )


def test_a_data_set_is_turned_when_it_is_read(data: datasets.Dataset) -> None:
    lazy = data.with_transform(pb.Rotate("passage", "pid"))
    assert lazy[4] == {"pid": IDS[4], "passage": rotated()[4], "label": 0}


def test_its_hash_is_the_same_in_every_process() -> None:
    code = (
        "import positionbias as pb; from datasets.fingerprint import Hasher; "
        "print(Hasher.hash(pb.Rotate('passage', seed=2)))"
    )
    other = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (
        other.stdout.strip()
        == Hasher.hash(pb.Rotate("passage", seed=2))
        != Hasher.hash(pb.Rotate("passage", seed=3))
    )
    assert other.stderr == ""
    turn = pb.Rotate("passage", "pid", seed=2)
    again = pickle.loads(pickle.dumps(turn))  # noqa: S301
    assert (again, hash(again), again(TEXTS[0])) == (turn, hash(turn), turn(TEXTS[0]))


class Passages(Dataset[dict[str, Any]]):
    """A torch data set with a transform."""

    def __init__(self, transform: pb.Rotate) -> None:
        self.transform = transform

    def __len__(self) -> int:
        return len(TEXTS)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.transform({"pid": IDS[place], "text": TEXTS[place]})


@pytest.mark.parametrize("workers", [2])
def test_a_torch_data_set_is_turned_in_any_worker(workers: int) -> None:
    loader = DataLoader(Passages(pb.Rotate(id_column="pid")), batch_size=8, num_workers=workers)
    assert [text for batch in loader for text in batch["text"]] == rotated()


@pytest.mark.parametrize(
    "words",
    [
        "blingfire",
    ],
)
def test_debias_turns_a_collection_alike(tmp_path: Path, words: Any) -> None:
    named = [{"doc_id": own, "text": text} for own, text in zip(IDS, TEXTS, strict=True)]
    for records, turn in (
        (named, pb.Rotate(id_column="doc_id", seed=5, words=words)),
        # ids are hashes of the texts
        ([{"text": text} for text in TEXTS], pb.Rotate(seed=5, words=words)),
    ):
        collection = pb.import_table(records, out=tmp_path / "made", overwrite=True)
        stored = pb.debias(
            collection,
            rotation=Rotation(seed=5, words=words),
            out=tmp_path / "turned",
            overwrite=True,
        )
        assert isinstance(stored, pb.Collection)
        assert [passage.text for passage in stored.passages()] == [
            turn(record)["text"] for record in records
        ]
        assert [turn(text, own) for own, text in collection.passages()] == [
            passage.text for passage in stored.passages()
        ]


def test_what_has_no_text_stays_and_what_is_none_is_refused() -> None:
    turn = pb.Rotate(id_column="pid")
    assert turn({"text": None, "pid": "p1"}) == {"text": None, "pid": "p1"}
    assert turn({"text": ["one two", None], "pid": [np.int64(3), ""]})["text"] == [
        pb.rotate("one two", "3"),
        None,
    ]
    for example, message in (
        ({"text": "one two"}, "Rotate: wanted a column 'pid'; found text; name the right one"),
        ({"text": 5, "pid": "p1"}, "Rotate: wanted a text; found 5; name the column of texts"),
        ({"text": "one two", "pid": 1.5}, "Rotate: wanted ids as text or whole numbers; found 1.5"),
    ):
        with pytest.raises(InputError, match=message):
            turn(example)
