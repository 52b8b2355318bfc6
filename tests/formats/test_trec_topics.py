"""TREC topics in their forms, which text is the query's, labels, variants, and faults by line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.core.records import Query
from positionbias.formats.trec_topics import read_topic_files, read_topics

OPEN = """<top>

<num> Number: 301
<title> Lamps of
Orvell, R&D &amp; oil

<desc> Description:
Find what the lamp burns, when 3 < 4 and
<i>why</i>.

<narr> Narrative:
Relevant is  what names the oil.
</top>


<top>
<num> Number: 302
<title> Description: of gates
<desc>
No label here.
<narr>
</top>
"""
CLOSED = """<top>
<num> Number: 321 </num>
<title>
Iron gate
</title>
<desc> Description:
When it opens.
</desc>
<narr> Narrative
Twice a day.
</narr>
</top>
"""
TIPSTER = """<top>
<head> Tipster Topic Description
<num> Number:  051
<dom> Domain:  International Economics
<title> Topic:  Airbus Subsidies
<con> Concept(s):
1. Airbus
2. Boeing
<fac> Factor(s):
<nat> Nationality: U.S.
</fac>
<def> Definition(s):
</top>
"""
COVID = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="COVIDSearch Round 5" batch="5">
  <topic number="1">
    <query>coronavirus origin</query>
    <question>what is the origin
       of COVID-19</question>
    <narrative>seeking &lt;its&gt; origin</narrative>
  </topic>
</topics>
"""
TRIALS = """<topics task="2021 TREC Clinical Trials">
<topic number="1"> A 45-year-old
with a <b>gate</b> </topic>
<topic number="2" template="glaucoma"><field name="definitive diagnosis">POAG</field><field \
name="age">60</field></topic>
</topics>"""
WEB = """<webtrack2012><topic number="151" type="ambiguous"><query>403b</query><description>What \
is it?</description>
<subtopic number="1" type="inf">first</subtopic><subtopic number="2" \
type="nav">second</subtopic></topic></webtrack2012>"""
INDRI = "<parameters><query><number>301</number><text>lamp oil</text></query></parameters>"


def topics(path: Path, text: str | bytes) -> list[Query]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_topics(path)


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        (
            OPEN,
            [
                Query(
                    "301",
                    "Lamps of Orvell, R&D & oil",
                    {
                        "description": "Find what the lamp burns, when 3 < 4 and why.",
                        "narrative": "Relevant is what names the oil.",
                    },
                ),
                Query("302", "Description: of gates", {"description": "No label here."}),
            ],
        ),
        (
            CLOSED,
            [
                Query(
                    "321",
                    "Iron gate",
                    {"description": "When it opens.", "narrative": "Twice a day."},
                )
            ],
        ),
        (
            TIPSTER,
            [
                Query(
                    "051",
                    "Airbus Subsidies",
                    {
                        "head": "Tipster Topic Description",
                        "domain": "International Economics",
                        "concepts": "1. Airbus 2. Boeing",
                        "nationality": "U.S.",
                    },
                )
            ],
        ),
        (
            COVID,
            [
                Query(
                    "1",
                    "coronavirus origin",
                    {
                        "question": "what is the origin of COVID-19",
                        "narrative": "seeking <its> origin",
                    },
                )
            ],
        ),
        (
            TRIALS,
            [
                Query("1", "A 45-year-old with a gate"),
                Query("2", "POAG", {"template": "glaucoma", "age": "60"}),
            ],
        ),
        (
            WEB,
            [
                Query(
                    "151",
                    "403b",
                    {
                        "type": "ambiguous",
                        "description": "What is it?",
                        "subtopic": "first",
                        "subtopic2": "second",
                    },
                )
            ],
        ),
        (INDRI, [Query("301", "lamp oil")]),
        (
            "1\tlamp  oil\r\n\n2\t<i>東京</i>\tx\n1\toil of lamps\n1\toils",
            [
                Query("1", "lamp oil", {"variant1": "oil of lamps", "variant2": "oils"}),
                Query("2", "<i>東京</i> x"),
            ],
        ),
    ],
    ids=["open", "closed", "tipster", "covid", "trials", "web", "indri", "lines"],
)
def test_forms(tmp_path, text, queries):
    assert topics(tmp_path / "topics", text) == queries
    assert topics(tmp_path / "topics", "\ufeff" + text) == queries
    assert topics(tmp_path / "topics", gzip.compress(text.encode())) == queries
    assert topics(tmp_path / "topics", text.replace("\n", "\r\n")) == queries


