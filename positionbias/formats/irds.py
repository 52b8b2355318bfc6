"""Import data sets through ir_datasets, which finds, downloads and checks them
(``$IR_DATASETS_HOME``, ``~/.ir_datasets``).

Ids are ir_datasets' own: ``beir/scifact/test``, ``msmarco-passage/dev/small``,
``msmarco-qna/train``. A passage's text is ``doc.default_text()``, and a query's
``query.default_text()``, which each data set defines; a query's other text fields are kept under
their names. Where queries carry ``answers`` (msmarco-qna, dpr-w100), each answers its query in the
passages judged relevant.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import (
    DependencyError,
    InputError,
    SettingError,
    bad_input,
    or_closest,
)
from positionbias.core.json_text import JsonObject
from positionbias.core.manifest import Manifest, Provenance, package_versions
from positionbias.core.progress import is_quiet, track
from positionbias.core.records import HIGHEST_GRADE, Answer, Passage, Qrel, Query
from positionbias.core.split_tables import KIND
from positionbias.formats.columns import SPLIT_WORDS
from positionbias.formats.imported import LEFT_OUT, told
from positionbias.formats.markup import plain_text

Item = TypeVar("Item")
NO_ANSWER = "No Answer Present."


def split_of(name: str) -> str:
    """Return the split from the last part of a data set's id that names one, else "test".

    >>> split_of("msmarco-passage/dev/small"), split_of("beir/scifact/train"), split_of("vaswani")
    ('validation', 'train', 'test')
    """
    return next(
        (SPLIT_WORDS[part] for part in reversed(name.split("/")) if part in SPLIT_WORDS), "test"
    )


def split_and_id(given: str) -> tuple[str, str]:
    """Split ``SPLIT=NAME``; without a split the name tells it.

    >>> split_and_id("a=vaswani"), split_and_id("beir/scifact/train")
    (('a', 'vaswani'), ('train', 'beir/scifact/train'))
    """
    split, equals, name = given.partition("=")
    return (split, name) if equals else (split_of(given), given)


@dataclass(slots=True)
class _Split:
    """One data set's records, and counts of what was left out."""

    queries: list[Query] = field(default_factory=list)
    qrels: list[Qrel] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class IrdsSource:
    """The manifest's facts about data sets of ir_datasets, with its version; ``splits`` counts what
    was left out.
    """

    format: str
    ir_datasets: str
    splits: Mapping[str, Mapping[str, int]]


def import_irds(
    names: Sequence[tuple[str, str]],
    out: Path | str,
    *,
    overwrite: bool = False,
    provenance: Provenance | None = None,
) -> Collection:
    """Make a collection from the data sets in ``names``, each (split, id), which share their
    documents. A split "SPLIT.SET" adds another judgement set to a split that is named as well.

    ``content["source"]`` counts by split what was left out: pairs judged several times (the highest
    grade is kept), judgements of other queries, answers that are blank or "No Answer Present.", and
    answers whose passage is not among the documents. Judgements of missing documents are kept and
    counted.

    Raises:
        InputError: an unknown id (similar ones are named), ids with different documents, none with
            documents, or a failed download.
        SettingError: a split twice, or no id.
        DependencyError: the data set needs a package that is not installed.
    """
    splits = [split for split, _ in names]
    if not names or len(set(splits)) < len(splits):
        found = (
            f"{next(split for split in splits if splits.count(split) > 1)!r} twice"
            if names
            else "none"
        )
        raise SettingError(
            f"NAME: wanted each split once, as SPLIT=NAME; found {found}; give each data set its "
            "own split"
        )
    out = Path(out)
    with (
        open(os.devnull, "w", encoding="utf-8", newline="\n") as nowhere,
        redirect_stderr(nowhere if is_quiet() else sys.stderr),  # ir_datasets has its own bars
        redirect_stdout(sys.stderr),
        create_collection(out, overwrite=overwrite) as writer,
    ):
        datasets = {name: _load(name) for _, name in names}
        documents = _documents_of(datasets)
        read = {split: _read_split(datasets[name], name) for split, name in names}
        wanted = {answer.passage_id for records in read.values() for answer in records.answers}
        writer.add_passages(_passages(documents, names[0][1], wanted))
        for split, records in read.items():
            _drop_absent(records, wanted)
            if records.queries and not _set_of(split, read):
                writer.add_split(split, records.queries, records.qrels, records.answers)
        for split, records in read.items():
            if further := _set_of(split, read):
                writer.add_qrels(*further, records.qrels)
        left_out = {split: dict(sorted(records.counts.items())) for split, records in read.items()}
        source = IrdsSource("irds", package_versions("ir_datasets")["ir_datasets"], left_out)
        writer.finish(
            Manifest(
                kind=KIND,
                name=out.name,
                command="import irds",
                settings={"names": [f"{split}={name}" for split, name in names]},
                licence=_licence(datasets),
                notes=(
                    "Text is ir_datasets' default_text() of documents and queries.",
                    "A pair judged several times keeps its highest grade.",
                ),
                content={"source": asdict(source)},
                provenance=provenance or {},
            ),
            allow_absent=True,
        )
    return told(
        Collection(out),
        (
            f"{split}: {count:,} {LEFT_OUT[name]}"
            for split, counts in left_out.items()
            for name, count in counts.items()
        ),
    )


