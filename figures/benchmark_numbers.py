"""The numbers that benchmarks wrote as tables, kept as JSON for the tables of README and docs.

``keep`` reads the Markdown tables of a file in ``benchmarks/results``. A cell of numbers becomes a
number or a list of numbers ("+0.03 [0.01, 0.05]" is three, "1 of 27" two; 15 % is 0.15); any other
cell, such as the name of a system, stays as it is.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from positionbias.core.formatting import NBSP, as_form

__all__ = ["FOLDER", "Cell", "Row", "find", "keep", "read_tables", "rows", "told"]

HERE = Path(__file__).parent
ROOT = HERE.parent
FOLDER = HERE / "numbers" / "benchmarks"

Cell = str | int | float | list[int | float]
Row = dict[str, Cell]

_NUMBER = re.compile(r"[+\-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]\d+)?(?:\s?%)?")
_BETWEEN = re.compile(r"(?:[\s\[\](),/]|\bof\b|\bto\b|\bpairs\b)*")
_COMMAND = re.compile(r"(?:^    |`)((?:\w+=\d+ )?python benchmarks/[^`\n]+)", re.MULTILINE)
_COLUMNS = re.compile(r"(?<= )\|(?= )")


def keep(name: str, source: Path) -> None:
    """Write the tables of a benchmark's results, with its command and the commit that last wrote
    them.
    """
    text = source.read_text("utf-8")
    file = source.resolve().relative_to(ROOT).as_posix()
    command = _COMMAND.search(text)
    if command is None:
        raise ValueError(f"{file}: no line of it is the benchmark's command, python benchmarks/…")
    log = ["git", "log", "-1", "--format=%H", "--", file]
    commit = subprocess.run(
        log, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    if not commit:
        raise ValueError(f"{file}: commit it first, so that the numbers have a commit")
    tables = ",\n".join(json.dumps(table, ensure_ascii=False) for table in read_tables(text))
    head = json.dumps({"command": command[1], "source": file, "commit": commit}, ensure_ascii=False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(f'{head[:-1]}, "tables": [\n{tables}\n]}}\n', "utf-8")


def read_tables(text: str) -> list[dict[str, Any]]:
    """The tables of a Markdown text: the section that each stands in, its headings (a second one of
    the same words is "… (2)"), and its rows of cells.
    """
    tables: list[dict[str, Any]] = []
    section, inside = "", False
    for line in text.splitlines():
        if not line.startswith("|"):
            section, inside = (line.lstrip("# ") if line.startswith("#") else section), False
            continue
        cells = [cell.strip() for cell in _COLUMNS.split(line[1:-1])]
        if not inside:
            heads = [
                f"{head} ({cells[:place].count(head) + 1})" if head in cells[:place] else head
                for place, head in enumerate(cells)
            ]
            tables.append({"section": section, "heads": heads, "rows": []})
        elif set(line) - set("|:- "):
            tables[-1]["rows"].append([_cell(cell) for cell in cells])
        inside = True
    return tables


def _cell(text: str) -> Cell:
    found = _NUMBER.findall(text)
    if not found or not _BETWEEN.fullmatch(_NUMBER.sub("", text)):
        return text
    numbers = [_number(one) for one in found]
    return numbers[0] if len(numbers) == 1 else numbers


def _number(text: str) -> int | float:
    plain = text.replace(",", "").replace("−", "-")
    if plain.endswith("%"):
        return round(float(plain.rstrip("% ")) / 100, 10)
    return float(plain) if "." in plain or "e" in plain else int(plain)


def rows(name: str, head: str, section: str = "") -> list[Row]:
    """The rows of the first kept table that has this heading, in a section whose name begins so;
    each by heading.
    """
    for table in json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["tables"]:
        if head in table["heads"] and table["section"].startswith(section):
            return [dict(zip(table["heads"], row, strict=True)) for row in table["rows"]]
    raise KeyError(f"{name}: no table with the heading {head!r} in a section {section!r}")


def find(found: Sequence[Row], wanted: Mapping[str, Cell]) -> Row:
    """The one row with these cells.

    Raises:
        ValueError: none, or several.
    """
    (row,) = (one for one in found if all(one[head] == cell for head, cell in wanted.items()))
    return row


def told(cell: Cell, form: str = ".0f", shape: str = "") -> str:
    """A cell as a table tells it: numbers by a format such as ``+.3f``, in a shape such as
    ``{} of {}``; three are a value and its interval, and words stay as they are.
    """
    if isinstance(cell, str):
        return cell
    numbers = [as_form(one, form) for one in (cell if isinstance(cell, list) else [cell])]
    if shape:
        return shape.format(*numbers)
    value, *bounds = numbers
    return value + (
        f" [{', '.join(bound.removesuffix(f'{NBSP}%') for bound in bounds)}]" if bounds else ""
    )
