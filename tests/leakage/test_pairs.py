"""Pairs and labels from files: every form, every fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from positionbias.core.errors import InputError
from positionbias.leakage.pairs import (
    Cause,
    Ids,
    Pair,
    best_by_pair,
    leaked_tests,
    parse_labels,
    read_pairs,
    set_aside,
    write_sheet,
)

PUBLISHED = (
    '{"msmarco_query_id": "17", "msmarco_query": "lamp oil", "topic_id": "301", "title": "oil '
    'lamps", "variant": "lamp oil", "description": "Which oil burns in lamps?", "narrative": '
    '"Green oil counts.", "labels": ["Variant-Identical", "Title-Reformulation"], "sbert_cosine": '
    "0.95}\n"
)


def written(tmp_path: Path, text: str, name: str = "pairs.jsonl") -> Path:
    (place := tmp_path / name).write_text(text, encoding="utf-8")
    return place


def test_the_published_form(tmp_path: Path) -> None:
    (pair,) = read_pairs(written(tmp_path, PUBLISHED))
    assert (pair.ids, pair.scores, pair.train_text) == (
        Ids("", "17", "301"),
        {"cosine": 0.95},
        "lamp oil",
    )
    assert pair.test_text == "oil lamps"  # the title
    assert (pair.label, pair.leaks) == ("reformulation", True)


def test_a_sheet_is_read_as_it_was_written(tmp_path: Path) -> None:
    source = list(
        read_pairs(written(tmp_path, PUBLISHED.replace("lamp oil", 'the \\"lamp\\"\\toil')))
    )
    write_sheet(tmp_path / "sheet.tsv", source)
    (read,) = read_pairs(tmp_path / "sheet.tsv")
    assert (read.ids, read.scores, read.label, read.line) == (
        source[0].ids,
        source[0].scores,
        source[0].label,
        2,
    )
    assert read.train_text == 'the "lamp" oil'  # a tab within a text is a space


def test_texts_that_are_formulas_read_back_equal(tmp_path: Path) -> None:
    pair = Pair("-a", "@b", {"cosine": -0.5}, train_text="=1+1", test_text="'=2")
    write_sheet(tmp_path / "sheet.tsv", [pair])
    assert "\t'=1+1\t''=2\t-0.5\t" in (tmp_path / "sheet.tsv").read_text()
    [read] = read_pairs(tmp_path / "sheet.tsv")
    assert (read.train_id, read.test_id, read.scores) == ("-a", "@b", {"cosine": -0.5})
    assert (read.train_text, read.test_text) == ("=1+1", "'=2")


def test_a_sheet_as_spreadsheets_write_it(tmp_path: Path) -> None:
    text = '\ufefftrain_id\ttest_id\ttrain_text\tlabel\r\na\tt\t"two\nlines"\tYES\r\nb\tt\tx\t\r\n'
    first, second = read_pairs(written(tmp_path, text, "s.tsv"))
    assert (first.train_text, first.label) == ("two\nlines", "leak")
    assert (second.label, second.line) == ("", 4)


def test_several_labels_mean_one() -> None:
    several = ["Title-Specialization", "Variant-Specialization", "Different_Topic"]
    assert parse_labels(several) == parse_labels(["no"]) == "different topic"
    assert parse_labels(["Variant-GENERALISATION"]) == "generalization"
    assert (parse_labels(["1"]), parse_labels([])) == ("leak", "")


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (
            PUBLISHED + PUBLISHED.replace("Title-Reformulation", "Title-Sideways"),
            2,
            "Sideways",
        ),
        (PUBLISHED + "{oops\n", 2, "Expecting property name"),
        (PUBLISHED.replace("0.95", '"near"'), 1, "got `str`"),
        (PUBLISHED.replace("0.95", "NaN"), 1, "scores"),
        (PUBLISHED.replace('"17"', '""'), 1, "`train_id`"),
        ("train_id\ttest_id\tlabel\na\tb\tyes\na\tc\tperhaps\n", 3, "'perhaps'"),
        ("train_id\ttest_id\tlabel\na\tb\n", 2, "columns"),
        ('train_id\ttest_id\na\t"b\n', 2, "unexpected end of data"),
        ("train_id\ttest_id\tweight\na\tb\t0\n", 2, "weight"),
    ],
)
def test_each_fault_has_its_line(tmp_path: Path, text: str, line: int, found: str) -> None:
    place = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        list(read_pairs(place))
    assert str(caught.value).startswith(f"{place}:{line}: wanted ")
    assert found in str(caught.value)


def test_a_pair_found_in_several_fields_counts_once(tmp_path: Path) -> None:
    lines = [
        f'{{"train_id": "a", "test_id": "t", "field": "{name}", "cosine": {c}}}'
        for name, c in (("x", 0.9), ("y", 0.95))
    ]
    (best,) = best_by_pair(read_pairs(place := written(tmp_path, "\n".join(lines))), "cosine")
    assert best.field == "y"
    with pytest.raises(InputError, match=r"pairs.jsonl:1: wanted a jaccard; found cosine"):
        best_by_pair(read_pairs(place), "jaccard")


def test_a_label_decides_and_else_the_threshold(tmp_path: Path) -> None:
    text = (
        "train_id\ttest_id\tcosine\tlabel\na\tt1\t0.85\tidentical\nb\tt1\t0.99\tdifferent\n"
        "c\tt2\t0.92\t\nd\tt3\t0.90\t\n"
    )
    pairs = list(read_pairs(written(tmp_path, text)))
    causes = [None, Cause.DIFFERENT_TOPIC, None, Cause.BELOW]
    assert [set_aside(pair, 0.91) for pair in pairs] == causes
    assert [set_aside(pair) for pair in pairs] == [*causes[:3], None]
    assert leaked_tests(pairs) == {"t1", "t2", "t3"}


def test_what_words_alone_found_leaks_only_when_asked(tmp_path: Path) -> None:
    rows = [
        ("a", "lexical", "0.70", ""),  # words alone
        ("b", "semantic lexical", "0.95", ""),
        ("c", "lexical", "0.70", "identical"),  # a label counts
        ("d", "lexical", "0.93", ""),  # by a higher threshold than the one asked for below
        ("e", "", "0.70", ""),  # nobody said what found it
    ]
    text = "train_id\ttest_id\tfound_by\tcosine\tlabel\n" + "".join(
        f"{query}\tt\t{by}\t{cosine}\t{label}\n" for query, by, cosine, label in rows
    )
    pairs = list(read_pairs(place := written(tmp_path, text, "pairs.tsv")))
    words, below = Cause.WORDS_ALONE, Cause.BELOW
    assert [set_aside(pair) for pair in pairs] == [words, None, None, words, None]
    assert [set_aside(pair, 0.9) for pair in pairs] == [words, None, None, None, below]
    assert not any(set_aside(pair, lexical=True) for pair in pairs)
    place.write_text("train_id\ttest_id\tfound_by\na\tt\tguess\n", encoding="utf-8")
    with pytest.raises(
        InputError,
        match=r"pairs.tsv:2: wanted a pair of texts; found .*semantic\|lexical\|exact.*found_by",
    ):
        list(read_pairs(place))
