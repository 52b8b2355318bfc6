"""SQuAD: what the published layouts become, what goes back, and one line for each fault."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import InputError, SettingError
from positionbias.core.manifest import Manifest
from positionbias.core.records import Answer, Passage, Query
from positionbias.formats.squad import import_squad, write_squad
from positionbias.formats.squad_json import read_squad
from positionbias.formats.validation_draw import HoldOut
from positionbias.positions.histogram import position_histogram

LAMP = "The lamp of Orvell burns\tgreen oil.\r\nIt hangs in the “north” hall."
GATE = "Travellers pass the gate at dusk."


def question(question_id: str, text: str, *answers: tuple[str, int], **more: Any) -> dict[str, Any]:
    spans = [{"text": answer, "answer_start": start} for answer, start in answers]
    return {"id": question_id, "question": text, "answers": spans, **more}


def train_file() -> dict[str, Any]:
    """Version 1.1: two articles, three paragraphs (one twice), three questions; offsets are those
    of LAMP and GATE.
    """
    return {
        "version": "1.1",
        "data": [
            {
                "title": "Orvell",
                "paragraphs": [
                    {
                        "context": LAMP,
                        "qas": [
                            question("t1", "What does the lamp burn?", ("green oil", 25)),
                            question("t2", "Where does\tit hang?", ("the “north” hall", 49)),
                        ],
                    },
                    {"context": GATE, "qas": []},
                ],
            },
            {
                "title": "Gates",
                "paragraphs": [
                    {"context": GATE, "qas": [question("t3", "When?", ("at dusk", 25))]}
                ],
            },
        ],
    }


def development_file() -> dict[str, Any]:
    """Version 2.0: three annotators (two alike), an unanswerable question, a paragraph with nothing
    but such a one.
    """
    answers = (("green oil", 25), ("oil", 31), ("green oil", 25))
    unanswerable = {
        "is_impossible": True,
        "plausible_answers": [{"text": "dusk", "answer_start": 28}],
    }
    return {
        "version": "v2.0",
        "data": [
            {
                "title": "Lamps",
                "paragraphs": [
                    {
                        "context": LAMP,
                        "qas": [
                            question("d1", "Which oil?", *answers, is_impossible=False),
                            question("d2", "Who lit it?", **unanswerable),
                        ],
                    },
                    {
                        "context": GATE,
                        "qas": [question("d3", "Who keeps the gate?", **unanswerable)],
                    },
                ],
            }
        ],
    }


def save(path: Path, document: Any) -> Path:
    path.write_text(
        document if isinstance(document, str) else json.dumps(document, ensure_ascii=False),
        encoding="utf-8",
    )
    return path


def imported(
    folder: Path,
    train: dict[str, Any] | None = None,
    test: dict[str, Any] | None = None,
    **settings: Any,
) -> Collection:
    train_path = save(folder / "train.json", train or train_file())
    test_path = save(folder / "dev.json", test or development_file())
    return import_squad([train_path], test_path, folder / "squad", overwrite=True, **settings)


def test_paragraphs_become_passages_and_questions_queries(tmp_path: Path) -> None:
    squad = imported(tmp_path)
    # tab, CR and LF: one space each
    one_line = "The lamp of Orvell burns green oil.  It hangs in the “north” hall."
    assert [passage.text for passage in squad.passages()] == [one_line, GATE, GATE, one_line, GATE]
    assert len(one_line) == len(LAMP)
    assert squad.queries("train") == [
        Query("t1", "What does the lamp burn?"),
        Query("t2", "Where does it hang?"),
        Query("t3", "When?"),
    ]
    ids = squad.passage_ids()
    assert len(set(ids)) == 5  # the same paragraph under another article is another passage
    assert [tuple(qrel) for qrel in squad.qrels("train")] == [
        ("t1", ids[0], 1),
        ("t2", ids[0], 1),
        ("t3", ids[2], 1),
    ]
    assert squad.answers("train")[1] == Answer("t2", ids[0], "the “north” hall", 49, 65)
    assert squad.queries("test") == [Query("d1", "Which oil?")]
    assert [(answer.text, answer.start) for answer in squad.answers("test")] == [
        ("green oil", 25),
        ("oil", 31),
    ]
    assert squad.splits == ["train", "test"]


def test_every_answer_stands_where_its_offsets_say(tmp_path: Path) -> None:
    squad = imported(tmp_path)
    texts = dict(squad.passages())
    for split in squad.splits:
        for answer in squad.answers(split):
            assert texts[answer.passage_id][answer.start : answer.end] == answer.text


def test_what_was_dropped_is_counted_and_the_source_kept(tmp_path: Path) -> None:
    manifest = imported(tmp_path).manifest
    assert manifest.content["source"]["files"] == [
        {
            "role": "train",
            "version": "1.1",
            "paragraphs": 3,
            "questions": 3,
            "unanswerable": 0,
            "repeated_spans": 0,
            "articles": [["Orvell", 2], ["Gates", 1]],
            "without_start": 0,
            "moved": 0,
        },
        {
            "role": "test",
            "version": "2.0",
            "paragraphs": 2,
            "questions": 3,
            "unanswerable": 2,
            "repeated_spans": 1,
            "articles": [["Lamps", 2]],
            "without_start": 0,
            "moved": 0,
        },
    ]
    assert manifest.licence.startswith("CC BY-SA 4.0")
    assert [(item.role, item.path) for item in manifest.inputs] == [
        ("train", "../train.json"),
        ("test", "../dev.json"),
    ]


def many_questions(count: int) -> dict[str, Any]:
    qas = [question(f"q{n:03}", "?", ("Travellers", 0)) for n in range(count)]
    return {
        "version": "1.1",
        "data": [{"title": "x", "paragraphs": [{"context": GATE, "qas": qas}]}],
    }


def test_validation_is_drawn_from_training_and_taken_out_of_it(tmp_path: Path) -> None:
    one_by_one: dict[str, Any] = {"seed": 1, "validation_by": HoldOut.QUERY}
    squad = imported(tmp_path, many_questions(200), validation=60, **one_by_one)
    split = {name: [query.query_id for query in squad.queries(name)] for name in squad.splits}
    assert {name: len(ids) for name, ids in split.items()} == {
        "train": 140,
        "validation": 60,
        "test": 1,
    }
    assert sorted(split["train"] + split["validation"]) == [f"q{n:03}" for n in range(200)]
    assert split["validation"] == sorted(split["validation"])  # in the file's order, not the draw's
    assert {qrel.query_id for qrel in squad.qrels("validation")} == set(split["validation"])
    assert {answer.query_id for answer in squad.answers("validation")} == set(split["validation"])
    # spread over the file: about 30 of each half, within four deviations of √(60·½·½·140/199) = 3.2
    assert abs(sum(item < "q100" for item in split["validation"]) - 30) < 13
    again = {
        query.query_id
        for query in imported(tmp_path, many_questions(200), validation=60, **one_by_one).queries(
            "validation"
        )
    }
    other = {
        query.query_id
        for query in imported(
            tmp_path, many_questions(200), validation=60, seed=2, validation_by=HoldOut.QUERY
        ).queries("validation")
    }
    assert again == set(split["validation"])
    assert other != again
    larger = {
        query.query_id
        for query in imported(tmp_path, many_questions(200), validation=61, **one_by_one).queries(
            "validation"
        )
    }
    assert again < larger  # one more question changes no other's draw


def test_validation_takes_whole_passages_and_whole_articles_where_they_come_near(
    tmp_path: Path,
) -> None:
    def article(number: int) -> dict[str, Any]:
        contexts = [
            {
                "context": f"{GATE} {number}-{place}",
                "qas": [
                    question(f"q{number}-{place}-{n}", "?", ("Travellers", 0)) for n in range(4)
                ],
            }
            for place in range(5)
        ]
        return {"title": f"{number}", "paragraphs": contexts}

    # 6 articles of 5 passages of 4 questions
    file = {"version": "1.1", "data": [article(number) for number in range(6)]}
    for asked, by, found in ((41, "article", 40), (12, "passage", 12)):
        squad = imported(tmp_path, file, validation=asked, seed=1)
        assert squad.manifest.content["validation"] | {"units": 0} == {
            "by": by,
            "asked": asked,
            "queries": found,
            "units": 0,
        }
        positives = [
            {qrel.passage_id for qrel in squad.qrels(split)} for split in ("train", "validation")
        ]
        assert not positives[0] & positives[1]
        articles = [
            {query.query_id[:2] for query in squad.queries(split)}
            for split in ("train", "validation")
        ]
        assert by == "passage" or not articles[0] & articles[1]
        assert [len(squad.queries(split)) for split in ("train", "validation")] == [
            120 - found,
            found,
        ]


@pytest.mark.parametrize("count", [-1, 3, 4])
def test_validation_must_leave_something_to_train_on(tmp_path: Path, count: int) -> None:
    with pytest.raises(SettingError, match="--validation-queries: wanted"):
        imported(tmp_path, validation=count)
    assert not (tmp_path / "squad").exists()


def test_both_versions_come_back_as_they_were(tmp_path: Path) -> None:
    squad = imported(tmp_path, validation=1)
    train = write_squad(squad, tmp_path / "train-again.json", ["train", "validation"])
    test = write_squad(squad, tmp_path / "dev-again.json", ["test"], version="2.0")
    assert train == (2, 3, 3, 0)
    assert test == (1, 2, 1, 0)
    again = import_squad(
        [tmp_path / "train-again.json"],
        tmp_path / "dev-again.json",
        tmp_path / "again",
        validation=1,
    )
    assert again.checksum == squad.checksum
    assert again.passage_ids() == squad.passage_ids()

    written = json.loads((tmp_path / "train-again.json").read_text(encoding="utf-8"))
    expected = json.loads(json.dumps(train_file()).replace(r"\t", " ").replace(r"\r\n", "  "))
    for document in (written, expected):  # validation questions come last within their paragraph
        for article in document["data"]:
            for paragraph in article["paragraphs"]:
                paragraph["qas"].sort(key=lambda item: item["id"])
    assert written == expected
    answers = [{"text": "green oil", "answer_start": 25}, {"text": "oil", "answer_start": 31}]
    paragraphs = json.loads((tmp_path / "dev-again.json").read_text(encoding="utf-8"))["data"][0][
        "paragraphs"
    ]
    assert paragraphs[0]["qas"] == [
        {"id": "d1", "question": "Which oil?", "answers": answers, "is_impossible": False}
    ]
    assert paragraphs[1] == {"context": GATE, "qas": []}


def test_a_rotated_collection_is_written_with_its_moved_offsets(tmp_path: Path) -> None:
    # GATE cut at "gate": "at dusk" moves from 25 to 5; LAMP cut inside "green oil": t1 has no
    # answer left, t2's moves
    squad = imported(tmp_path)
    cuts = {GATE: 20, "The lamp of Orvell burns green oil.  It hangs in the “north” hall.": 31}
    with create_collection(tmp_path / "rotated") as writer:
        writer.add_passages(
            Passage(p.passage_id, f"{p.text[cuts[p.text] :]} {p.text[: cuts[p.text]]}")
            for p in squad.passages()
        )
        ids = squad.passage_ids()
        moved = [
            Answer("t2", ids[0], "the “north” hall", 18, 34),
            Answer("t3", ids[2], "at dusk", 5, 12),
        ]
        writer.add_split("train", squad.queries("train"), squad.qrels("train"), moved)
        writer.finish(
            Manifest(
                "collection", "r", "debias", content={"source": squad.manifest.content["source"]}
            )
        )
    written = write_squad(Collection(tmp_path / "rotated"), tmp_path / "rotated.json", ["train"])
    assert written == (2, 3, 2, 1)
    document = read_squad(tmp_path / "rotated.json")  # which checks every offset against its text
    assert document.articles[1].paragraphs[0].text == "gate at dusk. Travellers pass the "
    assert [article.title for article in document.articles] == ["Orvell", "Gates"]
    spans = {
        q.question_id: q.spans
        for article in document.articles
        for paragraph in article.paragraphs
        for q in paragraph.questions
    }
    assert spans == {"t2": (("the “north” hall", 18),), "t3": (("at dusk", 5),)}


contexts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            contexts, st.lists(st.tuples(st.integers(0, 39), st.integers(1, 40)), max_size=3)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_text_goes_round(
    tmp_path_factory: pytest.TempPathFactory, paragraphs: list[tuple[str, list[tuple[int, int]]]]
) -> None:
    folder = tmp_path_factory.mktemp("squad")
    records = []
    for number, (context, spans) in enumerate(paragraphs):
        starts = [(start % len(context), length) for start, length in spans]
        answers = [(context[start : start + length], start) for start, length in starts]
        qas = [question(f"q{number}", context, *answers)] if answers else []
        records.append({"context": context, "qas": qas})
    squad = imported(folder, {"version": "1.1", "data": [{"title": "té", "paragraphs": records}]})
    for (context, _), passage in zip(paragraphs, squad.passages(), strict=False):
        assert len(passage.text) == len(context)
        assert len(passage.text.splitlines()) <= 1
    write_squad(squad, folder / "again.json", ["train"])
    again = import_squad([folder / "again.json"], folder / "dev.json", folder / "again")
    assert again.checksum == squad.checksum


def change(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The document with one value replaced, or removed where ``value`` is KeyError; ``path`` as in
    "data.0.title".
    """
    document = copy.deepcopy(document)
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place: Any = document
    for part in way:
        place = place[part]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return document


