"""Add the answers of a table to a copy of the collection that has their queries and passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection, find_collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.errors import bad_input
from positionbias.core.files import content_digest, unchanged
from positionbias.core.inputs import CollectionLike
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.outcome import HISTOGRAM, hint_collection
from positionbias.core.places import input_place
from positionbias.core.progress import say
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Answer
from positionbias.core.split_tables import KIND
from positionbias.formats.columns import Columns
from positionbias.formats.imported import in_words
from positionbias.formats.table_files import BATCH_ROWS, Table, open_table
from positionbias.formats.table_values import MisfitError, RowCounts, id_in, read_row
from positionbias.text.formatting import plural

_NOTES = (
    (
        "Answers without a start whose text is not in their passage (ignoring case) are left out "
        "and counted."
    ),
    "Answers of passages that are not judged relevant to the query are left out and counted.",
)


@dataclass(frozen=True, slots=True)
class AttachedAnswers:
    """The manifest's facts about attached answers: the columns read, the answers added to each
    split, and counts of rows.
    """

    columns: Mapping[str, str]
    added: Mapping[str, int]
    counts: RowCounts


def attach_answers(
    collection: CollectionLike, path: Path | str, out: Path | str, *, overwrite: bool = False
) -> Collection:
    """Write ``collection`` with the answers of a table, one a row, beside its own.

    Raises:
        InputError: as ``open_table``; columns missing, or no answer that fits.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    collection, out, given, path = find_collection(collection), Path(out), path, input_place(path)
    refuse_existing(out, overwrite=overwrite)
    with unchanged([path]):
        table, counts = open_table(path), RowCounts()
        columns = _columns_of(table)
        found = _by_split(collection, table, columns, counts)
        added = {split: len(answers) for split, answers in found.items() if answers}
        if not added:
            causes = "; ".join(
                f"{cause}: {count:,}" for cause, count in (counts.left_out | counts.again).items()
            )
            wanted = "new answers for the collection's queries"
            raise bad_input(
                path,
                wanted=wanted,
                found=f"none in {counts.rows:,} rows ({causes})",
                do="check the ids",
            )
        inputs = [
            input_ref("source", collection.path, collection.checksum, artefact=out),
            input_ref("answers", path, content_digest(path), artefact=out),
        ]
        # the original of a rotated collection, reachable from here too
        if original := collection.manifest.input("original"):
            inputs.append(
                input_ref(
                    "original", collection.path / original.path, original.checksum, artefact=out
                )
            )
        facts = AttachedAnswers(columns, added, counts)
        with create_collection(out, overwrite=overwrite) as writer:
            writer.share_passages(collection)
            for split in collection.splits:
                writer.add_tables(split, collection.tables(split)).add(answers=found[split])
            writer.finish(
                Manifest(
                    kind=KIND,
                    name=out.name,
                    command="attach",
                    inputs=tuple(inputs),
                    licence=collection.manifest.licence,
                    notes=(*collection.manifest.notes, *_NOTES),
                    content={"attached": asdict(facts)},
                ),
                allow_absent=True,  # judged passages missing in the collection are missing here too
            )
    say(f"{given}: {in_words(columns)}")
    for split, number in added.items():
        say(f"{split}: {plural(number, 'answer')} added")
    for remark in counts.remarks():
        say(remark)
    return hint_collection(Collection(out), HISTOGRAM)


def _columns_of(table: Table) -> dict[str, str]:
    """Return the columns of answers to queries and passages that are elsewhere, by meaning.

    Raises:
        InputError: no column of query ids, passage ids or answers.
    """
    known = Columns().guessed(table.names).named()
    for what in ("query_id", "passage_id", "answer"):
        if what not in known:
            found = ", ".join(table.names) or "no column"
            do = "give it a usual name"
            raise bad_input(table.source, wanted=f"a column {what}", found=found, do=do)
    wanted = ("query_id", "passage_id", "answer", "answer_start")
    return {what: known[what] for what in wanted if what in known}


def _by_split(
    collection: Collection, table: Table, columns: Mapping[str, str], counts: RowCounts
) -> dict[str, list[Answer]]:
    """Return the valid answers that are new to their split, by split; count the others."""
    queries = {
        split: {query_id for query_id, _ in collection.query_texts(split)}
        for split in collection.splits
    }
    grades = {
        split: {qrel[:2]: qrel.grade for qrel in collection.qrels(split)}
        for split in collection.splits
    }
    known = {split: set(collection.answers(split)) for split in collection.splits}
    found: dict[str, list[Answer]] = {split: [] for split in collection.splits}
    for place, query_id, passage_id, passage, answers in _answers(
        collection, table, columns, counts
    ):
        splits = [split for split, query_ids in queries.items() if query_id in query_ids]
        judged = [split for split in splits if (query_id, passage_id) in grades[split]]
        relevant = [split for split in judged if grades[split][query_id, passage_id] > 0]
        refused = ""
        if not splits:
            refused = "unknown query"
        elif not judged:
            refused = "passage not judged for the query"
        elif not relevant:
            refused = "passage judged not relevant"
        if not answers:
            counts.leave_out("no answer", place)
        for text, start in answers:
            stands = start is not None or text.casefold() in passage.casefold()
            if cause := refused or ("" if stands else "text not found in passage"):
                counts.leave_out(cause, place)
                continue
            answer = Answer(
                query_id, passage_id, text, start, None if start is None else start + len(text)
            )
            for split in relevant:
                if answer in known[split]:
                    counts.met_again("answers", 1)
                else:
                    known[split].add(answer)
                    found[split].append(answer)
    return found


def _answers(
    collection: Collection, table: Table, columns: Mapping[str, str], counts: RowCounts
) -> Iterator[tuple[str, str, str, str, Sequence[tuple[str, int | None]]]]:
    """Yield (place, query id, passage id, passage text, answers) for each row with a known passage;
    count other rows.
    """
    rows = table.read(columns)
    while batch := list(islice(rows, BATCH_ROWS)):
        counts.rows += len(batch)
        stored = collection.find([_id_or_none(values["passage_id"]) for _, values in batch])
        texts = iter(collection.texts_at(stored[stored >= 0]))
        for (number, values), passage in zip(batch, stored, strict=True):
            place = f"{table.source}, {table.unit} {number:,}"
            if passage < 0:
                counts.leave_out("unknown passage", place)
                continue
            # the queries' texts are elsewhere: a row is read as one of any query
            values = {**values, "passage": next(texts), "query": "?"}
            try:
                (row,) = read_row(values, counts, "", {})
            except MisfitError as misfit:
                counts.leave_out(str(misfit), place)
                continue
            yield place, row.query_id, row.passage_id, row.passage, row.answers
    counts.unanswerable = 0  # counted as rows without an answer


def _id_or_none(value: Any) -> str:
    try:
        return id_in(value, "passage id")
    except MisfitError:
        return ""
