"""Import MS MARCO QA v1.1 and v2.1 (Bajaj et al. 2016): questions, answers, and the passages that
annotators saw.

Passages with identical text are one passage, as in Microsoft's own passage collection. An id is a
hash of the text and independent of relevance [decision]. ``is_selected`` 1 becomes grade 1, and 0
becomes grade 0, which only means seen and not used [decision]; -1 or nothing becomes no judgement.
Every selected passage of a row gets each distinct answer of the row, without offsets, which
``positions.locate`` finds. "" and "No Answer Present." are counted and left out.
``wellFormedAnswers`` are rewritten sentences, not spans: they become the query's field
"well_formed" (a JSON list), ``query_type`` its field "type" [decision]. Rows of one query in a
split are one query. URLs are not kept.

Rows are read once, in one process. In memory are 16 bytes a passage, and a split's rows without
their passages' texts: about 1 kB a query.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import compress, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import SplitWriter, Texts, create_collection
from positionbias.core.errors import SettingError, bad_input
from positionbias.core.files import content_digest, unchanged
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.progress import track
from positionbias.core.records import Answer, Qrel, Query
from positionbias.core.seeds import keys64
from positionbias.core.split_tables import KIND
from positionbias.formats.imported import counted, told
from positionbias.formats.key_map import KeyMap
from positionbias.formats.msmarco import LICENCE
from positionbias.formats.msmarco_qa_rows import UNKNOWN, Row, qa_rows

SPLITS = ("train", "validation", "test")
NO_ANSWER = "No Answer Present."
_COMMAND = "import msmarco-qa"
_NOTES = (
    "Passages with identical text are one passage, named by a hash of the text.",
    "is_selected 1 is grade 1; is_selected 0 is grade 0: seen by the annotator and not used.",
    "Every distinct answer belongs to every selected passage of its row, without offsets; "
    "wellFormedAnswers and query_type are fields of the query.",
)
_ROWS = 512  # read together
# the purposes that key two hashes of a text: its id, and what shows that two texts share one
_PASSAGE_ID, _CHECK = "msmarco qa passage id", "msmarco qa passage check"
_MARKS = {1: "selected", 0: "not_selected", UNKNOWN: "not_judged"}
_COUNTED = (  # named, so that zeros are shown too
    "queries",
    "rows",
    "merged_rows",
    *_MARKS.values(),
    "rows_without_answers",
    "no_answer_present",
    "empty_answers",
    "repeated_answers",
    "answers_without_selected_passage",
    "rows_without_type",
)


@dataclass(slots=True)
class PassageCounts:
    """Counts of passages read and of distinct passages."""

    read: int = 0
    distinct: int = 0


@dataclass(frozen=True, slots=True)
class QaSource:
    """The manifest's facts about the releases' files; ``splits`` counts rows and what was left
    out.
    """

    format: str
    passages: PassageCounts
    splits: Mapping[str, Mapping[str, int]]


def import_msmarco_qa(
    files: Mapping[str, Sequence[Path | str]],
    out: Path | str,
    *,
    selected_only: bool = False,
    overwrite: bool = False,
) -> Collection:
    """Make a collection from the releases' files, given by split: train, validation, test.

    ``selected_only`` leaves out the judgements of grade 0.

    Raises:
        InputError: a file in none of the three layouts or without a row, an invalid row (with its
            place), or a query id with two texts in one split.
        SettingError: no file, or another split.
    """
    files = {split: paths for split, paths in files.items() if paths}
    if not set(files) <= set(SPLITS) or not any(files.values()):
        raise SettingError(
            f"FILE, --validation, --test: wanted files of {', '.join(SPLITS)}; found "
            f"{', '.join(files) or 'none'}"
        )
    out = Path(out)
    sources = {split: [Path(path) for path in files[split]] for split in SPLITS if split in files}
    inputs = [
        input_ref(split, path, content_digest(path), artefact=out)
        for split, paths in sources.items()
        for path in paths
    ]
    with (
        create_collection(out, overwrite=overwrite) as writer,
        unchanged(path for paths in sources.values() for path in paths),
    ):
        known, passages, counts = KeyMap(), PassageCounts(), {}
        for split, paths in sources.items():
            rows = _Split(split, known, passages)
            for path in paths:
                writer.add_texts(rows.passages(path))
            counts[split] = rows.write(writer.split(split), selected_only=selected_only)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command=_COMMAND,
                settings={"selected_only": selected_only},
                inputs=tuple(inputs),
                licence=LICENCE,
                notes=_NOTES,
                content={"source": asdict(QaSource("msmarco-qa", passages, counts))},
            )
        )
    remarks = [f"{passages.read:,} passages read, {passages.distinct:,} distinct"]
    for split, numbers in counts.items():
        remarks.append(f"{split}: {counted({what: n for what, n in numbers.items() if n})}")
    return told(Collection(out), remarks)


class _Kept(NamedTuple):
    """A row without its passages' texts; a passage's number is its id, written in hexadecimal
    elsewhere.
    """

    query: str
    query_type: str | None
    answers: list[str] | None
    well_formed: list[str]
    passages: np.ndarray
    selected: bytes

    def marks(self) -> Iterator[tuple[int, int]]:
        """Yield each passage with its mark."""
        marks = np.frombuffer(self.selected, np.int8).tolist()
        return zip(self.passages.tolist(), marks, strict=True)


class _Split:
    """The rows of a split by query; ``known`` has the passages written before, and ``counts``
    counts them.
    """

    def __init__(self, name: str, known: KeyMap, counts: PassageCounts) -> None:
        self._name, self._known, self._counts = name, known, counts
        self._rows: dict[str, list[_Kept]] = {}

    def passages(self, path: Path) -> Iterator[Texts]:
        """Read a file; yield the passages that no row before has.

        Raises:
            InputError: as ``qa_rows``, no row, or a query id with two texts.
        """
        rows = track(qa_rows(path), f"{self._name}, {path.name}", unit="rows")
        first = True
        while batch := list(islice(rows, _ROWS)):
            first = False
            texts = [text.encode() for row in batch for text in row.passages]
            ids = keys64(0, _PASSAGE_ID, texts)
            new, shared = self._known.add(ids, keys64(0, _CHECK, texts))
            if shared.any():
                found = f"two texts of the id {_name(ids[shared][0])!r}"
                raise bad_input(path, wanted="an id for each text", found=found, do="drop one")
            ends = np.cumsum([len(row.passages) for row in batch])
            for row, passages in zip(batch, np.split(ids, ends[:-1]), strict=True):
                self._keep(path, row, passages.copy())
            self._counts.read += len(texts)
            self._counts.distinct += int(new.sum())
            yield [_name(key).encode() for key in ids[new].tolist()], list(compress(texts, new))
        if first:
            wanted = "rows of an MS MARCO QA release"
            raise bad_input(path, wanted=wanted, found="none", do="check the path")

    def _keep(self, path: Path, row: Row, passages: np.ndarray) -> None:
        rows = self._rows.setdefault(row.query_id, [])
        if rows and rows[0].query != row.query:
            texts = f"{_short(rows[0].query)} and {_short(row.query)}"
            raise bad_input(
                path,
                wanted="one text per query id",
                found=f"two for {row.query_id!r}: {texts}",
                do="give files that belong together",
            )
        selected = np.array(row.selected, np.int8).tobytes()
        rows.append(_Kept(*row[1:5], passages, selected))

    def write(self, writer: SplitWriter, *, selected_only: bool) -> Mapping[str, int]:
        """Write the queries with their judgements and answers; return their counts."""
        counts = Counter(dict.fromkeys(_COUNTED, 0))
        grades = (1,) if selected_only else (0, 1)
        for query_id, rows in self._rows.items():
            marks = _marks(rows)
            counts.update(_MARKS[mark] for mark in marks.values())
            writer.add(
                [_query(query_id, rows, counts)],
                [Qrel(query_id, _name(key), marks[key]) for key in marks if marks[key] in grades],
                [Answer(query_id, _name(key), text) for key, text in _answers(rows, counts)],
            )
        return dict(counts)


def _name(key: int) -> str:
    return f"p{key:016x}"


def _query(query_id: str, rows: Sequence[_Kept], counts: Counter[str]) -> Query:
    counts["queries"] += 1
    counts["rows"] += len(rows)
    counts["merged_rows"] += len(rows) - 1
    counts["rows_without_type"] += sum(row.query_type is None for row in rows)
    query_type = next((row.query_type for row in rows if row.query_type), None)
    fields = {"type": query_type} if query_type else {}
    well_formed = list(dict.fromkeys(text for row in rows for text in row.well_formed))
    if well_formed:
        fields["well_formed"] = json.dumps(well_formed, ensure_ascii=False)
    return Query(query_id, rows[0].query, fields)


def _marks(rows: Sequence[_Kept]) -> dict[int, int]:
    """Return ``is_selected`` of each passage of a query; for a repeated text, the highest."""
    marks: dict[int, int] = {}
    for row in rows:
        for passage, mark in row.marks():
            marks[passage] = max(mark, marks.get(passage, UNKNOWN))
    return marks


def _answers(rows: Sequence[_Kept], counts: Counter[str]) -> dict[tuple[int, str], None]:
    """Return (passage, answer) for each distinct answer and selected passage of a row."""
    answers: dict[tuple[int, str], None] = {}
    for row in rows:
        counts["rows_without_answers"] += row.answers is None
        every = row.answers or []
        texts = [text for text in every if text and text != NO_ANSWER]
        counts["no_answer_present"] += every.count(NO_ANSWER)
        counts["empty_answers"] += every.count("")
        distinct = dict.fromkeys(texts)
        counts["repeated_answers"] += len(texts) - len(distinct)
        selected = [passage for passage, mark in row.marks() if mark == 1]
        if not selected:
            counts["answers_without_selected_passage"] += len(distinct)
        answers.update(dict.fromkeys((passage, text) for passage in selected for text in distinct))
    return answers


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")
