"""The data sets of position bias of 2025 and 2026, in the layouts in which they are published:
PosIR, SQuAD-PosQ, FineWeb-PosQ and ColDeR.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import positionbias as pb
from positionbias.core.errors import InputError
from positionbias.core.records import Answer, Qrel
from positionbias.formats.columns import Columns
from positionbias.formats.table import TableSource
from positionbias.settings import Measuring

LAMP = "The lamp of Orvell burns green oil. It hangs in the north hall."
GATE = "Travellers pass the gate at dawn. The bridge joins both banks."
IDS = ("6a064b02fa39acec711076fe45199f4e", "3accf8099222f1c3fab38a86ecfb6db6")
POSITIONS = {"pos_char_span": [36, 63], "pos_char_length": len(LAMP), "pos_token_length": 15}


def save(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def posir(folder: Path, *first: dict[str, Any]) -> Path:
    """``LANGUAGE/DOMAIN`` of PosIR: two passages, and a query in each; ``first`` replaces keys of
    the first query.
    """
    save(
        folder / "corpus.parquet",
        [{"_id": "hotel_5", "text": LAMP}, {"_id": "hotel_6", "text": GATE}],
    )
    rows = [
        {
            "_id": IDS[0],
            "text": "where is it",
            **POSITIONS,
            **dict(item for own in first for item in own.items()),
        },
        {
            "_id": IDS[1],
            "text": "who passes",
            "pos_char_span": [0, 33],
            "pos_char_length": len(GATE),
            "pos_token_length": 14,
        },
    ]
    save(folder / "queries.parquet", rows)
    pairs = zip(IDS, ("hotel_5", "hotel_6"), strict=True)
    save(
        folder / "qrels" / "test.parquet",
        [{"query-id": query, "corpus-id": own, "score": 1} for query, own in pairs],
    )
    return folder


def test_posir_s_spans_are_answers(tmp_path: Path) -> None:
    made = pb.import_beir(str(posir(tmp_path / "eng-Latn" / "hotel")), out=str(tmp_path / "out"))
    assert made.splits == ["test"]
    assert list(made.qrels("test")) == [Qrel(IDS[0], "hotel_5", 1), Qrel(IDS[1], "hotel_6", 1)]
    assert made.answers("test") == [
        Answer(IDS[0], "hotel_5", "It hangs in the north hall.", 36, 63),
        Answer(IDS[1], "hotel_6", "Travellers pass the gate at dawn.", 0, 33),
    ]
    assert made.manifest.content["spans"] == {"answers": 2, "left_out": {}}
    # the answers start at word 8 of 15 (a full stop is a word) and at the first: the mean of 8/15
    # and 0
    found = pb.histogram([made]).to_frame()
    assert found.value[found.statistic == "mean"].tolist() == pytest.approx([4 / 15])


@pytest.mark.parametrize(
    ("query", "cause"),
    [
        ({"pos_char_length": 62}, "passage length differs from pos_char_length"),
        ({"pos_char_span": [36, 64]}, "span outside the passage"),
        ({"pos_char_span": [-1, 5]}, "span outside the passage"),
        ({"pos_char_span": [7, 7]}, "span outside the passage"),
        ({"_id": "unasked"}, "query without judgements"),
    ],
)
def test_a_span_that_does_not_fit_is_counted(
    tmp_path: Path, query: dict[str, Any], cause: str
) -> None:
    made = pb.import_beir(str(posir(tmp_path / "in", query)), out=str(tmp_path / "out"))
    assert [answer.query_id for answer in made.answers("test")] == [IDS[1]]
    assert made.manifest.content["spans"] == {"answers": 1, "left_out": {cause: 1}}


def test_a_span_of_several_relevant_passages_or_of_an_absent_one_is_counted(tmp_path: Path) -> None:
    folder = posir(tmp_path / "in")
    judged = [(IDS[0], "hotel_5"), (IDS[0], "hotel_6"), (IDS[1], "hotel_7")]
    save(
        folder / "qrels" / "test.parquet",
        [{"query-id": query, "corpus-id": own, "score": 1} for query, own in judged],
    )
    made = pb.import_beir(str(folder), out=str(tmp_path / "out"))
    causes = {"query without one relevant passage": 1, "passage not in the corpus": 1}
    assert made.manifest.content["spans"] == {"answers": 0, "left_out": causes}


@pytest.mark.parametrize(
    "value", [{"pos_char_span": [1]}, {"pos_char_span": "1-5"}, {"pos_char_length": "63"}]
)
def test_a_broken_span_is_one_line(tmp_path: Path, value: dict[str, Any]) -> None:
    folder = posir(tmp_path / "in")
    rows = [
        {"_id": IDS[0], "text": "where is it", **POSITIONS, **value},
        {"_id": IDS[1], "text": "who passes"},
    ]
    (folder / "queries.parquet").unlink()
    save(folder / "queries.jsonl", rows)
    with pytest.raises(InputError, match=r"queries\.jsonl:1: wanted 'pos_char_.*; found"):
        pb.import_beir(str(folder), out=str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def squad_v2(context: str, question: str, *answers: tuple[str, int]) -> dict[str, Any]:
    spans = {"text": [text for text, _ in answers], "answer_start": [start for _, start in answers]}
    return {
        "id": question.replace(" ", "-"),
        "title": "Orvell",
        "context": context,
        "question": question,
        "answers": spans,
    }


def test_squad_posq_is_both_splits_of_squad_2_as_one(tmp_path: Path) -> None:
    train = [squad_v2(LAMP, "burns what", ("green oil", 25)), squad_v2(GATE, "who sleeps")]
    validation = [squad_v2(LAMP, "hangs where", ("the north hall", 48), ("north hall", 52))]
    places = [
        save(tmp_path / f"{name}.parquet", rows)
        for name, rows in (("train", train), ("validation", validation))
    ]
    made = pb.import_table(*(f"test={place}" for place in places), out=str(tmp_path / "out"))
    # both questions with an answer, and all passages: also that of the question without one
    assert [query.query_id for query in made.queries("test")] == ["burns-what", "hangs-where"]
    assert [passage.text for passage in made.passages()] == [LAMP, GATE]
    assert [answer.start for answer in made.answers("test")] == [25, 48, 52]


def fineweb(
    question: str | None, content: str, span: list[int] | None, *classes: str
) -> dict[str, Any]:
    """A row of FineWeb-PosQ_raw, whose ``span`` is the chunk that the question was made of."""
    told = {
        "content_summary": "On Orvell.",
        "answer": "Something else.",
        "question_level": "simple",
    }
    return {
        "question": question,
        "content": content,
        **told,
        "span": span,
        "span_class": list(classes) or None,
    }


def fineweb_rows() -> list[dict[str, Any]]:
    third = len(LAMP) // 3
    return [
        fineweb("what burns", LAMP, [0, third - 1], "beginning"),
        fineweb("what hangs", LAMP, [third + 5, 2 * third + 5], "middle", "end"),
        fineweb(None, GATE, None),
    ]


def test_fineweb_posq_raw_has_spans(tmp_path: Path) -> None:
    place = save(tmp_path / "fineweb-train.jsonl", fineweb_rows())
    made = pb.import_table(place, columns=Columns(answer="span"), out=str(tmp_path / "out"))
    assert made.splits == ["train"]
    assert len(list(made.passages())) == 2
    assert [(answer.start, answer.end) for answer in made.answers("train")] == [(0, 20), (26, 47)]
    assert [answer.text for answer in made.answers("train")] == [LAMP[:20], LAMP[26:47]]


def test_fineweb_posq_s_classes_are_splits(tmp_path: Path) -> None:
    keys = ("question", "content", "span_class")  # what the set without spans has
    place = save(
        tmp_path / "train.jsonl", [{key: row[key] for key in keys} for row in fineweb_rows()]
    )
    made = pb.import_table(place, columns=Columns(split="span_class"), out=str(tmp_path / "out"))
    found = {split: [query.text for query in made.queries(split)] for split in made.splits}
    assert found == {"beginning": ["what burns"], "middle": ["what hangs"], "end": ["what hangs"]}
    assert len(list(made.passages())) == 2


def test_fineweb_posq_s_spans_and_classes_together_tell_whether_spans_are_characters(
    tmp_path: Path,
) -> None:
    place = save(tmp_path / "train.jsonl", fineweb_rows())
    columns = Columns(answer="span", split="span_class")
    made = pb.import_table(place, columns=columns, out=str(tmp_path / "out"))
    assert [answer.start for answer in made.answers("beginning")] == [0]
    assert (
        [answer.start for answer in made.answers("middle")]
        == [answer.start for answer in made.answers("end")]
        == [26]
    )


def colder(query: str, document_1: str, document_2: str, number: int) -> dict[str, Any]:
    """A row of ColDeR: the pair of documents, and of Re-DocRED the entities and sentences, in
    tokens, that it was made of.
    """
    tail = {"name": "green oil", "type": "MISC", "pos": [5, 7], "sent_id": 0}
    told = {
        "head_entity_names": ["Orvell"],
        "tail_entity_names": ["green oil", "oil"],
        "relation_name": "fuel",
        "relation": "P1",
    }
    longest = {"head_entity_longest_name": "Orvell", "tail_entity_longest_name": "green oil"}
    kinds = {"head_entity_types": ["LOC"], "tail_entity_types": ["MISC"]}
    sentence = "The lamp of Orvell burns green oil .".split()
    made = {"evidence_sent_ids": [0], "evidence_sents": [sentence], "sents": [sentence, sentence]}
    entities = {
        "title": "Orvell",
        "id": f"validation{number}",
        "head_entity": [tail | {"name": "Orvell"}],
        "tail_entity": [tail],
    }
    pair = {"query": query, "document_1": document_1, "document_2": document_2}
    return {**pair, **told, **entities, **longest, **kinds, **made}


def test_colder_s_documents_are_a_judged_pair(tmp_path: Path) -> None:
    rows = [colder("what burns", GATE, LAMP, 7)]
    places = {
        subset: save(tmp_path / "test" / f"{subset}.jsonl", rows) for subset in ("foil", "poison")
    }
    columns = Columns(passage="document_2", negative="document_1", answer="tail_entity_names")
    files = [f"{subset}={place}" for subset, place in places.items()]
    made = pb.import_table(*files, columns=columns, out=str(tmp_path / "out"))
    assert made.splits == ["foil", "poison"]
    grades = {passage.text: passage.passage_id for passage in made.passages()}
    assert list(made.qrels("foil")) == [
        Qrel("validation7", grades[LAMP], 1),
        Qrel("validation7", grades[GATE], 0),
    ]
    names = [("green oil", grades[LAMP]), ("oil", grades[LAMP])]
    assert [(answer.text, answer.passage_id) for answer in made.answers("foil")] == names
    # the pair as candidates, ordered once as the foil wins and once as the evidence does
    for first, value in ((GATE, 0.0), (LAMP, 1.0)):
        run = pb.Run({"validation7": {grades[text]: float(text == first) for text in (LAMP, GATE)}})
        found = pb.evaluate(
            [run], collection=made, measuring=Measuring(split="foil", measures=["P@1"])
        )
        assert found.to_frame().value[0] == value


@pytest.mark.parametrize(
    ("negatives", "number"), [([GATE, "A third."], 2), (GATE, 1), (None, 0), ([], 0)]
)
def test_negatives_are_a_text_or_a_list(tmp_path: Path, negatives: Any, number: int) -> None:
    place = save(
        tmp_path / "test.jsonl", [{"anchor": "what burns", "positive": LAMP, "negative": negatives}]
    )
    made = pb.import_table(place, columns=Columns(negative="negative"), out=str(tmp_path / "out"))
    assert [qrel.grade for qrel in made.qrels("test")] == [1] + [0] * number


def test_a_negative_that_does_not_fit_leaves_its_row_out(tmp_path: Path) -> None:
    rows = [
        {"query": "q", "positive": LAMP, "negative": ["", GATE]},
        {"query": "q", "positive": LAMP, "negative": LAMP},
        {"query": "unanswered", "positive": LAMP, "negative": GATE, "answer": []},
    ]
    place = save(tmp_path / "test.jsonl", rows)
    made = pb.import_table(place, columns=Columns(negative="negative"), out=str(tmp_path / "out"))
    counts = made.manifest.content_as(TableSource, "source").counts
    assert counts.left_out == {"no passage": 1}
    assert counts.unanswerable == 1
    # the first grade of a pair counts, and a query without an answer is left out with its
    # negatives' judgements
    assert [qrel.grade for qrel in made.qrels("test")] == [1]
    assert counts.again["pairs with another label; the first is used"] == 1
