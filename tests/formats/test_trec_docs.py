"""TREC documents: every form and packing, encodings, what is left out, and faults by line."""

from __future__ import annotations

import gzip
import io
import os
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.errors import InputError, SettingError
from positionbias.engine.local import map_shards
from positionbias.formats.markup import collapse, escape, plain_text, resolve
from positionbias.formats.trec_docs import Reading
from positionbias.formats.trec_files import _stream_documents
from positionbias.formats.trec_import import import_trec
from tests.formats.trec_disc import DISC, FBIS, FR94, FT, LATIMES, lzw, nitf, tar, wapo


def imported(place: Path, *docs: Path, **more) -> Collection:
    return import_trec(docs, (), (), place / "out", overwrite=True, **more)


def texts(collection: Collection) -> dict[str, str]:
    return {passage.passage_id: passage.text for passage in collection.passages()}


def source(collection: Collection) -> dict:
    return collection.manifest.content["source"]


@pytest.fixture
def disc(tmp_path: Path) -> Path:
    """A disc's folders: compressed as on the discs, gzipped, plain, with what is no document beside
    them.
    """
    folder = tmp_path / "disc"
    for name in ("ft/ft911", "fr94/01", "fbis", "latimes", ".hidden"):
        (folder / name).mkdir(parents=True)
    (folder / "ft/ft911/ft911_1.z").write_bytes(lzw(FT))
    (folder / "fr94/01/fr940104.0z").write_bytes(lzw(FR94))
    (folder / "latimes/la010189.gz").write_bytes(gzip.compress(LATIMES))
    (folder / "fbis/fb396001").write_bytes(FBIS)
    (folder / "readfrcg").write_text("The documents start with <DOC>.\n")
    (folder / "ft/ft.dtd").write_text("<!ELEMENT DOC - O (DOCNO, TEXT)>\n")
    (folder / ".hidden/fb").write_bytes(FBIS)
    return folder


def test_a_disc_in_its_packings(tmp_path, disc):
    collection = imported(tmp_path, disc)
    assert texts(collection) == DISC
    # folders in sorted order
    assert list(texts(collection)) == ["FBIS3-1", "FR940104-0-00001", "FT911-1", "LA010189-0001"]
    assert source(collection) == {
        "format": "trec",
        "documents": 4,
        "sgml": 4,
        "not_utf8": 1,
        "skipped_files": {".dtd": 1, "no ending": 1},
    }
    assert "NIST" in collection.manifest.licence
    assert len(collection.shard_paths) == 1  # small files share a bundle