def _set_of(name: str, read: Mapping[str, _Split]) -> tuple[str, str] | None:
    """Return (split, judgement set) for a name whose split has queries; None for a separate
    split.
    """
    split, dot, further = name.partition(".")
    return (split, further) if dot and split in read and read[split].queries else None


def _guarded(work: Callable[[], Item], name: str) -> Item:
    """Call ir_datasets, and turn any error of its libraries into one line."""
    try:
        return work()
    except ImportError as error:
        raise DependencyError(
            f"{name}: wanted the packages that read this data set; found: {_one_line(error)}"
        ) from error
    except (KeyboardInterrupt, MemoryError, InputError):
        raise
    except Exception as error:
        found = f"{type(error).__name__}: {_one_line(error)}"
        raise InputError(
            f"{name}: wanted ir_datasets to download and read it; found {found}; "
            "check the network, or what https://ir-datasets.com says of this data set"
        ) from error


def _one_line(error: BaseException) -> str:
    return re.sub(r"\s+", " ", str(error)).strip()[:500]


def _iterate(items: Callable[[], Iterable[Item]], name: str) -> Iterator[Item]:
    iterator = iter(_guarded(items, name))
    end: Any = object()
    while (item := _guarded(lambda: next(iterator, end), name)) is not end:
        yield item


def _library() -> Any:
    import ir_datasets

    return ir_datasets


def _load(name: str) -> Any:
    library = _guarded(_library, "ir_datasets")
    registry = library.registry
    try:
        return _guarded(lambda: library.load(name), name)
    except InputError as error:
        if not isinstance(error.__cause__, KeyError):
            raise
        near = sorted(known for known in registry if known.startswith(name.split("/")[0]))
        do = (
            f"similar ids: {', '.join(near[:3])}"
            if near
            else "see the list at https://ir-datasets.com"
        )
        hint = or_closest(name, registry, do)
        raise InputError(
            f"{name}: wanted the id of a data set in ir_datasets; found no such id; {hint}"
        ) from None


def _documents_of(datasets: Mapping[str, Any]) -> Any:
    """Return the data set whose documents all of them share."""
    (first, base), *others = datasets.items()
    for name, dataset in datasets.items():
        if not dataset.has_docs():
            raise InputError(
                f"{name}: wanted a data set with documents; found none; give another id"
            )
    for name, dataset in others:
        if dataset.docs_handler() is not base.docs_handler():
            raise InputError(
                f"{name}: wanted the same documents as {first}; found others; import it on its own "
                "and join them with: posbias collection merge"
            )
    return base


def _passages(dataset: Any, name: str, wanted: set[str]) -> Iterator[Passage]:
    """Stream the documents and remove their ids from ``wanted``."""
    total = _guarded(dataset.docs_count, name)
    for document in track(_iterate(dataset.docs_iter, name), name, total, unit="documents"):
        wanted.discard(document.doc_id)
        yield Passage(document.doc_id, document.default_text())


