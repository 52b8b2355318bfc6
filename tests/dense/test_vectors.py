"""Encoding a collection: what is kept, what changes no byte, what an interruption leaves, and whose
vectors they are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError, StorageError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Passage
from positionbias.dense import passage_blocks
from positionbias.dense.encode import encode_collection
from positionbias.dense.single_vectors import SingleVectors, length_one
from positionbias.dense.vectors import Vectors
from positionbias.engine.choose import open_engine
from positionbias.models import packed_models
from positionbias.models.bert_dot import BertDot
from positionbias.models.checkpoint import Checkpoint, load_checkpoint, user_checkpoint
from positionbias.ranking.config import Computing, Spread
from tests.forked import forked
from tests.sealing import reseal

from .conftest import saved_dot
from .made import write_vectors


def stored(vectors: Vectors) -> np.ndarray:
    return np.concatenate([block for _, block in vectors.blocks()])


def content_of(folder: Path) -> dict[str, bytes]:
    """All bytes of an artefact but those of its manifest, whose provenance differs."""
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"
    )
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_a_row_is_the_models_vector_of_the_passage_in_stored_order(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path
) -> None:
    vectors = encode_collection(checkpoint, collection, tmp_path / "v", on_disk="float32")
    assert (len(vectors), vectors.dimension, vectors.ids_at(np.arange(60))) == (
        60,
        16,
        collection.passage_ids(),
    )
    model = SingleVectors(checkpoint).model
    with torch.inference_mode():  # one by one
        expected = [
            model.encode_passages(model.read_passages([p.text]))[0][0, 0].numpy()
            for p in collection.passages()
        ]
    np.testing.assert_allclose(stored(vectors), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(
        vectors.take(np.array([59, 0, 7, 7])), stored(vectors)[[59, 0, 7, 7]]
    )
    # ids are "p0" … "p59": p9 is the last of them as a string
    assert vectors.ids_at(vectors.by_descending_id()[:3]) == ["p9", "p8", "p7"]


def test_halves_are_the_float32_vectors_rounded_and_what_was_met_is_counted(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path
) -> None:
    half = encode_collection(checkpoint, collection, tmp_path / "half")
    full = encode_collection(checkpoint, collection, tmp_path / "full", on_disk="float32")
    assert (stored(half).dtype, stored(full).dtype) == (np.float16, np.float32)
    np.testing.assert_array_equal(stored(half), stored(full).astype(np.float16))
    content = half.manifest.content
    room = SingleVectors(checkpoint).model.room
    read = SingleVectors(checkpoint).model.read_passages(
        [passage.text for passage in collection.passages()]
    )
    assert (
        content["empty_passages"] == sum(not passage.text for passage in collection.passages()) == 5
    )
    assert content["truncated"] == sum(len(row) >= room for row in read)
    assert (content["similarity"], half.manifest.settings["model"]) == ("dot", "dot")


INTERRUPTED = """
import os, sys
from pathlib import Path
import positionbias.dense.encode as encode
from positionbias.core.collection import Collection
from positionbias.models.checkpoint import load_checkpoint
encode.SHARD_PASSAGES = 16
write = encode._ShardWriter.__call__
def killed(self, rows, path):
    if rows.first == 32:
        path.write_bytes(b"half a shard")
        os.kill(os.getpid(), 9)
    return write(self, rows, path)
encode._ShardWriter.__call__ = killed
encode.encode_collection(load_checkpoint(sys.argv[1]), Collection(sys.argv[2]), Path(sys.argv[3]))
"""


def shards_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Fills with the first row of every shard that is written from now on."""
    made: list[int] = []
    write = encode_collection.__globals__["_ShardWriter"].__call__

    def counted(self: object, rows: tuple[int, int], path: Path) -> object:
        made.append(rows[0])
        return write(self, rows, path)

    monkeypatch.setattr("positionbias.dense.encode._ShardWriter.__call__", counted)
    return made