def test_the_engine_and_the_packing_do_not_change_what_is_read(tmp_path, disc):
    expected = imported(tmp_path, disc).checksum
    assert imported(tmp_path, disc, map_shards=partial(map_shards, workers=2)).checksum == expected
    together = FT + b"\n" + LATIMES + FR94 + FBIS
    for name, data in {
        "all": together,
        "all.gz": gzip.compress(together),
        "all.zst": zstandard.compress(together),
        "all.Z": lzw(together),
        "all.tar": tar(
            {"a/ft.z": lzw(FT), "la.gz": gzip.compress(LATIMES), "fr": FR94, "b/c/fb": FBIS}
        ),
        "all.tgz": tar(
            {"inner.tar": tar({"x": FT + FR94}), "y.tgz": tar({"z": LATIMES + FBIS}, "gz")}, "gz"
        ),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert imported(tmp_path, tmp_path / name).checksum == expected, name


def test_only_the_tags_asked_for_are_text(tmp_path):
    (tmp_path / "ft").write_bytes(FT)
    assert texts(imported(tmp_path, tmp_path / "ft", reading=Reading(tags=("byline", "PAGE")))) == {
        "FT911-1": "By A N OTHER London Page 4"
    }
    (tmp_path / "open").write_bytes(
        b"<DOC>\n<DOCNO>a</DOCNO><TITLE>x</TITLE>\n<TEXT>never closed\n"
        b"</DOC><DOC><docno>b</docno></DOC>"
    )
    collection = imported(tmp_path, tmp_path / "open")
    assert texts(collection) == {"a": "x never closed", "b": ""}
    assert source(collection)["empty"] == 1


def test_bytes_that_are_not_utf8(tmp_path):
    def documents(*bodies: bytes) -> Path:
        path = tmp_path / "docs"
        path.write_bytes(
            b"".join(
                b"<DOC>\n<DOCNO>%d</DOCNO>\n<TEXT>%s</TEXT>\n</DOC>\n" % item
                for item in enumerate(bodies)
            )
        )
        return path

    # document by document: UTF-8 stays, 0x93 and 0x94 are Windows-1252's quotes, 0x81 means nothing
    # there
    path = documents("Brücke 東京".encode(), b"Br\xfccke \x93x\x94 \x81")
    collection = imported(tmp_path, path)
    assert texts(collection) == {"0": "Brücke 東京", "1": "Brücke “x” \x81"}
    assert source(collection)["not_utf8"] == 1
    assert (
        texts(imported(tmp_path, path, reading=Reading(encoding="latin-1")))["1"]
        == "Brücke \x93x\x94 \x81"
    )
    with pytest.raises(
        InputError, match=r"docs:7: wanted text in UTF-8 or utf-8; found the byte 0xfc"
    ):
        imported(tmp_path, path, reading=Reading(encoding="utf-8"))
    path = documents("東京".encode("shift_jis"))
    assert texts(imported(tmp_path, path, reading=Reading(encoding="shift_jis"))) == {"0": "東京"}
    for encoding in ("nosuch", "utf-16", "hex", "a\0b"):
        with pytest.raises(SettingError, match="--encoding"):
            Reading(encoding=encoding)
    with pytest.raises(SettingError, match="--tag"):
        Reading(tags=("TEXT", "<P>"))


def test_new_york_times(tmp_path):
    month = tar(
        {
            "01/01/0000000.xml": nitf(
                "0000000",
                "Lamps &amp; Oil",
                "The lamp",
                "The  lamp\n burns.",
                "It &#233; <b>hang</b>s.",
            ),
            "01/01/0000001.xml": nitf("0000001", "Gate", "Only a lead."),
            "01/01/link.txt": b"not a document",
        },
        "gz",
    )
    (tmp_path / "1987").mkdir()
    (tmp_path / "1987/01.tgz").write_bytes(month)
    (tmp_path / "plain.xml").write_bytes(nitf("0000002", "Caf&eacute; &nosuch;", "x", "東京"))
    collection = imported(tmp_path, tmp_path / "1987", tmp_path / "plain.xml")
    assert texts(collection) == {
        "0000000": "Lamps & Oil The lamp burns. It é hang s.",
        "0000001": "Gate Only a lead.",
        "0000002": "Café &nosuch; 東京",
    }
    assert source(collection) == {
        "format": "trec",
        "documents": 3,
        "nyt": 3,
        "skipped_files": {".txt": 1},
    }
    assert "LDC" in collection.manifest.licence
    (tmp_path / "nyt_corpus.tgz").write_bytes(
        tar(
            {"data/1987/01.tgz": month, "data/plain.xml": (tmp_path / "plain.xml").read_bytes()},
            "gz",
        )
    )
    assert imported(tmp_path, tmp_path / "nyt_corpus.tgz").checksum == collection.checksum


def test_washington_post(tmp_path):
    lines = (
        wapo(
            "w-1",
            "Lamps &amp; Oil",
            'The <a href="x>y">lam</a>p<br/>burns &lt;oil&gt;.',
            "5 < 6 &nbsp;",
        )
        + b"\r\n"
        + wapo("w-2", None, "東京")[:-1]
    )
    (tmp_path / "wp.jl").write_bytes(b"\xef\xbb\xbf" + lines)
    collection = imported(tmp_path, tmp_path / "wp.jl")
    assert texts(collection) == {
        "w-1": "Lamps & Oil The lamp burns <oil>. 5 < 6 \xa0",
        "w-2": "東京",
    }
    (tmp_path / "WashingtonPost.tar.gz").write_bytes(
        tar({"data/TREC_Washington_Post_collection.v2.jl": lines}, "gz")
    )
    assert imported(tmp_path, tmp_path / "WashingtonPost.tar.gz").checksum == collection.checksum


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        (
            "cut",
            FT + FT[: len(FT) // 2],
            r"cut:20: wanted </DOC> after this <DOC>; found the end of the file",
        ),
        (
            "twice",
            b"\n<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n</DOC>",
            r"twice:4: wanted every document .*found <DOC> inside a <DOC>",
        ),
        (
            "closed",
            b"<DOC>\n<DOCNO>1</DOCNO>\n</DOC>\n</DOC>",
            r"closed:4: .*found </DOC> without <DOC>",
        ),
        (
            "noid",
            FT + b"<DOC>\n<TEXT>x</TEXT>\n</DOC>",
            r"noid:20: wanted <DOCNO>…</DOCNO> in every document; found none",
        ),
        ("same", FT + FT, r"share the id 'FT911-1'"),
        (
            "a.xml",
            nitf("1", "x", "y")[:-12],
            r"a\.xml:2\d: wanted well-formed XML; found no element found|unclosed token",
        ),
        (
            "b.xml",
            nitf("1", "x", "y & z"),
            r"b\.xml:18: wanted well-formed XML; found not well-formed",
        ),
        (
            "c.xml",
            nitf("", "x", "y"),
            r"c\.xml: wanted an NITF article with <doc-id id-string=…>; found none",
        ),
        (
            "d.xml",
            b"<?xml version='1.0' encoding='nosuch'?><nitf/>",
            r"d\.xml.*wanted well-formed XML.*unknown encoding",
        ),
        ("a.jl", wapo("1", "x") + b'{"id": "2"}\n', r"a\.jl:2: .*found no list of contents"),
        ("b.jl", b'{"contents": []}', r"b\.jl:1: .*found no id"),
        ("c.jl", b'{"id": "1", "contents": [}', r"c\.jl:1: .*found Expecting value at column 26"),
        ("d.jl", wapo("1", "x") + b'["a"]', r"d\.jl:2: .*found a JSON list"),
        ("e.jl", b'{"id": "\\ud800", "contents": []}', r"e\.jl:1: .*half a character \(U\+D800\)"),
        ("f.jl", b'{"id": "1", "contents": ' + b"[" * 100_000, r"f\.jl:1: .*"),
        (
            "g.jl",
            wapo("1", "x") + b'{"id": "\xff"}',
            r"g\.jl:2: wanted text in UTF-8; found the byte 0xff",
        ),
        ("other", b"id,text\n", r"other: wanted TREC documents: .*found none of these"),
        ("empty", b"", r"empty: wanted TREC documents: .*found none of these"),
        ("a.z", lzw(FT)[:200], r"a\.z:1: wanted </DOC> after this <DOC>"),
        (
            "b.z",
            b"\x1f\x9d\xff123",
            r"b\.z: wanted a file made by Unix compress; found compressed with 31 bits",
        ),
        (
            "a.gz",
            gzip.compress(FT * 9)[:-9],
            r"a\.gz: wanted a compressed file or archive, whole; found",
        ),
        ("a.tar", tar({"x": FT, "y": FT})[:2000], r"a\.tar:?.*wanted"),
        ("b.tar", b"x" * 1024, r"b\.tar: wanted a complete tar archive"),
        ("c.tar", tar({"x": FT[:-8]}), r"c\.tar:x:1: wanted </DOC>"),
    ],
    ids=lambda value: value if isinstance(value, str) and len(value) < 6 else "",
)
def test_faults_are_one_line(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        imported(tmp_path, path)
    assert "\n" not in str(error.value)
    assert sorted(item.name for item in tmp_path.iterdir()) == [name]


@pytest.mark.parametrize(
    "declared",
    [
        '<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">',
        '<!ENTITY b SYSTEM "file:///etc/hostname">',
        '<!ENTITY % p SYSTEM "http://127.0.0.1:9/x.dtd"> %p;<!ENTITY b "x">',
    ],
)
def test_xml_entities_are_neither_expanded_nor_fetched(tmp_path, declared):
    article = nitf("1", "x", "y &b;").decode()
    start, _, rest = article.partition("<nitf ")
    path = tmp_path / "bomb.xml"
    path.write_text(f"{start.partition('<!DOCTYPE')[0]}<!DOCTYPE nitf [{declared}]>\n<nitf {rest}")
    with pytest.raises(InputError, match=r"bomb\.xml:2: wanted XML without entity declarations"):
        imported(tmp_path, path)


def test_an_external_document_type_is_not_read(tmp_path):
    (tmp_path / "nitf.dtd").write_text("<!ENTITY b 'fetched'>")
    path = tmp_path / "a.xml"
    path.write_bytes(
        nitf("1", "x", "y &b;").replace(
            b"http://www.nitf.org/IPTC/NITF/3.3/specification/dtd/nitf-3-3.dtd", b"nitf.dtd"
        )
    )
    assert texts(imported(tmp_path, path)) == {"1": "x y &b;"}


def test_places_that_are_none(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, found in (("empty", "an empty folder"), ("nothing", "nothing there")):
        with pytest.raises(
            InputError, match=f"{name}: wanted a file or folder of TREC documents; found {found}"
        ):
            imported(tmp_path, tmp_path / name)
    (tmp_path / "empty/readme").write_text("nothing to read")
    with pytest.raises(InputError, match="empty: wanted TREC documents; found none"):
        imported(tmp_path, tmp_path / "empty")
    (tmp_path / "readme.sgml").write_bytes(b"intro\n" + FT)
    with pytest.raises(InputError, match="none of these"):
        imported(tmp_path, tmp_path / "readme.sgml")
    forced = imported(tmp_path, tmp_path / "readme.sgml", reading=Reading(docs_format="sgml"))
    assert (len(forced), source(forced)["outside"]) == (1, 5)
    with pytest.raises(SettingError, match="--docs-format"):
        Reading(docs_format="trec")  # type: ignore[arg-type]
    os.mkfifo(tmp_path / "empty/pipe")
    (tmp_path / "empty/ft").write_bytes(FT)
    (tmp_path / "empty/loop").symlink_to(tmp_path / "empty")
    assert len(imported(tmp_path, tmp_path / "empty")) == 1
    (tmp_path / "empty/gone").symlink_to(tmp_path / "gone")
    with pytest.raises(InputError, match="gone: wanted a readable file"):
        imported(tmp_path, tmp_path / "empty")


@given(
    st.lists(st.binary(max_size=30).filter(lambda item: b"<" not in item), min_size=1, max_size=12),
    st.integers(1, 120),
)
def test_a_stream_is_cut_before_documents(bodies, size):
    data = b"lead" + b"".join(
        b"<%s>%s</DOC>\n" % (b"DOC" if i % 2 else b"doc ", body) for i, body in enumerate(bodies)
    )
    blocks = list(_stream_documents(io.BytesIO(data), "docs", size))
    assert b"".join(block.read() for block in blocks) == data
    starts = [1 + data.count(b"\n", 0, block.start) for block in blocks]
    assert [block.line_number(0) for block in blocks] == starts
    assert all(
        block.read()[:4].lower() == b"<doc" and len(before.read()) >= size
        for before, block in pairwise(blocks)
    )


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a &amp; b &#38; &#x26; &lt;P&gt;", "a & b & & <P>"),
        ("AT&T; R&D, &nosuch; &#xD800; &#99999999;", "AT&T; R&D, &nosuch; &#xD800; &#99999999;"),
        ("&#150; &#129;", "– \x81"),
        (" a\r\n\tb<P>c<!-- d <P> -->e <i>f</i>g < h", "a b ce fg < h"),
        ("<!-- never closed", "<!-- never closed"),
        ("<a title='x > y'>z</a> <br clear=all>", "z"),
    ],
)
def test_markup_to_text(markup, text):
    assert plain_text(markup) == text


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_survives_escaping(text):
    assert plain_text(escape(text)) == text
    assert "<" not in escape(text)
    assert plain_text(f"\n{escape(text)}\n") == text


@given(st.text("<>!-/=\"'aAbB &;#x1\n ", max_size=200))
def test_no_markup_breaks_the_reader(text):
    assert collapse(resolve(plain_text(text)).replace("\x01", "")) is not None