def _read_split(dataset: Any, name: str) -> _Split:
    records = _Split()
    answers: dict[str, tuple[str, ...]] = {}
    if dataset.has_queries():
        for query in _iterate(dataset.queries_iter, name):
            records.queries.append(_query(query))
            if texts := _answers(query, records.counts):
                answers[query.query_id] = texts
    known = {query.query_id for query in records.queries}
    if dataset.has_qrels():
        judged: dict[tuple[str, str], int] = {}
        for qrel in _iterate(dataset.qrels_iter, name):
            pair, grade = (qrel.query_id, qrel.doc_id), int(qrel.relevance)
            if qrel.query_id not in known:
                records.counts["judgements_of_other_queries"] += 1
                continue
            if abs(grade) > HIGHEST_GRADE:
                wanted, found = (
                    f"grades up to {HIGHEST_GRADE:,}",
                    f"{grade:,} for query {qrel.query_id!r}",
                )
                raise bad_input(name, wanted=wanted, found=found, do="leave this data set out")
            records.counts["judged_again"] += pair in judged
            judged[pair] = max(grade, judged.get(pair, grade))
        records.qrels = [
            Qrel(query_id, passage_id, grade) for (query_id, passage_id), grade in judged.items()
        ]
    for judgement in records.qrels:
        if judgement.grade > 0:
            texts = answers.get(judgement.query_id, ())
            records.answers += [
                Answer(judgement.query_id, judgement.passage_id, text) for text in texts
            ]
    return records


def _query(query: Any) -> Query:
    """Convert a query and its text fields; the values of a multi-valued field are numbered, as
    variants are.
    """
    text = query.default_text()
    fields: dict[str, str] = {}
    for name in query._fields:
        value = getattr(query, name)
        if name in ("query_id", "answers") or value == text:
            continue
        if isinstance(value, str):
            fields[name] = value
        elif isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
            fields |= {f"{name}{number}": item for number, item in enumerate(value, 1)}
    return Query(query.query_id, text, fields)


def _answers(query: Any, counts: Counter[str]) -> tuple[str, ...]:
    given = [text for text in getattr(query, "answers", None) or () if isinstance(text, str)]
    kept = tuple(
        dict.fromkeys(text for text in given if text.strip() and text.strip() != NO_ANSWER)
    )
    counts["blank_answers"] += sum(not text.strip() or text.strip() == NO_ANSWER for text in given)
    return kept


def _drop_absent(records: _Split, absent: set[str]) -> None:
    kept = [answer for answer in records.answers if answer.passage_id not in absent]
    records.counts["answers_in_absent_passages"] = len(records.answers) - len(kept)
    records.answers = kept
    records.counts += Counter()  # drops zeros


def _licence(datasets: Mapping[str, Any]) -> str:
    """Return the terms in the data sets' ir_datasets documentation, and its address."""
    said: list[str] = []
    for name, dataset in datasets.items():
        for part in _documentation(name, dataset):
            text = plain_text(str(part.get("desc", "")))
            said += [
                found
                for found in re.findall(r"[^.]*\b[Ll]icen[sc]e[^.]*\.(?:\d[^.]*\.)*", text)
                if found not in said
            ]
            said += [
                access
                for access in [plain_text(str(part.get("data_access", "")))]
                if access and access not in said
            ]
    place = (
        "terms as the publishers state them: https://ir-datasets.com/"
        + next(iter(datasets)).split("/")[0]
    )
    return " ".join((*(sentence.strip() for sentence in said), place))


def _documentation(name: str, dataset: Any) -> Iterator[JsonObject]:
    """Yield the documentation of a data set and of its parents."""
    library, parts = _library(), name.split("/")
    known = set(library.registry)
    holders = ["/".join(parts[:count]) for count in range(1, len(parts))]
    for holder in [*(library.load(holder) for holder in holders if holder in known), dataset]:
        if hasattr(holder, "documentation"):
            yield _guarded(holder.documentation, name)
