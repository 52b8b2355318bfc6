"""Rows of measurements: a tidy pandas frame, one row a value, with the same columns everywhere.

A folder of rows holds ``rows.parquet``, ``values.parquet`` with the values by query, if any, and
``manifest.json``, which says what made them. A reader needs pandas alone.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
from pandas import DataFrame, Series
from pandas.api.types import is_string_dtype

from positionbias.core.csv_cells import read_cell, write_rows
from positionbias.core.errors import InputError, bad_input
from positionbias.core.manifest import Manifest, write_manifest
from positionbias.core.publish import atomic_file, atomic_folder
from positionbias.core.records import Interval
from positionbias.core.seal import MANIFEST, verified


class Column(NamedTuple):
    """A column's type, and its meaning with its unit."""

    type: str
    meaning: str


DEFAULTS: Mapping[str, Any] = {"str": "", "int32": -1, "float64": np.nan, "bool": True}  # by type
# what a row is a value of, as far as ``label``; then the value and what is known of it
COLUMNS: Mapping[str, Column] = {
    "row": Column("int32", "number of the row, which links values.parquet"),
    "study": Column("str", "study or command"),
    "collection": Column("str", "collection's name"),
    "split": Column("str", "split"),
    "text": Column("str", "planted, placed, selected, natural"),
    "subset": Column("str", 'queries or passages measured: "all", "read whole", …'),
    "model": Column("str", 'kind of model: "tk", "bm25", …'),
    "start": Column("str", "initial weights; empty: random"),
    "role": Column("str", 'task of the model: "first stage", "re-ranker", "teacher", …'),
    "training": Column("str", "passages of its last training"),
    "source": Column("str", "collection of its earlier training"),
    "variant": Column("str", "other variation of a study, in words"),
    "loss": Column("str", "loss"),
    "test": Column("str", "passages of the measurement"),
    "seed": Column("int32", "training seed; −1: averaged over, or none"),
    "rotation": Column("int32", "rotation draw; −1: averaged over, or none"),
    "finished": Column("bool", "False: a training was not finished when it ended"),
    "whose": Column("str", "published; empty: ours"),
    "measure": Column("str", "measure: nDCG@10, MATS, …"),
    "statistic": Column("str", "mean, difference, relative, count, seconds, …"),
    "against": Column("str", 'baseline of a comparison: "training=original"'),
    "axis": Column("str", "x axis of a curve or histogram: bin, Δ, depth, step, cause"),
    "at": Column("float64", "place on the axis"),
    "label": Column("str", "place on the axis, in words; joined on, unlike ``at``"),
    "value": Column("float64", "value; NaN: undefined"),
    "low": Column("float64", "lower end of the interval"),
    "high": Column("float64", "upper end of the interval"),
    "level": Column("float64", "level of the interval, between 0 and 1"),
    "interval": Column("str", "queries, trainings, simultaneous, prediction, draws"),
    "unit": Column("str", "unit of the value; empty: the measure's"),
    "count": Column("int32", "sample size"),
    "counted": Column("str", "what the sample size counts: queries, passages, …"),
    "clusters": Column("int32", "clusters in the sample"),
    "trainings": Column("int32", "trainings in the sample"),
    "p": Column("float64", "p-value"),
    "p_adjusted": Column("float64", "p-value corrected over the family"),
    "family": Column("str", "comparisons that a correction is over"),
    "expected": Column("float64", "value without an effect"),
    "margin": Column("float64", "smallest effect of interest"),
    "detectable": Column("float64", "effect detected with 80 % power"),
    "answer": Column("str", "answer of a verdict"),
    "reason": Column("str", "why the value is undefined"),
}
_VALUE_TYPES = {"row": "int32", "item": "str", "cluster": "str", "value": "float64"}

NO_VALUES = DataFrame({name: Series(dtype=type_) for name, type_ in _VALUE_TYPES.items()})

_NAMES = list(COLUMNS)
_BEFORE_KEYS = _NAMES[: _NAMES.index("test") + 1]
_IDENTITY = _NAMES[1 : _NAMES.index("label") + 1]
_MOST_KEYS = 3  # of a study's own
_REFUSED: Mapping[str, Callable[[DataFrame], Series]] = {  # what is wanted, and the rows without it
    "a measure": lambda rows: rows["measure"] == "",
    "low ≤ high": lambda rows: rows["low"] > rows["high"],
    "a level between 0 and 1": lambda rows: (rows["level"] <= 0) | (rows["level"] >= 1),
    "p from 0 to 1": lambda rows: (rows["p"] < 0) | (rows["p"] > 1),
    "p_adjusted from 0 to 1": lambda rows: (rows["p_adjusted"] < 0) | (rows["p_adjusted"] > 1),
}
ROWS, VALUES = "rows.parquet", "values.parquet"
_KINDS = {"str": str, "int32": Integral, "float64": Real, "bool": bool | np.bool_}
_PARSERS: Mapping[str, Any] = {
    "str": read_cell,
    "int32": int,
    "float64": float,
    "bool": {"True": True, "False": False}.__getitem__,
}


