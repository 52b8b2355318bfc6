"""``posbias show``: what a collection holds, and what made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from positionbias.cli.common import Engine, emit, engine_options, json_option

if TYPE_CHECKING:
    from positionbias.results.collections import Origin
    from positionbias.results.result import Result

__all__ = ["aligned", "counts_table", "show"]


@click.command()
@click.argument("collection")
@engine_options
@json_option
def show(collection: str, engine: Engine, as_json: bool) -> None:
    """What COLLECTION holds: passages, queries, judgements and answers per split, lengths in words, what made it.

    Lengths are in BlingFire words. Re-rankers read the first 200 words of a passage and the first 30 of a query: the share
    of longer ones is printed.
    """
    from positionbias.core.collection import find_collection
    from positionbias.results.collections import PassageFigures
    from positionbias.results.select import of_type
    from positionbias.text.statistics import collection_statistics

    opened = find_collection(collection)
    with engine.open() as map_shards:
        results = collection_statistics(opened, map_shards)
    ((_, passages),) = of_type(results, PassageFigures)
    parts = (counts_table(results), _lengths(results), _origin(passages.manifest))
    emit(results, as_json=as_json, table=lambda: "\n\n".join(parts))


def counts_table(results: Sequence[Result]) -> str:
    """The collection's name and passages, a row a split, and what is to be known of its judgements."""
    from positionbias.results.collections import QueryFigures
    from positionbias.results.select import of_type

    header = ("split", "queries", "judgements", "answers")
    splits = [(result.split, figures) for result, figures in of_type(results, QueryFigures)]
    rows = [(split, f"{f.queries:,}", f"{f.judgements:,}", f"{f.answers:,}") for split, f in splits]
    lines = [f"{results[0].collection}: {results[0].count:,} passages", "", aligned([header, *rows])]
    for split, figures in splits:
        further = figures.further_judgements or {}
        lines += [f"{split}: {count:,} judgements more, {name!r}" for name, count in further.items()]
        if absent := figures.absent:
            lines.append(
                f"{split}: {absent.judgements:,} judgements are of passages that are not in the collection "
                f"({absent.passages:,} passages)"
            )
    return "\n".join(lines)


def _lengths(results: Sequence[Result]) -> str:
    from positionbias.results.collections import PassageFigures, QueryFigures
    from positionbias.text.statistics import QUANTILES

    header = ("words", *QUANTILES, "mean", "empty", "over")
    rows = [header]
    for result in results:
        if not isinstance(figures := result.payload, PassageFigures | QueryFigures) or (words := figures.lengths) is None:
            continue
        quantiles = (_number(value) for value in words.words_quantiles.values())
        name = f"{result.measure} {result.split}".strip()
        over = f"{words.share_over:.1%} over {words.READ}" if words.share_over is not None else "-"
        rows.append((name, *quantiles, _number(words.mean_words, ".1f"), f"{words.without_words:,}", over))
    return aligned(rows)


def _origin(made: Origin) -> str:
    settings = ", ".join(f"{key} {value}" for key, value in made.settings.items())
    version = made.versions.get("positionbias", "?")
    rows = [("made by", f"{made.command} ({settings or 'no settings'})")]
    rows += [("", f"{made.created}, positionbias {version}")]
    rows += [(f"input {item.role}", f"{item.path} (checksum {item.checksum[:16]}…)") for item in made.inputs]
    rows += [("licence", made.licence or "not stated")]
    rows += _flat(made.content)
    rows += [("note", note) for note in made.notes]
    return aligned(rows, left=2)


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested figures as lines ``name, figure``; plain lists in one line."""
    if isinstance(value, Mapping) and any(isinstance(item, Mapping | list) for item in value.values()):
        return [line for key, item in value.items() for line in _flat(item, f"{name} {key}".strip().replace("_", " "))]
    if isinstance(value, Mapping):
        return [(name, ", ".join(f"{key.replace('_', ' ')} {_number(item)}" for key, item in value.items()))]
    if isinstance(value, list) and not any(isinstance(item, Mapping | list) for item in value):
        return [(name, ", ".join(map(_number, value)))] if value else []
    if isinstance(value, list):
        return [line for item in value for line in _flat(item, name)]
    return [(name, _number(value))]


def _number(value: Any, form: str = ",") -> str:
    if value is None:
        return "-"
    return f"{value:{form}}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def aligned(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Rows as lines of equal columns; the first ``left`` columns flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = (cell.ljust(w) if n < left else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True)))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
