"""An empty file is one that was not fetched: never a collection in which something is missing
without a word.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from positionbias.core.errors import InputError
from positionbias.formats.msmarco import import_msmarco
from positionbias.formats.msmarco_docs import import_msmarco_docs
from positionbias.formats.orcas import import_orcas

from .msmarco_files import write_files


@pytest.mark.parametrize(
    ("read", "empty", "other", "content"),
    [
        (import_msmarco, "collection.tsv", "queries.train.tsv", "1\tlamp\n"),
        (import_msmarco_docs, "msmarco-docs.tsv", "msmarco-doctrain-queries.tsv", "1\tlamp\n"),
        (import_orcas, "orcas.tsv", "orcas-doctrain-top100", ""),
    ],
    ids=["msmarco", "msmarco-docs", "orcas"],
)
def test_an_empty_file_is_one_line(
    tmp_path: Path, read: Callable[..., Any], empty: str, other: str, content: str
) -> None:
    folder = write_files(tmp_path / "in", {empty: "", other: content})
    with pytest.raises(
        InputError, match=rf"{empty}: wanted \w+; found an empty file; fetch it again"
    ):
        read([folder], tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