def frame(
    records: Iterable[Mapping[str, Any]],
    keys: Sequence[str] = (),
    *,
    source: Path | str = "rows",
) -> DataFrame:
    """Return a complete typed frame of partial records; a missing cell or None is the default.

    ``keys`` names up to three text columns of a study's own, which stand behind ``test``. Rows
    without a number are numbered in their order.

    Raises:
        InputError: an unknown column, a cell of another type, or rows that ``check`` refuses.

    Example:
        >>> made = frame(
        ...     [
        ...         {"model": "bm25", "measure": "nDCG@10", "value": 0.5, "count": 18},
        ...         {"model": "tk", "measure": "nDCG@10", "value": 0.75, "count": 18},
        ...     ]
        ... )
        >>> made[["row", "model", "value", "low", "seed", "count"]]
           row model  value  low  seed  count
        0    0  bm25   0.50  NaN    -1     18
        1    1    tk   0.75  NaN    -1     18
    """
    rows = [dict(record) for record in records]
    types = _types(keys)
    if unknown := sorted({name for row in rows for name in row} - types.keys()):
        raise _refused(source, "declared columns", repr(unknown[0]), "declare it as a key")
    cells = {name: [row.get(name) for row in rows] for name in types}
    cells["row"] = [place if cell is None else cell for place, cell in enumerate(cells["row"])]
    made = DataFrame({name: _typed(name, cells[name], types[name], source) for name in types})
    check(made, source=source)
    return made


@dataclass(slots=True)
class Collected:
    """Rows as they are measured: ``common`` cells are those of every row, ``keys`` the study's own.

    Example:
        >>> made = Collected({"study": "evaluate", "model": "bm25"})
        >>> made.add("nDCG@10", "mean", 0.5, Interval(0.4, 0.6), items={"q1": 0.25, "q2": 0.75})
        >>> made.rows[["model", "measure", "value", "low", "high"]]
          model  measure  value  low  high
        0  bm25  nDCG@10    0.5  0.4   0.6
        >>> made.values
           row item cluster  value
        0    0   q1           0.25
        1    0   q2           0.75
    """

    common: Mapping[str, Any] = field(default_factory=dict)
    keys: Sequence[str] = ()
    _records: list[dict[str, Any]] = field(default_factory=list)
    _items: list[tuple[int, str, str, float]] = field(default_factory=list)

    def add(
        self,
        measure: str,
        statistic: str,
        value: float | None,
        bounds: Interval | None = None,
        *,
        items: Mapping[str, float] | None = None,
        cluster_of: Mapping[str, str] | None = None,
        **cells: Any,
    ) -> None:
        """Add a row, with its values by item, if any, and the clusters of items."""
        row = {**self.common, "measure": measure, "statistic": statistic, **cells}
        row["value"] = None if value is None else float(value)
        if bounds is not None:
            row |= {"low": bounds.low, "high": bounds.high, "level": bounds.level}
        labels = cluster_of or {}
        self._items += [
            (len(self._records), item, labels.get(item, ""), float(number))
            for item, number in (items or {}).items()
        ]
        self._records.append(row)

    @property
    def rows(self) -> DataFrame:
        """The checked frame."""
        return frame(self._records, self.keys)

    @property
    def values(self) -> DataFrame:
        """The values by item."""
        if not self._items:
            return NO_VALUES
        columns = zip(_VALUE_TYPES.items(), zip(*self._items, strict=True), strict=True)
        return DataFrame(
            {name: _typed(name, cells, type_, "values") for (name, type_), cells in columns}
        )


def counted_rows(study: str, numbers: Mapping[str, float | None], **common: Any) -> DataFrame:
    """Return a row for each number that a command counted, by its name; None is left out.

    Example:
        >>> made = counted_rows("rerank", {"queries": 18, "truncated": None}, model="tk")
        >>> made[["measure", "value"]]
           measure  value
        0  queries   18.0
    """
    made = Collected({"study": study, **common})
    for name, number in numbers.items():
        if number is not None:
            made.add(name, "count", number)
    return made.rows