PARAGRAPH = "data.0.paragraphs.0"
QUESTION = f"{PARAGRAPH}.qas.0"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("data", {}, r"wanted 'data' as a list; found an object"),
        ("data", [], r"wanted articles with paragraphs; found none"),
        ("data.0", "text", r"wanted an object with the key 'paragraphs'; found text \(article 1\)"),
        ("data.0.paragraphs", None, r"wanted 'paragraphs' as a list; found null"),
        (
            f"{PARAGRAPH}.context",
            KeyError,
            r"the key 'context'.*\(article 1 'Orvell', paragraph 1\)",
        ),
        (
            f"{PARAGRAPH}.context",
            "half \ud800",
            r"wanted 'context' in valid Unicode; found half a surrogate pair",
        ),
        (f"{PARAGRAPH}.qas", KeyError, r"the key 'qas'"),
        (f"{QUESTION}.id", KeyError, r"the key 'id'.*paragraph 1"),
        (f"{QUESTION}.id", "a b", r"wanted a question id without spaces; found 'a b'"),
        (f"{QUESTION}.id", "", r"wanted a question id without spaces; found ''"),
        (
            f"{QUESTION}.question",
            KeyError,
            r"the key 'question'; found no such key \(question 't1'\)",
        ),
        (f"{QUESTION}.answers.0.text", KeyError, r"the key 'text'.*question 't1'"),
        (
            f"{QUESTION}.answers.0.answer_start",
            "25",
            r"wanted 'answer_start' as a whole number; found text",
        ),
        (
            f"{QUESTION}.answers.0.answer_start",
            True,
            r"wanted 'answer_start' as a whole number; found true or false",
        ),
        (f"{PARAGRAPH}.qas.1.id", "t1", r"wanted every question id once; found 't1' twice"),
    ],
)
def test_a_fault_is_one_line_that_names_its_place(
    tmp_path: Path, path: str, value: Any, message: str
) -> None:
    document = change(train_file(), path, value)
    # ASCII: a lone surrogate stands as an escape
    save(tmp_path / "train.json", json.dumps(document))
    save(tmp_path / "dev.json", development_file())
    with pytest.raises(InputError, match=rf"train.json.*{message}") as caught:
        import_squad([tmp_path / "train.json"], tmp_path / "dev.json", tmp_path / "squad")
    assert "\n" not in str(caught.value)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["dev.json", "train.json"]


