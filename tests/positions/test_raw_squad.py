"""Raw SQuAD JSON rotated: offsets move, what was cut is dropped and counted, everything else stays."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import InputError
from positionbias.formats.squad import read_squad
from positionbias.positions.raw_squad import rotate_squad
from positionbias.positions.rotate import Rotation

WORDS = Rotation(words="whitespace", seed=3)
TEXT = "The lamp burns green oil in the north hall."


def answer(text: str, context: str = TEXT) -> dict[str, Any]:
    return {"text": text, "answer_start": context.index(text), "note": "kept"}


def document() -> dict[str, Any]:
    return {
        "version": "v2.0",
        "data": [
            {"title": "First", "paragraphs": [{"context": "Only\none word each\there", "qas": []}]},
            {
                "title": "Lamps",
                "more": [1],
                "paragraphs": [
                    {"context": "x", "qas": []},
                    {
                        "context": TEXT,
                        "qas": [
                            {"id": "q1", "question": "what burns?", "answers": [answer("lamp")], "is_impossible": False},
                            {
                                "id": "q2",
                                "question": "what?",
                                "answers": [answer("green"), answer(TEXT)],
                                "is_impossible": False,
                            },
                            {"id": "q3", "question": "all?", "answers": [answer(TEXT)], "is_impossible": False},
                            {
                                "id": "q4",
                                "question": "none?",
                                "answers": [],
                                "plausible_answers": [answer("hall"), answer(TEXT)],
                                "is_impossible": True,
                            },
                        ],
                    },
                ],
            },
        ],
    }


def rotated(record: Any, rotation: Rotation = WORDS) -> tuple[Any, dict[str, int], dict[str, int]]:
    content, fates, answers = rotate_squad(rotation, json.dumps(record).encode(), "test.json")
    return json.loads(content), dict(fates), dict(answers)


def test_paragraphs_are_keyed_by_article_and_number_and_answers_move() -> None:
    original = document()
    found, fates, answers = rotated(original)
    contexts = [paragraph["context"] for article in found["data"] for paragraph in article["paragraphs"]]
    assert contexts == [WORDS.apply("Only\none word each\there", 0, 0), "x", WORDS.apply(TEXT, 1, 1)]
    assert contexts[2] != TEXT  # this seed does rotate it, which the rest of the test rests on
    q1, q2, q4 = found["data"][1]["paragraphs"][1]["qas"]
    assert [q1["id"], q2["id"], q4["id"]] == ["q1", "q2", "q4"]
    for question, text in ((q1, "lamp"), (q2, "green")):
        assert question["answers"] == [{"text": text, "answer_start": contexts[2].index(text), "note": "kept"}]
    assert q4["plausible_answers"] == [{"text": "hall", "answer_start": contexts[2].index("hall"), "note": "kept"}]
    assert (q4["answers"], q4["is_impossible"]) == ([], True)
    # the answers that are the whole text were cut: one of q2's two, and q3's only one
    assert answers == {"answers": 4, "kept": 2, "cut": 2, "questions": 4, "questions_dropped": 1}
    assert fates["rotated"] + fates["drawn_as_it_was"] == 2
    assert fates["one_word"] == 1
    for record in (found, original):
        for article in record["data"]:
            article["paragraphs"] = []
    assert found == original


def test_what_comes_out_is_valid_squad(tmp_path: Path) -> None:
    record = document()
    content, _, _ = rotate_squad(WORDS, json.dumps(record, ensure_ascii=False).encode() + b"\n", "test.json")
    (tmp_path / "rotated.json").write_bytes(content)
    squad = read_squad(tmp_path / "rotated.json")
    assert [len(article.paragraphs) for article in squad.articles] == [1, 2]
    assert content.endswith(b"\n")


def test_escapes_are_used_where_the_source_uses_them() -> None:
    record = {"version": "1.1", "data": [{"title": "é", "paragraphs": [{"context": "Café", "qas": []}]}]}
    for ascii_only in (True, False):
        data = json.dumps(record, ensure_ascii=ascii_only).encode()
        assert rotate_squad(WORDS, data, "test.json")[0] == data


@pytest.mark.realdata
def test_the_whole_development_file(posbias_data: Path, tmp_path: Path) -> None:
    source = posbias_data / "squad" / "dev-v1.1.json"
    content, fates, answers = rotate_squad(Rotation(), source.read_bytes(), str(source))
    (tmp_path / "rotated.json").write_bytes(content)
    before, after = read_squad(source), read_squad(tmp_path / "rotated.json")  # checks every offset
    texts = [[paragraph.text for article in squad.articles for paragraph in article.paragraphs] for squad in (before, after)]
    assert [len(text) for text in texts[1]] == [
        len(text) + (text != moved) for text, moved in zip(*texts, strict=True)
    ]  # one space more where it was rotated
    assert fates["rotated"] == sum(text != moved for text, moved in zip(*texts, strict=True))
    questions = [sum(len(p.questions) for article in squad.articles for p in article.paragraphs) for squad in (before, after)]
    assert questions == [answers["questions"], answers["questions"] - answers["questions_dropped"]]
    assert answers["kept"] + answers["cut"] == answers["answers"]


def changed(place: list[Any], value: Any) -> dict[str, Any]:
    record: Any = copy.deepcopy(document())
    inner = record
    for key in place[:-1]:
        inner = inner[key]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return record


PARAGRAPH = ["data", 1, "paragraphs", 1]
FIRST = [*PARAGRAPH, "qas", 0, "answers", 0]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([], "wanted 'data' as a list; found none (the file)"),
        (changed(["data"], None), "wanted 'data' as a list; found none (the file)"),
        (changed(["data", 0, "paragraphs"], {}), "wanted 'paragraphs' as a list; found none (article 1)"),
        (changed(["data", 1], "x"), "wanted 'paragraphs' as a list; found none (article 2)"),
        (changed([*PARAGRAPH, "context"], None), "wanted 'context' as text; found none (article 2, paragraph 2)"),
        (changed([*PARAGRAPH, "context"], "\ud800"), "wanted contexts in valid Unicode; found half a surrogate pair"),
        (changed([*PARAGRAPH, "qas"], None), "wanted 'qas' as a list; found none (article 2, paragraph 2)"),
        (changed([*PARAGRAPH, "qas", 0, "answers"], None), "wanted 'answers' as a list; found none (article 2, paragraph 2)"),
        (changed([*FIRST, "answer_start"], "4"), "wanted 'answer_start' as a whole number; found none (article 2, paragraph 2)"),
        (changed([*FIRST, "answer_start"], True), "wanted 'answer_start' as a whole number; found none (article 2, paragraph 2)"),
        (changed([*FIRST, "answer_start"], 5), "wanted the answer 'lamp' at character 5; found something else there"),
        (changed([*FIRST, "answer_start"], -39), "wanted the answer 'lamp' at character -39; found something else there"),
        (changed([*FIRST, "text"], ""), "wanted the answer '' at character 4; found something else there"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(record: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        rotated(record)
    assert str(caught.value).startswith("test.json: wanted ")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "test.json:1: wanted SQuAD JSON; found Expecting value at column 1"),
        (b'{"data": [\n{]', "test.json:2: wanted SQuAD JSON; found "),
        (b'{"data":\n"caf\xe9"}', "test.json:2: wanted SQuAD JSON in UTF-8; found the byte 0xe9"),
        (b"[" * 100_000, "test.json: wanted SQuAD JSON; found maximum recursion depth"),
    ],
    ids=["empty", "broken", "Latin-1", "deep"],
)
def test_what_is_no_json_is_named(data: bytes, said: str) -> None:
    with pytest.raises(InputError) as caught:
        rotate_squad(WORDS, data, "test.json")
    assert str(caught.value).startswith(said)


def test_a_byte_order_mark_is_dropped() -> None:
    data = json.dumps(document()).encode()
    assert rotate_squad(WORDS, b"\xef\xbb\xbf" + data, "x")[0] == rotate_squad(WORDS, data, "x")[0]


@pytest.mark.parametrize("title", ["half \\ud800", "half \\ud800 Zur Brücke"])
def test_half_a_surrogate_pair_beside_the_texts_stays_as_it_was_escaped(title: str) -> None:
    data = json.dumps(document(), ensure_ascii=False).replace("First", title).encode()
    written, _, _ = rotate_squad(WORDS, data, "x.json")
    assert json.loads(written)["data"][0]["title"] == json.loads(f'"{title}"')
    assert rf"{title}"[:11].encode() in written
