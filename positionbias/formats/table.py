"""Import your own files of passages, queries and answers as a Collection."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from positionbias.core.collection import Collection
from positionbias.core.columns import SPLIT_WORDS, Columns
from positionbias.core.input_state import content_digest, unchanged
from positionbias.core.manifest import input_ref
from positionbias.core.tables import write_tables
from positionbias.core.validation_draw import ValidationDraw
from positionbias.formats.table_files import open_table

__all__ = ["import_table", "split_of_file"]


def split_of_file(name: str) -> str:
    """Return the split named in a file's name, else test.

    >>> (
    ...     split_of_file("squad-train.jsonl"),
    ...     split_of_file("dev_v2.csv"),
    ...     split_of_file("questions.parquet"),
    ... )
    ('train', 'validation', 'test')
    """
    words = re.split(r"[^a-z]+", name.lower())
    return next((SPLIT_WORDS[word] for word in words if word in SPLIT_WORDS), "test")


def import_table(
    files: Sequence[tuple[str, Path]],
    out: Path | str,
    *,
    columns: Columns,
    validation: ValidationDraw,
    overwrite: bool = False,
) -> Collection:
    """Make a collection from files, each with the split of its rows; a row may name its own split.

    Raises:
        InputError: as ``open_table`` and ``Columns.of``; an id with two texts, or no valid row.
        SettingError: ``validation`` leaves no training question.
    """
    out = Path(out)
    tables = ((split, open_table(path)) for split, path in files)
    inputs = [
        input_ref(f"table {number}", path, content_digest(path), artefact=out)
        for number, (_, path) in enumerate(files, 1)
    ]
    with unchanged(path for _, path in files):
        write_tables(
            tables,
            out,
            columns=columns,
            validation=validation,
            command="import table",
            inputs=inputs,
            overwrite=overwrite,
        )
    return Collection(out)
