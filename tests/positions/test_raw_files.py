"""Raw files of lines rotated as a whole: equal to the collection's rotation, for any workers,
through files and pipes, after a kill.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import InputError, OutputExistsError
from positionbias.core.files import open_bytes
from positionbias.core.manifest import read_manifest
from positionbias.core.records import Passage
from positionbias.engine.local import map_shards
from positionbias.formats.msmarco import import_msmarco
from positionbias.positions.debias import debias
from positionbias.positions.raw_files import Pipe, debias_file
from positionbias.positions.rotate import Rotation

SMALL = 400  # bytes a block, so that a small file has many
PASSAGES = [
    Passage(
        f"p{number}", f"Passage {number}: " + "many words follow, „so“ it goes. " * (number % 7)
    )
    for number in range(120)
]
TSV = "".join(f"{passage_id}\t{text}\n" for passage_id, text in PASSAGES).encode()


@pytest.fixture
def tsv(tmp_path: Path) -> Path:
    path = tmp_path / "collection.tsv"
    path.write_bytes(TSV)
    return path


def content_of(path: Path) -> bytes:
    with open_bytes(path) as handle:
        return handle.read()


@pytest.mark.parametrize("words", ["blingfire", "whitespace"])
def test_a_file_comes_out_as_its_collection_does(tsv: Path, tmp_path: Path, words: Any) -> None:
    rotation = Rotation(words=words, seed=5)
    imported = import_msmarco([tsv], tmp_path / "imported")
    collection = debias(imported, tmp_path / "rotated", rotation)
    rotated = debias_file(tsv, tmp_path / "rotated.tsv", rotation, "tsv", block_bytes=SMALL)
    wanted = "".join(f"{passage_id}\t{text}\n" for passage_id, text in collection.passages())
    assert content_of(tmp_path / "rotated.tsv").decode() == wanted
    assert rotated.passages == collection.manifest.content["rotation"]["passages"]
    assert rotated.checksum == hashlib.sha256(wanted.encode()).hexdigest()


@pytest.mark.parametrize(("kind", "ending"), [("tsv", ""), ("jsonl", ".gz"), ("tsv", ".zst")])
def test_two_workers_and_a_compressed_source_give_the_same_bytes(
    tmp_path: Path, ending: str, kind: Any
) -> None:
    lines = TSV if kind == "tsv" else b"".join(
        json.dumps({"_id": passage_id, "title": "t", "text": text}).encode() + b"\n" for passage_id,
        text in PASSAGES
    )  # fmt: skip
    (tmp_path / f"c.{kind}").write_bytes(lines)
    (tmp_path / f"c.{kind}.gz").write_bytes(gzip.compress(lines))
    over = {1: map, 2: partial(map_shards, workers=2)}
    outs = []
    for workers in (1, 2):
        for source in (f"c.{kind}", f"c.{kind}.gz"):
            outs.append(tmp_path / f"{workers}-{source.count('gz')}.{kind}{ending}")
            debias_file(
                tmp_path / source,
                outs[-1],
                Rotation(),
                kind,
                map_shards=over[workers],
                block_bytes=SMALL,
            )
    assert len({path.read_bytes() for path in outs}) == 1
    assert content_of(outs[0]) != lines
    manifests = [read_manifest(path).comparable() for path in outs]
    assert manifests[0]["content"] == manifests[3]["content"]
    assert manifests[0]["content"]["checksum"] == hashlib.sha256(content_of(outs[0])).hexdigest()
    assert manifests[0]["settings"]["format"] == kind
    assert manifests[0]["inputs"][0]["path"] == f"../c.{kind}"


def stop_after(number: int) -> Callable[..., Any]:
    def over(function: Any, items: Any) -> Any:
        for index, item in enumerate(items):
            if index == number:
                raise KeyboardInterrupt
            yield function(item)

    return over


def test_an_interrupted_run_goes_on_at_the_block(tsv: Path, tmp_path: Path) -> None:
    debias_file(tsv, tmp_path / "whole.tsv", Rotation(), "tsv")
    out, made = tmp_path / "out.tsv", []
    with pytest.raises(KeyboardInterrupt):
        debias_file(tsv, out, Rotation(), "tsv", map_shards=stop_after(3), block_bytes=SMALL)
    assert not out.exists()

    def over(function: Any, items: Any) -> Any:
        for item in items:
            made.append(item.index)
            yield function(item)

    debias_file(tsv, out, Rotation(), "tsv", map_shards=over, block_bytes=SMALL)
    assert made[0] == 3
    assert out.read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [
            "collection.tsv",
            "whole.tsv",
            "whole.tsv.manifest.json",
            "out.tsv",
            "out.tsv.manifest.json",
        ]
    )


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "wanted passages; found none"),
        (b"\xef\xbb\xbf", "wanted passages; found none"),
        (
            TSV + b"no tab\n",
            "collection.tsv:121: wanted a passage id, a tab and a text; found no tab",
        ),
    ],
    ids=["empty", "BOM", "no tab"],
)
def test_bad_input_leaves_nothing(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "collection.tsv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=said):
        debias_file(path, tmp_path / "out.tsv", Rotation(), "tsv", block_bytes=SMALL)
    assert [item.name for item in tmp_path.iterdir()] == ["collection.tsv"]


def test_a_cut_archive_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "collection.tsv.gz"
    path.write_bytes(gzip.compress(TSV)[:-20])
    with pytest.raises(InputError, match="fetch the file again"):
        debias_file(path, tmp_path / "out.tsv", Rotation(), "tsv")
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


def test_what_is_there_is_replaced_only_when_told(tsv: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    out.write_text("mine")
    source = Pipe(io.BytesIO(TSV), "standard input")
    for place in (tsv, source):
        with pytest.raises(OutputExistsError):
            debias_file(place, out, Rotation(), "tsv")
    for place in (tsv, source):
        out.write_text("mine")
        debias_file(place, out, Rotation(), "tsv", overwrite=True)
        assert out.read_bytes().startswith(b"p0\t")


def rewritten(path: Path, old: bytes, new: bytes) -> None:
    """The same size and time of change with other content."""
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_an_interrupted_run_never_goes_on_with_another_file(tsv: Path, tmp_path: Path) -> None:
    def stopped(function: Any, items: Any) -> Any:
        for number, item in enumerate(items):
            if number == 5:
                raise KeyboardInterrupt
            yield function(item)

    out = tmp_path / "out.tsv"
    with pytest.raises(KeyboardInterrupt):
        debias_file(tsv, out, Rotation(), "tsv", map_shards=stopped, block_bytes=SMALL)
    rewritten(tsv, b"Passage", b"passage")
    debias_file(tsv, out, Rotation(), "tsv", block_bytes=SMALL)
    assert b"Passage" not in out.read_bytes()
    recorded = read_manifest(out).input("original")
    assert recorded is not None
    assert recorded.checksum == hashlib.sha256(tsv.read_bytes()).hexdigest()


def test_a_file_that_changes_while_it_is_rotated_is_refused(tsv: Path, tmp_path: Path) -> None:
    def changing(call: Callable[..., Any], *given: Any) -> Any:
        made = call(*given)
        rewritten(tsv, b"Passage", b"passage")
        return made

    message = (
        "wanted a file that stays as it is; found one that changed while it was read; run again"
    )
    with pytest.raises(InputError, match=message):
        debias_file(
            tsv,
            tmp_path / "out",
            Rotation(),
            "tsv",
            map_shards=lambda *given: changing(list, map(*given)),
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["collection.tsv"]
