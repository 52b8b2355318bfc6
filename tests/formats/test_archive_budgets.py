"""Small archives that claim or unpack to gigabytes, each one clear line, whatever packs them."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import ncompress
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from positionbias.core.errors import InputError
from positionbias.formats.archives import streams_in
from positionbias.formats.msmarco_qa_rows import qa_rows
from positionbias.formats.unix_compress import with_own_stack
from positionbias.models.word_vectors import read_word_vectors
from tests.formats.trec_disc import lzw

RATIO = (
    r"wanted at most 200 unpacked bytes for each packed byte; found .* raise \$POSBIAS_MAX_RATIO$"
)


def files_of(data: bytes) -> dict[str, int]:
    """Every file in an archive and its length."""
    return {
        name: sum(map(len, stream)) for name, _, stream in streams_in(io.BytesIO(data), "a.tar")
    }


def header(name: str, size: int, kind: bytes) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def test_a_sparse_member_is_refused() -> None:
    # old GNU form: in the header itself that 1 TB begins with a hole and ends with no data
    block = bytearray(header("holes", 0, tarfile.GNUTYPE_SPARSE))
    block[386:398], block[398:410] = b"%011o\0" % 0, b"%011o\0" % 0
    block[483:495] = b"\x80" + (1 << 40).to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(
        InputError,
        match=r"a\.tar: wanted files without holes; found 'holes', a sparse one; unpack it first",
    ):
        files_of(bytes(block) + bytes(1_024))


@pytest.mark.parametrize(
    "kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
)
def test_a_header_without_end_is_not_held(kind: bytes) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return (
                (header("x", 1 << 32, kind) + bytes(size))[:size]
                if self.given == size
                else bytes(size)
            )

    endless = Endless()
    with pytest.raises(
        InputError,
        match=r"a\.tar: wanted a complete tar archive; found a header of 4,294,967,296 bytes",
    ):
        list(streams_in(endless, "a.tar"))  # type: ignore[arg-type]
    assert endless.given < 4 << 20


def test_lzw_keeps_to_the_ratio() -> None:
    assert len(with_own_stack(lambda: ncompress.decompress(lzw(bytes(1 << 20))))) == 1 << 20
    with pytest.raises(InputError, match=f"a.tar: {RATIO}"):
        files_of(lzw(bytes(100 << 20)))


def test_a_zip_and_a_line_of_word_vectors_keep_to_their_budgets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("v.txt", bytes(100 << 20))
    with pytest.raises(InputError, match=RATIO):
        read_word_vectors(tmp_path / "v.zip", ["a"], 2)
    (tmp_path / "v.txt").write_text("a 1 2\n" + "b" * 1_000)
    monkeypatch.setenv("POSBIAS_MAX_LINE", "999")
    with pytest.raises(InputError, match=r"v\.txt:2: wanted at most 999 bytes a line"):
        read_word_vectors(tmp_path / "v.txt", ["a"], 2)


def test_parquet_keeps_to_the_ratio(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    columns = {
        "query_id": ["1"],
        "query": ["x" * (70 << 20)],
        "passages": ["p"],
        "id": ["1"],
        "text": ["a b"],
    }
    pq.write_table(
        pa.table(columns), path, compression="zstd", use_dictionary=False, write_statistics=False
    )
    with pytest.raises(InputError, match=RATIO):
        list(qa_rows(path))