@pytest.mark.parametrize(
    ("path", "value", "wanted"),
    [
        ("version", "1.0", ("1.0", 0, 0)),
        ("version", 3, ("3", 0, 0)),
        ("version", KeyError, ("", 0, 0)),
        ("data.0.title", KeyError, ("1.1", 0, 0)),
        (f"{QUESTION}.id", 5, ("1.1", 0, 0)),
        (f"{QUESTION}.answers", KeyError, ("1.1", 1, 0)),
        (f"{QUESTION}.answers", [], ("1.1", 1, 0)),
        (f"{QUESTION}.answers.0.text", "", ("1.1", 1, 0)),
        (f"{QUESTION}.answers.0.answer_start", 24, ("1.1", 0, 1)),
        (f"{QUESTION}.is_impossible", True, ("1.1", 1, 0)),
    ],
)
def test_data_of_others_is_read_and_what_differs_counted(
    tmp_path: Path, path: str, value: Any, wanted: tuple[str, int, int]
) -> None:
    squad = imported(tmp_path, change(train_file(), path, value))
    found = squad.manifest.content["source"]["files"][0]
    assert (found["version"], found["unanswerable"], found["moved"]) == wanted
    starts = [answer.start for answer in squad.answers("train") if answer.text == "green oil"]
    assert starts == ([] if wanted[1] else [25])