def test_a_killed_encoding_goes_on_to_the_same_bytes(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.dense.encode.SHARD_PASSAGES", 16)
    encode_collection(checkpoint, collection, tmp_path / "whole")
    arguments = [str(checkpoint.path), str(collection.path), str(tmp_path / "v")]
    assert forked(arguments, tmp_path, os.environ, INTERRUPTED).returncode == -9
    kept = sorted(
        path.name for path in (tmp_path / ".v.work" / "content" / "vectors").glob("[0-9]*.npy")
    )
    assert kept == ["00000.npy", "00001.npy"]
    made = shards_made(monkeypatch)
    vectors = encode_collection(checkpoint, collection, tmp_path / "v")
    assert made == [32, 48]
    assert content_of(tmp_path / "v") == content_of(tmp_path / "whole")
    assert vectors.manifest.comparable() | {"name": ""} == Vectors(
        tmp_path / "whole"
    ).manifest.comparable() | {"name": ""}


def test_a_full_disk_is_one_line_and_what_is_finished_is_kept(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.dense.encode.SHARD_PASSAGES", 16)
    real, shards = np.lib.format.write_array_header_1_0, []

    def full(handle: object, head: dict[str, object]) -> None:
        shards.append(head)
        if len(shards) == 3:
            raise OSError(28, "No space left on device")
        real(handle, head)  # type: ignore[arg-type]

    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    with pytest.raises(
        StorageError,
        match=r"No space left on device.*free some space.*; what is finished is kept: run the same",
    ):
        encode_collection(checkpoint, collection, tmp_path / "v")
    assert not (tmp_path / "v").exists()
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", real)
    whole = encode_collection(checkpoint, collection, tmp_path / "whole")
    assert (
        stored(encode_collection(checkpoint, collection, tmp_path / "v")).tobytes()
        == stored(whole).tobytes()
    )


def test_vectors_of_another_model_or_of_other_passages_are_refused(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path
) -> None:
    vectors = encode_collection(checkpoint, collection, tmp_path / "v")
    vectors.check(checkpoint, collection)
    other = saved_dot(tmp_path / "other", seed=2)
    with pytest.raises(
        InputError,
        match=(
            r"v: wanted vectors by the model other \(checksum .*; found vectors by dot .*give that"
        ),
    ):
        vectors.check(other, collection)
    longer = replace(
        checkpoint,
        model=BertDot(
            replace(checkpoint.model.config, passage_length=11), checkpoint.model.encoder
        ),
    )  # type: ignore[union-attr]
    with pytest.raises(
        InputError,
        match=(
            r"by dot as it reads now \(.*passage_length 11.*; found vectors by the same weights "
            r"read otherwise"
        ),
    ):
        vectors.check(longer, collection)
    with create_collection(tmp_path / "c2") as writer:
        writer.add_passages([Passage("p1", "other")])
        writer.finish(Manifest("collection", "second", "a test"))
    with pytest.raises(
        InputError,
        match=r"v: wanted vectors of the passages of .*c2; found those of the collection 'dense'",
    ):
        vectors.check(checkpoint, Collection(tmp_path / "c2"))


def damaged_manifest(folder: Path) -> None:
    reseal(folder, lambda record: record["content"].pop("dimension"))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a shard gone": (
        lambda folder: (folder / "vectors" / "00000.npy").unlink(),
        "wanted 1 shards of vectors; found 0",
    ),
    "a shard cut": (
        lambda folder: cut(folder / "vectors" / "00000.npy"),
        "00000.npy: wanted vectors as .npy",
    ),
    "a shard of another": (
        lambda folder: np.save(folder / "vectors" / "00000.npy", np.ones((3, 16), np.float16)),
        r"00000.npy: wanted \(60, 16\) numbers; found \(3, 16\)",
    ),
    "ids cut": (lambda folder: cut(folder / "ids.arrow"), "ids.arrow: wanted a whole Arrow file"),
    "no ids": (
        lambda folder: no_ids(folder / "ids.arrow"),
        "ids.arrow: wanted 60 passage ids, as its manifest says; found 0",
    ),
    "a manifest without the width": (damaged_manifest, "missing required field `dimension`"),
}


def no_ids(path: Path) -> None:
    schema = pa.ipc.open_file(path.read_bytes()).schema
    with pa.ipc.new_file(path, schema) as file:
        file.write_batch(pa.record_batch([[]], schema=schema))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_vectors_are_one_clear_line(
    name: str, checkpoint: Checkpoint, collection: Collection, tmp_path: Path
) -> None:
    encode_collection(checkpoint, collection, tmp_path / "v")
    damage, message = DAMAGES[name]
    damage(tmp_path / "v")
    reseal(tmp_path / "v")

    def read() -> None:
        vectors = Vectors(tmp_path / "v")
        vectors.by_descending_id()
        stored(vectors)

    with pytest.raises(InputError, match=message):
        read()


@pytest.mark.parametrize(
    "inside",
    [
        "cache/hnsw-links-32",
    ],
)
def test_a_cache_that_leads_elsewhere_is_refused(tmp_path: Path, inside: str) -> None:
    vectors = write_vectors(tmp_path / "v", np.ones((3, 2), np.float32))
    (tmp_path / "elsewhere").mkdir()
    place = vectors.path / inside
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="wanted a folder; found a link"):
        _ = vectors.cache


