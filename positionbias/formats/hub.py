"""Import data sets of the Hugging Face Hub with the package datasets: from its cache, a folder on
disk, or the network.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from positionbias.core.collection import Collection
from positionbias.core.columns import Columns
from positionbias.core.errors import DependencyError, bad_input
from positionbias.core.manifest import InputRef
from positionbias.core.tables import dataset_tables, write_tables
from positionbias.core.validation_draw import ValidationDraw

__all__ = ["import_hub", "load_hub", "saved_dataset"]

_SAVED = ("dataset_dict.json", "state.json")  # what Dataset.save_to_disk leaves


def import_hub(
    name: str,
    out: Path | str,
    *,
    subset: str,
    columns: Columns,
    validation: ValidationDraw,
    overwrite: bool = False,
) -> Collection:
    """Make a collection from a data set and its splits; an input's checksum is the data set's own
    fingerprint.

    Raises:
        InputError: no such data set or configuration; or as ``write_tables``.
        SettingError: as ``write_tables``.
        DependencyError: datasets is not installed.
    """
    found = load_hub(name, subset, command="import hf")
    splits = found if isinstance(found, Mapping) else {"test": found}
    inputs = [InputRef(split, name, str(data._fingerprint)) for split, data in splits.items()]
    tables = dataset_tables(found, name)
    write_tables(
        tables,
        Path(out),
        columns=columns,
        validation=validation,
        command="import hf",
        inputs=inputs,
        overwrite=overwrite,
    )
    return Collection(out)


def saved_dataset(folder: Path | str) -> bool:
    """Return True for a folder that ``datasets`` saved."""
    return any(Path(folder, saved).is_file() for saved in _SAVED)


def load_hub(name: str, subset: str = "", *, command: str) -> Any:
    """Return a data set or its splits, as the package datasets has them.

    Raises:
        InputError: no such data set or configuration.
        DependencyError: datasets is not installed.
    """
    try:
        import datasets
    except ImportError as error:
        raise DependencyError(
            f"{command}: wanted the package datasets; found it is not installed; run: pip install "
            '"positionbias[hf]"'
        ) from error
    try:
        if saved_dataset(name):
            return datasets.load_from_disk(name)
        return datasets.load_dataset(name, subset or None)
    except Exception as error:  # many types: its own, the Hub's, fsspec's, Arrow's
        said = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise bad_input(
            name,
            wanted="a data set of the Hub, or its folder",
            found=said,
            do="check the name, or --subset",
        ) from error
