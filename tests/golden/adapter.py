"""Results as rows: a result's header is a row, and each number and answer in its payload is
another.

Left out are sentences, dates, durations, paths, digests, and values by query, whose means are rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pandas import DataFrame

from positionbias.core.rows import records
from positionbias.evaluation.records import Facts

Row = dict[str, str]

FACTS = tuple(name for name in Facts.__dataclass_fields__ if name != "unfinished")
PLACE = ("measure", "statistic", "against", "axis", "at", "label")
OWN = (
    "start",
    "whose",
    "subset",
    "elsewhere",
    "pool",
    "kind",
    "run",
    "set",
    "rule",
    "scale",
    "length",
    "seen",
    "other",
    "detector",
)  # of the studies that write rows
KEYS = ("collection", "split", "system", *FACTS, "finished", *PLACE)
NUMBERS = ("value", "low", "high", "level", "count", "p", "expected", "margin", "detectable")
COLUMNS = (*KEYS, *OWN, *NUMBERS, "p_adjusted", "answer", "reason")
OTHER_NAMES = {"value": "mean", "count": "queries"}
ANSWERS = ("answer", "preference", "outcome", "holds", "within", "now", "says", "exceeds")
LABELS = {  # texts that say what the numbers beside them are of
    *(
        "axis",
        "contrast",
        "detector",
        "gold",
        "group",
        "kind",
        "limit",
        "of",
        "pool",
        "quality",
        "question",
    ),
    *(
        "role",
        "rule",
        "run",
        "scale",
        "score",
        "subset",
        "system",
        "test",
        "unit",
        "what",
        "measure",
        "among",
    ),
}
# durations, digests, sizes of files; settings, edges and seeds, which the other numbers depend on
LEFT_OUT = {
    *(
        "manifest",
        "settings",
        "edges",
        "deltas",
        "minimum",
        "permutations",
        "level",
        "seeds",
        "trainings",
        "rotations",
    ),
    *("candidate_mean", "relative_as_printed"),  # baseline and difference make them
    *(
        "seconds",
        "checksum",
        "sentences",
        "query_ids",
        "baseline facts",
        "host",
        "index bytes",
        "pairs_sampled",
    ),
}
LONG = 4  # of a longer list of numbers, the mean and at most as many elements


def rows_of(results: Sequence[Mapping[str, Any] | DataFrame]) -> list[Row]:
    """Return the rows of results, of a command's own JSON, or of frames of rows, in the order of
    their keys.
    """
    rows = [row for result in results for row in _rows(result)]
    return sorted(rows, key=key_of)


def key_of(row: Row) -> tuple[str, ...]:
    """Return what a row is a value of."""
    return tuple(row[name] for name in (*KEYS, *OWN))


def _rows(result: Mapping[str, Any] | DataFrame) -> Iterator[Row]:
    if isinstance(result, DataFrame):
        for cells in records(result):
            yield _row({}, **{name: cell for name, cell in cells.items() if name in COLUMNS})
        return
    yield from _inside(result, {}, ())


def _inside(
    item: Any, header: Mapping[str, Any], path: tuple[str, ...], *, top: bool = False, **place: Any
) -> Iterator[Row]:
    """Walk a payload: ``path`` are the names that lead to the item, ``place`` where it stands in a
    list.
    """
    if isinstance(item, Mapping):
        yield from _of_object(item, header, path, place, top)
    elif isinstance(item, list):
        yield from _of_list(item, header, path, place)
    elif _is_number(item):
        yield _row(header, statistic="/".join(path), value=item, **place)


def _of_object(
    item: Mapping[str, Any],
    header: Mapping[str, Any],
    path: tuple[str, ...],
    place: Mapping[str, Any],
    top: bool,
) -> Iterator[Row]:
    place = {**place, "label": ", ".join(filter(None, [place.get("label", ""), _label(item)]))}
    beside = {**_numbers(item), **_answer(item)}
    if not top and set(beside) - {"level"}:
        yield _row(header, statistic="/".join(path), **place, **beside)
    done = {*NUMBERS, *OTHER_NAMES.values(), "interval", *LEFT_OUT}
    for name, content in item.items():
        inside = path if name == "figures" else (*path, name)
        if _is_number(content) and name not in done:
            ends = _numbers(item, f"{name}_") or _numbers(item, f"{name} ")
            done |= {
                f"{name}{between}{end}" for end in (*ends, "interval") for between in ("_", " ")
            }
            yield _row(header, statistic="/".join(inside), **place, **{**ends, "value": content})
    for name, content in item.items():
        inside = path if name == "figures" else (*path, name)
        if (
            name not in done
            and not _is_number(content)
            and not name.endswith(("by query", "checksum", "seconds"))
        ):
            yield from _inside(content, header, inside, **place)


def _of_list(
    item: list[Any], header: Mapping[str, Any], path: tuple[str, ...], place: Mapping[str, Any]
) -> Iterator[Row]:
    numbers = [number for number in item if _is_number(number)]
    apart = -(-len(item) // LONG) if numbers else 1
    if apart > 1:
        yield _row(
            header,
            statistic="/".join((*path, "mean")),
            value=sum(numbers) / len(numbers),
            count=len(numbers),
            **place,
        )
    outer = [place["label"]] if place.get("label") else []
    outer += [f"{place['axis']} {place['at']}"] if "at" in place else []
    for index in range(0, len(item), apart):
        yield from _inside(
            item[index],
            header,
            path,
            label=", ".join(outer),
            axis=path[-1] if path else "",
            at=index,
        )


def _numbers(item: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the numbers that have a column, of names with a prefix."""
    columns = {
        name: item.get(f"{prefix}{name}", item.get(OTHER_NAMES.get(name))) for name in NUMBERS
    }
    if prefix:
        columns = {name: item.get(f"{prefix}{name}") for name in ("low", "high", "p", "detectable")}
    return {
        name: number
        for name, number in {**columns, **(item.get(f"{prefix}interval") or {})}.items()
        if _is_number(number)
    }


def _answer(item: Mapping[str, Any]) -> dict[str, str]:
    answers = [str(item[name]) for name in ANSWERS if item.get(name) not in (None, "")]
    return {"answer": "; ".join(answers)} if answers else {}


def _label(item: Mapping[str, Any]) -> str:
    texts = [text for name, text in item.items() if name in LABELS and isinstance(text, str)]
    return ", ".join(text for text in texts if text not in ("", "all queries"))


def _row(header: Mapping[str, Any], **cells: Any) -> Row:
    return {name: _text({**header, **cells}.get(name)) for name in COLUMNS}


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float):
        return f"{cell:.9g}"
    # of a path the name
    return cell.rpartition("/")[2] if isinstance(cell, str) and cell.startswith("/") else str(cell)
