"""Files of Unix compress are read beside a Java machine, which leaves the main thread less stack
than ncompress needs.
"""

from __future__ import annotations

from pathlib import Path

from tests.forked import forked
from tests.formats.trec_disc import lzw
from tests.lucene import needs_lucene

UNPACK = """
import sys
from positionbias.firststage.java import java_class
from positionbias.formats.unix_compress import open_lzw

assert java_class("java.lang.String")("found").length() == 5
with open(sys.argv[1], "rb") as packed, open_lzw(packed, sys.argv[1]) as plain:
    print(len(plain.read()))
"""


@needs_lucene
def test_it_unpacks_beside_a_java_machine(tmp_path: Path) -> None:
    (tmp_path / "disc.z").write_bytes(lzw(b"The lamp of Orvell burns green oil. " * 100))
    done = forked([tmp_path / "disc.z"], tmp_path, {}, code=UNPACK)
    assert (done.returncode, done.stdout) == (0, "3600\n"), done.stderr