@pytest.mark.parametrize("start", [-1, None, KeyError])
def test_a_start_that_is_unknown_is_no_wrong_start(tmp_path: Path, start: Any) -> None:
    document = train_file()
    for number in (0, 1):  # two of three answers: half of the stated starts would be wrong
        document = change(document, f"{PARAGRAPH}.qas.{number}.answers.0.answer_start", start)
    squad = imported(tmp_path, document)
    assert [(answer.text, answer.start) for answer in squad.answers("train")] == [
        ("green oil", None),
        ("the “north” hall", None),
        ("at dusk", 25),
    ]
    source = squad.manifest.content["source"]["files"][0]
    assert (source["without_start"], source["moved"]) == (2, 0)
    outcomes = position_histogram(squad, "train").outcomes
    assert (outcomes["by_offsets"], outcomes["by_matching"], outcomes["unmatched"]) == (1, 2, 0)


def test_an_answer_that_stands_nowhere_has_no_place(tmp_path: Path) -> None:
    squad = imported(tmp_path, change(train_file(), f"{QUESTION}.answers.0.text", "blue oil!"))
    assert squad.answers("train")[0] == Answer(
        "t1", squad.answers("train")[0].passage_id, "blue oil!", None, None
    )


def test_training_or_test_alone_is_enough(tmp_path: Path) -> None:
    train, test = (
        save(tmp_path / "train.json", train_file()),
        save(tmp_path / "dev.json", development_file()),
    )
    assert import_squad([train], None, tmp_path / "a").splits == ["train"]
    assert import_squad([], test, tmp_path / "b").splits == ["test"]
    assert import_squad(
        [train], None, tmp_path / "c", validation=1, validation_by=HoldOut.QUERY
    ).splits == [
        "train",
        "validation",
    ]
    with pytest.raises(SettingError, match="--train, --test: wanted at least one file; found none"):
        import_squad([], None, tmp_path / "d")
    with pytest.raises(
        SettingError, match="--validation-queries: wanted --train to draw from; found 3 alone"
    ):
        import_squad([], test, tmp_path / "d", validation=3)


