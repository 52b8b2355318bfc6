"""Find the columns of a table of passages, queries and answers: named by the user, or by their
usual names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from positionbias.core.closest import or_closest
from positionbias.core.errors import InputError, SettingError, bad_input, check_type
from positionbias.core.records import HIGHEST_GRADE
from positionbias.core.settings import check_settings, setting

__all__ = ["SPLIT_WORDS", "Columns", "columns_of"]

_COLUMN = "COL"
# where the user names none, the first of these in the table is used
_USUAL: Mapping[str, Sequence[str]] = {
    "passage": (
        "passage",
        "context",
        "passage_text",
        "positive",
        "document",
        "text",
        "contents",
        "content",
        "chunk",
        "body",
    ),
    "query": ("query", "question", "anchor", "query_text"),
    "answer": ("answer", "answers"),
    "answer_start": ("answer_start", "answer_starts"),
    "passage_id": (
        "passage_id",
        "passage-id",
        "pid",
        "doc_id",
        "docid",
        "document_id",
        "chunk_id",
        "corpus_id",
        "corpus-id",
    ),
    "query_id": ("query_id", "query-id", "qid", "question_id"),
    "label": ("label", "relevance", "grade", "is_selected"),
    "split": ("split",),
}
_ID = ("id", "_id")  # of the query where there are queries
SPLIT_WORDS = {
    "train": "train",
    "dev": "validation",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
    "eval": "eval",
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, by meaning; a dot leads into an object or list (``answers.text.0``).
    Unnamed ones are guessed.

    Raises:
        SettingError: a setting outside its range.
    """

    passage: str = setting("", "The passage's text; a list has several passages.", metavar=_COLUMN)
    query: str = setting(
        "", "The query's text. A row without one is a passage alone.", metavar=_COLUMN
    )
    answer: str = setting(
        "",
        "The answer: its text, a list of texts, SQuAD's object of text and answer_start, or "
        "offsets [start, end]. An empty list means that the passage has no answer.",
        metavar=_COLUMN,
    )
    answer_start: str = setting(
        "",
        "The answer's first character in the passage, from 0.",
        metavar=_COLUMN,
        shown=False,
    )
    passage_id: str = setting(
        "",
        "The passage's id; without one, a hash of its text.",
        metavar=_COLUMN,
        shown=False,
    )
    query_id: str = setting(
        "",
        "The query's id; without one, a hash of its text.",
        metavar=_COLUMN,
        shown=False,
    )
    label: str = setting(
        "",
        "The grade of relevance, a whole number from 0; without one, 1. -1 means unlabelled: the "
        "row is left out. Classes need --grade.",
        metavar=_COLUMN,
        shown=False,
    )
    grade: tuple[str, ...] = setting(
        (),
        "The grade of a class of --label; repeatable. Classes that none names have grade 0.",
        metavar="CLASS=GRADE",
        shown=False,
    )
    negative: str = setting(
        "",
        "A further passage, or a list, that does not answer the query: grade 0. Never guessed.",
        metavar=_COLUMN,
        shown=False,
    )
    split: str = setting(
        "",
        "The row's split; a list puts the query in each of these.",
        flags=("--split-column",),
        metavar=_COLUMN,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        assert self.grades is not None

    @property
    def grades(self) -> dict[str, int]:
        """The grades of classes, by name.

        Raises:
            SettingError: not CLASS=GRADE, or a class twice.
        """
        grades: dict[str, int] = {}
        for text in self.grade:
            name, _, grade = text.rpartition("=")
            if (
                not name
                or name in grades
                or not re.fullmatch("-1|[0-9]{1,7}", grade)
                or int(grade) > HIGHEST_GRADE
            ):
                raise SettingError(
                    f"--grade: {text!r} is no class with its grade, each class once; write it as "
                    "in --grade entailment=1"
                )
            grades[name] = int(grade)
        return grades

    def of(
        self,
        names: Sequence[str],
        source: str,
        *,
        growing: bool = False,
        do: str = "name it with --passage",
    ) -> Columns:
        """Complete these columns for a table whose columns are ``names``, guessing those not given.

        A ``growing`` table may have further columns in later rows. ``do`` says what to do without a
        column of passages.

        Raises:
            InputError: a missing column, a repeated one, or none of passages.
        """
        if twice := [name for name, number in Counter(names).items() if number > 1]:
            raise bad_input(
                source,
                wanted="a name for each column",
                found=f"{twice[0]!r} twice",
                do="rename one of them",
            )
        for column in self.named().values():
            if not growing and column not in names and column.partition(".")[0] not in names:
                raise self.no_column(column, names, source)
        given = self._guessed(names)
        if not given["passage"]:
            found = ", ".join(names) or "no column"
            raise bad_input(source, wanted="a column of passages", found=found, do=do)
        return replace(self, **given)

    def _guessed(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the columns by meaning, guessing those not given; empty where the table has
        none.
        """
        given = {what: getattr(self, what) for what in _MEANINGS}
        taken = set(given.values())
        for what, usual in _USUAL.items():
            given[what] = given[what] or next(
                (name for name in usual if name in names and name not in taken), ""
            )
        what = "query_id" if given["query"] else "passage_id"
        given[what] = given[what] or next(
            (name for name in _ID if name in names and name not in taken), ""
        )
        return given

    def no_column(self, column: str, names: Iterable[str], source: str) -> InputError:
        """Return an error about a column that a table does not have; ``names`` are those it has."""
        what = next(what for what, own in self.named().items() if own == column)
        found = ", ".join(names) or "none"
        return bad_input(
            source,
            wanted=f"a column {column!r}",
            found=found,
            do=or_closest(column, names, f"give one of these to {_flag(what)}"),
        )

    def check_guesses(self, guessed: Columns, names: Sequence[str], source: str) -> None:
        """Compare the columns guessed from a table's first rows with those guessed from all
        ``names`` so far.

        Raises:
            InputError: they differ, as later rows have further columns.
        """
        now = self._guessed(names)
        held = guessed.named()
        if late := {
            what: column for what, column in now.items() if column not in ("", *held.values())
        }:
            found = "also " + ", ".join(late.values())
            flags = " ".join(f"{_flag(what)} {column}" for what, column in late.items())
            raise bad_input(
                source,
                wanted="the columns of the rows before it",
                found=found,
                do=f"name what is meant: {flags}",
            )

    def of_answers(self, names: Sequence[str], source: str) -> Columns:
        """Guess the columns of a table of answers whose queries and passages are elsewhere.

        Raises:
            InputError: no column of query ids, passage ids or answers.
        """
        found = self._guessed(names)
        for what in ("query_id", "passage_id", "answer"):
            if not found[what]:
                wanted, do = (
                    f"a column {what}",
                    "give it one of the names: " + ", ".join(_USUAL[what]),
                )
                raise bad_input(source, wanted=wanted, found=", ".join(names) or "no column", do=do)
        return Columns(
            **{what: found[what] for what in ("query_id", "passage_id", "answer", "answer_start")}
        )

    def read_from(self, names: Sequence[str]) -> list[str]:
        """Return the table's columns, of ``names``, in which these are found."""
        held = {
            column if column in names else column.partition(".")[0]
            for column in self.named().values()
        }
        return [name for name in names if name in held]

    def named(self) -> dict[str, str]:
        """Return the columns that are read, by meaning."""
        return {what: column for what in _MEANINGS if (column := getattr(self, what))}


_MEANINGS = tuple(item.name for item in fields(Columns) if item.name != "grade")


def _flag(what: str) -> str:
    return f"--{what.replace('_', '-')}"


def columns_of(names: Mapping[str, Any]) -> Columns:
    """Make ``Columns`` of a mapping from meaning to column name; ``grade`` maps classes to grades.

    Raises:
        InputError: not a mapping of texts.
        SettingError: an unknown key.
    """
    check_type("columns", names, Mapping, "a dict of columns")
    for what, column in names.items():
        check_type(
            f"columns: {what}",
            column,
            *((Mapping, "a dict of grades") if what == "grade" else (str, "a text")),
        )
    known = [item.name for item in fields(Columns)]
    if unknown := [what for what in names if what not in known]:
        raise SettingError(
            f"columns: wanted {', '.join(known)}; found {unknown[0]!r}; "
            f"{or_closest(unknown[0], known, 'give one of these')}"
        )
    grades = names.get("grade", {})
    return Columns(**{**names, "grade": tuple(f"{name}={grade}" for name, grade in grades.items())})
