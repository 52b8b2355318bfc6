"""Make the tables of a set of training triples: queries, triples, lengths, and the clicks at each
rank.
"""

from __future__ import annotations

from collections.abc import Sequence

from positionbias.clicks.ranks import log_sentence, shown_ranks
from positionbias.core.formatting import count
from positionbias.report.cells import count_cell, decimal_cell, percent_cell, text_cell
from positionbias.report.table import Cell, Column, Table
from positionbias.results.clicks import ClickedRanks, SampledTriples, TripleFigures
from positionbias.results.result import Result
from positionbias.results.select import of_type

__all__ = ["click_tables", "lengths_table", "queries_table", "ranks_table", "triples_table"]


def click_tables(results: Sequence[Result]) -> list[Table]:
    """Return all non-empty tables."""
    tables = (
        queries_table(results),
        triples_table(results),
        lengths_table(results),
        ranks_table(results),
    )
    return [table for table in tables if table.rows]


def queries_table(results: Sequence[Result]) -> Table:
    """Return the split's queries with a positive, by the number of negatives or the reason for
    none.
    """
    body, notes = [], []
    for result, made in of_type(results, TripleFigures):
        became = (
            (f"all {made.asked}, for each positive", made.all_negatives, made.share_all),
            ("fewer, as candidates ran out", made.fewer_negatives, made.share_fewer),
            ("none: every candidate is relevant", made.no_negative, made.share_no_negative),
            ("none: no positive is in the corpus", made.no_positive, made.share_no_positive),
            ("none: no candidates in the run", made.without_candidates, made.share_no_candidates),
        )
        for words, number, share in became:
            numbers = count_cell(number), percent_cell(share, sign=False)
            body.append([text_cell(result.system), text_cell(words), *numbers])
        notes.append(
            f"Of the {count(made.queries)} queries of split {result.split}, "
            f"{count(made.with_positive)} have a positive; shares are of these; "
            f"{count(made.queries - made.with_positive)} have none."
        )
    columns = [
        Column("Set", numeric=False),
        Column("Negatives", numeric=False),
        Column("Queries"),
        Column("Share"),
    ]
    return _made("clicks-queries", "Queries by outcome", columns, body, notes)


def triples_table(results: Sequence[Result]) -> Table:
    """Return the triples drawn and kept, by part: duplicates, judged negatives, candidates left
    out.
    """
    looks = {result.system: looked for result, looked in of_type(results, SampledTriples)}
    body = []
    for result, made in of_type(results, TripleFigures):
        for part, lines in _parts(made, looks.get(result.system)).items():
            whole = next(iter(lines.values()))
            for number, (words, value) in enumerate(lines.items()):
                share = (
                    percent_cell(value / whole if whole else None, sign=False)
                    if number
                    else Cell("")
                )
                body.append(
                    [*map(text_cell, (result.system, part, words)), count_cell(value), share]
                )
    columns = [Column(name, numeric=False) for name in ("Set", "Part", "What")]
    columns += [Column("Number"), Column("Share")]
    notes = (
        (
            "A positive is a pair of query and passage; shares are of a part's first line. The "
            "first triples of the shuffled set were examined."
        ),
    )
    return _made("clicks-triples", "The triples", columns, body, notes, stub=3)


def _parts(made: TripleFigures, looked: SampledTriples | None) -> dict[str, dict[str, int]]:
    """Return counts by part; the first of a part is its total."""
    parts = {
        "Positives": {
            "of queries with candidates": made.positives,
            "not in the corpus": made.positives_missing,
        },
        "Candidates": {"left out as relevant": made.left_out},
        "Triples drawn": {
            "all": made.drawn,
            "negative drawn again for another positive of the query": made.drawn_again,
        },
        "Triples kept": {
            "all": made.triples,
            "negative judged not relevant": made.judged,
        },
    }
    if looked:
        parts["Triples examined"] = {
            "all": looked.triples,
            "negative judged relevant": looked.relevant,
            "negative with the text of its positive": looked.same_text,
        }
    return parts


def lengths_table(results: Sequence[Result]) -> Table:
    """Return words of positives and negatives in the examined triples."""
    body, notes = [], []
    for result, looked in of_type(results, SampledTriples):
        for name, words in (("Positives", looked.positives), ("Negatives", looked.negatives)):
            numbers = [decimal_cell(words.mean, places=1), decimal_cell(words.median, places=1)]
            numbers += [count_cell(words.longest), count_cell(words.without)]
            body.append([text_cell(result.system), text_cell(name), *numbers])
        notes.append(
            f"Words between white space, in the first {count(looked.triples)} triples of the "
            "shuffled set."
        )
    columns = [
        Column("Set", numeric=False),
        Column("", numeric=False),
        *map(Column, ("Mean", "Median", "Longest")),
    ]
    return _made(
        "clicks-lengths",
        "Words of positives and negatives",
        [*columns, Column("Empty")],
        body,
        notes,
    )


def ranks_table(results: Sequence[Result]) -> Table:
    """Return the data of the figure: clicks by rank on the page of results, with their share and
    the cumulative share.
    """
    body, notes = [], []
    for result, log in of_type(results, ClickedRanks):
        so_far = 0
        notes.append(f"Rank: the place on one page of results. {log_sentence(log)}")
        for place in shown_ranks(log):
            so_far += place.clicks
            rank = text_cell(f"{place.rank} and later" if place.later else place.name)
            shares = (
                percent_cell(share, sign=False) for share in (place.share, so_far / log.ranked)
            )
            body.append([text_cell(result.collection), rank, count_cell(place.clicks), *shares])
    columns = [
        Column("Collection", numeric=False),
        Column("Rank", numeric=False),
        *map(Column, ("Clicks", "Share", "Cumulative share")),
    ]
    return _made("clicks-ranks", "Clicks by rank", columns, body, notes)


def _made(
    name: str,
    title: str,
    columns: list[Column],
    body: list[list[Cell]],
    notes: Sequence[str] = (),
    stub: int = 2,
) -> Table:
    """Return the table; its first column, the set's name, is left out if there is only one set."""
    if len({row[0].text for row in body}) < 2:
        columns, body, stub = columns[1:], [row[1:] for row in body], stub - 1
    return Table(name, title, columns, body, tuple(dict.fromkeys(notes)), stub)
