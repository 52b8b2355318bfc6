"""Write the sheet for labelling: TSV, one pair a row, with an empty last column for the label.
``pairs.read_pairs`` reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from positionbias.core.csv_cells import write_rows
from positionbias.core.publish import atomic_file
from positionbias.leakage.pairs import SCORES, TOPIC_TEXTS, Pair

__all__ = ["write_sheet"]


def _topic_text(pair: Pair, name: str) -> str:
    return pair.test_texts.get(name, "")


def _score(pair: Pair, name: str) -> str:
    return repr(pair.scores[name]) if name in pair.scores else ""


_CELLS: dict[str, Callable[[Pair], str]] = {
    "test_id": lambda pair: pair.test_id,
    **{name: partial(_topic_text, name=name) for name in TOPIC_TEXTS},
    "test_text": lambda pair: next(
        (text for name, text in pair.test_texts.items() if name not in TOPIC_TEXTS), ""
    ),
    "field": lambda pair: pair.field,
    "source": lambda pair: pair.source,
    "train_id": lambda pair: pair.train_id,
    "train_text": lambda pair: pair.train_text,
    "test_passage_id": lambda pair: pair.test_passage_id,
    "train_passage_id": lambda pair: pair.train_passage_id,
    **{name: partial(_score, name=name) for name in SCORES},
    "found_by": lambda pair: " ".join(pair.found_by),
    "weight": lambda pair: "" if pair.weight == 1 else repr(pair.weight),
    "label": lambda pair: pair.label.name if pair.label else "",
}
_ALWAYS = ("test_id", "train_id", "label")


def write_sheet(out: Path | str, pairs: Sequence[Pair], *, overwrite: bool = False) -> None:
    """Write pairs in the given order, without empty columns; runs of white space in a text become
    one space.

    Raises:
        OutputExistsError: ``out`` exists and ``overwrite`` is false.
    """
    rows = [{name: " ".join(cell(pair).split()) for name, cell in _CELLS.items()} for pair in pairs]
    columns = [name for name in _CELLS if name in _ALWAYS or any(row[name] for row in rows)]
    with (
        atomic_file(out, overwrite=overwrite) as partial,
        open(partial, "w", encoding="utf-8", newline="") as handle,
    ):
        write_rows(
            handle, [columns, *([row[name] for name in columns] for row in rows)], delimiter="\t"
        )