def records(rows: DataFrame) -> list[dict[str, Any]]:
    """Return the rows as JSON-ready objects, without cells that hold a column's default.

    Example:
        >>> records(frame([{"measure": "τ", "value": -1.0}]))
        [{'row': 0, 'measure': 'τ', 'value': -1.0}]
    """
    types = _types([name for name in rows if name not in COLUMNS])
    empty = {name: DEFAULTS[type_] for name, type_ in types.items() if name != "row"}
    return [
        {name: cell for name, cell in row.items() if cell == cell and cell != empty.get(name)}
        for row in rows.to_dict("records")
    ]


def printed_cells(path: Path | str) -> list[dict[str, Any]]:
    """Return the figures that a paper prints, of a CSV of rows: the filled cells of each, without
    its number and study, as ``Collected.add`` takes them.

    Raises:
        InputError: a malformed file.
    """
    left_out = ("row", "study")
    return [
        {name: cell for name, cell in row.items() if name not in left_out}
        for row in records(read_csv(path))
    ]


def _types(keys: Sequence[str]) -> dict[str, str]:
    """Return all columns with their types, those of a study's own behind ``test``."""
    names = [*_BEFORE_KEYS, *keys, *_NAMES[len(_BEFORE_KEYS) :]]
    return {name: COLUMNS[name].type if name in COLUMNS else "str" for name in names}


def _typed(name: str, cells: Sequence[Any], type_: str, source: Path | str) -> Series:
    filled = [DEFAULTS[type_] if cell is None else cell for cell in cells]
    misfits = {
        kind
        for kind in set(map(type, filled))
        if not issubclass(kind, _KINDS[type_]) or (type_ != "bool" and issubclass(kind, bool))
    }
    for place, cell in enumerate(filled) if misfits else ():
        if type(cell) in misfits:
            raise _refused(source, f"{type_} as {name}", f"{cell!r} in row {place}", "convert it")
    try:
        return Series(filled, dtype=object if type_ == "str" else type_)
    except OverflowError as error:
        raise _refused(source, f"{name} below 2³¹", str(max(filled)), "fix it") from error


def check(
    rows: DataFrame,
    *,
    answers: Iterable[str] | None = None,
    source: Path | str = "rows",
) -> None:
    """Refuse a frame that does not fit the columns; ``answers`` are all that it may give.

    Raises:
        InputError: a missing column, more than three others, another type, a null key, a row
            without a measure, low > high, a level or p-value out of range, an unknown answer, or
            two rows with the same number, or the same keys, measure, statistic and place.

    Example:
        >>> rows = frame([{"measure": "nDCG@10", "value": 0.5}])
        >>> check(rows)
        >>> check(rows.assign(low=0.6, high=0.4))
        Traceback (most recent call last):
        ...
        positionbias.core.errors.InputError: rows: wanted low ≤ high; found row=0, ...
    """
    keys = [name for name in rows if name not in COLUMNS]
    if missing := [name for name in COLUMNS if name not in rows]:
        raise _refused(source, f"a column {missing[0]!r}", "none", "make the rows with frame()")
    if len(keys) > _MOST_KEYS:
        raise _refused(source, "at most three keys of a study", ", ".join(keys), "drop columns")
    _check_types(rows, _types(keys), source)
    for wanted, wrong in _REFUSED.items():
        _refuse(rows, wrong(rows), wanted, source)
    if answers is not None:
        listed = list(answers)
        wrong = ~rows["answer"].isin(["", *listed])
        _refuse(rows, wrong, f"an answer of {', '.join(listed)}", source)
    _refuse(rows, rows["row"].duplicated(), "each row number once", source)
    again = rows.duplicated([*_IDENTITY, *keys])
    _refuse(rows, again, "each measurement once", source)


def _check_types(rows: DataFrame, types: Mapping[str, str], source: Path | str) -> None:
    for name, type_ in types.items():
        cells = rows[name]
        if type_ != "float64" and cells.isna().any():
            raise _refused(source, f"no null as {name}", f"row {cells.isna().argmax()}", "fill it")
        is_text = not len(cells) or is_string_dtype(cells)
        if not is_text if type_ == "str" else cells.dtype != type_:
            raise _refused(source, f"{type_} as {name}", str(cells.dtype), "convert it")


