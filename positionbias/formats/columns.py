"""The columns of a table of passages, queries and answers: named by the user, or known by their
usual names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from positionbias.core.errors import SettingError, bad_input, or_closest
from positionbias.core.settings import check_settings, setting

# where the user names none, the first of these in the table is used
_USUAL: Mapping[str, str] = {
    "passage": "passage context passage_text positive document text contents content chunk body",
    "query": "query question anchor query_text",
    "answer": "answer answers",
    "answer_start": "answer_start answer_starts",
    "passage_id": "passage_id passage-id pid doc_id docid document_id chunk_id corpus_id corpus-id",
    "query_id": "query_id query-id qid question_id",
    "label": "label relevance grade is_selected",
    "split": "split",
}
_SHOWN: Mapping[str, Any] = {"metavar": "COL"}
_RARE = {**_SHOWN, "shown": False}
_ID = ("id", "_id")  # of the query where there are queries
SPLIT_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("dev", "val", "valid", "validation"), "validation"),
    **{word: word for word in ("train", "test", "eval")},
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, by meaning; those that are not named are known by their usual names.

    Raises:
        SettingError: a setting outside its range.
    """

    passage: str = setting("", "The passage's text; a list has several passages.", **_SHOWN)
    query: str = setting("", "The query's text. A row without one is a passage alone.", **_SHOWN)
    answer: str = setting(
        "",
        "The answer: its text, a list of texts, SQuAD's object of text and answer_start, or "
        "offsets [start, end]. An empty list means that the passage has no answer.",
        **_SHOWN,
    )
    answer_start: str = setting("", "The answer's first character in the passage, from 0.", **_RARE)
    passage_id: str = setting("", "The passage's id; without one, a hash of its text.", **_RARE)
    query_id: str = setting("", "The query's id; without one, a hash of its text.", **_RARE)
    label: str = setting(
        "",
        "The grade of relevance, a whole number from 0; without one, 1. -1 means unlabelled: the "
        "row is left out. Classes need --grade.",
        **_RARE,
    )
    grade: Mapping[str, str] = setting(
        {},
        "The grade of a class of --label; repeatable. Classes that none names have grade 0.",
        metavar="CLASS=GRADE",
        shown=False,
    )
    negative: str = setting(
        "",
        "A further passage, or a list, that does not answer the query: grade 0. Never guessed.",
        **_RARE,
    )
    split: str = setting(
        "",
        "The row's split; a list puts the query in each of these.",
        flags=("--split-column",),
        **_SHOWN,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        for name, grade in self.grade.items():
            if not re.fullmatch("-1|[0-9]{1,6}", str(grade)):
                raise SettingError(
                    f"--grade: wanted a whole number from -1 for {name!r}; found {grade!r}; write "
                    "it as in --grade entailment=1"
                )

    def completed(self, names: Sequence[str], source: str) -> Columns:
        """Return the columns of a table whose columns are ``names``, with the usual ones where none
        is named.

        Raises:
            InputError: a named column that is not there, a repeated one, or none of passages.
        """
        there = ", ".join(names) or "no column"
        for number, name in enumerate(names):
            if name in names[:number]:
                wanted, found = "a name for each column", f"{name!r} twice"
                raise bad_input(source, wanted=wanted, found=found, do="rename one of them")
        for what, column in self.named().items():
            if column not in names:
                do = or_closest(column, names, f"give one of these to {_flag(what)}")
                raise bad_input(source, wanted=f"a column {column!r}", found=there, do=do)
        columns = self.guessed(names)
        if not columns.passage:
            do = "name it with --passage"
            raise bad_input(source, wanted="a column of passages", found=there, do=do)
        return columns

    def guessed(self, names: Sequence[str]) -> Columns:
        """Return these columns, with the usual ones among ``names`` where none is named."""
        columns: dict[str, Any] = {**self.named()}
        taken = set(columns.values())
        for what, usual in _USUAL.items():
            columns.setdefault(what, _first(usual.split(), names, taken))
        what = "query_id" if columns["query"] else "passage_id"
        columns[what] = columns[what] or _first(_ID, names, taken)
        return replace(self, **columns)

    def named(self) -> dict[str, str]:
        """Return the columns that are read, by meaning."""
        meanings = (item.name for item in fields(self) if item.name != "grade")
        return {what: column for what in meanings if (column := getattr(self, what))}


def _first(usual: Sequence[str], names: Sequence[str], taken: set[str]) -> str:
    return next((name for name in usual if name in names and name not in taken), "")


def _flag(what: str) -> str:
    return f"--{what.replace('_', '-')}"