def faulty_files() -> dict[str, Callable[[str], str | bytes]]:
    return {
        "cut short": lambda text: text[: len(text) // 2],
        "empty": lambda text: "",
        "not JSON": lambda text: "passage_id\ttext\n",
        "not an object": lambda text: "[1, 2]",
        "not UTF-8": lambda text: text.encode("utf-8").replace("“".encode(), b"\x93"),
    }


@pytest.mark.parametrize("fault", faulty_files())
def test_a_file_that_is_none_is_one_line_and_leaves_nothing(tmp_path: Path, fault: str) -> None:
    text = faulty_files()[fault](json.dumps(train_file(), ensure_ascii=False))
    (tmp_path / "train.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    save(tmp_path / "dev.json", development_file())
    with pytest.raises(InputError, match=r"train.json(:1)?: wanted .*; found .*; ") as caught:
        import_squad([tmp_path / "train.json"], tmp_path / "dev.json", tmp_path / "squad")
    assert "\n" not in str(caught.value)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["dev.json", "train.json"]


def test_a_question_id_in_two_files_names_both(tmp_path: Path) -> None:
    document = change(development_file(), f"{QUESTION}.id", "t2")
    with pytest.raises(
        InputError,
        match=(
            r"dev.json:1: wanted every question id once over all files; found 't2', also in "
            r".*train.json"
        ),
    ):
        imported(tmp_path, test=document)


def test_only_a_collection_from_squad_can_be_written(
    small_collection: Collection, tmp_path: Path
) -> None:
    with pytest.raises(
        InputError, match="wanted a collection made from SQuAD; found one made by 'a test'"
    ):
        write_squad(small_collection, tmp_path / "out.json", ["train"])
    squad = imported(tmp_path)
    with pytest.raises(InputError, match="wanted split 'dev'; found train, test"):
        write_squad(squad, tmp_path / "out.json", ["dev"])
    with pytest.raises(SettingError, match="--squad-version: wanted 1.1 or 2.0; found '3'"):
        write_squad(squad, tmp_path / "out.json", ["train"], version="3")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.realdata
def test_the_real_files_become_4497_passages(posbias_data: Path, tmp_path: Path) -> None:
    train, dev = (posbias_data / "squad" / name for name in ("train44-v1.1.json", "dev-v1.1.json"))
    squad = import_squad([train], dev, tmp_path / "squad", validation=1000)
    assert len(squad) == 4_497
    assert {split: len(squad.queries(split)) for split in squad.splits} == {
        "train": 10_879,
        "validation": 998,  # five whole articles
        "test": 10_570,
    }
    positives = [
        {qrel.passage_id for qrel in squad.qrels(split)} for split in ("train", "validation")
    ]
    assert not positives[0] & positives[1]
    texts = dict(squad.passages())
    for split in squad.splits:
        for answer in squad.answers(split):
            assert texts[answer.passage_id][answer.start : answer.end] == answer.text
