"""What every ``posbias import`` ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from positionbias.cli.common import emit, say

if TYPE_CHECKING:
    from positionbias.core.collection import Collection

__all__ = ["report_import"]


def report_import(collection: Collection, out: str, as_json: bool) -> None:
    """Print what the new collection holds, and where it is."""
    from positionbias.cli.show import counts_table
    from positionbias.text.statistics import collection_counts

    results = collection_counts(collection)
    emit(results, as_json=as_json, table=lambda: counts_table(results))
    say(f"written to {collection.path}; look at it with: posbias show {out}")
