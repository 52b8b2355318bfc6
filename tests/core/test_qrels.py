"""TREC qrels: both separators, both ways, and faults by line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.errors import InputError
from positionbias.core.qrels import Qrels
from positionbias.core.records import Qrel


def test_spaces_tabs_and_blank_lines(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("19335 Q0 1017759 0\n\n1\t4.5\t005b2j4b\t2\r\n  7   0  é-1 -1\n")
    assert Qrels.from_file(path) == [
        Qrel("19335", "1017759", 0),
        Qrel("1", "005b2j4b", 2),
        Qrel("7", "é-1", -1),
    ]


ID = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C")), min_size=1, max_size=8)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.tuples(ID, ID), st.integers(-2, 9), min_size=1),
    st.sampled_from(["q.txt", "q.txt.gz"]),
)
def test_what_is_written_is_read_again(tmp_path_factory, judged, name):
    path = tmp_path_factory.mktemp("trec") / name
    qrels = [Qrel(query_id, passage_id, grade) for (query_id, passage_id), grade in judged.items()]
    Qrels(qrels).save(path)
    assert Qrels.from_file(path) == qrels
    if name.endswith(".gz"):
        assert path.read_bytes()[:2] == b"\x1f\x8b"
        before = path.read_bytes()
        Qrels(qrels).save(path, overwrite=True)
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "q 0 p 1\nq 0 p2\n",
            r":2: wanted four columns: query iteration passage grade; found 3 columns",
        ),
        ("q 0 p 1 extra\n", r":1: wanted four columns.*found 5 columns"),
        ("q 0 p 1.0\n", r":1: wanted a whole number up to 1,000,000 as grade; found '1.0'"),
        ("q 0 p 1000001\n", r":1: wanted a whole number up to 1,000,000 as grade; found '1000001'"),
        ("q 0 p high\n", r":1: wanted a whole number up to 1,000,000 as grade; found 'high'"),
        (
            "q 0 p 1\nq 0 r 1\nq 1 p 1\n",
            (
                r":3: wanted each pair judged once; found passage 'p' of query 'q' again, first at "
                r"line 1"
            ),
        ),
        ("", "found an empty file"),
        ("\n \n", "found an empty file"),
    ],
)
def test_faults_name_the_line(tmp_path, text, message):
    path = tmp_path / "qrels.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        Qrels.from_file(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("wrong", ["", "two words", "tab\there", "line\n"])
def test_ids_that_the_form_cannot_carry_are_refused(tmp_path, wrong):
    path = tmp_path / "qrels.txt"
    for qrel in (Qrel(wrong, "p", 1), Qrel("q", wrong, 1)):
        with pytest.raises(InputError, match="ids without spaces"):
            Qrels([Qrel("q", "p", 1), qrel]).save(path)
    assert list(tmp_path.iterdir()) == []
