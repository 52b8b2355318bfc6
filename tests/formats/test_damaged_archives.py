"""Archives of some size that are cut or damaged: the fault lies beyond the first bytes, where a
reader is long under way.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from positionbias.core.errors import InputError
from positionbias.formats.trec_import import import_trec

from .trec_disc import FT, tar

WORDS = random.Random(1)
DOCUMENTS = b"".join(
    FT.replace(b"FT911-1", b"FT911-%d" % number).replace(
        b"green oil", WORDS.randbytes(100).hex().encode()
    )
    for number in range(2_000)
)
ARCHIVES: dict[str, Callable[[], bytes]] = {
    "docs.gz": lambda: gzip.compress(DOCUMENTS, mtime=0),
    "docs.zst": lambda: zstandard.ZstdCompressor(write_checksum=True).compress(DOCUMENTS),
    "docs.tar": lambda: tar({"a": FT, "b": DOCUMENTS}),
    "docs.tar.gz": lambda: tar({"a": FT, "b": DOCUMENTS}, "gz"),
}


CASES = [
    (name, damage)
    for name in ARCHIVES
    for damage in ("cut in the middle", "cut before its end", "a run of bytes changed")
]
CASES.remove(("docs.tar", "a run of bytes changed"))  # which has no checksum of its content


@pytest.mark.parametrize(("name", "damage"), CASES)
def test_damage_deep_inside_is_one_line(tmp_path: Path, name: str, damage: str) -> None:
    data = ARCHIVES[name]()
    at = len(data) // 2
    if damage == "a run of bytes changed":
        data = data[:at] + bytes(byte ^ 0x55 for byte in data[at : at + 64]) + data[at + 64 :]
    else:
        # a tar archive ends with up to 20 blocks of zeros, of which the loss is none
        data = (
            data[:at]
            if damage == "cut in the middle"
            else data[: -12_000 if name == "docs.tar" else -3]
        )
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=rf"{name}.*: wanted .*; found .*; fetch the file again"):
        import_trec([tmp_path / name], (), (), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [name]
