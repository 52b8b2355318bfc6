"""Mutated TREC files: a valid collection or one clear line, whatever the bytes."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest

from positionbias.core.collection import Collection
from positionbias.core.errors import PositionBiasError
from positionbias.formats.trec_import import import_trec
from positionbias.formats.trec_topics import read_topics
from tests.formats.trec_disc import FBIS, FR94, FT, LATIMES, lzw, nitf, tar, wapo

SPECIAL = [
    b"<",
    b">",
    b"&",
    b"\0",
    b"\xff",
    b"<DOC>",
    b"</DOC>",
    b"<TEXT>",
    b"<!--",
    b"]]>",
    b"\n",
    b"\t",
    b'"',
    b"{",
    b"&#0;",
    b"<top>",
]
DOCS = {
    "sgml": FT + LATIMES + FR94 + FBIS,
    "sgml.gz": gzip.compress(FT + LATIMES, mtime=0),
    "sgml.z": lzw(FT + LATIMES),
    "nyt.xml": nitf("1", "Lamp", "oil", "one", "two"),
    "nyt.tgz": tar(
        {"01/1.xml": nitf("1", "Lamp", "oil", "one"), "01/2.xml": nitf("2", "Gate", "iron")}, "gz"
    ),
    "nested.tar": tar({"a.tar": tar({"b": FT}), "c.jl": wapo("1", "x", "y")}),
    "wapo.jl": wapo("1", "Lamp", "<p>burns</p>") + wapo("2", None, "x"),
}
TOPICS = {
    "tagged": (
        b"<top>\n<num> Number: 301\n<title> lamp\n<desc> Description:\noil &amp; gate\n<narr> "
        b"Narrative:\nx\n</top>\n"
    ),
    "xml": (
        b"<topics><topic number='1'><query>lamp</query><narrative>oil "
        b"&lt;</narrative></topic></topics>"
    ),
    "lines": b"1\tlamp oil\n1\toil\n2\tgate\n",
}


def mutated(draw: random.Random, data: bytes) -> bytes:
    """One to five cuts, changed bytes, insertions, copies."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 5)):
        at, kind = draw.randrange(len(changed) + 1), draw.randrange(5)
        if kind == 0:
            del changed[at:]
        elif kind == 1:
            del changed[at : at + draw.randint(1, 20)]
        elif kind == 2:
            changed[at:at] = draw.choice(SPECIAL)
        elif kind == 3:
            changed[at : at + 1] = bytes([draw.randrange(256)])
        else:
            changed[at:at] = changed[at : at + draw.randint(1, 60)]
    return bytes(changed)


@pytest.mark.parametrize("name", DOCS)
def test_mutated_documents(tmp_path: Path, name: str) -> None:
    draw, path = random.Random(name), tmp_path / name
    faults: list[str] = []
    for _ in range(30):
        path.write_bytes(mutated(draw, DOCS[name]))
        try:
            collection = import_trec([path], (), (), tmp_path / "out", overwrite=True)
            assert sum(1 for _ in collection.passages()) == len(Collection(collection.path)) > 0
        except PositionBiasError as error:
            faults.append(str(error))
        assert not [item for item in tmp_path.iterdir() if item.name.startswith(".")]
    assert faults  # mutations reach the reader
    assert not any("\n" in fault for fault in faults)


@pytest.mark.parametrize("name", TOPICS)
def test_mutated_topics(tmp_path: Path, name: str) -> None:
    draw, path = random.Random(name), tmp_path / name
    faults: list[str] = []
    for _ in range(100):
        path.write_bytes(mutated(draw, TOPICS[name]))
        try:
            assert all(query.query_id for query in read_topics(path))
        except PositionBiasError as error:
            faults.append(str(error))
    assert 0 < len(faults) < 100
    assert not any("\n" in fault for fault in faults)