def test_an_xml_file_declares_its_encoding(tmp_path):
    text = (
        "<?xml version='1.0' encoding='latin-1'?><topics><topic "
        "number='1'><title>Brücke</title></topic></topics>"
    )
    assert topics(tmp_path / "topics", text.encode("latin-1")) == [Query("1", "Brücke")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"topics: wanted TREC topics: .*found none"),
        ("lamp oil", r"topics:1: wanted an id, a tab and a text; found no tab"),
        ("1\ta\n\tb", r"topics:2: .*found no id"),
        ("1\ta\n2\t \n", r"topics:2: .*found no text"),
        (b"1\ta\n2\t\xff", r"topics:2: wanted TREC topics in UTF-8; found the byte 0xff"),
        (
            OPEN + OPEN,
            r"topics:23: wanted every topic once; found topic '301' again, first at line 1",
        ),
        ("\n<top>\n<title> x\n</top>", r"topics:2: wanted a number in every topic"),
        ("<top>\n<num> Number: 1\n</top>", r"topics:1: wanted a topic with text; found only '1'"),
        (COVID[:-20], r"topics:8: wanted well-formed XML"),
        (COVID.replace('number="1"', ""), r"topics:3: wanted a number in every topic"),
        ("<html><p>404</p></html>", r"topics: wanted <topic> or <query> elements"),
        (
            "<!DOCTYPE t [<!ENTITY a 'b'>]><topics><topic number='1'>&a;</topic></topics>",
            r"topics:1: .*entity declarations",
        ),
    ],
)
def test_faults_are_one_line(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as error:
        topics(tmp_path / "topics", text)
    assert "\n" not in str(error.value)


def test_several_files_of_a_split(tmp_path):
    for name, text in {
        "a": OPEN,
        "b": CLOSED,
        "variants": "301\tgreen oil lamps\n9\tnew\n301\tlamp oil",
        "more": "301\tburning oil",
    }.items():
        (tmp_path / name).write_text(text)
    merged = read_topic_files([tmp_path / name for name in ("a", "b", "variants", "more")])
    assert [query.query_id for query in merged] == ["301", "302", "321", "9"]
    assert merged[0].text == "Lamps of Orvell, R&D & oil"
    variants = {name: text for name, text in merged[0].fields.items() if name.startswith("variant")}
    assert variants == {
        "variant1": "green oil lamps",
        "variant2": "lamp oil",
        "variant3": "burning oil",
    }
    with pytest.raises(
        InputError, match=r"a: wanted every topic in one file; found topic '301', also in .*a;"
    ):
        read_topic_files([tmp_path / "a", tmp_path / "a"])


def test_a_topic_twice_on_one_line_is_found(tmp_path):
    topic = "<topic number='302'><query>gate</query></topic>"
    with pytest.raises(
        InputError,
        match=r"topics:2: wanted every topic once; found topic '302' again, first at line 2",
    ):
        topics(tmp_path / "topics", f"<topics>\n{topic} {topic}</topics>")


@pytest.mark.parametrize("at", [0, 1], ids=["the first", "the second"])
def test_a_topic_with_a_damaged_tag_is_not_skipped(tmp_path, at):
    texts = [
        "<top>\n<num> Number: 301\n<title> lamp\n</top>\n",
        "<top>\n<num> Number: 302\n<title> gate\n</top>\n",
    ]
    texts[at] = texts[at].replace("<top>", "<top&#xD800;>")
    with pytest.raises(
        InputError,
        match=(
            rf"topics:{4 * at + 2}: wanted every topic between <top> and </top>; found <num> "
            r"outside"
        ),
    ):
        topics(tmp_path / "topics", "".join(texts))


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "count"), [("robust04", 250), ("core17", 50), ("core18", 50)])
def test_real_topics(posbias_data, name, count):
    queries = read_topics(posbias_data / "leakage" / f"topics.{name}.txt")
    assert len(queries) == count
    for query in queries:
        assert query.query_id.isdigit()
        assert set(query.fields) == {"description", "narrative"}
        for text in (query.text, *query.fields.values()):
            assert text
            assert not text.startswith(("Topic", "Description:", "Narrative", "Number"))
            assert "<" not in text
            assert text == " ".join(text.split())