def _refuse(rows: DataFrame, wrong: Series, wanted: str, source: Path | str) -> None:
    """Raise for the first wrong row, with its filled cells."""
    if wrong.any():
        row = rows[wrong].iloc[0]
        filled = row[row.notna() & ~row.astype(str).isin(["", "-1", "True"])]
        cells = [f"{name}={cell}" for name, cell in filled.items()]
        raise _refused(source, wanted, ", ".join(cells), "fix it")


def _refused(source: Path | str, wanted: str, found: str, do: str) -> InputError:
    return bad_input(source, wanted=wanted, found=found, do=do)


def _check_values(rows: DataFrame, values: DataFrame, source: Path | str) -> None:
    if list(values) != list(_VALUE_TYPES):
        names = ", ".join(values)
        raise _refused(source, "columns row, item, cluster, value", names, "rename them")
    _check_types(values, _VALUE_TYPES, source)
    unknown = ~values["row"].isin(rows["row"])
    _refuse(values, unknown, "values of rows that exist", source)
    _refuse(values, values.duplicated(["row", "item"]), "each item once in a row", source)


def save(
    folder: Path | str,
    rows: DataFrame,
    manifest: Manifest,
    values: DataFrame | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write rows, and their values by item if any, to a folder that appears whole or not at all.

    Raises:
        InputError: rows that ``check`` refuses, or values of a row that does not exist.
        OutputExistsError, StorageError: the folder exists, or cannot be written.
    """
    with atomic_folder(folder, overwrite=overwrite) as partial:
        write_into(partial, rows, manifest, values)


def write_into(
    folder: Path, rows: DataFrame, manifest: Manifest, values: DataFrame | None = None
) -> None:
    """Write the files of ``save`` into an unfinished folder, beside its other content."""
    check(rows)
    if values is not None:
        _check_values(rows, values, "values")
        values.to_parquet(folder / VALUES, index=False)
    rows.to_parquet(folder / ROWS, index=False)
    write_manifest(folder / MANIFEST, manifest)


def load(folder: Path | str) -> DataFrame:
    """Read and check the rows of a folder that ``save`` wrote.

    Raises:
        InputError: no rows there, damaged ones, or rows that ``check`` refuses.
    """
    rows = _read(Path(folder) / ROWS)
    check(rows, source=Path(folder) / ROWS)
    return rows


def load_values(folder: Path | str, rows: DataFrame | None = None) -> DataFrame:
    """Read and check the values by item of a folder: row, item, cluster, value. ``rows`` are those
    of the folder, where they are read already.

    Raises:
        InputError: no values there, damaged ones, or values of a row that does not exist.
    """
    values = _read(Path(folder) / VALUES)
    _check_values(load(folder) if rows is None else rows, values, Path(folder) / VALUES)
    return values


def _read(path: Path) -> DataFrame:
    try:
        rows = pandas.read_parquet(verified(path))
        return rows.astype({name: object for name in rows if is_string_dtype(rows[name])})
    except (OSError, ValueError) as error:
        raise _refused(path, "a Parquet file", str(error), "run the command again") from error


def write_csv(path: Path | str, rows: DataFrame, *, overwrite: bool = False) -> None:
    """Write rows as CSV: defaults as empty cells, without columns that hold only defaults.

    Raises:
        InputError: rows that ``check`` refuses.
        OutputExistsError, StorageError: the file exists, or cannot be written.
    """
    check(rows)
    shown = rows.astype(object)
    for name, type_ in _types([name for name in rows if name not in COLUMNS]).items():
        empty = np.arange(len(rows)) if name == "row" else DEFAULTS[type_]
        shown.loc[rows[name].isna() | (rows[name] == empty), name] = ""
    shown = shown.loc[:, (shown != "").any()]
    with (
        atomic_file(path, overwrite=overwrite) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        write_rows(file, [list(shown), *shown.itertuples(index=False)])


def read_csv(path: Path | str) -> DataFrame:
    """Read and check rows that ``write_csv`` wrote; a column that is not declared is a key.

    Raises:
        InputError: no such file, a cell of another type, or rows that ``check`` refuses.
    """
    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        keys = [name for name in header if name not in COLUMNS]
        parsers = [_PARSERS[type_] for type_ in map(_types(keys).__getitem__, header)]
        records = []
        for line in lines:
            cells = zip(header, parsers, line, strict=True)
            records.append({name: parse(cell) for name, parse, cell in cells if cell})
    except (OSError, ValueError, KeyError) as error:
        raise _refused(path, "rows as CSV", str(error), "write them with write_csv()") from error
    return frame(records, keys, source=path)
