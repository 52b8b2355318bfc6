"""Add the answers of a table to a copy of the collection that has their queries and passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from positionbias.core.carry_split import carry_split
from positionbias.core.collection import Collection
from positionbias.core.collection_writer import create_collection
from positionbias.core.columns import Columns
from positionbias.core.errors import bad_input
from positionbias.core.input_state import content_digest, unchanged
from positionbias.core.manifest import Manifest, input_ref
from positionbias.core.publish import refuse_existing
from positionbias.core.records import Answer
from positionbias.core.row_values import Answers, Cells, RowCounts, ValueReader, id_text
from positionbias.core.split_tables import KIND
from positionbias.core.tables import Table
from positionbias.formats.table_files import open_table

__all__ = ["AttachedAnswers", "attach_answers"]

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
    collection: Collection, path: Path | str, out: Path | str, *, overwrite: bool = False
) -> Collection:
    """Write ``collection`` with the answers of a table, one a row, beside its own.

    Raises:
        InputError: as ``open_table``; columns missing, or no answer that fits.
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    out, path = Path(out), Path(path)
    refuse_existing(out, overwrite=overwrite)
    with unchanged([path]):
        table = _open(path)
        columns, counts = Columns().of_answers(table.names, table.source), RowCounts()
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
        facts = AttachedAnswers(columns.named(), added, counts)
        with create_collection(out, overwrite=overwrite) as writer:
            writer.share_passages(collection)
            for split in collection.splits:
                carry_split(
                    collection, writer, split, answers=[*collection.answers(split), *found[split]]
                )
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
    return Collection(out)


def _open(path: Path) -> Table:
    """Open a table with the columns of all its rows. JSON rows are read twice, since later rows may
    add columns.
    """
    table = open_table(path)
    if not table.growing:
        return table
    for _ in table.read(()):  # which adds the names of later rows
        pass
    return replace(open_table(path), names=table.names)


def _by_split(
    collection: Collection, table: Table, columns: Columns, counts: RowCounts
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
    collection: Collection, table: Table, columns: Columns, counts: RowCounts
) -> Iterator[tuple[str, str, str, str, Answers]]:
    """Yield (place, query id, passage id, passage text, answers) for each row with a known passage;
    count other rows.
    """
    source = f"{table.source}, {table.unit}"
    # the row number takes the place of the query's text in other tables
    reader = ValueReader(replace(columns, passage="passage", query="query"), "", source, counts)
    for batch in table.read(columns.read_from(table.names)):
        counts.rows += len(batch.numbers)
        values = {column: batch.column(column) for column in columns.named().values()}
        stored = collection.find([id_text(value) for value in values[columns.passage_id]])
        for row in np.flatnonzero(stored < 0).tolist():
            counts.leave_out("unknown passage", f"{source} {batch.numbers[row]:,}")
        rows = np.flatnonzero(stored >= 0).tolist()
        numbers, texts = [batch.numbers[row] for row in rows], collection.texts_at(stored[rows])
        kept = {column: [own[row] for row in rows] for column, own in values.items()}
        found = reader.read(
            Cells(numbers, {**kept, "passage": texts, "query": list(map(str, numbers))})
        )
        for passage_id, passage, query_id, number, answers in zip(
            found.passage_ids,
            found.passages,
            found.query_ids,
            found.queries,
            found.answers,
            strict=True,
        ):
            yield (
                f"{source} {int(number):,}" if number else source,
                query_id,
                passage_id,
                passage,
                answers,
            )
    counts.unanswerable = 0  # counted as rows without an answer