# float16 has steps of 2⁻²⁴ = 5.96·10⁻⁸ below 2⁻¹⁴, so 10⁻⁶ = 16.78 steps is kept as 17, 1.3 % off,
# and 2.9·10⁻⁸, under half a step, as 0
@pytest.mark.parametrize(
    ("numbers", "held"),
    [
        ([1e6, 0.0], False),
        ([2.9e-8, 0.0], False),
        ([2.0**-20, 3 * 2.0**-24], True),
        ([1.0, 2.9e-8], True),
    ],
)
def test_what_float16_cannot_hold_is_said_with_its_passage(
    numbers: list[float], held: bool, collection: Collection, tmp_path: Path
) -> None:
    coded = user_checkpoint(
        lambda texts: np.tile(np.float32(numbers), (len(texts), 1)), "coded", "bi-encoder"
    )
    if held:
        kept = stored(encode_collection(coded, collection, tmp_path / "v"))
        np.testing.assert_array_equal(kept[0], np.float16(numbers))
    else:
        first = collection.passage_ids()[0]
        message = (
            f"passage '{first}': float16 does not hold its vector, whose largest number is "
            f"{max(numbers):g}; give --precision-"
        )
        with pytest.raises(InputError, match=re.escape(message)):
            encode_collection(coded, collection, tmp_path / "v")
    full = stored(encode_collection(coded, collection, tmp_path / "full", on_disk="float32"))
    np.testing.assert_array_equal(full[0], np.float32(numbers))


def test_models_with_several_vectors_or_a_distance_are_refused(
    collection: Collection, tmp_path: Path
) -> None:

    from ..tiny import saved_tk

    tk = load_checkpoint(saved_tk(tmp_path / "tk", collection))
    with pytest.raises(
        SettingError,
        match=r"--model: wanted a model with one vector a text .*; found tk, of kind tk; give",
    ):
        encode_collection(tk, collection, tmp_path / "v")
    dot = saved_dot(tmp_path / "dot")
    dot.model.vector_similarity = "euclidean"  # type: ignore[union-attr]
    with pytest.raises(
        SettingError,
        match=r"wanted a model that compares vectors by cosine or dot; found dot, by euclidean",
    ):
        encode_collection(dot, collection, tmp_path / "v")
    with pytest.raises(
        SettingError, match="--precision-on-disk: wanted one of float16, float32; found 'float64'"
    ):
        encode_collection(
            saved_dot(tmp_path / "dot2"), collection, tmp_path / "v", on_disk="float64"
        )


def test_length_one() -> None:
    # 3-4-5; zeros stay; lengths whose squares float32 cannot hold
    found = length_one(np.array([[3, 4], [0, 0], [1e30, 0], [0, -1e-30]], np.float32))
    np.testing.assert_array_equal(
        found, np.array([[0.6, 0.8], [0, 0], [1, 0], [0, -1]], np.float32)
    )


def test_vectors_compared_by_cosine_are_kept_at_length_one(
    collection: Collection, tmp_path: Path
) -> None:
    dot = saved_dot(tmp_path / "dot")
    raw = stored(encode_collection(dot, collection, tmp_path / "raw", on_disk="float32"))
    dot.model.vector_similarity = "cosine"  # type: ignore[union-attr]
    unit = stored(encode_collection(dot, collection, tmp_path / "unit", on_disk="float32"))
    np.testing.assert_allclose(unit, raw / np.linalg.norm(raw, axis=1, keepdims=True), rtol=1e-6)


def test_workers_change_no_byte(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.dense.encode.SHARD_PASSAGES", 8)
    encode_collection(checkpoint, collection, tmp_path / "alone")
    with open_engine("local", workers=2) as map_shards:
        spread = Spread(Computing().loading(checkpoint.path), map_shards)
        shared = encode_collection(checkpoint, collection, tmp_path / "shared", spread=spread)
    assert content_of(tmp_path / "shared") == content_of(tmp_path / "alone")
    assert shared.manifest.comparable() | {"name": ""} == Vectors(
        tmp_path / "alone"
    ).manifest.comparable() | {"name": ""}


def test_a_model_that_changes_meanwhile_is_refused(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("positionbias.dense.encode.SHARD_PASSAGES", 16)
    other = saved_dot(tmp_path / "other", seed=2)
    with (
        open_engine("local", 2) as map_shards,
        pytest.raises(InputError, match="other: wanted the model .*; found .* in a worker process"),
    ):
        encode_collection(
            checkpoint,
            collection,
            tmp_path / "v",
            spread=Spread(Computing().loading(other.path), map_shards),
        )


def test_packed_passages_have_the_same_vectors(
    checkpoint: Checkpoint, collection: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    padded = encode_collection(checkpoint, collection, tmp_path / "padded", on_disk="float32")
    monkeypatch.setattr(packed_models, "packs_on", lambda device, dtype: True)
    # one block is begun before the one before it is finished
    monkeypatch.setattr(passage_blocks, "READ_PASSAGES", 7)
    packed = encode_collection(checkpoint, collection, tmp_path / "packed", on_disk="float32")
    np.testing.assert_allclose(stored(packed), stored(padded), rtol=1e-5, atol=1e-5)
    counts = ("passages", "truncated", "empty_passages")
    assert [packed.manifest.content[name] for name in counts] == [
        padded.manifest.content[name] for name in counts
    ]
